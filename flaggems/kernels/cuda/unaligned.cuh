// 16-byte loads at addresses of any alignment.

#ifndef FLAGGEMS_KERNELS_CUDA_UNALIGNED_CUH_
#define FLAGGEMS_KERNELS_CUDA_UNALIGNED_CUH_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// The one or two aligned vectors that hold 16 bytes. What is read beside those
// lies in the same 16-byte lines, so in the same allocation.
struct Lines {
  uint4 low;
  uint4 high;
  uint32_t shift;
};

__device__ __forceinline__ Lines LoadLines(const char* p) {
  Lines lines;
  lines.shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)) & 15;
  const uint4* const line = reinterpret_cast<const uint4*>(p - lines.shift);
  lines.low = line[0];
  // No branch: loads of several vectors stay in flight together.
  lines.high = line[lines.shift != 0];
  return lines;
}

__device__ __forceinline__ uint4 Joined(const Lines& lines) {
  uint32_t w[8] = {lines.low.x,  lines.low.y,  lines.low.z,  lines.low.w,
                   lines.high.x, lines.high.y, lines.high.z, lines.high.w};
  if (lines.shift & 8) {
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  }
  if (lines.shift & 4) {
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  }
  const uint32_t bits = (lines.shift & 3) * 8;
  return make_uint4(
      __funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
      __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
}

// Copies one aligned vector of a row to: the part of [begin, begin + 16) that
// lies in [0, bytes), relative to the row's start, element by element.
template <typename Part>
__device__ __forceinline__ void CopyEdge(char* to, const char* from,
                                         int64_t begin, int64_t bytes) {
  const int64_t end = begin + 16 < bytes ? begin + 16 : bytes;
  for (int64_t b = begin < 0 ? 0 : begin; b < end; b += sizeof(Part)) {
    *reinterpret_cast<Part*>(to + b) = *reinterpret_cast<const Part*>(from + b);
  }
}

// Aligned 16-byte vectors that have something of a row of `bytes` bytes, for
// the worst alignment.
__host__ __device__ inline int64_t LinesOfRow(int64_t bytes) {
  return (bytes + 30) / 16;
}

// Shorter rows are better moved element by element.
inline constexpr int64_t kMinUnalignedRow = 128;

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_UNALIGNED_CUH_
