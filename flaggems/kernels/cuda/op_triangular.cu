#include <cstdint>

#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_triangular_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Params {
  Params() {}

  uint32_t positions;
  int dims;
  // In a union, so that those that are not used cost nothing.
  union {
    FastDivide sizes[kMaxTriangularDims];
  };
  int64_t in_stride[kMaxTriangularDims];
  int64_t out_stride[kMaxTriangularDims];
  const char* in;
  char* out;
  bool upper;
  bool in_place;
  int64_t diagonal;
};

// Positions of one thread, whose loads are in flight together: one of 16 bytes
// (many threads hide latency best) or several smaller ones.
template <int kWidth>
constexpr int kUnrollOf = kWidth > 1 ? 1 : 4;

// A position is N columns of a row.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    TriangularKernel(const __grid_constant__ Params params) {
  constexpr int kUnroll = kUnrollOf<N>;
  const uint32_t first = blockIdx.x * (kThreads * kUnroll) + threadIdx.x;
  using V = Vec<T, N>;
  V values[kUnroll];
  char* targets[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    uint32_t rest = first + u * kThreads;
    targets[u] = nullptr;
    if (rest < params.positions) {
      const int64_t column =
          static_cast<int64_t>(params.sizes[0].DivideInPlace(&rest));
      const int64_t row = params.sizes[1].DivideInPlace(&rest);
      int64_t in = column * params.in_stride[0] + row * params.in_stride[1];
      int64_t out = column * params.out_stride[0] + row * params.out_stride[1];
#pragma unroll 1
      for (int d = 2; d < params.dims; ++d) {
        const int64_t at = params.sizes[d].DivideInPlace(&rest);
        in += at * params.in_stride[d];
        out += at * params.out_stride[d];
      }
      // Kept: low <= column < high of the vector's N columns.
      const int64_t edge = params.diagonal + row - column * N;
      const int64_t low = params.upper ? edge : 0;
      const int64_t high = params.upper ? N : edge + 1;
      const bool all = low <= 0 && high >= N;
      if (!(all && params.in_place)) {
        targets[u] = params.out + out;
        if (low < N && high > 0) {
          values[u] = *reinterpret_cast<const V*>(params.in + in);
        }
        if (!all) {
#pragma unroll
          for (int i = 0; i < N; ++i) {
            if (i < low || i >= high) values[u].at[i] = T{};
          }
        }
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (targets[u] != nullptr) *reinterpret_cast<V*>(targets[u]) = values[u];
  }
}

// Whether rows can be taken in vectors of 16 bytes.
bool IsVectorised(const Triangular& t, int bytes) {
  if (bytes == 16 || t.in_stride[0] != bytes || t.out_stride[0] != bytes ||
      t.sizes[0] * bytes % 16 != 0 || !IsAligned(t.in, 16) ||
      !IsAligned(t.out, 16)) {
    return false;
  }
  for (int d = 1; d < t.dims; ++d) {
    if (t.in_stride[d] % 16 != 0 || t.out_stride[d] % 16 != 0) return false;
  }
  return true;
}

cudaError_t LaunchPart(const Triangular& t, int bytes, cudaStream_t stream) {
  int64_t positions = 1;
  for (int d = 0; d < t.dims; ++d) positions *= t.sizes[d];
  if (positions == 0) return cudaSuccess;
  const bool vectorised = IsVectorised(t, bytes);
  const int width = vectorised ? 16 / bytes : 1;
  positions /= width;
  if (positions >= (int64_t{1} << 31) || t.sizes[0] >= (int64_t{1} << 31)) {
    // Two halves of the longest dimension; the diagonal is that of the part.
    int longest = 0;
    for (int d = 1; d < t.dims; ++d) {
      if (t.sizes[d] > t.sizes[longest]) longest = d;
    }
    int64_t half = t.sizes[longest] / 2;
    if (longest == 0) half = half / 16 * 16;
    Triangular part = t;
    part.sizes[longest] = half;
    const cudaError_t error = LaunchPart(part, bytes, stream);
    if (error != cudaSuccess) return error;
    part.sizes[longest] = t.sizes[longest] - half;
    part.in = static_cast<const char*>(t.in) + half * t.in_stride[longest];
    part.out = static_cast<char*>(t.out) + half * t.out_stride[longest];
    if (longest == 0) part.diagonal -= half;
    if (longest == 1) part.diagonal += half;
    return LaunchPart(part, bytes, stream);
  }
  Params params;
  params.positions = static_cast<uint32_t>(positions);
  params.dims = t.dims;
  for (int d = 0; d < t.dims; ++d) {
    const int64_t size = d == 0 ? t.sizes[0] / width : t.sizes[d];
    params.sizes[d] = FastDivide(static_cast<uint32_t>(size));
    params.in_stride[d] = t.in_stride[d] * (d == 0 ? width : 1);
    params.out_stride[d] = t.out_stride[d] * (d == 0 ? width : 1);
  }
  params.in = static_cast<const char*>(t.in);
  params.out = static_cast<char*>(t.out);
  params.upper = t.upper;
  params.in_place = t.in == t.out;
  // Beyond the matrix all diagonals are alike, and sums do not overflow.
  constexpr int64_t kFar = int64_t{1} << 40;
  params.diagonal = t.diagonal > kFar    ? kFar
                    : t.diagonal < -kFar ? -kFar
                                         : t.diagonal;
  const auto blocks = [&](int unroll) {
    return (params.positions - 1) / (kThreads * unroll) + 1;
  };
  return ForBytes(bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (vectorised) {
      TriangularKernel<T, kVecWidth<T>>
          <<<blocks(kUnrollOf<kVecWidth<T>>), kThreads, 0, stream>>>(params);
    } else {
      TriangularKernel<T, 1>
          <<<blocks(kUnrollOf<1>), kThreads, 0, stream>>>(params);
    }
    return cudaGetLastError();
  });
}

}  // namespace

cudaError_t LaunchTriangular(const Triangular& t, int bytes,
                             cudaStream_t stream) {
  // Batch dimensions that are one run in both, as one.
  Triangular collapsed = t;
  int kept = 2;
  for (int d = 2; d < t.dims; ++d) {
    if (t.sizes[d] == 1) continue;
    const int last = kept - 1;
    if (kept > 2 &&
        t.in_stride[d] == collapsed.sizes[last] * collapsed.in_stride[last] &&
        t.out_stride[d] == collapsed.sizes[last] * collapsed.out_stride[last]) {
      collapsed.sizes[last] *= t.sizes[d];
      continue;
    }
    collapsed.sizes[kept] = t.sizes[d];
    collapsed.in_stride[kept] = t.in_stride[d];
    collapsed.out_stride[kept] = t.out_stride[d];
    ++kept;
  }
  collapsed.dims = kept;
  return LaunchPart(collapsed, bytes, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
