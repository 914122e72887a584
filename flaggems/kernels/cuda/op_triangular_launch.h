// Device side of op_triangular.h.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_TRIANGULAR_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_TRIANGULAR_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

inline constexpr int kMaxTriangularDims = 25;

// Matrices; dimension 0 is the column, 1 the row, the others the batch. Strides
// in bytes.
struct Triangular {
  int dims;
  int64_t sizes[kMaxTriangularDims];
  int64_t in_stride[kMaxTriangularDims];
  int64_t out_stride[kMaxTriangularDims];
  const void* in;
  void* out;  // may be `in`, then with its strides: only zeros are written
  bool upper;
  int64_t diagonal;
};

// out = in where column - row >= diagonal (upper) or <= diagonal (lower), else
// zero. Elements of `bytes` (1, 2, 4, 8, 16) bytes.
cudaError_t LaunchTriangular(const Triangular& t, int bytes,
                             cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_TRIANGULAR_LAUNCH_H_
