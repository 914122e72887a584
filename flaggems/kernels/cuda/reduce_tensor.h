// Between at::Tensor and reduce_plan.h.

#ifndef FLAGGEMS_KERNELS_CUDA_REDUCE_TENSOR_H_
#define FLAGGEMS_KERNELS_CUDA_REDUCE_TENSOR_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/TensorBase.h>
#include <c10/util/OptionalArrayRef.h>

#include <bitset>
#include <optional>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

using DimSet = std::bitset<64>;

// dims: negative ones count from the end; none means all, and so does an empty
// list unless `empty_is_none`. Throws as aten for one out of range or repeated.
DimSet ReducedDims(const at::Tensor& self, at::OptionalIntArrayRef dims,
                   bool empty_is_none = false);

at::DimVector ReducedSizes(const at::Tensor& self, const DimSet& reduced,
                           bool keepdim);

// A new contiguous result.
at::Tensor EmptyReduced(const at::Tensor& self, const DimSet& reduced,
                        bool keepdim, at::ScalarType dtype);

// Checks and resizes a caller's result as structured kernels of aten do.
void PrepareReduced(const at::Tensor& self, const DimSet& reduced, bool keepdim,
                    at::ScalarType dtype, const at::Tensor& out);

// Throws as aten where a maximum is asked of no elements.
void CheckNotEmpty(const at::Tensor& self, at::OptionalIntArrayRef dims,
                   const char* name);

// A planned reduction of `self` to the layout of `out`, which has a size of 1,
// or no dimension, where `self` is reduced. Holds the device, the scratch
// memory and, for layouts beyond kMaxReduceRank, a copy.
class Reduction {
 public:
  // `wide`: as of PlanReduce.
  Reduction(const at::Tensor& self, const DimSet& reduced, bool keepdim,
            const at::Tensor& out, bool wide);

  // Nothing to add up (results are the operator's identity), or no results.
  bool empty() const { return empty_; }
  const ReducePlan& plan() const { return plan_; }
  const void* in() const { return input_.const_data_ptr(); }
  void* scratch() const {
    return scratch_.has_value() ? scratch_->data() : nullptr;
  }
  cudaStream_t stream() const { return device_.stream(); }

 private:
  DeviceStream device_;
  at::Tensor input_;
  ReducePlan plan_;
  std::optional<Scratch> scratch_;
  bool empty_ = false;
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_REDUCE_TENSOR_H_
