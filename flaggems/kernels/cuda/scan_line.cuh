// Running sums of a vector, and of the lanes of a warp.

#ifndef FLAGGEMS_KERNELS_CUDA_SCAN_LINE_CUH_
#define FLAGGEMS_KERNELS_CUDA_SCAN_LINE_CUH_

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_scan {

// What a line adds up in.
template <typename T>
using Total = std::conditional_t<std::is_integral<T>::value, int64_t, double>;

template <typename T>
__device__ __forceinline__ T Round(Total<T> x) {
  if constexpr (sizeof(T) == 2 && !std::is_integral<T>::value) {
    // By float32: one instruction each, where double takes a dozen, and 2^-24
    // is far below the rounding.
    return FromCompute<T>(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

// What a vector adds up in. 16-bit elements: float32, whose error is far below
// their rounding and whose conversions are cheap.
template <typename T>
using Local = std::conditional_t<sizeof(T) == 2 && !std::is_integral<T>::value,
                                 float, Total<T>>;

template <typename T, int V>
__device__ __forceinline__ Total<T> SumOf(const Vec<T, V>& v) {
  Local<T> sum = static_cast<Local<T>>(ToCompute(v.at[0]));
#pragma unroll
  for (int k = 1; k < V; ++k) sum += static_cast<Local<T>>(ToCompute(v.at[k]));
  return static_cast<Total<T>>(sum);
}

// The running sums of v after `before`.
template <typename T, int V>
__device__ __forceinline__ Vec<T, V> ScanVec(const Vec<T, V>& v,
                                             Total<T> before) {
  Vec<T, V> result;
  if constexpr (std::is_same<Local<T>, Total<T>>::value) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      before += static_cast<Total<T>>(ToCompute(v.at[k]));
      result.at[k] = Round<T>(before);
    }
  } else {
    const float high = static_cast<float>(before);
    // What float32 leaves of it; not the NaN of Inf - Inf.
    const float rest = static_cast<float>(before - high);
    float local = isfinite(high) ? rest : 0.0f;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      local += ToCompute(v.at[k]);
      result.at[k] = FromCompute<T>(high + local);
    }
  }
  return result;
}

template <typename S>
__device__ __forceinline__ S WarpInclusiveScan(S x, int lane) {
#pragma unroll
  for (int d = 1; d < kWarp; d *= 2) {
    const S other = __shfl_up_sync(kFullWarp, x, d);
    if (lane >= d) x += other;
  }
  return x;
}

// What comes before each of `lanes` lanes. (Taking a lane's own away again
// would make NaN of infinities.)
template <typename S>
__device__ __forceinline__ S ExclusiveOf(S inclusive, int lane,
                                         int lanes = kWarp) {
  const S before = __shfl_up_sync(kFullWarp, inclusive, 1, lanes);
  return lane == 0 ? S(0) : before;
}

}  // namespace internal_scan
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SCAN_LINE_CUH_
