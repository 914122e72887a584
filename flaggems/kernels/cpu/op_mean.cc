#include "flaggems/kernels/cpu/op_mean.h"

#include <ATen/Dispatch.h>
#include <c10/util/complex.h>

#include "flaggems/kernels/cpu/reduce.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

template <typename T>
void Kernel(ReduceView& view) {
  const T* const in = view.input.const_data_ptr<T>();
  T* const out = view.result.mutable_data_ptr<T>();
  const double n = static_cast<double>(view.n);
  if constexpr (c10::is_complex<T>::value) {
    // Two columns of real numbers.
    using R = typename T::value_type;
    Reduce(FloatSum<R>{n}, reinterpret_cast<const R*>(in), view.outer, view.n,
           view.inner * 2, reinterpret_cast<R*>(out));
  } else {
    Reduce(FloatSum<T>{n}, in, view.outer, view.n, view.inner, out);
  }
}

}  // namespace

at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim,
                bool keepdim, std::optional<at::ScalarType> dtype) {
  const at::ScalarType output_dtype = dtype.value_or(self.scalar_type());
  TORCH_CHECK(
      at::isFloatingType(output_dtype) || at::isComplexType(output_dtype),
      "mean: the result must be floating point or complex, not ", output_dtype,
      "; give a dtype");
  ReduceView view =
      MakeReduceView(self.to(output_dtype), dim, keepdim, output_dtype);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(at::kBFloat16, at::kHalf,
                                              output_dtype, "mean_cpu",
                                              [&] { Kernel<scalar_t>(view); });
  return view.Finish();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
