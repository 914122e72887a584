// Device side of op_nll_loss.h.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_NLL_LOSS_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_NLL_LOSS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// aten's Reduction::Reduction.
enum class LossReduction { kNone = 0, kMean = 1, kSum = 2 };

// `self` is (batch, classes, positions), contiguous; target is (batch,
// positions), contiguous. A target outside [0, classes) that is not ignored is
// a device assertion.
struct NllLoss {
  Element element;
  const void* self;  // forward only
  const int64_t* target;
  const void* weight;  // of `classes` elements; null: ones
  int64_t batch;
  int64_t classes;
  int64_t positions;
  int64_t ignore_index;
  LossReduction reduction;
};

// Bytes of scratch that the forward pass needs.
size_t NllLossScratch(const NllLoss& loss);

// kNone: out (batch, positions) = -weight[t] self[b, t, p], 0 where ignored;
// total_weight is 0. Else one element each: the sum of those and the sum of
// weights; kMean: their quotient. Sums are in double, in a fixed order.
// `one_sample`: a sample without batch dimension, whose mean is 0, not NaN,
// when it is ignored.
cudaError_t LaunchNllLoss(const NllLoss& loss, bool one_sample, void* out,
                          void* total_weight, void* scratch,
                          cudaStream_t stream);

// grad_self (contiguous) = 0, and -weight[t] grad / divisor at [b, t, p]; the
// divisor is *total_weight for kMean, else 1. grad_stride: elements from one
// (batch, position) to the next for kNone; not used otherwise.
cudaError_t LaunchNllLossBackward(const NllLoss& loss, const void* grad,
                                  int64_t grad_stride, const void* total_weight,
                                  void* grad_self, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_NLL_LOSS_LAUNCH_H_
