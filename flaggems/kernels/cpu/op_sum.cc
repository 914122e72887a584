#include "flaggems/kernels/cpu/op_sum.h"

#include <ATen/Dispatch.h>
#include <c10/util/complex.h>

#include <type_traits>

#include "flaggems/kernels/cpu/reduce.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

template <typename T>
void Kernel(ReduceView& view) {
  const T* const in = view.input.const_data_ptr<T>();
  T* const out = view.result.mutable_data_ptr<T>();
  if constexpr (c10::is_complex<T>::value) {
    // Two columns of real numbers.
    using R = typename T::value_type;
    Reduce(FloatSum<R>(), reinterpret_cast<const R*>(in), view.outer, view.n,
           view.inner * 2, reinterpret_cast<R*>(out));
  } else if constexpr (std::is_integral<T>::value) {
    Reduce(IntegerSum<T>(), in, view.outer, view.n, view.inner, out);
  } else {
    Reduce(FloatSum<T>(), in, view.outer, view.n, view.inner, out);
  }
}

}  // namespace

at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim,
               bool keepdim, std::optional<at::ScalarType> dtype) {
  const at::ScalarType output_dtype = dtype.value_or(
      at::isIntegralType(self.scalar_type(), /*includeBool=*/true)
          ? at::kLong
          : self.scalar_type());
  ReduceView view =
      MakeReduceView(self.to(output_dtype), dim, keepdim, output_dtype);
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(at::kBFloat16, at::kHalf, at::kBool,
                                         output_dtype, "sum_cpu",
                                         [&] { Kernel<scalar_t>(view); });
  return view.Finish();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
