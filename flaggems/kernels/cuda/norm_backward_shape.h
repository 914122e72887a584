// What the launches of the gradients of layer norm and RMS norm have in common.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_SHAPE_H_
#define FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_SHAPE_H_

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/norm_shape.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Contiguous rows. mean and rstd: one element a row, float (double for
// float64). The others have the element type of the call.
struct NormGradients {
  const void* grad_out;
  const void* in;
  const void* mean;  // null for RMS norm
  const void* rstd;
  const void* gamma;  // or null
  void* grad_in;      // these three may be null: not asked for
  void* grad_gamma;
  void* grad_beta;
  void* scratch;  // NormBackwardScratchBytes
};

// Slices of the rows in the first stage of the sums over rows.
inline int NormBackwardSlices(const NormShape& shape) {
  // Blocks of 32 threads * 16 bytes columns; a few blocks a multiprocessor.
  const int64_t tiles = (shape.n + 127) / 128;
  int64_t slices = (8 * int64_t{shape.multiprocessors} + tiles - 1) / tiles;
  const int64_t most = (shape.rows + 31) / 32;
  if (slices > most) slices = most;
  if (slices > 1024) slices = 1024;
  return slices < 1 ? 1 : static_cast<int>(slices);
}

// Of the sums of a slice, in double.
inline size_t NormBackwardScratchBytes(const NormShape& shape) {
  return static_cast<size_t>(NormBackwardSlices(shape)) * 2 *
         static_cast<size_t>(shape.n) * sizeof(double);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_SHAPE_H_
