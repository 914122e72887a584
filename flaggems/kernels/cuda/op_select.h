// aten::where, masked_fill, fill_, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SELECT_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SELECT_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor where(const at::Tensor& condition, const at::Tensor& self,
                 const at::Tensor& other);
at::Tensor& where_out(const at::Tensor& condition, const at::Tensor& self,
                      const at::Tensor& other, at::Tensor& out);

at::Tensor masked_fill(const at::Tensor& self, const at::Tensor& mask,
                       const at::Scalar& value);
at::Tensor& masked_fill_(at::Tensor& self, const at::Tensor& mask,
                         const at::Scalar& value);
// The value has no dimension; one on the device is not read by the host.
at::Tensor masked_fill_tensor(const at::Tensor& self, const at::Tensor& mask,
                              const at::Tensor& value);
at::Tensor& masked_fill_tensor_(at::Tensor& self, const at::Tensor& mask,
                                const at::Tensor& value);

at::Tensor& fill_(at::Tensor& self, const at::Scalar& value);
at::Tensor& fill_tensor_(at::Tensor& self, const at::Tensor& value);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SELECT_H_
