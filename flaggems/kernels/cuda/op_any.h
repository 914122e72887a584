// Whether any or all elements are true on CUDA: aten::any, aten::all, their
// .dim and .dims forms.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ANY_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ANY_H_

#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// The result is bool, uint8 for uint8 input.
at::Tensor any(const at::Tensor& self);
at::Tensor any_dim(const at::Tensor& self, int64_t dim, bool keepdim);
at::Tensor any_dims(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim);
at::Tensor all(const at::Tensor& self);
at::Tensor all_dim(const at::Tensor& self, int64_t dim, bool keepdim);
at::Tensor all_dims(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ANY_H_
