// What the launches of layer norm, RMS norm and group norm have in common.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_SHAPE_H_
#define FLAGGEMS_KERNELS_CUDA_NORM_SHAPE_H_

#include <cstddef>
#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// `rows` rows of n contiguous elements; n > 0.
struct NormShape {
  int64_t rows;
  int64_t n;
  // Of the device: 90 for Hopper, and its multiprocessors.
  int capability;
  int multiprocessors;
};

// Bytes of scratch that suffice for a forward call on rows of n elements of any
// type; 0 unless rows are few and long.
inline size_t NormScratchBytes(const NormShape& shape) {
  // Partial results of 24 bytes, up to 512 slices a row (row_tile.cuh).
  if (shape.n <= 8192 || shape.rows >= shape.multiprocessors) return 0;
  return static_cast<size_t>(shape.rows) * 512 * 24;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_SHAPE_H_
