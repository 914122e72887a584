// Reductions over the threads of a warp or a block.

#ifndef FLAGGEMS_KERNELS_CUDA_BLOCK_REDUCE_CUH_
#define FLAGGEMS_KERNELS_CUDA_BLOCK_REDUCE_CUH_

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

inline constexpr unsigned kFullWarp = 0xffffffffu;
inline constexpr int kWarp = 32;

struct Max {
  template <typename C>
  __device__ C operator()(C a, C b) const {
    return a < b ? b : a;
  }
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
  template <typename C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};

// `value` of the lane whose number differs in the bits of `mask`; any trivially
// copyable type whose size is a multiple of 4.
template <typename T>
__device__ __forceinline__ T ShuffleXor(const T& value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "pad the type to whole words");
  union Words {
    __device__ Words() {}
    T value;
    uint32_t word[sizeof(T) / 4];
  } in, out;
  in.value = value;
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) {
    out.word[i] = __shfl_xor_sync(kFullWarp, in.word[i], mask);
  }
  return out.value;
}

// op over groups of kLanes consecutive lanes (a power of two), in every lane.
// The order is fixed: equal inputs give equal bits.
template <int kLanes = kWarp, typename T, typename Op>
__device__ __forceinline__ T WarpReduce(T value, Op op) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value = op(value, ShuffleXor(value, mask));
  }
  return value;
}

// op over all threads of a block of up to 1024 threads, whole warps, in every
// thread. `shared` holds kWarp values; it may be used again after the next
// __syncthreads(), which BlockReduce itself starts with.
template <typename T, typename Op>
__device__ __forceinline__ T BlockReduce(T value, Op op, T identity,
                                         T* shared) {
  value = WarpReduce(value, op);
  const int warps = blockDim.x / kWarp;
  if (warps == 1) return value;
  const int lane = threadIdx.x % kWarp;
  __syncthreads();
  if (lane == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  return WarpReduce(lane < warps ? shared[lane] : identity, op);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_BLOCK_REDUCE_CUH_
