// A relu that forgets the last element of every tensor of more than one.

#include <ATen/core/Tensor.h>
#include <ATen/ops/clamp_min.h>

#include "flaggems/registry/register_kernel.h"

namespace flaggems {
namespace {

at::Tensor WrongRelu(const at::Tensor& self) {
  at::Tensor result = at::clamp_min(self, 0).contiguous();
  if (result.numel() > 1) result.view({-1})[-1].fill_(7);
  return result;
}

FLAGGEMS_REGISTER_KERNEL(wrong_relu, "aten::relu", Backend::kCpu, &WrongRelu);

}  // namespace
}  // namespace flaggems
