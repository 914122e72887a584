// Between the element types and the types they are computed in, and vectors of
// elements that move with one instruction.

#ifndef FLAGGEMS_KERNELS_CUDA_NUMERIC_CUH_
#define FLAGGEMS_KERNELS_CUDA_NUMERIC_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

template <typename T>
__device__ __forceinline__ Compute<T> ToCompute(T x) {
  return x;
}
template <>
__device__ __forceinline__ float ToCompute(__half x) {
  return __half2float(x);
}
template <>
__device__ __forceinline__ float ToCompute(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

// To the element type, rounded to nearest even.
template <typename T, typename C>
__device__ __forceinline__ T FromCompute(C x) {
  return static_cast<T>(x);
}
template <>
__device__ __forceinline__ __half FromCompute(float x) {
  return __float2half_rn(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 FromCompute(float x) {
  return __float2bfloat16_rn(x);
}

// N elements side by side in memory, aligned to their whole size.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vec {
  T at[N];
};

// Elements of T in the widest access of one thread, 16 bytes.
template <typename T>
inline constexpr int kVecWidth = 16 / static_cast<int>(sizeof(T));

template <int N, typename T>
__device__ __forceinline__ Vec<T, N> LoadVec(const T* p) {
  return *reinterpret_cast<const Vec<T, N>*>(p);
}

template <int N, typename T>
__device__ __forceinline__ void StoreVec(T* p, const Vec<T, N>& v) {
  *reinterpret_cast<Vec<T, N>*>(p) = v;
}

// Whether vectors of `bytes` bytes can be read at p.
inline bool IsAligned(const void* p, int bytes) {
  return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NUMERIC_CUH_
