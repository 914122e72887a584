#include "flaggems/kernels/cuda/op_unary.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/op_unary_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

void CheckNegatable(const at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() != at::kBool,
              "neg: the negative of a bool tensor is not defined; use "
              "logical_not");
}

void CheckAny(const at::Tensor&) {}

constexpr Elementwise kAbs = {LaunchAbs, "abs_cuda"};
constexpr Elementwise kBitwiseNot = {LaunchBitwiseNot, "bitwise_not_cuda"};
constexpr Elementwise kCos = {LaunchCos, "cos_cuda"};
constexpr Elementwise kErf = {LaunchErf, "erf_cuda"};
constexpr Elementwise kExp = {LaunchExp, "exp_cuda"};
constexpr Elementwise kLog = {LaunchLog, "log_cuda"};
constexpr Elementwise kLogicalNot = {LaunchLogicalNot, "logical_not_cuda",
                                     /*predicate=*/true};
constexpr Elementwise kNeg = {LaunchNeg, "neg_cuda"};
constexpr Elementwise kReciprocal = {LaunchReciprocal, "reciprocal_cuda"};
constexpr Elementwise kRsqrt = {LaunchRsqrt, "rsqrt_cuda"};
constexpr Elementwise kSigmoid = {LaunchSigmoid, "sigmoid_cuda"};
constexpr Elementwise kSin = {LaunchSin, "sin_cuda"};
constexpr Elementwise kSqrt = {LaunchSqrt, "sqrt_cuda"};
constexpr Elementwise kTanh = {LaunchTanh, "tanh_cuda"};

// The output is not of the input's dtype, so it is no unary_op.
at::Tensor& RunLogicalNot(const at::Tensor& self, at::Tensor& out) {
  CheckElements(kLogicalNot.name, {&self, &out});
  auto iter = at::TensorIteratorConfig()
                  .check_all_same_dtype(false)
                  .add_output(out)
                  .add_const_input(self)
                  .build();
  RunElementwise(kLogicalNot, iter, self.scalar_type());
  return out;
}

}  // namespace

#define FG_DEFINE_UNARY(name, op, promotion, check)                 \
  at::Tensor name(const at::Tensor& self) {                         \
    check(self);                                                    \
    return MapUnary(op, self, promotion);                           \
  }                                                                 \
  at::Tensor& name##_(at::Tensor& self) {                           \
    check(self);                                                    \
    return MapUnaryOut(op, self, self, promotion);                  \
  }                                                                 \
  at::Tensor& name##_out(const at::Tensor& self, at::Tensor& out) { \
    check(self);                                                    \
    return MapUnaryOut(op, self, out, promotion);                   \
  }

FG_DEFINE_UNARY(abs, kAbs, Promotion::kCommon, CheckAny)
FG_DEFINE_UNARY(bitwise_not, kBitwiseNot, Promotion::kCommon, CheckAny)
FG_DEFINE_UNARY(cos, kCos, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(erf, kErf, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(exp, kExp, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(log, kLog, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(neg, kNeg, Promotion::kCommon, CheckNegatable)
FG_DEFINE_UNARY(reciprocal, kReciprocal, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(rsqrt, kRsqrt, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(sigmoid, kSigmoid, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(sin, kSin, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(sqrt, kSqrt, Promotion::kFloat, CheckAny)
FG_DEFINE_UNARY(tanh, kTanh, Promotion::kFloat, CheckAny)

#undef FG_DEFINE_UNARY

at::Tensor logical_not(const at::Tensor& self) {
  CheckElements(kLogicalNot.name, {&self});
  at::Tensor out = at::empty({0}, self.options().dtype(at::kBool));
  return RunLogicalNot(self, out);
}

at::Tensor& logical_not_(at::Tensor& self) { return RunLogicalNot(self, self); }

at::Tensor& logical_not_out(const at::Tensor& self, at::Tensor& out) {
  return RunLogicalNot(self, out);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
