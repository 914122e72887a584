// One elementwise call, as plain numbers: what a launch function of an
// elementwise family gets. elementwise.h makes it of tensors, elementwise.cuh
// runs a functor over it.
//
// No torch header.

#ifndef FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Dimensions left after those that lie side by side in all operands are joined.
inline constexpr int kMaxElementwiseDims = 16;
inline constexpr int kMaxElementwiseInputs = 3;
inline constexpr int kMaxElementwiseScalars = 3;

// A scalar argument or a CPU tensor of no dimension, as both kinds of number:
// the kernel takes the one of its compute type.
struct Number {
  double floating;
  int64_t integer;
};

struct ElementwiseOperand {
  // nullptr for an input whose value is `constant`.
  void* data;
  Element element;
  Number constant;
  // Bytes from one element to the next along each dimension.
  int64_t strides[kMaxElementwiseDims];
};

struct ElementwiseCall {
  // The type that inputs are converted to before the functor sees them, and the
  // result is (unless it is a bool) before it is converted to the output's.
  Element compute;
  // Some operand's element is not the one that the kernel of `compute` has.
  bool mixed;
  int inputs;
  // The first dimension is the one that is contiguous in the output, if any is.
  // No dimension: one element. sizes are positive unless numel is 0.
  int dims;
  int64_t sizes[kMaxElementwiseDims];
  int64_t numel;
  ElementwiseOperand out;
  ElementwiseOperand in[kMaxElementwiseInputs];
  // The functor's own.
  Number scalars[kMaxElementwiseScalars];
};

// Where dims > 1 or a stride is not the element's size, no offset may pass 2^31
// bytes; a call on dense operands has any size.
using ElementwiseLaunch = cudaError_t (*)(const ElementwiseCall& call,
                                          cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_LAUNCH_H_
