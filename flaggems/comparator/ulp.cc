#include "flaggems/comparator/ulp.h"

#include <limits>

namespace flaggems {

std::optional<FloatFormat> FloatFormatOf(DType dtype) {
  switch (dtype) {
    // Half way from the largest finite value to the next one, which is even,
    // so that the tie goes there.
    case DType::kFloat16:
    case DType::kComplex32:
      return FloatFormat{10, -14, 65520, true};
    case DType::kBFloat16:
      return FloatFormat{7, -126, 0x1.ffp127, true};
    case DType::kFloat32:
    case DType::kComplex64:
      return FloatFormat{23, -126, 0x1.ffffffp127, true};
    case DType::kFloat64:
    case DType::kComplex128:
      return FloatFormat{52, -1022, std::numeric_limits<double>::infinity(),
                         true};
    case DType::kFloat8E5M2:
      return FloatFormat{2, -14, 61440, true};
    case DType::kFloat8E5M2FNUZ:
      return FloatFormat{2, -15, 61440, false};
    case DType::kFloat8E4M3FNUZ:
      return FloatFormat{3, -7, 248, false};
    // The largest finite value, 448, is even: the tie, 464, goes to it.
    case DType::kFloat8E4M3FN:
      return FloatFormat{3, -6, 0x1.d000000000001p8, false};
    // No fraction: ties go up.
    case DType::kFloat8E8M0FNU:
      return FloatFormat{0, -127, 0x1.8p127, false};
    case DType::kBool:
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kQInt8:
    case DType::kQUInt8:
    case DType::kQInt32:
    case DType::kOther:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace flaggems
