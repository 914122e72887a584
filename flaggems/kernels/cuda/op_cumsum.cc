#include "flaggems/kernels/cuda/op_cumsum.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_cumsum_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor cumsum(const at::Tensor& self, int64_t dim,
                  std::optional<at::ScalarType> dtype) {
  constexpr char kOp[] = "cumsum_cuda";
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const at::ScalarType type = dtype.value_or(
      at::isIntegralType(self.scalar_type(), /*includeBool=*/true)
          ? at::kLong
          : self.scalar_type());
  if (at::isComplexType(type)) {
    // Two columns of real numbers; a scalar stays itself.
    const at::Tensor in = self.to(type).contiguous();
    if (self.dim() == 0) return in.clone();
    return at::view_as_complex(
        cumsum(at::view_as_real(in), axis, std::nullopt));
  }
  const Element element = ElementOf(type, kOp);
  if (type == at::kBool) ThrowNotImplemented(type, kOp);
  const at::Tensor in = self.to(type).contiguous();
  const at::Tensor out = Empty(self.sizes(), type, self);
  if (in.numel() == 0) return out;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= in.size(d);
  for (int64_t d = axis + 1; d < in.dim(); ++d) inner *= in.size(d);
  const int64_t n = in.dim() == 0 ? 1 : in.size(axis);
  const DeviceStream on(self);
  const ScanPlan plan =
      PlanScan(outer, n, inner, CurrentDeviceLimits().multiprocessors);
  std::optional<Scratch> scratch;
  if (plan.parts > 1) scratch.emplace(plan.ScratchBytes());
  CheckLaunch(LaunchCumsum(
                  plan, element, in.const_data_ptr(), out.mutable_data_ptr(),
                  scratch.has_value() ? scratch->data() : nullptr, on.stream()),
              type, kOp);
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
