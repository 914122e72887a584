#include "flaggems/kernels/cpu/op_argmax.h"

#include <ATen/Dispatch.h>
#include <ATen/WrapDimUtils.h>

#include <cstdint>

#include "flaggems/kernels/cpu/reduce.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor argmax(const at::Tensor& self, std::optional<int64_t> dim,
                  bool keepdim) {
  TORCH_CHECK(
      !at::isComplexType(self.scalar_type()) && self.scalar_type() != at::kBool,
      "argmax: ", self.scalar_type(), " tensors are not supported");
  at::OptionalIntArrayRef dims;
  int64_t axis = 0;
  if (dim.has_value()) {
    axis = at::maybe_wrap_dim(*dim, self.dim());
    TORCH_CHECK_INDEX(self.dim() == 0 || self.size(axis) != 0,
                      "argmax: dimension ", axis, " of ", self.sizes(),
                      " has size zero");
    dims = at::IntArrayRef(axis);
  } else {
    TORCH_CHECK_INDEX(self.numel() != 0,
                      "argmax: a tensor without elements has a maximum only "
                      "along a dimension of non-zero size; name it in dim");
  }
  // Over all dimensions positions count in logical order.
  ReduceView view = MakeReduceView(dim.has_value() ? self : self.contiguous(),
                                   dims, keepdim, at::kLong);
  // Nothing to compare, in a dtype without an order either.
  if (view.output.numel() == 0 ||
      (dim.has_value() && self.dim() > 0 && view.n == 1)) {
    return view.output.zero_();
  }
  AT_DISPATCH_ALL_TYPES_AND2(
      at::kBFloat16, at::kHalf, self.scalar_type(), "argmax_cpu", [&] {
        Reduce(MaximumIndex<scalar_t>(), view.input.const_data_ptr<scalar_t>(),
               view.outer, view.n, view.inner,
               view.result.mutable_data_ptr<int64_t>());
      });
  return view.Finish();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
