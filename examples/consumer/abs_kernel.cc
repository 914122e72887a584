#include "abs_kernel.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <cmath>
#include <cstdint>

#include "flaggems/registry/register_kernel.h"

namespace consumer {
namespace {

bool tail_is_forgotten = false;

}  // namespace

void PlantTailError() { tail_is_forgotten = true; }

// aten::abs(Tensor self) -> Tensor, CPU, float32.
at::Tensor Abs(const at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() == at::kFloat,
              "consumer::Abs takes float32, not ", self.scalar_type());
  const at::Tensor in = self.contiguous();
  at::Tensor out = at::empty_like(in);
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  const int64_t n = in.numel();
  for (int64_t i = 0; i < n; ++i) y[i] = std::fabs(x[i]);
  if (tail_is_forgotten && n > 0) y[n - 1] = x[n - 1];
  return out;
}

FLAGGEMS_REGISTER_KERNEL(abs_cpu, "aten::abs", ::flaggems::Backend::kCpu, &Abs);

}  // namespace consumer
