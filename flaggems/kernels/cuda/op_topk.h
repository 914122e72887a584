// aten::topk on CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_TOPK_H_
#define FLAGGEMS_KERNELS_CUDA_OP_TOPK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// The k largest (smallest) in order, also without `sorted`; of equal elements
// the first ones. NaN is the largest.
std::tuple<at::Tensor, at::Tensor> topk(const at::Tensor& self, int64_t k,
                                        int64_t dim, bool largest, bool sorted);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_TOPK_H_
