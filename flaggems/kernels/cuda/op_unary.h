// Functions of one tensor, element by element, CUDA: abs, bitwise_not, cos,
// erf, exp, log, logical_not, neg, reciprocal, rsqrt, sigmoid, sin, sqrt, tanh.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_UNARY_H_
#define FLAGGEMS_KERNELS_CUDA_OP_UNARY_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cuda {

// aten::NAME, aten::NAME_ and aten::NAME.out
#define FG_DECLARE_UNARY(name)             \
  at::Tensor name(const at::Tensor& self); \
  at::Tensor& name##_(at::Tensor& self);   \
  at::Tensor& name##_out(const at::Tensor& self, at::Tensor& out)

FG_DECLARE_UNARY(abs);
FG_DECLARE_UNARY(bitwise_not);
FG_DECLARE_UNARY(cos);
FG_DECLARE_UNARY(erf);
FG_DECLARE_UNARY(exp);
FG_DECLARE_UNARY(log);
FG_DECLARE_UNARY(logical_not);
FG_DECLARE_UNARY(neg);
FG_DECLARE_UNARY(reciprocal);
FG_DECLARE_UNARY(rsqrt);
FG_DECLARE_UNARY(sigmoid);
FG_DECLARE_UNARY(sin);
FG_DECLARE_UNARY(sqrt);
FG_DECLARE_UNARY(tanh);

#undef FG_DECLARE_UNARY

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_UNARY_H_
