#include <cmath>
#include <cstdint>

#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_dropout_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kThreads = 128;

// Philox4x32-10 (J. K. Salmon et al., Parallel Random Numbers: As Easy as 1, 2,
// 3, 2011).
__device__ __forceinline__ uint4 Philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter.x;
    const uint64_t b = uint64_t{0xCD9E8D57u} * counter.z;
    counter = make_uint4(static_cast<uint32_t>(b >> 32) ^ counter.y ^ key.x,
                         static_cast<uint32_t>(b),
                         static_cast<uint32_t>(a >> 32) ^ counter.w ^ key.y,
                         static_cast<uint32_t>(a));
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

// Elements of a vector: 16 bytes, but whole groups of four random words.
template <typename T>
inline constexpr int kWidth = kVecWidth<T> < 4 ? 4 : kVecWidth<T>;

// Vectors of a thread, kThreads apart, whose loads are in flight together.
constexpr int kUnroll = 2;

// Four elements times their factors.
__device__ __forceinline__ void Scale(float* x, const float (&factor)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] *= factor[i];
}

__device__ __forceinline__ void Scale(double* x, const double (&factor)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] *= factor[i];
}

// 16-bit types in pairs, which one instruction converts.
__device__ __forceinline__ void Scale(__half* x, const float (&factor)[4]) {
  __half2* const pairs = reinterpret_cast<__half2*>(x);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float2 pair = __half22float2(pairs[i]);
    pairs[i] =
        __floats2half2_rn(pair.x * factor[2 * i], pair.y * factor[2 * i + 1]);
  }
}

__device__ __forceinline__ void Scale(__nv_bfloat16* x,
                                      const float (&factor)[4]) {
  __nv_bfloat162* const pairs = reinterpret_cast<__nv_bfloat162*>(x);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    pairs[i] = __floats2bfloat162_rn(pair.x * factor[2 * i],
                                     pair.y * factor[2 * i + 1]);
  }
}

struct PhiloxInputs {
  uint64_t offset;
  uint2 key;
};

__device__ __forceinline__ PhiloxInputs InputsOf(const PhiloxState& state) {
  uint64_t seed = state.seed;
  uint64_t offset = state.offset;
  if (state.seed_ptr != nullptr) {
    seed = static_cast<uint64_t>(*state.seed_ptr);
    offset += static_cast<uint64_t>(*state.offset_ptr);
  }
  return {offset / 4, make_uint2(static_cast<uint32_t>(seed),
                                 static_cast<uint32_t>(seed >> 32))};
}

// Scales the four elements of a group, whose number is given in two words; the
// result are the bytes of the mask. `limit`: words up to it keep their element.
template <typename T>
__device__ __forceinline__ uint32_t DropGroup(const PhiloxInputs& inputs,
                                              uint32_t group_low,
                                              uint32_t group_high,
                                              uint32_t limit, Compute<T> scale,
                                              T* x) {
  using C = Compute<T>;
  const uint4 words =
      Philox(make_uint4(static_cast<uint32_t>(inputs.offset),
                        static_cast<uint32_t>(inputs.offset >> 32), group_low,
                        group_high),
             inputs.key);
  // A product, not a choice: a dropped infinity is NaN, as in native aten.
  const C factor[4] = {
      words.x <= limit ? scale : C(0), words.y <= limit ? scale : C(0),
      words.z <= limit ? scale : C(0), words.w <= limit ? scale : C(0)};
  Scale(x, factor);
  return (words.x <= limit ? 1u : 0u) + (words.y <= limit ? 0x100u : 0u) +
         (words.z <= limit ? 0x10000u : 0u) +
         (words.w <= limit ? 0x1000000u : 0u);
}

// Whole vectors, at most kMaxVectors, the first of which begins with a group of
// the given number.
constexpr int64_t kMaxVectors = int64_t{1} << 31;
constexpr int64_t kMinTwoLaunches = 1 << 16;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DropoutKernel(const T* __restrict__ in, T* __restrict__ out,
                  uint8_t* __restrict__ mask, uint32_t vectors,
                  uint32_t group_low, uint32_t group_high, uint32_t limit,
                  Compute<T> scale, PhiloxState state) {
  constexpr int N = kWidth<T>;
  using V = Vec<T, N>;
  using Keeps = Vec<uint32_t, N / 4>;
  const uint32_t first = blockIdx.x * (kThreads * kUnroll) + threadIdx.x;
  V values[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const uint32_t vector = first + u * kThreads;
    if (vector < vectors) values[u] = reinterpret_cast<const V*>(in)[vector];
  }
  const PhiloxInputs inputs = InputsOf(state);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const uint32_t vector = first + u * kThreads;
    if (vector >= vectors) break;
    Keeps keeps;
#pragma unroll
    for (int g = 0; g < N / 4; ++g) {
      keeps.at[g] =
          DropGroup<T>(inputs, group_low + vector * (N / 4) + g, group_high,
                       limit, scale, values[u].at + 4 * g);
    }
    reinterpret_cast<V*>(out)[vector] = values[u];
    reinterpret_cast<Keeps*>(mask)[vector] = keeps;
  }
}

// Groups from `first_group` on, element by element: what is left of the
// vectors, or tensors that are not aligned.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    DropoutElementsKernel(const T* in, T* out, uint8_t* mask,
                          int64_t first_group, int64_t numel, uint32_t limit,
                          Compute<T> scale, PhiloxState state) {
  const int64_t group =
      first_group + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t first = group * 4;
  if (first >= numel) return;
  Vec<T, 4> values;
  for (int i = 0; i < 4; ++i) {
    values.at[i] = in[first + i < numel ? first + i : first];
  }
  const uint32_t keeps =
      DropGroup<T>(InputsOf(state), static_cast<uint32_t>(group),
                   static_cast<uint32_t>(group >> 32), limit, scale, values.at);
  for (int i = 0; i < 4 && first + i < numel; ++i) {
    out[first + i] = values.at[i];
    mask[first + i] = static_cast<uint8_t>(keeps >> (8 * i)) & 1;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DropoutBackwardKernel(const T* __restrict__ grad,
                          const uint8_t* __restrict__ mask, T* __restrict__ out,
                          int64_t numel, Compute<T> scale, bool aligned) {
  using C = Compute<T>;
  constexpr int N = kWidth<T>;
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
  if (aligned && first + N <= numel) {
    Vec<T, N> values = LoadVec<N>(grad + first);
    const Vec<uint8_t, N> keeps = LoadVec<N>(mask + first);
#pragma unroll
    for (int g = 0; g < N / 4; ++g) {
      C factor[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        factor[i] = keeps.at[4 * g + i] != 0 ? scale : C(0);
      }
      Scale(values.at + 4 * g, factor);
    }
    StoreVec(out + first, values);
    return;
  }
  for (int64_t i = first; i < numel && i < first + N; ++i) {
    out[i] = FromCompute<T>(ToCompute(grad[i]) * (mask[i] != 0 ? scale : C(0)));
  }
}

unsigned BlocksFor(int64_t threads) {
  return static_cast<unsigned>((threads - 1) / kThreads + 1);
}

// Whether vectors can be loaded and stored.
template <typename T>
bool IsVectorised(const void* a, const void* b, const uint8_t* mask) {
  constexpr int kBytes = kWidth<T> * static_cast<int>(sizeof(T));
  return IsAligned(a, kBytes) && IsAligned(b, kBytes) &&
         IsAligned(mask, kWidth<T>);
}

}  // namespace

cudaError_t LaunchDropout(Element element, const void* in, void* out,
                          uint8_t* mask, int64_t numel, double keep,
                          const PhiloxState& state, cudaStream_t stream) {
  if (numel == 0) return cudaSuccess;
  const double words = std::ceil(keep * 4294967296.0);
  const uint32_t limit =
      words >= 4294967296.0 ? 0xffffffffu : static_cast<uint32_t>(words) - 1;
  return ForFloatsAndDouble(element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* const x = static_cast<const T*>(in);
    T* const y = static_cast<T*>(out);
    const Compute<T> scale = static_cast<Compute<T>>(1.0 / keep);
    constexpr int N = kWidth<T>;
    // Few elements that are no whole vectors: one launch in place of two.
    const bool elementwise = !IsVectorised<T>(in, out, mask) ||
                             (numel % N != 0 && numel < kMinTwoLaunches);
    const int64_t vectors = elementwise ? 0 : numel / N;
    for (int64_t v = 0; v < vectors; v += kMaxVectors) {
      const int64_t count =
          vectors - v < kMaxVectors ? vectors - v : kMaxVectors;
      const uint64_t group = static_cast<uint64_t>(v) * (N / 4);
      DropoutKernel<T>
          <<<BlocksFor((count - 1) / kUnroll + 1), kThreads, 0, stream>>>(
              x + v * N, y + v * N, mask + v * N, static_cast<uint32_t>(count),
              static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
              limit, scale, state);
    }
    const int64_t first_group = vectors * (N / 4);
    const int64_t groups = (numel - 1) / 4 + 1 - first_group;
    if (groups > 0) {
      DropoutElementsKernel<T><<<BlocksFor(groups), kThreads, 0, stream>>>(
          x, y, mask, first_group, numel, limit, scale, state);
    }
    return cudaGetLastError();
  });
}

cudaError_t LaunchDropoutBackward(Element element, const void* grad,
                                  const uint8_t* mask, void* out, int64_t numel,
                                  double scale, cudaStream_t stream) {
  if (numel == 0) return cudaSuccess;
  return ForFloatsAndDouble(element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    DropoutBackwardKernel<T>
        <<<BlocksFor((numel - 1) / kWidth<T> + 1), kThreads, 0, stream>>>(
            static_cast<const T*>(grad), mask, static_cast<T*>(out), numel,
            static_cast<Compute<T>>(scale), IsVectorised<T>(grad, out, mask));
    return cudaGetLastError();
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
