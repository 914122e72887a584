// aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *,
//   Scalar alpha=1) -> Tensor, CUDA.
// Slices are summed in float (double for double), in the order of the indices;
// slices of less than 16 elements are added with atomic operations, in no fixed
// order, except with torch.use_deterministic_algorithms. An index out of range
// is a device assertion.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_INDEX_ADD_H_
#define FLAGGEMS_KERNELS_CUDA_OP_INDEX_ADD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor index_add(const at::Tensor& self, int64_t dim,
                     const at::Tensor& index, const at::Tensor& source,
                     const at::Scalar& alpha);
at::Tensor& index_add_(at::Tensor& self, int64_t dim, const at::Tensor& index,
                       const at::Tensor& source, const at::Scalar& alpha);
at::Tensor& index_add_out(const at::Tensor& self, int64_t dim,
                          const at::Tensor& index, const at::Tensor& source,
                          const at::Scalar& alpha, at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_INDEX_ADD_H_
