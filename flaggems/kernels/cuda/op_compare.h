// aten::eq, ne, lt, le, gt, ge, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_COMPARE_H_
#define FLAGGEMS_KERNELS_CUDA_OP_COMPARE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

// Of two tensors, and of a tensor and a number.
#define FG_DECLARE_COMPARISON(name)                                          \
  at::Tensor name(const at::Tensor& self, const at::Tensor& other);          \
  at::Tensor& name##_(at::Tensor& self, const at::Tensor& other);            \
  at::Tensor& name##_out(const at::Tensor& self, const at::Tensor& other,    \
                         at::Tensor& out);                                   \
  at::Tensor name##_scalar(const at::Tensor& self, const at::Scalar& other); \
  at::Tensor& name##_scalar_(at::Tensor& self, const at::Scalar& other);     \
  at::Tensor& name##_scalar_out(const at::Tensor& self,                      \
                                const at::Scalar& other, at::Tensor& out)

FG_DECLARE_COMPARISON(eq);
FG_DECLARE_COMPARISON(ne);
FG_DECLARE_COMPARISON(lt);
FG_DECLARE_COMPARISON(le);
FG_DECLARE_COMPARISON(gt);
FG_DECLARE_COMPARISON(ge);

#undef FG_DECLARE_COMPARISON

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_COMPARE_H_
