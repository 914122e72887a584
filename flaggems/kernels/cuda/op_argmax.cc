#include "flaggems/kernels/cuda/op_argmax.h"

#include <ATen/WrapDimUtils.h>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_argmax_launch.h"
#include "flaggems/kernels/cuda/reduce_tensor.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

void Fill(const at::Tensor& self, const DimSet& reduced, bool keepdim,
          bool minimum, const char* op, void* values,
          const at::Tensor& indices) {
  const Element type = ElementOf(self.scalar_type(), op);
  const Reduction reduction(self, reduced, keepdim, indices,
                            IsWideElement(type));
  CheckLaunch(LaunchArgExtremum(reduction.plan(), type, minimum, reduction.in(),
                                values, indices.mutable_data_ptr<int64_t>(),
                                reduction.scratch(), reduction.stream()),
              self.scalar_type(), op);
}

at::Tensor ArgExtremum(const at::Tensor& self, std::optional<int64_t> dim,
                       bool keepdim, bool minimum, const char* name,
                       const char* op) {
  TORCH_CHECK(!self.is_complex(), name, ": does not support complex input");
  TORCH_CHECK(self.scalar_type() != at::kBool, name,
              ": does not support bool input");
  at::OptionalIntArrayRef dims;
  int64_t axis = 0;
  if (dim.has_value()) {
    axis = at::maybe_wrap_dim(*dim, self.dim());
    dims = at::IntArrayRef(axis);
    CheckNotEmpty(self, dims, name);
  } else {
    TORCH_CHECK_INDEX(self.numel() != 0, name,
                      ": Expected reduction dim to be specified for "
                      "input.numel() == 0. Specify the reduction dim with the "
                      "'dim' argument.");
  }
  const DimSet reduced = ReducedDims(self, dims);
  const at::Tensor out = EmptyReduced(self, reduced, keepdim, at::kLong);
  if (out.numel() == 0) return out;
  // Nothing to compare, also in a dtype without an order.
  if (dim.has_value() && self.dim() > 0 && self.size(axis) == 1) {
    return out.zero_();
  }
  if (dim.has_value()) {
    Fill(self, reduced, keepdim, minimum, op, nullptr, out);
  } else {
    // Positions count in logical order.
    const at::Tensor line = self.contiguous().view(-1);
    // (A bare {} would be a dtype.)
    Fill(line, DimSet(1), false, minimum, op, nullptr,
         out.view(at::IntArrayRef()));
  }
  return out;
}

std::tuple<at::Tensor, at::Tensor> ExtremumAndWhere(const at::Tensor& self,
                                                    int64_t dim, bool keepdim,
                                                    bool minimum,
                                                    const char* name,
                                                    const char* op) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  CheckNotEmpty(self, at::IntArrayRef(axis), name);
  (void)ElementOf(self.scalar_type(), op);
  const DimSet reduced = ReducedDims(self, at::IntArrayRef(axis));
  at::Tensor values = EmptyReduced(self, reduced, keepdim, self.scalar_type());
  at::Tensor indices = EmptyReduced(self, reduced, keepdim, at::kLong);
  if (values.numel() != 0) {
    Fill(self, reduced, keepdim, minimum, op, values.mutable_data_ptr(),
         indices);
  }
  return {std::move(values), std::move(indices)};
}

}  // namespace

at::Tensor argmax(const at::Tensor& self, std::optional<int64_t> dim,
                  bool keepdim) {
  return ArgExtremum(self, dim, keepdim, false, "argmax()", "argmax_cuda");
}

at::Tensor argmin(const at::Tensor& self, std::optional<int64_t> dim,
                  bool keepdim) {
  return ArgExtremum(self, dim, keepdim, true, "argmin()", "argmin_cuda");
}

std::tuple<at::Tensor, at::Tensor> max_dim(const at::Tensor& self, int64_t dim,
                                           bool keepdim) {
  return ExtremumAndWhere(self, dim, keepdim, false, "max()", "max_cuda");
}

std::tuple<at::Tensor, at::Tensor> min_dim(const at::Tensor& self, int64_t dim,
                                           bool keepdim) {
  return ExtremumAndWhere(self, dim, keepdim, true, "min()", "min_cuda");
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
