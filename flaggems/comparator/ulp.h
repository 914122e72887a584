#ifndef FLAGGEMS_COMPARATOR_ULP_H_
#define FLAGGEMS_COMPARATOR_ULP_H_

// The spacing of a floating type's values, taken at a double.

#include <cstdint>
#include <optional>

#include "flaggems/comparator/element.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// A binary floating type. Its normal numbers are m * 2^e with 1 <= m < 2 in
// steps of 2^-fraction_bits and e >= min_exponent.
struct FloatFormat {
  int fraction_bits;
  int min_exponent;
  // The smallest double whose nearest value (ties to even) would be beyond the
  // largest finite one; Inf for float64.
  double overflow;
  bool has_infinity;  // what overflows is Inf; else it is NaN

  FG_HOST_DEVICE double smallest_normal() const {
    return internal_element::PowerOfTwo(min_exponent);
  }
};

// The format of a real floating type or of the parts of a complex one; nullopt
// for others.
std::optional<FloatFormat> FloatFormatOf(DType dtype);

// Ulp()
//
// The distance from the largest value v <= abs_value of the format to the next
// one: 2^(e - fraction_bits) with e = floor(log2(abs_value)), but at least the
// format's smallest spacing. So at a power of two it is the spacing above, and
// below the smallest normal number that of the subnormals. Beyond the largest
// finite value it goes on doubling, as if there were larger exponents.
//
// Exact. abs_value is >= 0 and finite. Branch-free: loops over it vectorise.
class UlpFunction {
 public:
  FG_HOST_DEVICE explicit UlpFunction(const FloatFormat& format)
      : smallest_power_(format.smallest_normal()),
        spacing_of_one_(internal_element::PowerOfTwo(-format.fraction_bits)) {}

  FG_HOST_DEVICE double operator()(double abs_value) const {
    constexpr uint64_t kExponentMask = uint64_t{0x7ff} << 52;
    // 2^e; 0 for a subnormal double, which no format has as a normal number.
    const double power = internal_element::BitCast<double>(
        internal_element::BitCast<uint64_t>(abs_value) & kExponentMask);
    return (power < smallest_power_ ? smallest_power_ : power) *
           spacing_of_one_;
  }

 private:
  double smallest_power_;
  double spacing_of_one_;
};

FG_HOST_DEVICE inline double Ulp(const FloatFormat& format, double abs_value) {
  return UlpFunction(format)(abs_value);
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_ULP_H_
