// How a reduction of a strided tensor is cut into blocks of threads: the host
// half of reduce_engine.cuh. No torch header, no device code.
//
// After dimensions that lie side by side are merged, a reduction is one of
//   rows     the dimension of the smallest stride is reduced: a group of
//            threads adds up an output, neighbours read side by side
//   columns  it is kept: neighbouring threads make neighbouring outputs
// A reduction of few outputs is cut into `splits` parts whose results go to
// scratch memory, [splits][outputs], and are joined in a fixed order by a
// second, small kernel.

#ifndef FLAGGEMS_KERNELS_CUDA_REDUCE_PLAN_H_
#define FLAGGEMS_KERNELS_CUDA_REDUCE_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Merged dimensions of one kind that a plan can hold.
inline constexpr int kMaxReduceRank = 8;
// The largest accumulator of an operator, in bytes.
inline constexpr int kMaxAccBytes = 24;

// From the fastest to the slowest. Strides count elements.
struct ReduceDims {
  int rank = 0;
  bool narrow = true;  // the product of the sizes is below 2^31
  int64_t size[kMaxReduceRank];
  int64_t stride[kMaxReduceRank];
  int64_t out_stride[kMaxReduceRank];  // kept dimensions only
};

struct ReducePlan {
  bool rows = true;
  bool vector = false;  // 16-byte loads
  // Rows: one reduced and at most one kept dimension, whole aligned vectors.
  bool lean = false;
  bool dependent_launch = false;
  int64_t outputs = 0;
  int64_t reduced = 0;  // elements of one output
  ReduceDims kept;      // columns: without the innermost, `width`
  ReduceDims outer;     // reduced dimensions; rows: without the innermost, `n`
  int64_t outer_count = 1;
  // The innermost dimension: n of rows, width of columns.
  int64_t inner = 1;
  int64_t inner_stride = 1;
  int64_t inner_out_stride = 1;  // columns only
  // Threads of a group: 2^log_x along the innermost dimension, 2^log_y along
  // the others. Rows: a group makes one output; columns: a group is a block.
  int log_x = 0;
  int log_y = 0;
  int threads = 256;
  int64_t blocks = 1;
  int splits = 1;
  bool split_inner = false;  // rows: parts of `inner`, else of outer_count
  int64_t split_length = 0;

  size_t ScratchBytes() const {
    return splits == 1 ? 0
                       : static_cast<size_t>(outputs) * splits * kMaxAccBytes;
  }
};

// The element types for which operators have kernels with 16-byte loads, but
// for those that say otherwise.
inline bool IsWideElement(Element e) {
  return e == Element::kFloat32 || e == Element::kFloat16 ||
         e == Element::kBFloat16;
}

// A dimension of the input: its stride in the result (0 if it is reduced).
struct ReduceDim {
  int64_t size;
  int64_t stride;
  int64_t out_stride;
  bool reduced;
};

struct ReduceDevice {
  int multiprocessors;
  int capability;
};

// Returns false if more than kMaxReduceRank dimensions of a kind remain. The
// order of the reduced elements is that of memory: operators for which it
// matters (positions) reduce one dimension. No size may be 0.
// `wide`: whether the operator has kernels with 16-byte loads for the element
// type (kWide).
bool PlanReduce(const ReduceDim* dims, int rank, const void* input,
                int element_bytes, bool wide, const ReduceDevice& device,
                ReducePlan* plan);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_REDUCE_PLAN_H_
