#include "flaggems/kernels/cuda/op_nll_loss.h"

#include <ATen/cuda/EmptyTensor.h>
#include <ATen/ops/nll_loss_backward_meta.h>
#include <ATen/ops/nll_loss_forward_meta.h>

#include <cstdint>
#include <limits>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_nll_loss_launch.h"
#include "flaggems/kernels/cuda/structured.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// The arguments of a launch, contiguous; keeps what it had to copy.
struct Inputs {
  at::Tensor self;
  at::Tensor target;
  at::Tensor weight;
  NllLoss loss;
};

at::Tensor ValueOf(const std::optional<at::Tensor>& t) {
  return t.has_value() ? *t : at::Tensor();
}

// self is (classes), (batch, classes) or (batch, classes, height, width).
Inputs InputsOf(const at::Tensor& self, const at::Tensor& target,
                const at::Tensor& weight, int64_t reduction,
                int64_t ignore_index, const char* op) {
  Inputs inputs;
  inputs.loss.element = ElementOf(self.scalar_type(), op);
  if (self.dim() <= 2 && target.scalar_type() != at::kLong &&
      target.scalar_type() != at::kByte) {
    ThrowNotImplemented(target.scalar_type(), op);
  }
  TORCH_CHECK(self.dim() <= 2 || target.scalar_type() == at::kLong, op,
              ": expected scalar type Long but found ", target.scalar_type());
  TORCH_CHECK(!weight.defined() || weight.scalar_type() == self.scalar_type(),
              op, ": expected weight of scalar type ", self.scalar_type(),
              " but found ",
              weight.defined() ? weight.scalar_type() : self.scalar_type());
  switch (inputs.loss.element) {
    case Element::kFloat32:
    case Element::kFloat16:
    case Element::kBFloat16:
    case Element::kFloat64:
      break;
    default:
      ThrowNotImplemented(self.scalar_type(), op);
  }
  inputs.self = self.contiguous();
  inputs.target = target.to(at::kLong).contiguous();
  NllLoss& loss = inputs.loss;
  loss.self = inputs.self.const_data_ptr();
  loss.target = inputs.target.const_data_ptr<int64_t>();
  loss.weight = nullptr;
  if (weight.defined()) {
    inputs.weight = weight.contiguous();
    loss.weight = inputs.weight.const_data_ptr();
  }
  loss.batch = self.dim() == 1 ? 1 : self.size(0);
  loss.classes = self.dim() == 1 ? self.size(0) : self.size(1);
  loss.positions = self.dim() == 4 ? self.size(2) * self.size(3) : 1;
  loss.ignore_index = ignore_index;
  // As in aten: none (0) and mean (1), anything else sums.
  loss.reduction = reduction == 0   ? LossReduction::kNone
                   : reduction == 1 ? LossReduction::kMean
                                    : LossReduction::kSum;
  return inputs;
}

void Forward(const at::Tensor& self, const at::Tensor& target,
             const at::Tensor& weight, int64_t reduction, int64_t ignore_index,
             const at::Tensor& output, const at::Tensor& total_weight,
             const char* op) {
  Inputs inputs = InputsOf(self, target, weight, reduction, ignore_index, op);
  const DeviceStream on(self);
  if (target.numel() == 0) {
    if (reduction == 1) {
      output.fill_(std::numeric_limits<double>::quiet_NaN());
    } else {
      output.zero_();
    }
    total_weight.zero_();
    return;
  }
  // A sample alone gives one number, whatever the reduction.
  const bool one_sample = self.dim() == 1;
  if (one_sample && inputs.loss.reduction == LossReduction::kNone) {
    inputs.loss.reduction = LossReduction::kSum;
  }
  const Scratch scratch(NllLossScratch(inputs.loss));
  CheckLaunch(LaunchNllLoss(inputs.loss, one_sample, output.mutable_data_ptr(),
                            total_weight.mutable_data_ptr(), scratch.data(),
                            on.stream()),
              self.scalar_type(), op);
}

void Backward(const at::Tensor& grad_output, const at::Tensor& self,
              const at::Tensor& target, const at::Tensor& weight,
              int64_t reduction, int64_t ignore_index,
              const at::Tensor& total_weight, const at::Tensor& grad_self,
              const char* op) {
  const Inputs inputs =
      InputsOf(self, target, weight, reduction, ignore_index, op);
  TORCH_CHECK(grad_output.scalar_type() == self.scalar_type(), op,
              ": expected grad_output of scalar type ", self.scalar_type(),
              " but found ", grad_output.scalar_type());
  TORCH_CHECK(
      reduction != 1 || total_weight.scalar_type() == self.scalar_type(), op,
      ": expected total_weight of scalar type ", self.scalar_type(),
      " but found ", total_weight.scalar_type());
  if (grad_self.numel() == 0) return;
  at::Tensor grad = grad_output;
  int64_t grad_stride = 0;
  if (reduction == 0 && self.dim() == 2) {
    grad_stride = grad.stride(0);
  } else if (reduction == 0 && self.dim() == 4) {
    grad = grad.contiguous();
    grad_stride = 1;
  }
  const DeviceStream on(self);
  CheckLaunch(LaunchNllLossBackward(inputs.loss, grad.const_data_ptr(),
                                    grad_stride, total_weight.const_data_ptr(),
                                    grad_self.mutable_data_ptr(), on.stream()),
              self.scalar_type(), op);
}

// native aten's checks of the 2d operators, which have no meta function.
void Check2d(const at::Tensor& self, const at::Tensor& target,
             const at::Tensor& weight) {
  TORCH_CHECK(target.dim() == 3,
              "only batches of spatial targets supported (3D tensors)"
              " but got targets of size: : ",
              target.sizes());
  TORCH_CHECK(self.dim() == 4,
              "only batches of spatial inputs supported (4D tensors), "
              "but got input of size: ",
              self.sizes());
  TORCH_CHECK(!weight.defined() || weight.numel() == self.size(1),
              "weight tensor should be defined either for all or no classes");
  TORCH_CHECK(self.size(0) == target.size(0) &&
                  self.size(2) == target.size(1) &&
                  self.size(3) == target.size(2),
              "input and target batch or spatial sizes don't match: target ",
              target.sizes(), ", input ", self.sizes());
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> nll_loss_forward(
    const at::Tensor& self, const at::Tensor& target,
    const std::optional<at::Tensor>& weight, int64_t reduction,
    int64_t ignore_index) {
  const at::Tensor weights = ValueOf(weight);
  CheckSameDevice("nll_loss_forward",
                  {{self, "self"}, {target, "target"}, {weights, "weight"}});
  NewOutputs<at::meta::structured_nll_loss_forward, 2> op;
  op.meta(self, target, weights, reduction, ignore_index);
  Forward(self, target, weights, reduction, ignore_index, op.output(0),
          op.output(1), "nll_loss_forward_cuda");
  return {op.output(0), op.output(1)};
}

at::Tensor nll_loss_backward(const at::Tensor& grad_output,
                             const at::Tensor& self, const at::Tensor& target,
                             const std::optional<at::Tensor>& weight,
                             int64_t reduction, int64_t ignore_index,
                             const at::Tensor& total_weight) {
  const at::Tensor weights = ValueOf(weight);
  CheckSameDevice("nll_loss_backward", {{grad_output, "grad_output"},
                                        {self, "self"},
                                        {target, "target"},
                                        {weights, "weight"},
                                        {total_weight, "total_weight"}});
  NewOutputs<at::meta::structured_nll_loss_backward> op;
  op.meta(grad_output, self, target, weights, reduction, ignore_index,
          total_weight);
  Backward(grad_output, self, target, weights, reduction, ignore_index,
           total_weight, op.output(), "nll_loss_backward_cuda");
  return op.output();
}

std::tuple<at::Tensor, at::Tensor> nll_loss2d_forward(
    const at::Tensor& self, const at::Tensor& target,
    const std::optional<at::Tensor>& weight, int64_t reduction,
    int64_t ignore_index) {
  const at::Tensor weights = ValueOf(weight);
  CheckSameDevice("nll_loss2d_forward",
                  {{self, "self"}, {target, "target"}, {weights, "weight"}});
  Check2d(self, target, weights);
  const at::IntArrayRef sizes =
      reduction == 0 ? target.sizes() : at::IntArrayRef();
  const at::Tensor output(at::detail::empty_cuda(sizes, self.options()));
  const at::Tensor total_weight(at::detail::empty_cuda({}, self.options()));
  Forward(self, target, weights, reduction, ignore_index, output, total_weight,
          "nll_loss2d_forward_cuda");
  return {output, total_weight};
}

at::Tensor nll_loss2d_backward(const at::Tensor& grad_output,
                               const at::Tensor& self, const at::Tensor& target,
                               const std::optional<at::Tensor>& weight,
                               int64_t reduction, int64_t ignore_index,
                               const at::Tensor& total_weight) {
  const at::Tensor weights = ValueOf(weight);
  CheckSameDevice("nll_loss2d_backward", {{grad_output, "grad_output"},
                                          {self, "self"},
                                          {target, "target"},
                                          {weights, "weight"},
                                          {total_weight, "total_weight"}});
  Check2d(self, target, weights);
  TORCH_CHECK(self.is_contiguous(), "grad_input must be contiguous");
  TORCH_CHECK(total_weight.numel() == 1,
              "expected total_weight to be a single element tensor, got: ",
              total_weight.sizes(), " (", total_weight.numel(), " elements)");
  if (reduction == 0) {
    TORCH_CHECK(grad_output.dim() == 3,
                "grad_output must have same dimension as target (3) but got "
                "dimension: ",
                grad_output.sizes());
    TORCH_CHECK(grad_output.sizes() == target.sizes(),
                "grad_output sizes don't match target sizes: target ",
                target.sizes(), ", grad_output ", grad_output.sizes());
  } else {
    TORCH_CHECK(grad_output.dim() <= 1 && grad_output.numel() == 1,
                "Expected a single element grad_output tensor, but got: ",
                grad_output.sizes());
  }
  // The strides of self, too, where sizes of 0 or 1 leave them open.
  const at::Tensor grad_self(at::detail::empty_strided_cuda(
      self.sizes(), self.strides(), self.options()));
  Backward(grad_output, self, target, weights, reduction, ignore_index,
           total_weight, grad_self, "nll_loss2d_backward_cuda");
  return grad_self;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
