#include "flaggems/kernels/cpu/op_cumsum.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

// Floating types add up in double, integers wrap.
template <typename T>
struct RunningSum {
  using Type = std::conditional_t<std::is_integral<T>::value, uint64_t, double>;
};
template <typename R>
struct RunningSum<c10::complex<R>> {
  using Type = c10::complex<double>;
};

template <typename T>
void Kernel(const T* in, T* out, int64_t outer, int64_t n, int64_t inner) {
  using Acc = typename RunningSum<T>::Type;
  if (inner == 1) {
    // The sum stays in a register; through memory each term waits for the
    // store before it.
    at::parallel_for(0, outer, std::max<int64_t>(1, 32768 / n),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t row = begin; row < end; ++row) {
                         const T* const x = in + row * n;
                         T* const y = out + row * n;
                         Acc sum(0);
                         for (int64_t d = 0; d < n; ++d) {
                           sum += static_cast<Acc>(x[d]);
                           y[d] = static_cast<T>(sum);
                         }
                       }
                     });
    return;
  }
  constexpr int64_t kTile = 256;
  const int64_t tile = std::min(inner, kTile);
  const int64_t tiles = (inner + tile - 1) / tile;
  const int64_t grain = std::max<int64_t>(1, 32768 / (n * tile));
  at::parallel_for(0, outer * tiles, grain, [&](int64_t begin, int64_t end) {
    Acc sum[kTile];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t start = task % tiles * tile;
      const int64_t width = std::min(tile, inner - start);
      const int64_t base = task / tiles * n * inner + start;
      std::fill_n(sum, width, Acc(0));
      for (int64_t d = 0; d < n; ++d) {
        const T* const x = in + base + d * inner;
        T* const y = out + base + d * inner;
        for (int64_t j = 0; j < width; ++j) {
          sum[j] += static_cast<Acc>(x[j]);
          y[j] = static_cast<T>(sum[j]);
        }
      }
    }
  });
}

}  // namespace

at::Tensor cumsum(const at::Tensor& self, int64_t dim,
                  std::optional<at::ScalarType> dtype) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const at::ScalarType output_dtype = dtype.value_or(
      at::isIntegralType(self.scalar_type(), /*includeBool=*/true)
          ? at::kLong
          : self.scalar_type());
  const at::Tensor in = self.to(output_dtype).contiguous();
  at::Tensor out = at::empty(self.sizes(), self.options().dtype(output_dtype));
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= in.size(d);
  for (int64_t d = axis + 1; d < in.dim(); ++d) inner *= in.size(d);
  const int64_t n = in.dim() == 0 ? 1 : in.size(axis);
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(
      at::kBFloat16, at::kHalf, output_dtype, "cumsum_cpu", [&] {
        if (in.numel() == 0) return;
        Kernel(in.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
               outer, n, inner);
      });
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
