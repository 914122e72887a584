// Powers.

#include <cmath>

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_pow_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
__device__ __forceinline__ Compute<T> Power(Compute<T> base,
                                            Compute<T> exponent) {
  if constexpr (std::is_integral<T>::value) {
    if constexpr (std::is_signed<T>::value) {
      if (exponent < 0) {
        if (base == T(1)) return T(1);
        const T sign = exponent % 2 == 0 ? T(1) : T(-1);
        return base == T(-1) ? sign : T(0);
      }
    }
    // Unsigned, because it may wrap.
    uint64_t factor = static_cast<uint64_t>(base);
    uint64_t result = 1;
    for (uint64_t e = static_cast<uint64_t>(exponent); e > 0; e >>= 1) {
      if (e & 1) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  } else {
    return pow(base, exponent);
  }
}

template <typename T>
struct Pow {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit Pow(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> base, Compute<T> exponent) const {
    return Power<T>(base, exponent);
  }
};

// base to the power of a number.
template <typename T>
struct PowerOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  Compute<T> exponent;
  // Of 16-bit bases.
  bool finite;
  bool whole;
  bool odd;
  explicit PowerOf(const Number* scalars) : exponent(NumberAs<T>(scalars[0])) {
    const double e = scalars[0].floating;
    finite = std::isfinite(static_cast<float>(e));
    whole = std::floor(e) == e;
    odd = std::fmod(e, 2) != 0 && whole;
  }
  __device__ Compute<T> operator()(Compute<T> base) const {
    if constexpr (kIsHalfWidth<T>) {
      if (!finite) return pow(base, exponent);
      const float y = PowPositive(fabsf(base), exponent);
      if (odd) return copysignf(y, base);
      // A negative number has no root; infinity and -0 have.
      const bool none = !whole && base < 0.0f && base > -INFINITY;
      return none ? NAN : y;
    } else {
      return Power<T>(base, exponent);
    }
  }
};

// The same for float32 and an exponent that is finite and not 0: apart, because
// a call of the library in a branch keeps the compiler from mixing the steps of
// several elements.
struct UsualPower {
  using Out = float;
  using A = float;
  using B = None;
  using C = None;
  float exponent;
  bool whole;
  bool odd;
  explicit UsualPower(float e)
      : exponent(e),
        whole(std::floor(e) == e),
        odd(whole && std::fmod(e, 2.0f) != 0.0f) {}
  static bool Has(float e) { return std::isfinite(e) && e != 0.0f; }
  __device__ float operator()(float base) const {
    const float y = PowOfAbsolute(base, exponent);
    const bool none = !whole && base < 0.0f && base > -INFINITY;
    return none ? NAN : odd ? copysignf(y, base) : y;
  }
};

template <typename T>
struct SmallPower {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  bool cube;
  bool inverse;
  explicit SmallPower(const Number* scalars)
      : cube(scalars[0].integer == 3), inverse(scalars[0].integer < 0) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    const Compute<T> power = cube ? x * x * x : x * x;
    if constexpr (std::is_integral<T>::value) {
      return power;
    } else {
      return inverse ? Compute<T>(1) / power : power;
    }
  }
};

}  // namespace

cudaError_t LaunchPow(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<Pow>(call, stream);
}

cudaError_t LaunchPowerOf(const ElementwiseCall& call, cudaStream_t stream) {
  const float exponent = NumberAs<float>(call.scalars[0]);
  if (call.compute == Element::kFloat32 && UsualPower::Has(exponent)) {
    return LaunchElementwise(UsualPower(exponent), call, stream);
  }
  return LaunchNumbers<PowerOf>(call, stream);
}

cudaError_t LaunchSmallPower(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<SmallPower>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
