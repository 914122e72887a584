#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/extremum.cuh"
#include "flaggems/kernels/cuda/op_argmax_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// The larger of each of two pairs; NaN if one is.
__device__ __forceinline__ __half2 Larger2(__half2 a, __half2 b) {
  return __hmax2_nan(a, b);
}
__device__ __forceinline__ __nv_bfloat162 Larger2(__nv_bfloat162 a,
                                                  __nv_bfloat162 b) {
  return __hmax2_nan(a, b);
}

template <typename T>
struct PairOf {
  using Type = __half2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};

// The largest of x; `at`, where it is called, gives the first place of it.
// 16-bit elements are compared as they are, two at a time: widening them takes
// longer than comparing them.
template <typename T, int N>
struct Pairs {
  static constexpr int kPairs = N / 2;
  static_assert(kPairs <= 16, "a bit of each half in a word");
  using Pair = typename PairOf<T>::Type;

  Pair pair[kPairs];

  __device__ __forceinline__ explicit Pairs(const T (&x)[N]) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) pair[i] = Pair(x[2 * i], x[2 * i + 1]);
  }
  __device__ __forceinline__ float Largest() const {
    Pair copy[kPairs];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) copy[i] = pair[i];
    const Pair best =
        TreeReduce(copy, [](Pair a, Pair b) { return Larger2(a, b); });
    return ExtremumOrder<float>::Larger(ToCompute(best.x), ToCompute(best.y));
  }
  __device__ __forceinline__ int FirstOf(float best) const {
    const T value = FromCompute<T>(best);
    const Pair both = Pair(value, value);
    // Bit i: the first of pair i is it; bit 16 + i: the second.
    uint32_t bits = 0;
    if (best != best) {
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        bits |= ~__heq2_mask(pair[i], pair[i]) & (0x00010001u << i);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        bits |= __heq2_mask(pair[i], both) & (0x00010001u << i);
      }
    }
    // Of no bit: 2^32 - 2 and above.
    const uint32_t even = static_cast<uint32_t>(__ffs(bits & 0xffffu)) - 1;
    const uint32_t odd = static_cast<uint32_t>(__ffs(bits >> 16)) - 1;
    const uint32_t none = ~0u;
    return static_cast<int>(
        min(even == none ? none : 2 * even, odd == none ? none : 2 * odd + 1));
  }
};

template <typename T>
struct ArgExtremum : PlainOperator<T> {
  using In = T;
  using Order = ExtremumOrder<T>;
  using Value = typename Order::C;
  static constexpr bool kSmall = Order::kFloat && sizeof(T) == 2;
  using C = std::conditional_t<kSmall, T, Value>;
  struct Acc {
    Value value;
    int64_t index;
  };
  static constexpr bool kWide = Order::kFloat && sizeof(T) < 8;

  Order order;
  T* values;  // may be null
  int64_t* indices;

  // Loses against everything, also against an element of that value.
  __device__ Acc Identity() const {
    return {ToCompute(Mask(Filler())), INT64_MAX};
  }
  __device__ In Filler() const { return order.Lowest(); }
  __device__ int4 Mask(int4 raw) const { return order.Flip(raw); }
  __device__ In Mask(In x) const { return order.Flip(x); }
  __device__ C Read(T x) const { return static_cast<C>(x); }

  // The maximum first; which element it was only where it is a new one. Fillers
  // stand behind the real elements and so lose ties.
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int,
                                        int64_t first, int64_t step,
                                        NoShift) const {
    constexpr int N = U * V;
    if constexpr (kSmall && N > 1) {
      const Pairs<T, N> pairs(x);
      const Value best = pairs.Largest();
      if (!IsBetter(best, *acc)) return;
      const int at = pairs.FirstOf(best);
      *acc = {best, first + at / V * step + at % V};
    } else {
      Value all[N], copy[N];
#pragma unroll
      for (int i = 0; i < N; ++i) copy[i] = all[i] = Widen(x[i]);
      const Value best = TreeReduce(
          copy, [](Value a, Value b) { return Order::Larger(a, b); });
      if (!IsBetter(best, *acc)) return;
      int at = 0;
      if (Order::IsNan(best)) {
#pragma unroll
        for (int i = N - 1; i >= 0; --i) {
          if (Order::IsNan(all[i])) at = i;
        }
      } else {
#pragma unroll
        for (int i = N - 1; i >= 0; --i) {
          if (all[i] == best) at = i;
        }
      }
      *acc = {best, first + at / V * step + at % V};
    }
  }

  __device__ Acc Combine(Acc a, Acc b) const {
    const bool nan_a = Order::IsNan(a.value);
    const bool nan_b = Order::IsNan(b.value);
    const bool tie = nan_a ? nan_b : a.value == b.value;
    const bool second =
        tie ? b.index < a.index : !nan_a && (nan_b || b.value > a.value);
    return second ? b : a;
  }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    indices[offset] = acc.index;
    if (values != nullptr) {
      values[offset] = order.Flip(FromCompute<T>(acc.value));
    }
  }

 private:
  static __device__ __forceinline__ Value Widen(C x) { return ToCompute(x); }
  static __device__ __forceinline__ bool IsBetter(Value best, const Acc& acc) {
    return (best > acc.value || Order::IsNan(best) || acc.index == INT64_MAX) &&
           !Order::IsNan(acc.value);
  }
};

}  // namespace

cudaError_t LaunchArgExtremum(const ReducePlan& plan, Element type,
                              bool minimum, const void* in, void* values,
                              int64_t* indices, void* scratch,
                              cudaStream_t stream) {
  // A bool is a byte that is 0 or 1.
  return ForNumbers(type == Element::kBool ? Element::kUInt8 : type,
                    [&](auto tag) {
                      using T = typename decltype(tag)::Type;
                      const ArgExtremum<T> op = {
                          {}, {minimum}, static_cast<T*>(values), indices};
                      return LaunchReduce(op, plan, static_cast<const T*>(in),
                                          scratch, stream);
                    });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
