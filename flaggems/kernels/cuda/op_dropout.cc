#include "flaggems/kernels/cuda/op_dropout.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>
#include <mutex>

#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_dropout_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// The default generator's state, which moves on.
PhiloxState NextState(at::Device device) {
  const at::Generator& generator =
      at::cuda::detail::getDefaultCUDAGenerator(device.index());
  auto* const impl = at::check_generator<at::CUDAGeneratorImpl>(generator);
  at::PhiloxCudaState state;
  {
    const std::lock_guard<std::mutex> lock(impl->mutex_);
    state = impl->philox_cuda_state(kDropoutOffset);
  }
  PhiloxState result;
  if (state.captured_) {
    result.seed_ptr = state.seed_.ptr;
    result.offset_ptr = state.offset_.ptr;
    result.offset = state.offset_intragraph_;
  } else {
    result.seed = state.seed_.val;
    result.offset = state.offset_.val;
  }
  return result;
}

at::Tensor EmptyLike(const at::Tensor& t, at::ScalarType dtype) {
  if (t.is_non_overlapping_and_dense()) {
    return EmptyStrided(t.sizes(), t.strides(), dtype, t);
  }
  return at::empty_like(t, t.options().dtype(dtype));
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input,
                                                  double p,
                                                  std::optional<bool> train) {
  if (train.has_value() && !*train) {
    return {input.clone(),
            at::ones_like(input, input.options().dtype(at::kBool))};
  }
  if (input.numel() == 0) {
    return {at::empty_like(input),
            at::empty_like(input, input.options().dtype(at::kBool))};
  }
  if (p == 1) {
    return {at::zeros_like(input),
            at::zeros_like(input, input.options().dtype(at::kBool))};
  }
  constexpr const char* kOp = "fused_dropout";
  const Element element = ElementOf(input.scalar_type(), kOp);
  if (!at::isFloatingType(input.scalar_type())) {
    ThrowNotImplemented(input.scalar_type(), kOp);
  }
  const DeviceStream on(input);
  const at::Tensor mask = EmptyLike(input, at::kBool);
  const at::Tensor out = EmptyLike(input, input.scalar_type());
  const at::Tensor* in = &input;
  if (!input.is_non_overlapping_and_dense()) {
    out.copy_(input);
    in = &out;
  }
  const double keep = 1 - p;
  if (!(keep > 0)) {
    // at::dropout refuses such a p, native aten does not here: nothing is kept,
    // and the random numbers are used up.
    NextState(input.device());
    if (in == &input) out.copy_(input);
    out.mul_(0.0).mul_(1 / keep);
    return {out, mask.zero_()};
  }
  CheckLaunch(LaunchDropout(
                  element, in->const_data_ptr(), out.mutable_data_ptr(),
                  static_cast<uint8_t*>(mask.mutable_data_ptr()), input.numel(),
                  keep, NextState(input.device()), on.stream()),
              input.scalar_type(), kOp);
  return {out, mask};
}

at::Tensor native_dropout_backward(const at::Tensor& grad_output,
                                   const at::Tensor& mask, double scale) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "Mask should be Bool Scalar Type", mask.scalar_type());
  CheckSameDevice("native_dropout_backward",
                  {{grad_output, "grad_output"}, {mask, "mask"}});
  const Element element = ElementOf(grad_output.scalar_type(), "masked_scale");
  if (!at::isFloatingType(grad_output.scalar_type())) {
    ThrowNotImplemented(grad_output.scalar_type(), "masked_scale");
  }
  const at::MemoryFormat format = grad_output.suggest_memory_format();
  const at::Tensor out = at::empty_like(grad_output, format);
  if (out.numel() == 0) return out;
  const at::Tensor grad = grad_output.contiguous(format);
  const at::Tensor keeps = mask.expand(grad.sizes()).contiguous(format);
  const DeviceStream on(out);
  CheckLaunch(LaunchDropoutBackward(
                  element, grad.const_data_ptr(),
                  static_cast<const uint8_t*>(keeps.const_data_ptr()),
                  out.mutable_data_ptr(), out.numel(), scale, on.stream()),
              out.scalar_type(), "masked_scale");
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
