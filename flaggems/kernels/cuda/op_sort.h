// aten::sort and aten::sort.stable on CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SORT_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SORT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// Always stable: radix sort. NaN is the largest.
std::tuple<at::Tensor, at::Tensor> sort(const at::Tensor& self, int64_t dim,
                                        bool descending);
std::tuple<at::Tensor, at::Tensor> sort_stable(const at::Tensor& self,
                                               std::optional<bool> stable,
                                               int64_t dim, bool descending);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SORT_H_
