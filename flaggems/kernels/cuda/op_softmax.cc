#include "flaggems/kernels/cuda/op_softmax.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <optional>

#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_softmax_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

using Forward = cudaError_t (*)(const SoftmaxShape&, Element, Element,
                                const void*, void*, void*, cudaStream_t);
using Backward = cudaError_t (*)(const SoftmaxShape&, Element, Element,
                                 const void*, const void*, void*, cudaStream_t);

// The device is the current one.
SoftmaxShape ShapeOf(const at::Tensor& t, int64_t dim) {
  SoftmaxShape shape = {1, 1, 1, 0, 0};
  if (t.dim() > 0) {
    const at::IntArrayRef sizes = t.sizes();
    for (int64_t d = 0; d < dim; ++d) shape.outer *= sizes[d];
    shape.n = sizes[dim];
    for (int64_t d = dim + 1; d < t.dim(); ++d) shape.inner *= sizes[d];
  }
  const DeviceLimits& limits = CurrentDeviceLimits();
  shape.capability = limits.capability;
  shape.multiprocessors = limits.multiprocessors;
  return shape;
}

Element FloatElementOf(at::ScalarType dtype, const char* op) {
  if (!at::isFloatingType(dtype)) ThrowNotImplemented(dtype, op);
  return ElementOf(dtype, op);
}

// Makes an out argument fit, by the rules of native structured kernels.
void PrepareOut(const at::Tensor& out, const at::Tensor& like,
                at::ScalarType dtype) {
  TORCH_CHECK(out.scalar_type() == dtype, "Expected out tensor to have dtype ",
              c10::toString(dtype), ", but got ",
              c10::toString(out.scalar_type()), " instead");
  TORCH_CHECK(out.device() == like.device(),
              "Expected out tensor to have device ", like.device(),
              ", but got ", out.device(), " instead");
  at::native::resize_output(out, like.sizes());
}

// What the arguments of a call amount to.
struct Problem {
  const char* op;
  int64_t dim;
  at::ScalarType out_dtype;
};

Problem CheckForward(const char* op, const at::Tensor& self, int64_t dim,
                     bool half_to_float) {
  TORCH_CHECK(!half_to_float || self.scalar_type() == at::kHalf,
              "conversion is supported for Half type only");
  return {op, at::maybe_wrap_dim(dim, self.dim()),
          half_to_float ? at::kFloat : self.scalar_type()};
}

void RunForward(const Problem& problem, Forward launch, const at::Tensor& self,
                const at::Tensor& out) {
  if (self.numel() == 0) return;
  const Element in_type = FloatElementOf(self.scalar_type(), problem.op);
  const Element out_type = FloatElementOf(out.scalar_type(), problem.op);
  const DeviceStream on(self);
  const at::Tensor in = self.contiguous();
  const SoftmaxShape shape = ShapeOf(in, problem.dim);
  std::optional<Scratch> scratch;
  if (const size_t bytes = SoftmaxScratchBytes(shape); bytes > 0) {
    scratch.emplace(bytes);
  }
  CheckLaunch(
      launch(shape, in_type, out_type, in.const_data_ptr(),
             out.mutable_data_ptr(),
             scratch.has_value() ? scratch->data() : nullptr, on.stream()),
      self.scalar_type(), problem.op);
}

at::Tensor Run(const Problem& problem, Forward launch, const at::Tensor& self) {
  FloatElementOf(self.scalar_type(), problem.op);
  const at::Tensor out = Empty(self.sizes(), problem.out_dtype, self);
  RunForward(problem, launch, self, out);
  return out;
}

at::Tensor& RunOut(const Problem& problem, Forward launch,
                   const at::Tensor& self, at::Tensor& out) {
  FloatElementOf(self.scalar_type(), problem.op);
  PrepareOut(out, self, problem.out_dtype);
  if (out.is_contiguous()) {
    RunForward(problem, launch, self, out);
  } else {
    out.copy_(Run(problem, launch, self));
  }
  return out;
}

Problem CheckBackward(const char* op, const at::Tensor& grad,
                      const at::Tensor& output, int64_t dim,
                      at::ScalarType input_dtype) {
  CheckSameDevice(op, {{grad, "grad_output"}, {output, "output"}});
  TORCH_CHECK(grad.sizes() == output.sizes(),
              "Expected tensor for argument #1 'grad' to have same size as "
              "tensor for argument #2 'output'; but ",
              grad.sizes(), " does not equal ", output.sizes(),
              " (while checking arguments for ", op, ")");
  const bool converts = grad.scalar_type() != input_dtype;
  TORCH_CHECK(!converts || (grad.scalar_type() == at::kFloat &&
                            input_dtype == at::kHalf),
              "expected input and grad types to match, or input to be at::Half "
              "and grad to be at::Float");
  TORCH_CHECK(grad.scalar_type() == output.scalar_type(),
              "expected scalar type ", grad.scalar_type(), " but found ",
              output.scalar_type());
  FloatElementOf(grad.scalar_type(), op);
  return {op, at::maybe_wrap_dim(dim, grad.dim()), input_dtype};
}

void RunBackward(const Problem& problem, Backward launch,
                 const at::Tensor& grad, const at::Tensor& output,
                 const at::Tensor& grad_input) {
  if (grad.numel() == 0) return;
  const Element in_type = FloatElementOf(grad.scalar_type(), problem.op);
  const Element out_type = FloatElementOf(problem.out_dtype, problem.op);
  const DeviceStream on(grad);
  const at::Tensor g = grad.contiguous();
  const at::Tensor y = output.contiguous();
  CheckLaunch(
      launch(ShapeOf(g, problem.dim), in_type, out_type, g.const_data_ptr(),
             y.const_data_ptr(), grad_input.mutable_data_ptr(), on.stream()),
      grad.scalar_type(), problem.op);
}

at::Tensor Run(const Problem& problem, Backward launch, const at::Tensor& grad,
               const at::Tensor& output) {
  const at::Tensor grad_input = Empty(grad.sizes(), problem.out_dtype, grad);
  RunBackward(problem, launch, grad, output, grad_input);
  return grad_input;
}

at::Tensor& RunOut(const Problem& problem, Backward launch,
                   const at::Tensor& grad, const at::Tensor& output,
                   at::Tensor& grad_input) {
  PrepareOut(grad_input, grad, problem.out_dtype);
  if (grad_input.is_contiguous()) {
    RunBackward(problem, launch, grad, output, grad_input);
  } else {
    grad_input.copy_(Run(problem, launch, grad, output));
  }
  return grad_input;
}

}  // namespace

at::Tensor softmax(const at::Tensor& self, int64_t dim, bool half_to_float) {
  return Run(CheckForward("softmax_cuda", self, dim, half_to_float),
             &LaunchSoftmax, self);
}

at::Tensor& softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float,
                        at::Tensor& out) {
  return RunOut(CheckForward("softmax_cuda", self, dim, half_to_float),
                &LaunchSoftmax, self, out);
}

at::Tensor log_softmax(const at::Tensor& self, int64_t dim,
                       bool half_to_float) {
  return Run(CheckForward("log_softmax_cuda", self, dim, half_to_float),
             &LaunchLogSoftmax, self);
}

at::Tensor& log_softmax_out(const at::Tensor& self, int64_t dim,
                            bool half_to_float, at::Tensor& out) {
  return RunOut(CheckForward("log_softmax_cuda", self, dim, half_to_float),
                &LaunchLogSoftmax, self, out);
}

at::Tensor softmax_backward_data(const at::Tensor& grad_output,
                                 const at::Tensor& output, int64_t dim,
                                 at::ScalarType input_dtype) {
  return Run(CheckBackward("softmax_backward_cuda", grad_output, output, dim,
                           input_dtype),
             &LaunchSoftmaxBackward, grad_output, output);
}

at::Tensor& softmax_backward_data_out(const at::Tensor& grad_output,
                                      const at::Tensor& output, int64_t dim,
                                      at::ScalarType input_dtype,
                                      at::Tensor& grad_input) {
  return RunOut(CheckBackward("softmax_backward_cuda", grad_output, output, dim,
                              input_dtype),
                &LaunchSoftmaxBackward, grad_output, output, grad_input);
}

at::Tensor log_softmax_backward_data(const at::Tensor& grad_output,
                                     const at::Tensor& output, int64_t dim,
                                     at::ScalarType input_dtype) {
  return Run(CheckBackward("log_softmax_backward_cuda", grad_output, output,
                           dim, input_dtype),
             &LaunchLogSoftmaxBackward, grad_output, output);
}

at::Tensor& log_softmax_backward_data_out(const at::Tensor& grad_output,
                                          const at::Tensor& output, int64_t dim,
                                          at::ScalarType input_dtype,
                                          at::Tensor& out) {
  return RunOut(CheckBackward("log_softmax_backward_cuda", grad_output, output,
                              dim, input_dtype),
                &LaunchLogSoftmaxBackward, grad_output, output, out);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
