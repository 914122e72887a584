#include "flaggems/kernels/cuda/op_var.h"

#include <limits>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_var_launch.h"
#include "flaggems/kernels/cuda/reduce_tensor.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// The variance or its root, and the mean into *mean if it is asked for.
at::Tensor Variance(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    const std::optional<at::Scalar>& correction, bool keepdim,
                    bool root, const char* name, at::Tensor* mean) {
  const at::ScalarType dtype = self.scalar_type();
  TORCH_CHECK(at::isFloatingType(dtype) || at::isComplexType(dtype), name,
              " only support floating point and complex dtypes");
  const Element type = ElementOf(dtype, "std_cuda");
  const double subtract = correction.has_value() ? correction->toDouble() : 1.0;
  const DimSet reduced = ReducedDims(self, dim);
  at::Tensor out = EmptyReduced(self, reduced, keepdim, dtype);
  if (mean != nullptr) *mean = EmptyReduced(self, reduced, keepdim, dtype);
  if (out.numel() == 0) return out;
  if (static_cast<double>(self.numel()) / static_cast<double>(out.numel()) <=
      subtract) {
    TORCH_WARN(name,
               "(): degrees of freedom is <= 0. Correction should be strictly "
               "less than the reduction factor (input numel divided by output "
               "numel).");
  }
  const Reduction reduction(self, reduced, keepdim, out, IsWideElement(type));
  if (reduction.empty()) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    out.fill_(kNan);
    if (mean != nullptr) mean->fill_(kNan);
    return out;
  }
  CheckLaunch(LaunchVar(reduction.plan(), type, subtract, root, reduction.in(),
                        out.mutable_data_ptr(),
                        mean != nullptr ? mean->mutable_data_ptr() : nullptr,
                        reduction.scratch(), reduction.stream()),
              dtype, "std_cuda");
  return out;
}

}  // namespace

at::Tensor var(const at::Tensor& self, at::OptionalIntArrayRef dim,
               const std::optional<at::Scalar>& correction, bool keepdim) {
  return Variance(self, dim, correction, keepdim, false, "var", nullptr);
}

at::Tensor std(const at::Tensor& self, at::OptionalIntArrayRef dim,
               const std::optional<at::Scalar>& correction, bool keepdim) {
  return Variance(self, dim, correction, keepdim, true, "std", nullptr);
}

std::tuple<at::Tensor, at::Tensor> var_mean(
    const at::Tensor& self, at::OptionalIntArrayRef dim,
    const std::optional<at::Scalar>& correction, bool keepdim) {
  at::Tensor mean;
  at::Tensor variance =
      Variance(self, dim, correction, keepdim, false, "var_mean", &mean);
  return {std::move(variance), std::move(mean)};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
