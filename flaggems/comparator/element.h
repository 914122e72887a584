#ifndef FLAGGEMS_COMPARATOR_ELEMENT_H_
#define FLAGGEMS_COMPARATOR_ELEMENT_H_

// What one stored element is worth. Decoding is exact: every float16,
// bfloat16, float8 and float32 value is a double, every integer an int64_t or
// uint64_t. No step produces or reads a subnormal of the wider type except
// where the stored value is one, so a thread that flushes denormals to zero
// decodes the 8- and 16-bit types as any other thread.
//
// The decoders are branch-free where a loop over them should vectorise.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "flaggems/core/dtype.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

namespace internal_element {

template <typename To, typename From>
FG_HOST_DEVICE inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// 2^exponent for exponents of normal doubles.
FG_HOST_DEVICE inline double PowerOfTwo(int exponent) {
  return BitCast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

}  // namespace internal_element

FG_HOST_DEVICE inline float DecodeFloat16(uint16_t bits) {
#ifdef __CUDA_ARCH__
  float value;  // one instruction, exact, of subnormals too
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  // Selections are masks: compilers turn ?: into branches and do not vectorise.
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  // Normal: the same fraction, exponent bias 127 instead of 15; Inf and NaN
  // move on to the largest exponent.
  constexpr uint32_t kRebias = 112u << 23;
  const uint32_t special = 0u - static_cast<uint32_t>(magnitude >= 0x7c00u);
  const uint32_t normal = (magnitude << 13) + kRebias + (special & kRebias);
  // Subnormal: a multiple of 2^-24, a normal float (or zero).
  const uint32_t subnormal = internal_element::BitCast<uint32_t>(
      static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t is_subnormal = 0u - static_cast<uint32_t>(magnitude < 0x0400u);
  return internal_element::BitCast<float>(sign | (subnormal & is_subnormal) |
                                          (normal & ~is_subnormal));
#endif
}

FG_HOST_DEVICE inline float DecodeBFloat16(uint16_t bits) {
  return internal_element::BitCast<float>(static_cast<uint32_t>(bits) << 16);
}

// 1 sign, 4 exponent (bias 7), 3 fraction bits; no Inf; NaN is S.1111.111.
FG_HOST_DEVICE inline float DecodeFloat8E4M3FN(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return internal_element::BitCast<float>(0x7fc00000u);
  const double value =
      exponent == 0
          ? fraction * 0x1p-9
          : (8 + fraction) * internal_element::PowerOfTwo(exponent - 10);
  return static_cast<float>((bits & 0x80) != 0 ? -value : value);
}

// 1 sign, 5 exponent (bias 15), 2 fraction bits: the upper byte of a float16.
FG_HOST_DEVICE inline float DecodeFloat8E5M2(uint8_t bits) {
  return DecodeFloat16(static_cast<uint16_t>(bits << 8));
}

// As E4M3FN with bias 8; no Inf, no -0: 0x80 is the one NaN.
FG_HOST_DEVICE inline float DecodeFloat8E4M3FNUZ(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int fraction = bits & 7;
  if (bits == 0x80) return internal_element::BitCast<float>(0x7fc00000u);
  const double value =
      exponent == 0
          ? fraction * 0x1p-10
          : (8 + fraction) * internal_element::PowerOfTwo(exponent - 11);
  return static_cast<float>((bits & 0x80) != 0 ? -value : value);
}

// 1 sign, 5 exponent (bias 16), 2 fraction bits; no Inf, no -0: 0x80 is the
// one NaN.
FG_HOST_DEVICE inline float DecodeFloat8E5M2FNUZ(uint8_t bits) {
  const int exponent = (bits >> 2) & 31;
  const int fraction = bits & 3;
  if (bits == 0x80) return internal_element::BitCast<float>(0x7fc00000u);
  const double value =
      exponent == 0
          ? fraction * 0x1p-17
          : (4 + fraction) * internal_element::PowerOfTwo(exponent - 18);
  return static_cast<float>((bits & 0x80) != 0 ? -value : value);
}

// 8 exponent bits (bias 127) and nothing else: powers of two; 0xff is NaN. A
// double, because 2^-127 would be a subnormal float.
FG_HOST_DEVICE inline double DecodeFloat8E8M0FNU(uint8_t bits) {
  if (bits == 0xff) {
    return internal_element::BitCast<double>(uint64_t{0x7ff8000000000000});
  }
  return internal_element::PowerOfTwo(static_cast<int>(bits) - 127);
}

// A complex number as two doubles.
struct ComplexValue {
  double re = 0;
  double im = 0;
};

// Element<dtype>: the stored type, the type that values are compared in
// (double, int64_t, uint64_t or ComplexValue), and Load() from one to the
// other.
template <DType kDType>
struct Element;

namespace internal_element {

template <typename StoredType, typename ValueType>
struct PlainElement {
  using Stored = StoredType;
  using Value = ValueType;
  FG_HOST_DEVICE static Value Load(Stored stored) {
    return static_cast<Value>(stored);
  }
};

template <typename StoredType, auto kDecode>
struct CodedElement {
  using Stored = StoredType;
  using Value = double;
  FG_HOST_DEVICE static Value Load(Stored stored) { return kDecode(stored); }
};

template <typename Part>
struct ComplexElement {
  struct Stored {
    typename Part::Stored re;
    typename Part::Stored im;
  };
  using Value = ComplexValue;
  FG_HOST_DEVICE static Value Load(Stored stored) {
    return {Part::Load(stored.re), Part::Load(stored.im)};
  }
};

}  // namespace internal_element

// Any byte but 0 is true; a kernel may have stored another one than 1.
template <>
struct Element<DType::kBool> {
  using Stored = uint8_t;
  using Value = int64_t;
  FG_HOST_DEVICE static Value Load(Stored stored) { return stored != 0; }
};

template <>
struct Element<DType::kUInt8>
    : internal_element::PlainElement<uint8_t, int64_t> {};
template <>
struct Element<DType::kInt8> : internal_element::PlainElement<int8_t, int64_t> {
};
template <>
struct Element<DType::kInt16>
    : internal_element::PlainElement<int16_t, int64_t> {};
template <>
struct Element<DType::kInt32>
    : internal_element::PlainElement<int32_t, int64_t> {};
template <>
struct Element<DType::kInt64>
    : internal_element::PlainElement<int64_t, int64_t> {};
template <>
struct Element<DType::kUInt16>
    : internal_element::PlainElement<uint16_t, int64_t> {};
template <>
struct Element<DType::kUInt32>
    : internal_element::PlainElement<uint32_t, int64_t> {};
template <>
struct Element<DType::kUInt64>
    : internal_element::PlainElement<uint64_t, uint64_t> {};

template <>
struct Element<DType::kFloat16>
    : internal_element::CodedElement<uint16_t, &DecodeFloat16> {};
template <>
struct Element<DType::kBFloat16>
    : internal_element::CodedElement<uint16_t, &DecodeBFloat16> {};
template <>
struct Element<DType::kFloat32>
    : internal_element::PlainElement<float, double> {};
template <>
struct Element<DType::kFloat64>
    : internal_element::PlainElement<double, double> {};
template <>
struct Element<DType::kFloat8E4M3FN>
    : internal_element::CodedElement<uint8_t, &DecodeFloat8E4M3FN> {};
template <>
struct Element<DType::kFloat8E5M2>
    : internal_element::CodedElement<uint8_t, &DecodeFloat8E5M2> {};
template <>
struct Element<DType::kFloat8E4M3FNUZ>
    : internal_element::CodedElement<uint8_t, &DecodeFloat8E4M3FNUZ> {};
template <>
struct Element<DType::kFloat8E5M2FNUZ>
    : internal_element::CodedElement<uint8_t, &DecodeFloat8E5M2FNUZ> {};
template <>
struct Element<DType::kFloat8E8M0FNU>
    : internal_element::CodedElement<uint8_t, &DecodeFloat8E8M0FNU> {};

template <>
struct Element<DType::kComplex32>
    : internal_element::ComplexElement<Element<DType::kFloat16>> {};
template <>
struct Element<DType::kComplex64>
    : internal_element::ComplexElement<Element<DType::kFloat32>> {};
template <>
struct Element<DType::kComplex128>
    : internal_element::ComplexElement<Element<DType::kFloat64>> {};

template <DType kDType>
using StoredOf = typename Element<kDType>::Stored;
template <DType kDType>
using ValueOf = typename Element<kDType>::Value;

// Calls visitor(std::integral_constant<DType, dtype>{}) and returns true;
// returns false for the types that have no Element: quantised ones, whose
// value depends on a scale that is not stored with them, and kOther.
template <typename Visitor>
bool VisitElementType(DType dtype, Visitor&& visitor) {
  switch (dtype) {
#define FG_VISIT_DTYPE_(name)                              \
  case DType::name:                                        \
    visitor(std::integral_constant<DType, DType::name>{}); \
    return true;
    FG_VISIT_DTYPE_(kBool)
    FG_VISIT_DTYPE_(kUInt8)
    FG_VISIT_DTYPE_(kInt8)
    FG_VISIT_DTYPE_(kInt16)
    FG_VISIT_DTYPE_(kInt32)
    FG_VISIT_DTYPE_(kInt64)
    FG_VISIT_DTYPE_(kUInt16)
    FG_VISIT_DTYPE_(kUInt32)
    FG_VISIT_DTYPE_(kUInt64)
    FG_VISIT_DTYPE_(kFloat16)
    FG_VISIT_DTYPE_(kBFloat16)
    FG_VISIT_DTYPE_(kFloat32)
    FG_VISIT_DTYPE_(kFloat64)
    FG_VISIT_DTYPE_(kComplex32)
    FG_VISIT_DTYPE_(kComplex64)
    FG_VISIT_DTYPE_(kComplex128)
    FG_VISIT_DTYPE_(kFloat8E4M3FN)
    FG_VISIT_DTYPE_(kFloat8E5M2)
    FG_VISIT_DTYPE_(kFloat8E4M3FNUZ)
    FG_VISIT_DTYPE_(kFloat8E5M2FNUZ)
    FG_VISIT_DTYPE_(kFloat8E8M0FNU)
#undef FG_VISIT_DTYPE_
    case DType::kQInt8:
    case DType::kQUInt8:
    case DType::kQInt32:
    case DType::kOther:
      return false;
  }
  return false;
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_ELEMENT_H_
