// aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1,
//   bool scale_grad_by_freq=False, bool sparse=False) -> Tensor, CUDA.
// aten::index_select(Tensor self, int dim, Tensor index) -> Tensor, CUDA.
// An index out of range is a device assertion, as in native aten.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_INDEX_SELECT_H_
#define FLAGGEMS_KERNELS_CUDA_OP_INDEX_SELECT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices,
                     int64_t padding_idx, bool scale_grad_by_freq, bool sparse);
at::Tensor index_select(const at::Tensor& self, int64_t dim,
                        const at::Tensor& index);
at::Tensor& index_select_out(const at::Tensor& self, int64_t dim,
                             const at::Tensor& index, at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_INDEX_SELECT_H_
