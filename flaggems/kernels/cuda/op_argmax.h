// Positions of maxima and minima on CUDA: aten::argmax, aten::argmin,
// aten::max.dim, aten::min.dim.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ARGMAX_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ARGMAX_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// The first of equal elements; the first NaN if there is one.
at::Tensor argmax(const at::Tensor& self, std::optional<int64_t> dim,
                  bool keepdim);
at::Tensor argmin(const at::Tensor& self, std::optional<int64_t> dim,
                  bool keepdim);
std::tuple<at::Tensor, at::Tensor> max_dim(const at::Tensor& self, int64_t dim,
                                           bool keepdim);
std::tuple<at::Tensor, at::Tensor> min_dim(const at::Tensor& self, int64_t dim,
                                           bool keepdim);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ARGMAX_H_
