// aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)
//   -> Tensor, CUDA.
// aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor,
//   CUDA.
// An index out of range is a device assertion, as in native aten. scatter_add
// adds with atomic operations, in no fixed order; 16-bit floating types in
// float where there is more to add than elements to add to. With
// torch.use_deterministic_algorithms the order is fixed.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_GATHER_H_
#define FLAGGEMS_KERNELS_CUDA_OP_GATHER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor gather(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                  bool sparse_grad);
at::Tensor& gather_out(const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, bool sparse_grad,
                       at::Tensor& out);
at::Tensor scatter_add(const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, const at::Tensor& src);
at::Tensor& scatter_add_(at::Tensor& self, int64_t dim, const at::Tensor& index,
                         const at::Tensor& src);
at::Tensor& scatter_add_out(const at::Tensor& self, int64_t dim,
                            const at::Tensor& index, const at::Tensor& src,
                            at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_GATHER_H_
