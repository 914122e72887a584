#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/strided_reader.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"

namespace flaggems {
namespace {

// The shortest decimal that reads back as the same value of its type.
template <typename Floating>
std::string Shortest(Floating value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

// The same for an 8- or 16-bit type: fewest digits that are nearer to this
// value than to the next ones, whose bit patterns are one more and one less.
template <DType kDType>
std::string ShortestOfCoded(StoredOf<kDType> bits) {
  using Stored = StoredOf<kDType>;
  const double value = Element<kDType>::Load(bits);
  if (value == 0 || !std::isfinite(value)) return Shortest(value);
  double half_gap = HUGE_VAL;
  for (const int step : {-1, 1}) {
    const double next = Element<kDType>::Load(static_cast<Stored>(bits + step));
    // Inf, NaN and what wraps around to another sign are no neighbours.
    if (!std::isfinite(next) || std::signbit(next) != std::signbit(value)) {
      continue;
    }
    half_gap = std::fmin(half_gap, std::fabs(next - value) / 2);
  }
  for (int digits = 1; digits < 9; ++digits) {
    char buffer[64];
    const std::to_chars_result end =
        std::to_chars(buffer, buffer + sizeof(buffer), value,
                      std::chars_format::general, digits);
    double parsed = 0;
    std::from_chars(buffer, end.ptr, parsed);
    if (std::fabs(parsed - value) < half_gap) return Shortest(parsed);
  }
  return Shortest(value);
}

template <DType kDType>
std::string FormatPart(StoredOf<kDType> stored) {
  if constexpr (std::is_floating_point_v<StoredOf<kDType>>) {
    return Shortest(stored);
  } else {
    return ShortestOfCoded<kDType>(stored);
  }
}

template <DType kPart>
std::string FormatComplex(StoredOf<kPart> re, StoredOf<kPart> im) {
  std::string im_text = FormatPart<kPart>(im);
  if (im_text[0] != '-') im_text.insert(0, "+");
  return absl::StrCat("(", FormatPart<kPart>(re), im_text, "j)");
}

template <DType kDType>
std::string FormatStored(StoredOf<kDType> stored) {
  if constexpr (kDType == DType::kBool) {
    return stored != 0 ? "True" : "False";
  } else if constexpr (kDType == DType::kComplex32) {
    return FormatComplex<DType::kFloat16>(stored.re, stored.im);
  } else if constexpr (kDType == DType::kComplex64) {
    return FormatComplex<DType::kFloat32>(stored.re, stored.im);
  } else if constexpr (kDType == DType::kComplex128) {
    return FormatComplex<DType::kFloat64>(stored.re, stored.im);
  } else if constexpr (std::is_same_v<ValueOf<kDType>, double>) {
    return FormatPart<kDType>(stored);
  } else {
    return absl::StrCat(Element<kDType>::Load(stored));
  }
}

// The type of the integers that a quantised type stores.
DType StoredDType(DType dtype) {
  switch (dtype) {
    case DType::kQInt8:
      return DType::kInt8;
    case DType::kQUInt8:
      return DType::kUInt8;
    case DType::kQInt32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

}  // namespace

std::string FormatElement(const ArrayView& array, int64_t position) {
  if (!ValidateView(array).ok() || position < 0 || position >= array.numel()) {
    return "?";
  }
  std::string text = "?";
  VisitElementType(StoredDType(array.dtype), [&](auto tag) {
    const auto* data = static_cast<const StoredOf<tag.value>*>(array.data);
    text = FormatStored<tag.value>(data[OffsetOf(array, position)]);
  });
  return text;
}

}  // namespace flaggems
