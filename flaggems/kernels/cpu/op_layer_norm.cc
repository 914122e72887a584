#include "flaggems/kernels/cpu/op_layer_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/native/cpu/mixed_data_type.h>
#include <ATen/native/layer_norm.h>
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
namespace {

template <typename T, typename A>
const A* Row(const T* x, A* buffer, int64_t n) {
  if constexpr (std::is_same<T, A>::value) {
    return x;
  } else {
    Widen(x, buffer, n);
    return buffer;
  }
}

// A weight or bias as an array of A; null if there is none.
template <typename A>
at::Tensor Parameter(const std::optional<at::Tensor>& t) {
  if (!t.has_value() || !t->defined()) return at::Tensor();
  return t->contiguous().to(c10::CppTypeToScalarType<A>::value);
}

// The mean, value + shift. The value is the nearest number of the type; what it
// lacks would not vanish against deviations of a few ulps.
template <typename A>
struct Mean {
  A value;
  double shift;
};

// Exact for a row of equal elements. NaN for a row with an infinity or a NaN.
template <typename A>
Mean<A> MeanOf(const A* v, int64_t n) {
  // An empty row has mean 0 and, like aten's, no variance.
  if (n == 0) return {0, 0};
  double estimate = SumArray(v, n) / n;
  if (!std::isfinite(estimate)) {
    // The sum overflows where the mean does not.
    estimate = 0;
    for (int64_t i = 0; i < n; ++i) estimate += static_cast<double>(v[i]) / n;
  }
  const A m = static_cast<A>(estimate);
  // The deviations from the estimate cancel its rounding. Those of equal
  // elements are equal small multiples of an ulp, added up without rounding.
  double deviation = SumAround(v, m, n) / n;
  // They overflow between the largest numbers of both signs.
  if (std::isfinite(m) && !std::isfinite(deviation)) deviation = 0;
  const A nearest = static_cast<A>(static_cast<double>(m) + deviation);
  const double distance = static_cast<double>(m) - static_cast<double>(nearest);
  return {nearest, distance + deviation};
}

template <typename T, typename P>
void Normalize(const T* x, int64_t rows, int64_t n, const at::Tensor& weight,
               const at::Tensor& bias, double eps, T* y, P* mean, P* rstd) {
  using A = at::opmath_type<T>;
  const A* const g = weight.defined() ? weight.const_data_ptr<A>() : nullptr;
  const A* const b = bias.defined() ? bias.const_data_ptr<A>() : nullptr;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    std::unique_ptr<A[]> buffer;
    if constexpr (!std::is_same<T, A>::value) buffer.reset(new A[n]);
    for (int64_t r = begin; r < end; ++r) {
      const A* const v = Row(x + r * n, buffer.get(), n);
      const Mean<A> average = MeanOf(v, n);
      const A m = average.value;
      const double shift = average.shift;
      const A t = static_cast<A>(shift);
      // Around the rounded mean; the difference to the exact one is taken out.
      const double spread = SumSquaresAround(v, m, n) / n;
      const double variance =
          shift * shift < spread ? spread - shift * shift : spread;
      const double inverse = 1 / std::sqrt(variance + eps);
      const A s = static_cast<A>(inverse);
      mean[r] = static_cast<P>(static_cast<double>(m) + shift);
      rstd[r] = static_cast<P>(s);
      A* const out = [&] {
        if constexpr (std::is_same<T, A>::value) {
          return y + r * n;
        } else {
          return buffer.get();
        }
      }();
      if (g != nullptr && b != nullptr) {
        SimdFor(n,
                [=](int64_t i) { out[i] = (v[i] - m - t) * s * g[i] + b[i]; });
      } else if (g != nullptr) {
        SimdFor(n, [=](int64_t i) { out[i] = (v[i] - m - t) * s * g[i]; });
      } else if (b != nullptr) {
        SimdFor(n, [=](int64_t i) { out[i] = (v[i] - m - t) * s + b[i]; });
      } else {
        SimdFor(n, [=](int64_t i) { out[i] = (v[i] - m - t) * s; });
      }
      if constexpr (!std::is_same<T, A>::value) Narrow(out, y + r * n, n);
    }
  });
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(
    const at::Tensor& input, at::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, double eps) {
  const at::Tensor gamma = weight.value_or(at::Tensor());
  const at::Tensor beta = bias.value_or(at::Tensor());
  const auto [rows, n] = at::native::_check_layer_norm_inputs(
      input, normalized_shape, gamma, beta);
  const bool mixed = at::native::is_mixed_type(input, gamma, beta);
  if (mixed) at::native::check_mixed_data_type(input, gamma, beta);
  TORCH_CHECK(!gamma.defined() || !beta.defined() ||
                  gamma.scalar_type() == beta.scalar_type(),
              "layer_norm: weight and bias must have the same dtype, got ",
              gamma.scalar_type(), " and ", beta.scalar_type());
  const at::ScalarType statistics_dtype =
      at::native::param_scalar_type(input, mixed);
  const at::Tensor x = input.contiguous();
  at::Tensor y = at::empty(input.sizes(), input.options());
  at::DimVector statistics_shape(input.sizes());
  for (size_t d = input.dim() - normalized_shape.size();
       d < statistics_shape.size(); ++d) {
    statistics_shape[d] = 1;
  }
  const at::TensorOptions options = input.options().dtype(statistics_dtype);
  at::Tensor mean = at::empty(statistics_shape, options);
  at::Tensor rstd = at::empty(statistics_shape, options);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kBFloat16, at::kHalf, x.scalar_type(), "layer_norm_cpu", [&] {
        using A = at::opmath_type<scalar_t>;
        const at::Tensor g = Parameter<A>(weight);
        const at::Tensor b = Parameter<A>(bias);
        const scalar_t* const in = x.const_data_ptr<scalar_t>();
        scalar_t* const out = y.mutable_data_ptr<scalar_t>();
        if (statistics_dtype == x.scalar_type()) {
          Normalize(in, rows, n, g, b, eps, out,
                    mean.mutable_data_ptr<scalar_t>(),
                    rstd.mutable_data_ptr<scalar_t>());
        } else {
          Normalize(in, rows, n, g, b, eps, out, mean.mutable_data_ptr<A>(),
                    rstd.mutable_data_ptr<A>());
        }
      });
  return {y, mean, rstd};
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
