#ifndef FLAGGEMS_COMPARATOR_ULP_ERROR_H_
#define FLAGGEMS_COMPARATOR_ULP_ERROR_H_

// Signed errors in spacings of the output's dtype (ulp.h), as integers: sums of
// integers do not depend on how elements are divided and in which order they
// are added.

#include <cmath>
#include <cstdint>
#include <optional>

#include "flaggems/comparator/element.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// An error is clamped to +-65,536 spacings and rounded (ties to even) to a
// multiple of 1/1,024 of one.
inline constexpr double kMaxUlpError = 0x1p16;
inline constexpr int kUlpErrorBits = 10;
inline constexpr double kUlpErrorUnit = 0x1p-10;  // 2^-kUlpErrorBits

// UlpErrorFunction
//
// got - want in units of kUlpErrorUnit spacings, of finite numbers. The spacing
// is Ulp() at |want|. No division. The difference is one double operation,
// which may round; what follows is exact up to the clamp and the last rounding.
// At most 2^26 units, so that a square is below 2^53.
class UlpErrorFunction {
 public:
  static constexpr double kMaxUnits = 0x1p26;  // of kMaxUlpError
  // Added to a double below 2^51 leaves that as an integer in the lowest bits.
  static constexpr double kToInteger = 0x1.8p52;

  // Of no format, for rules of integers, which have no spacing. Not to be
  // called.
  UlpErrorFunction() = default;
  FG_HOST_DEVICE explicit UlpErrorFunction(const FloatFormat& format)
      : smallest_power_(format.smallest_normal()),
        scale_(internal_element::PowerOfTwo(format.fraction_bits - 1 +
                                            kUlpErrorBits)) {}

  FG_HOST_DEVICE int64_t operator()(double got, double want) const {
    return IntegerOf(Shifted(got - want, want));
  }

  // The units plus kToInteger. `diff` is got - want, Inf after an overflow.
  // Branch-free: loops over it vectorise.
  FG_HOST_DEVICE double Shifted(double diff, double want) const {
    const double units = Unclamped(diff, want);
    const double size = std::fabs(units);
    return std::copysign(size < kMaxUnits ? size : kMaxUnits, units) +
           kToInteger;
  }
  FG_HOST_DEVICE static int64_t IntegerOf(double shifted) {
    return internal_element::BitCast<int64_t>(shifted) -
           internal_element::BitCast<int64_t>(kToInteger);
  }

  // With 2^e, ulp.h's, at `want`: diff * 2^(1 - e) * scale(). The bits of
  // 2^(1 - e) are those of an exponent of all ones less those of 2^e.
  FG_HOST_DEVICE double smallest_power() const { return smallest_power_; }
  FG_HOST_DEVICE double scale() const { return scale_; }

 private:
  FG_HOST_DEVICE double Unclamped(double diff, double want) const {
    constexpr uint64_t kExponents = uint64_t{0x7ff} << 52;
    const double power = internal_element::BitCast<double>(
        internal_element::BitCast<uint64_t>(want) & kExponents);
    // 2^(1 - e) is a normal double for every e; 2^-e is not.
    const double reciprocal = internal_element::BitCast<double>(
        kExponents - internal_element::BitCast<uint64_t>(
                         power < smallest_power_ ? smallest_power_ : power));
    return diff * reciprocal * scale_;
  }

  double smallest_power_ = 1;
  double scale_ = 0;
};

// Of a floating type or of the parts of a complex one; of no format for others.
inline UlpErrorFunction UlpErrorOf(DType dtype) {
  const std::optional<FloatFormat> format = FloatFormatOf(dtype);
  return format ? UlpErrorFunction(*format) : UlpErrorFunction();
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_ULP_ERROR_H_
