// aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor, CUDA.
// aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values,
//   bool accumulate=False, bool unsafe=False) -> Tensor(a!), CUDA.
// aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values,
//   bool accumulate=False) -> Tensor(a!), CUDA.
// Masks become indices by nonzero, which waits for the device, as in native
// aten. An index out of range is a device assertion. Accumulating sums are in
// float (double for double), in the order of the values.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_INDEX_H_
#define FLAGGEMS_KERNELS_CUDA_OP_INDEX_H_

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor index(const at::Tensor& self,
                 const c10::List<std::optional<at::Tensor>>& indices);
at::Tensor& index_out(const at::Tensor& self,
                      const c10::List<std::optional<at::Tensor>>& indices,
                      at::Tensor& out);
at::Tensor& index_put_impl_(at::Tensor& self,
                            const c10::List<std::optional<at::Tensor>>& indices,
                            const at::Tensor& values, bool accumulate,
                            bool unsafe);
at::Tensor& index_put_(at::Tensor& self,
                       const c10::List<std::optional<at::Tensor>>& indices,
                       const at::Tensor& values, bool accumulate);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_INDEX_H_
