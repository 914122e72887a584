// Reductions: how a tensor and a set of dimensions become lines of memory, and
// the walk over them.
//
// ReduceView describes the input as a dense [outer, n, inner] array whose
// middle dimension is reduced; inputs that are not dense are copied once.
// Reduce() cuts n into chunks whose size depends on the shape only and adds
// the chunks' results in order, so results do not depend on the number of
// threads.

#ifndef FLAGGEMS_KERNELS_CPU_REDUCE_H_
#define FLAGGEMS_KERNELS_CPU_REDUCE_H_

#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "flaggems/kernels/cpu/vec_loops.h"
#include "flaggems/kernels/cpu/vec_math.h"

namespace flaggems {
namespace kernels {
namespace cpu {

struct ReduceView {
  at::Tensor input;   // dense; its elements in memory order are [outer,n,inner]
  at::Tensor result;  // dense [outer, inner] in memory order
  at::Tensor output;  // what the operator returns, contiguous
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;

  // Call when `result` has been filled.
  const at::Tensor& Finish();
  bool permuted = false;
  at::DimVector kept_sizes;     // of result, in memory order
  at::DimVector logical_order;  // permutation from memory order to logical
};

// dim: negative counts from the end; none or empty means all. Throws
// c10::IndexError for a dimension out of range and c10::Error for a repeated
// one, as aten does.
ReduceView MakeReduceView(const at::Tensor& self, at::OptionalIntArrayRef dim,
                          bool keepdim, at::ScalarType output_dtype);

namespace internal_reduce {

constexpr int64_t kTile = 256;       // columns that are reduced together
constexpr int64_t kChunk = 1 << 15;  // elements of a chunk, about

template <typename T>
constexpr bool kIsReduced =
    std::is_same<T, c10::BFloat16>::value || std::is_same<T, c10::Half>::value;

// n elements of x in the compute type, in place or in the buffer.
template <typename T, typename A>
const A* AsCompute(const T* x, int64_t n, A* buffer) {
  if constexpr (std::is_same<T, A>::value) {
    return x;
  } else {
    Widen(x, buffer, n);
    return buffer;
  }
}

}  // namespace internal_reduce

// Policy:
//   using In, Out, Acc;
//   Acc Line(const In* x, int64_t n, int64_t first)   n contiguous elements
//   void Columns(const In* x, int64_t rows, int64_t stride, int64_t width,
//                int64_t first, Acc* acc)             width <= kTile results
//   Acc Combine(Acc a, Acc b)                         b comes after a
//   Out Finish(Acc a)
// `first` is the position of x in the reduced dimension.
template <typename Policy>
void Reduce(const Policy& policy, const typename Policy::In* in, int64_t outer,
            int64_t n, int64_t inner, typename Policy::Out* out) {
  using internal_reduce::kChunk;
  using internal_reduce::kTile;
  using Acc = typename Policy::Acc;
  if (outer * inner == 0) return;
  const int64_t tile = std::min(inner, kTile);
  const int64_t tiles = (inner + tile - 1) / tile;
  // A multiple of 16 rows: Columns() adds up that many in lanes.
  const int64_t rows = std::max<int64_t>(16, kChunk / tile / 16 * 16);
  const int64_t chunks = std::max<int64_t>(1, (n + rows - 1) / rows);
  const std::unique_ptr<Acc[]> partial(
      chunks == 1 ? nullptr : new Acc[outer * chunks * inner]);
  const int64_t work = std::max<int64_t>(1, std::min(n, rows) * tile);
  at::parallel_for(
      0, outer * chunks * tiles, std::max<int64_t>(1, kChunk / work),
      [&](int64_t begin, int64_t end) {
        Acc acc[kTile];
        for (int64_t task = begin; task < end; ++task) {
          const int64_t t = task % tiles * tile;
          const int64_t c = task / tiles % chunks;
          const int64_t o = task / tiles / chunks;
          const int64_t width = std::min(tile, inner - t);
          const int64_t first = c * rows;
          const int64_t count = std::min(rows, n - first);
          const typename Policy::In* const x = in + (o * n + first) * inner + t;
          if (inner == 1) {
            acc[0] = policy.Line(x, count, first);
          } else {
            policy.Columns(x, count, inner, width, first, acc);
          }
          if (chunks == 1) {
            for (int64_t j = 0; j < width; ++j) {
              out[o * inner + t + j] = policy.Finish(acc[j]);
            }
          } else {
            std::copy_n(acc, width,
                        partial.get() + (o * chunks + c) * inner + t);
          }
        }
      });
  if (chunks == 1) return;
  at::parallel_for(0, outer * inner, std::max<int64_t>(1, kChunk / chunks),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const Acc* const p = partial.get() +
                                            i / inner * chunks * inner +
                                            i % inner;
                       Acc acc = p[0];
                       for (int64_t c = 1; c < chunks; ++c) {
                         acc = policy.Combine(acc, p[c * inner]);
                       }
                       out[i] = policy.Finish(acc);
                     }
                   });
}

// Sums of floating point numbers divided by `divisor`. Chunks add up in double;
// see SumArray() for the error.
template <typename T>
struct FloatSum {
  using In = T;
  using Out = T;
  using Acc = double;
  using A = at::opmath_type<T>;
  double divisor = 1;

  double Line(const T* x, int64_t n, int64_t) const {
    constexpr int64_t kBlock = 2048;
    if constexpr (std::is_same<T, A>::value) {
      return SumArray(x, n);
    } else {
      A buffer[kBlock];
      double sum = 0;
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = std::min(kBlock, n - i);
        Widen(x + i, buffer, m);
        sum += SumArray(buffer, m);
      }
      return sum;
    }
  }

  void Columns(const T* x, int64_t rows, int64_t stride, int64_t width, int64_t,
               double* acc) const {
    A lanes[internal_reduce::kTile];
    A buffer[internal_reduce::kTile];
    A* const s = lanes;
    std::fill_n(acc, width, 0.0);
    for (int64_t start = 0; start < rows; start += 16) {
      const int64_t stop = std::min(rows, start + 16);
      std::fill_n(s, width, A(0));
      for (int64_t r = start; r < stop; ++r) {
        const A* const v =
            internal_reduce::AsCompute(x + r * stride, width, buffer);
        SimdFor(width, [=](int64_t j) { s[j] += v[j]; });
      }
      SimdFor(width, [=](int64_t j) { acc[j] += static_cast<double>(s[j]); });
    }
  }

  double Combine(double a, double b) const { return a + b; }
  T Finish(double a) const {
    return static_cast<T>(static_cast<A>(a / divisor));
  }
};

// Sums of integers, which wrap; of bools, which is "any".
template <typename T>
struct IntegerSum {
  using In = T;
  using Out = T;
  using Acc = uint64_t;

  uint64_t Line(const T* x, int64_t n, int64_t) const {
    uint64_t sum = 0;
    uint64_t* const result = &sum;
    Simd([=] {
      uint64_t s = 0;
      for (int64_t i = 0; i < n; ++i) s += static_cast<uint64_t>(x[i]);
      *result = s;
    });
    return sum;
  }
  void Columns(const T* x, int64_t rows, int64_t stride, int64_t width, int64_t,
               uint64_t* acc) const {
    std::fill_n(acc, width, uint64_t{0});
    for (int64_t r = 0; r < rows; ++r) {
      const T* const v = x + r * stride;
      SimdFor(width, [=](int64_t j) { acc[j] += static_cast<uint64_t>(v[j]); });
    }
  }
  uint64_t Combine(uint64_t a, uint64_t b) const { return a + b; }
  T Finish(uint64_t a) const { return static_cast<T>(a); }
};

// Maxima; a NaN wins.
template <typename T>
struct Maximum {
  using In = T;
  using Out = T;
  using A = at::opmath_type<T>;
  using Acc = A;

  // The later of two that compare equal does not replace the earlier one; a
  // NaN compares with nothing and stays.
  static A Larger(A a, A b) { return b > a || b != b ? b : a; }

  A Line(const T* x, int64_t n, int64_t) const {
    constexpr int64_t kBlock = 2048;
    if constexpr (std::is_same<T, float>::value ||
                  std::is_same<T, double>::value) {
      return MaxArray(x, n);
    } else if constexpr (internal_reduce::kIsReduced<T>) {
      A buffer[kBlock];
      A max = static_cast<A>(x[0]);
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = std::min(kBlock, n - i);
        Widen(x + i, buffer, m);
        max = Larger(max, MaxArray(buffer, m));
      }
      return max;
    } else {
      T max = x[0];
      T* const result = &max;
      Simd([=] {
        T m = x[0];
        for (int64_t i = 1; i < n; ++i) m = std::max(m, x[i]);
        *result = m;
      });
      return max;
    }
  }

  void Columns(const T* x, int64_t rows, int64_t stride, int64_t width, int64_t,
               A* acc) const {
    A buffer[internal_reduce::kTile];
    std::copy_n(internal_reduce::AsCompute(x, width, buffer), width, acc);
    for (int64_t r = 1; r < rows; ++r) {
      const A* const v =
          internal_reduce::AsCompute(x + r * stride, width, buffer);
      SimdFor(width, [=](int64_t j) {
        const A a = acc[j];
        const A b = v[j];
        acc[j] = b > a || b != b ? b : a;
      });
    }
  }

  A Combine(A a, A b) const { return Larger(a, b); }
  T Finish(A a) const { return static_cast<T>(a); }
};

// Positions of first maxima; of the first NaN if there is one.
template <typename T>
struct MaximumIndex {
  using In = T;
  using Out = int64_t;
  using A = at::opmath_type<T>;
  struct Acc {
    A value;
    int64_t index;
  };

  Acc Line(const T* x, int64_t n, int64_t first) const {
    // The maximum of each block is found at vector speed; only the block of the
    // result is searched.
    constexpr int64_t kBlock = 2048;
    const Maximum<T> maximum;
    A best = maximum.Line(x, std::min(kBlock, n), 0);
    int64_t best_start = 0;
    for (int64_t i = kBlock; i < n && best == best; i += kBlock) {
      const A v = maximum.Line(x + i, std::min(kBlock, n - i), 0);
      if (v > best || v != v) {
        best = v;
        best_start = i;
      }
    }
    int64_t i = best_start;
    for (;; ++i) {
      const A v = static_cast<A>(x[i]);
      if (v == best || v != v) break;
    }
    return {best, first + i};
  }

  void Columns(const T* x, int64_t rows, int64_t stride, int64_t width,
               int64_t first, Acc* acc) const {
    A buffer[internal_reduce::kTile];
    A values[internal_reduce::kTile];
    int64_t indices[internal_reduce::kTile];
    A* const best = values;
    int64_t* const at = indices;
    std::copy_n(internal_reduce::AsCompute(x, width, buffer), width, best);
    std::fill_n(at, width, first);
    for (int64_t r = 1; r < rows; ++r) {
      const A* const v =
          internal_reduce::AsCompute(x + r * stride, width, buffer);
      const int64_t position = first + r;
      SimdFor(width, [=](int64_t j) {
        const A a = best[j];
        const A b = v[j];
        const bool replace = b > a || (b != b && a == a);
        best[j] = replace ? b : a;
        at[j] = replace ? position : at[j];
      });
    }
    for (int64_t j = 0; j < width; ++j) acc[j] = {best[j], at[j]};
  }

  Acc Combine(const Acc& a, const Acc& b) const {
    const bool a_is_nan = a.value != a.value;
    return !a_is_nan && (b.value > a.value || b.value != b.value) ? b : a;
  }
  int64_t Finish(const Acc& a) const { return a.index; }
};

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_REDUCE_H_
