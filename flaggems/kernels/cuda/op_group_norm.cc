#include "flaggems/kernels/cuda/op_group_norm.h"

#include <c10/util/Exception.h>

#include <limits>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/norm_checks.h"
#include "flaggems/kernels/cuda/op_group_norm_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr char kForward[] = "group_norm_cuda";

void CheckVector(const at::Tensor& tensor, const char* name, int64_t channels,
                 const at::Tensor& input) {
  TORCH_CHECK(
      !tensor.defined() || (tensor.dim() == 1 && tensor.numel() == channels),
      "Expected ", name,
      " to be a vector of size equal to the number "
      "of channels in input, but got ",
      name, " of shape ", tensor.sizes(), " and input of shape ",
      input.sizes());
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> group_norm(
    const at::Tensor& input, const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, int64_t N, int64_t C, int64_t HxW,
    int64_t group, double eps) {
  const at::Tensor& gamma = OrNone(weight);
  const at::Tensor& beta = OrNone(bias);
  CheckSameDevice(kForward,
                  {{input, "input"}, {gamma, "weight"}, {beta, "bias"}});
  TORCH_CHECK(group > 0, "Expected num groups to be greater than 0, got ",
              group);
  TORCH_CHECK(C % group == 0,
              "Expected number of channels in input to be divisible by "
              "num_groups, but got input of shape ",
              input.sizes(), " and num_groups=", group);
  CheckVector(gamma, "weight", C, input);
  CheckVector(beta, "bias", C, input);
  TORCH_CHECK(input.numel() == N * C * HxW, kForward,
              ": expected input of N * C * HxW elements, but got shape ",
              input.sizes());
  TORCH_CHECK(input.is_contiguous(), kForward, ": expected a contiguous input");
  const at::ScalarType dtype = input.scalar_type();
  CheckDtype(gamma, dtype);
  CheckDtype(beta, dtype);
  const Element element = NormElement(dtype, kForward);
  const DeviceStream on(input);
  const at::Tensor out = EmptyLike(input);
  at::Tensor mean = Empty({N, group}, dtype, input);
  at::Tensor rstd = Empty({N, group}, dtype, input);
  if (input.numel() == 0) {
    if (mean.numel() > 0) {
      mean.zero_();
      rstd.fill_(std::numeric_limits<double>::quiet_NaN());
    }
    return {out, mean, rstd};
  }
  const at::Tensor g = Contiguous(gamma);
  const at::Tensor b = Contiguous(beta);
  const NormShape shape = ShapeOf(N * group, C / group * HxW);
  const NormScratch scratch(shape);
  CheckLaunch(
      LaunchGroupNorm(shape, group, C / group, HxW, element, DataOf(input),
                      DataOf(g), DataOf(b), eps, out.mutable_data_ptr(),
                      mean.mutable_data_ptr(), rstd.mutable_data_ptr(),
                      scratch.data(), on.stream()),
      dtype, kForward);
  return {out, mean, rstd};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
