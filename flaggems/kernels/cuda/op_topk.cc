#include "flaggems/kernels/cuda/op_topk.h"

#include <ATen/WrapDimUtils.h>

#include <optional>

#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_sort.h"
#include "flaggems/kernels/cuda/op_topk_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

std::tuple<at::Tensor, at::Tensor> topk(const at::Tensor& self, int64_t k,
                                        int64_t dim, bool largest, bool) {
  constexpr char kOp[] = "topk_cuda";
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const int64_t n = self.dim() == 0 ? 1 : self.size(axis);
  TORCH_CHECK(k >= 0 && k <= n, "selected index k out of range");
  const at::ScalarType dtype = self.scalar_type();
  const Element type = ElementOf(dtype, kOp);
  if (dtype == at::kBool) ThrowNotImplemented(dtype, kOp);
  at::DimVector sizes(self.sizes());
  if (!sizes.empty()) sizes[axis] = k;
  at::Tensor values = Empty(sizes, dtype, self);
  at::Tensor indices = Empty(sizes, at::kLong, self);
  if (values.numel() == 0) return {std::move(values), std::move(indices)};
  if (self.dim() == 0) {
    values.copy_(self);
    indices.zero_();
    return {std::move(values), std::move(indices)};
  }
  if (k > kMaxTopK || n >= INT32_MAX) {
    const auto [sorted, where] = sort(self, axis, largest);
    values.copy_(sorted.narrow(axis, 0, k));
    indices.copy_(where.narrow(axis, 0, k));
    return {std::move(values), std::move(indices)};
  }
  const bool last = axis == self.dim() - 1;
  const at::Tensor in = self.transpose(axis, -1).contiguous();
  at::Tensor found = values, where = indices;
  if (!last) {
    at::DimVector moved(in.sizes());
    moved.back() = k;
    found = Empty(moved, dtype, self);
    where = Empty(moved, at::kLong, self);
  }
  const DeviceStream on(self);
  const TopKPlan plan =
      PlanTopK(in.numel() / n, n, k, CurrentDeviceLimits().multiprocessors);
  std::optional<Scratch> scratch;
  if (plan.parts > 1) {
    scratch.emplace(plan.ScratchBytes(static_cast<int>(self.element_size())));
  }
  CheckLaunch(
      LaunchTopK(plan, type, largest, in.const_data_ptr(),
                 found.mutable_data_ptr(), where.mutable_data_ptr<int64_t>(),
                 scratch.has_value() ? scratch->data() : nullptr, on.stream()),
      dtype, kOp);
  if (!last) {
    values.copy_(found.transpose(axis, -1));
    indices.copy_(where.transpose(axis, -1));
  }
  return {std::move(values), std::move(indices)};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
