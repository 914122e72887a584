#include "flaggems/aten/dtype_of.h"

namespace flaggems {

DType DTypeOf(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Bool:
      return DType::kBool;
    case c10::ScalarType::Byte:
      return DType::kUInt8;
    case c10::ScalarType::Char:
      return DType::kInt8;
    case c10::ScalarType::Short:
      return DType::kInt16;
    case c10::ScalarType::Int:
      return DType::kInt32;
    case c10::ScalarType::Long:
      return DType::kInt64;
    case c10::ScalarType::UInt16:
      return DType::kUInt16;
    case c10::ScalarType::UInt32:
      return DType::kUInt32;
    case c10::ScalarType::UInt64:
      return DType::kUInt64;
    case c10::ScalarType::Half:
      return DType::kFloat16;
    case c10::ScalarType::BFloat16:
      return DType::kBFloat16;
    case c10::ScalarType::Float:
      return DType::kFloat32;
    case c10::ScalarType::Double:
      return DType::kFloat64;
    case c10::ScalarType::ComplexHalf:
      return DType::kComplex32;
    case c10::ScalarType::ComplexFloat:
      return DType::kComplex64;
    case c10::ScalarType::ComplexDouble:
      return DType::kComplex128;
    case c10::ScalarType::Float8_e4m3fn:
      return DType::kFloat8E4M3FN;
    case c10::ScalarType::Float8_e5m2:
      return DType::kFloat8E5M2;
    case c10::ScalarType::Float8_e4m3fnuz:
      return DType::kFloat8E4M3FNUZ;
    case c10::ScalarType::Float8_e5m2fnuz:
      return DType::kFloat8E5M2FNUZ;
    case c10::ScalarType::Float8_e8m0fnu:
      return DType::kFloat8E8M0FNU;
    case c10::ScalarType::QInt8:
      return DType::kQInt8;
    case c10::ScalarType::QUInt8:
      return DType::kQUInt8;
    case c10::ScalarType::QInt32:
      return DType::kQInt32;
    default:
      return DType::kOther;
  }
}

}  // namespace flaggems
