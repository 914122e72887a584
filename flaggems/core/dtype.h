#ifndef FLAGGEMS_CORE_DTYPE_H_
#define FLAGGEMS_CORE_DTYPE_H_

// Element types, torch-free. aten/dtype_of.h maps at::ScalarType to them.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace flaggems {

enum class DType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,  // a pair of float16
  kComplex64,
  kComplex128,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E4M3FNUZ,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
  kQInt8,
  kQUInt8,
  kQInt32,
  kOther,  // an element type that the checker does not know
};

inline constexpr int kNumDTypes = static_cast<int>(DType::kOther) + 1;

// The name that torch prints, "torch.float32"; "torch.unknown" for kOther.
absl::string_view TorchName(DType dtype);

// Bytes of one element; 0 for kOther.
size_t ElementSize(DType dtype);

// Real floating types, 8-bit ones included; complex ones not.
bool IsFloating(DType dtype);
bool IsComplex(DType dtype);
// Integers and bool; quantised types not.
bool IsIntegral(DType dtype);
// float16 and bfloat16: the types whose tolerances the original raises.
bool IsHalfPrecision(DType dtype);

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_DTYPE_H_
