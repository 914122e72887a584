#include "flaggems/kernels/cuda/reduce_tensor.h"

#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>
#include <c10/util/Exception.h>

#include "flaggems/kernels/cuda/empty.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// Dimensions of self as the plan wants them.
void Describe(const at::Tensor& self, const DimSet& reduced, bool keepdim,
              const at::Tensor& out, c10::SmallVector<ReduceDim, 8>* dims) {
  int64_t kept = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t out_dim = keepdim ? d : kept;
    dims->push_back({self.size(d), self.stride(d),
                     reduced[d] ? 0 : out.stride(out_dim), reduced[d]});
    kept += !reduced[d];
  }
}

}  // namespace

DimSet ReducedDims(const at::Tensor& self, at::OptionalIntArrayRef dims,
                   bool empty_is_none) {
  const at::IntArrayRef list = dims.value_or(at::IntArrayRef());
  DimSet reduced = at::dim_list_to_bitset(list, self.dim());
  if (!dims.has_value() || (list.empty() && !empty_is_none)) reduced.set();
  return reduced;
}

at::DimVector ReducedSizes(const at::Tensor& self, const DimSet& reduced,
                           bool keepdim) {
  at::DimVector sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!reduced[d]) {
      sizes.push_back(self.size(d));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

at::Tensor EmptyReduced(const at::Tensor& self, const DimSet& reduced,
                        bool keepdim, at::ScalarType dtype) {
  return Empty(ReducedSizes(self, reduced, keepdim), dtype, self);
}

void PrepareReduced(const at::Tensor& self, const DimSet& reduced, bool keepdim,
                    at::ScalarType dtype, const at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == dtype, "Expected out tensor to have dtype ",
              dtype, ", but got ", out.scalar_type(), " instead");
  TORCH_CHECK(out.device() == self.device(),
              "Expected out tensor to have device ", self.device(),
              ", but got ", out.device(), " instead");
  at::native::resize_output(out, ReducedSizes(self, reduced, keepdim));
}

void CheckNotEmpty(const at::Tensor& self, at::OptionalIntArrayRef dims,
                   const char* name) {
  if (self.numel() != 0) return;
  TORCH_CHECK(dims.has_value() && !dims->empty(), name,
              ": Expected reduction dim to be specified for input.numel() == "
              "0. Specify the reduction dim with the 'dim' argument.");
  for (const int64_t d : *dims) {
    TORCH_CHECK_INDEX(
        self.dim() == 0 || self.size(at::maybe_wrap_dim(d, self.dim())) != 0,
        name, ": Expected reduction dim ", d, " to have non-zero size.");
  }
}

Reduction::Reduction(const at::Tensor& self, const DimSet& reduced,
                     bool keepdim, const at::Tensor& out, bool wide)
    : device_(self), input_(self) {
  if (self.numel() == 0) {
    empty_ = true;
    return;
  }
  const DeviceLimits& limits = CurrentDeviceLimits();
  const ReduceDevice device = {limits.multiprocessors, limits.capability};
  c10::SmallVector<ReduceDim, 8> dims;
  Describe(self, reduced, keepdim, out, &dims);
  const int bytes = static_cast<int>(self.element_size());
  if (!PlanReduce(dims.data(), static_cast<int>(dims.size()), in(), bytes, wide,
                  device, &plan_)) {
    // Kept dimensions first: one reduced dimension is left, and the kept ones
    // merge as far as `out` allows.
    at::DimVector order;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (!reduced[d]) order.push_back(d);
    }
    const size_t kept = order.size();
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (reduced[d]) order.push_back(d);
    }
    input_ = self.permute(order).contiguous();
    dims.clear();
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t d = order[i];
      dims.push_back(
          {self.size(d), input_.stride(static_cast<int64_t>(i)),
           i < kept ? out.stride(keepdim ? d : static_cast<int64_t>(i)) : 0,
           i >= kept});
    }
    TORCH_CHECK(PlanReduce(dims.data(), static_cast<int>(dims.size()), in(),
                           bytes, wide, device, &plan_),
                "a result of ", out.sizes(), " with strides ", out.strides(),
                " has too many dimensions");
  }
  if (plan_.splits > 1) scratch_.emplace(plan_.ScratchBytes());
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
