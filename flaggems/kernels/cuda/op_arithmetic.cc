#include "flaggems/kernels/cuda/op_arithmetic.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/op_arithmetic_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

constexpr Elementwise kMul = {LaunchMul, "mul_cuda"};
constexpr Elementwise kDiv = {LaunchDiv, "div_true_cuda"};
constexpr Elementwise kDivTrunc = {LaunchDivTrunc, "div_trunc_cuda"};
constexpr Elementwise kDivFloor = {LaunchDivFloor, "div_floor_cuda"};

Elementwise Add(const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha) {
  // 1, mostly, which every dtype takes.
  const bool one = alpha.isIntegral(false) && alpha.toLong() == 1;
  if (one) return {LaunchAdd, "add_cuda", false, {{1.0, 1}}};
  CheckElements("add_cuda", {&self, &other});
  const at::ScalarType dtype = at::result_type(self, other);
  at::native::alpha_check(dtype, alpha);
  return {LaunchAdd, "add_cuda", false, {NumberOf(alpha, dtype)}};
}

Elementwise Sub(const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha) {
  at::native::sub_check(self, other);
  Elementwise op = Add(self, other, alpha);
  op.name = "sub_cuda";
  op.scalars[0].floating = -op.scalars[0].floating;
  op.scalars[0].integer =
      static_cast<int64_t>(-static_cast<uint64_t>(op.scalars[0].integer));
  return op;
}

// nullptr for none.
const Elementwise* RoundedDiv(
    const std::optional<c10::string_view>& rounding_mode) {
  if (!rounding_mode.has_value()) return nullptr;
  if (*rounding_mode == "trunc") return &kDivTrunc;
  TORCH_CHECK(*rounding_mode == "floor",
              "div: rounding_mode must be None, 'trunc' or 'floor', not '",
              *rounding_mode, "'");
  return &kDivFloor;
}

}  // namespace

at::Tensor add(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha) {
  return MapBinary(Add(self, other, alpha), self, other);
}
at::Tensor& add_(at::Tensor& self, const at::Tensor& other,
                 const at::Scalar& alpha) {
  return MapBinaryOut(Add(self, other, alpha), self, other, self);
}
at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out) {
  return MapBinaryOut(Add(self, other, alpha), self, other, out);
}

at::Tensor sub(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha) {
  return MapBinary(Sub(self, other, alpha), self, other);
}
at::Tensor& sub_(at::Tensor& self, const at::Tensor& other,
                 const at::Scalar& alpha) {
  return MapBinaryOut(Sub(self, other, alpha), self, other, self);
}
at::Tensor& sub_out(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out) {
  return MapBinaryOut(Sub(self, other, alpha), self, other, out);
}
at::Tensor rsub(const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha) {
  return sub(other, self, alpha);
}

at::Tensor mul(const at::Tensor& self, const at::Tensor& other) {
  return MapBinary(kMul, self, other);
}
at::Tensor& mul_(at::Tensor& self, const at::Tensor& other) {
  return MapBinaryOut(kMul, self, other, self);
}
at::Tensor& mul_out(const at::Tensor& self, const at::Tensor& other,
                    at::Tensor& out) {
  return MapBinaryOut(kMul, self, other, out);
}

at::Tensor div(const at::Tensor& self, const at::Tensor& other) {
  return MapBinary(kDiv, self, other, Promotion::kFloat);
}
at::Tensor& div_(at::Tensor& self, const at::Tensor& other) {
  return MapBinaryOut(kDiv, self, other, self, Promotion::kFloat);
}
at::Tensor& div_out(const at::Tensor& self, const at::Tensor& other,
                    at::Tensor& out) {
  return MapBinaryOut(kDiv, self, other, out, Promotion::kFloat);
}

at::Tensor div_mode(const at::Tensor& self, const at::Tensor& other,
                    std::optional<c10::string_view> rounding_mode) {
  const Elementwise* op = RoundedDiv(rounding_mode);
  return op == nullptr ? div(self, other) : MapBinary(*op, self, other);
}
at::Tensor& div_mode_out(const at::Tensor& self, const at::Tensor& other,
                         std::optional<c10::string_view> rounding_mode,
                         at::Tensor& out) {
  const Elementwise* op = RoundedDiv(rounding_mode);
  return op == nullptr ? div_out(self, other, out)
                       : MapBinaryOut(*op, self, other, out);
}
at::Tensor& div_mode_(at::Tensor& self, const at::Tensor& other,
                      std::optional<c10::string_view> rounding_mode) {
  return div_mode_out(self, other, rounding_mode, self);
}

at::Tensor floor_divide(const at::Tensor& self, const at::Tensor& other) {
  return MapBinary(kDivFloor, self, other);
}
at::Tensor& floor_divide_(at::Tensor& self, const at::Tensor& other) {
  return MapBinaryOut(kDivFloor, self, other, self);
}
at::Tensor& floor_divide_out(const at::Tensor& self, const at::Tensor& other,
                             at::Tensor& out) {
  return MapBinaryOut(kDivFloor, self, other, out);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
