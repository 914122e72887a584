// The walk over the lines of a softmax, shared by _softmax and _log_softmax.

#ifndef FLAGGEMS_KERNELS_CPU_SOFTMAX_ROWS_H_
#define FLAGGEMS_KERNELS_CPU_SOFTMAX_ROWS_H_

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "flaggems/kernels/cpu/vec_loops.h"
#include "flaggems/kernels/cpu/vec_math.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace internal_softmax {

// Elements that are worth a thread.
constexpr int64_t kGrain = 16384;

// y[i] = x[i] in the other type; the two arrays do not overlap.
template <typename T, typename A>
void ToCompute(const T* x, A* y, int64_t n) {
  if constexpr (std::is_same<T, A>::value) {
    std::copy_n(x, n, y);
  } else {
    Widen(x, y, n);
  }
}
template <typename T, typename A>
void FromCompute(const A* x, T* y, int64_t n) {
  if constexpr (std::is_same<T, A>::value) {
    std::copy_n(x, n, y);
  } else {
    Narrow(x, y, n);
  }
}

// Lines that are contiguous. v holds one line of n, is replaced by its result.
template <typename A>
void Line(A* v, int64_t n, bool log) {
  constexpr int64_t kBlock = 1024;
  const A max = MaxArray(v, n);
  A block[kBlock];
  double sum = 0;
  bool found = false;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    A* const x = v + i;
    A* const e = log ? block : x;
    SimdFor(m, [=](int64_t j) { e[j] = x[j] - max; });
    ExpArray(e, e, m);
    // The logarithm of 1 + rest keeps its digits if the 1 of the maximum is
    // left out of the rounded sum.
    for (int64_t j = 0; log && !found && j < m; ++j) {
      if (e[j] == A(1)) {
        e[j] = A(0);
        found = true;
      }
    }
    sum += SumArray(e, m);
  }
  if (log) {
    const A log_sum = static_cast<A>(std::log1p(sum));
    SimdFor(n, [=](int64_t j) { v[j] = (v[j] - max) - log_sum; });
  } else {
    const A divisor = static_cast<A>(sum);
    SimdFor(n, [=](int64_t j) { v[j] = v[j] / divisor; });
  }
}

// `width` lines side by side: v is [n, width], is replaced by the results.
// Scratch: max [width] and sum [width] of the caller, e [n, width] if log.
template <typename A>
void Lines(A* v, int64_t n, int64_t width, bool log, A* max, double* sum,
           A* e) {
  std::copy_n(v, width, max);
  for (int64_t d = 1; d < n; ++d) {
    const A* const x = v + d * width;
    SimdFor(width, [=](int64_t j) {
      max[j] = x[j] > max[j] || x[j] != x[j] ? x[j] : max[j];
    });
  }
  for (int64_t d = 0; d < n; ++d) {
    A* const x = v + d * width;
    A* const y = e + d * width;
    SimdFor(width, [=](int64_t j) { y[j] = x[j] - max[j]; });
  }
  if (log) std::copy_n(e, n * width, v);
  ExpArray(e, e, n * width);
  std::fill_n(sum, width, 0.0);
  for (int64_t d = 0; d < n; ++d) {
    const A* const y = e + d * width;
    SimdFor(width, [=](int64_t j) { sum[j] += static_cast<double>(y[j]); });
  }
  if (log) {
    for (int64_t j = 0; j < width; ++j) {
      max[j] = static_cast<A>(std::log(sum[j]));
    }
  } else {
    for (int64_t j = 0; j < width; ++j) max[j] = static_cast<A>(sum[j]);
  }
  for (int64_t d = 0; d < n; ++d) {
    A* const x = v + d * width;
    if (log) {
      SimdFor(width, [=](int64_t j) { x[j] = x[j] - max[j]; });
    } else {
      SimdFor(width, [=](int64_t j) { x[j] = x[j] / max[j]; });
    }
  }
}

template <typename T>
void Apply(const T* in, T* out, int64_t outer, int64_t n, int64_t inner,
           bool log) {
  using A = at::opmath_type<T>;
  if (inner == 1) {
    const int64_t grain = std::max<int64_t>(1, kGrain / n);
    at::parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
      std::unique_ptr<A[]> buffer;
      if constexpr (!std::is_same<T, A>::value) buffer.reset(new A[n]);
      for (int64_t r = begin; r < end; ++r) {
        T* const y = out + r * n;
        if constexpr (std::is_same<T, A>::value) {
          std::copy_n(in + r * n, n, y);
          Line(y, n, log);
        } else {
          ToCompute(in + r * n, buffer.get(), n);
          Line(buffer.get(), n, log);
          FromCompute(buffer.get(), y, n);
        }
      }
    });
    return;
  }
  // Tiles of neighbouring lines, about 64K elements each.
  const int64_t tile =
      std::min(inner, std::max<int64_t>(16, std::min<int64_t>(512, 65536 / n)));
  const int64_t tiles = (inner + tile - 1) / tile;
  const int64_t grain = std::max<int64_t>(1, kGrain / (n * tile));
  at::parallel_for(0, outer * tiles, grain, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<A[]> values(new A[n * tile]);
    const std::unique_ptr<A[]> powers(log ? new A[n * tile] : nullptr);
    const std::unique_ptr<A[]> max(new A[tile]);
    const std::unique_ptr<double[]> sum(new double[tile]);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t start = t % tiles * tile;
      const int64_t width = std::min(tile, inner - start);
      const int64_t base = t / tiles * n * inner + start;
      for (int64_t d = 0; d < n; ++d) {
        ToCompute(in + base + d * inner, values.get() + d * width, width);
      }
      Lines(values.get(), n, width, log, max.get(), sum.get(),
            log ? powers.get() : values.get());
      for (int64_t d = 0; d < n; ++d) {
        FromCompute(values.get() + d * width, out + base + d * inner, width);
      }
    }
  });
}

// The whole operator.
inline at::Tensor Softmax(const at::Tensor& self, int64_t dim,
                          bool half_to_float, bool log) {
  TORCH_CHECK(!half_to_float,
              "softmax: half_to_float is not supported on the CPU");
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const at::Tensor in = self.contiguous();
  at::Tensor out = at::empty(self.sizes(), self.options());
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= in.size(d);
  for (int64_t d = axis + 1; d < in.dim(); ++d) inner *= in.size(d);
  const int64_t n = in.dim() == 0 ? 1 : in.size(axis);
  if (in.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kBFloat16, at::kHalf, in.scalar_type(), "softmax_cpu", [&] {
        Apply(in.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
              outer, n, inner, log);
      });
  return out;
}

}  // namespace internal_softmax
}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_SOFTMAX_ROWS_H_
