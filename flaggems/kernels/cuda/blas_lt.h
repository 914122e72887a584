// Matrix products by cuBLASLt, with the choice of algorithm remembered.

#ifndef FLAGGEMS_KERNELS_CUDA_BLAS_LT_H_
#define FLAGGEMS_KERNELS_CUDA_BLAS_LT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// A row-major matrix: element (i, j) of batch b is at b * batch_stride +
// i * stride + j; or its transpose, with i and j exchanged. Units: elements.
struct MatrixView {
  const void* data = nullptr;
  bool transposed = false;
  int64_t stride = 0;
  int64_t batch_stride = 0;
};

// For each of `batch` batches: d = alpha * (a @ b) + beta * c + bias, with a
// m x k, b k x n, c and d m x n and not transposed; all sizes are positive.
struct MatrixProduct {
  Element element = Element::kFloat32;  // float32, float16, bfloat16, float64
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  MatrixView a;
  MatrixView b;
  // Used with beta != 0; may be d. But 16-bit products with beta 1 that are
  // added to d itself are rounded to 16 bits before the sum is.
  MatrixView c;
  MatrixView d;                // written
  const void* bias = nullptr;  // n values, added to each row; or null
  double alpha = 1;
  double beta = 0;
  // float32: products of 10-bit significands (TF32).
  bool allow_tf32 = false;
  // 16 bits: partial sums over k may be rounded to 16 bits.
  bool allow_reduced_reduction = true;
  // 16 bits: a product's parts over k may be computed apart and added.
  bool allow_split_k = true;
  // float16: accumulate in float16.
  bool allow_half_accumulation = false;
};

// Enqueues the product on `stream` of the current device.
//
// Accumulates in float32 (float64 for float64; as the flags allow else) and
// rounds once. The same problem takes the same algorithm, the first that
// cuBLASLt's heuristic names. Workspace comes from the caching allocator.
// False: cuBLASLt has no algorithm for it (with a bias, in some types); nothing
// was done then. Throws on other errors, naming op. Thread-safe.
bool EnqueueProduct(const MatrixProduct& product, cudaStream_t stream,
                    const char* op);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_BLAS_LT_H_
