#ifndef FLAGGEMS_COMPARATOR_TESTUTIL_H_
#define FLAGGEMS_COMPARATOR_TESTUTIL_H_

// Arrays for tests.

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "flaggems/comparator/element.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"

namespace flaggems {

// Memory with a shape. Stored is the type of the stored elements.
template <typename Stored>
struct TestArray {
  DType dtype;
  std::vector<Stored> data;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t first = 0;  // offset of the element with index (0, ..., 0)

  ArrayView view() const {
    return {data.data() + first, dtype, sizes, strides};
  }
};

// Strides of a contiguous array of these sizes.
inline std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * sizes[d];
  }
  return strides;
}

// A contiguous array of one dimension.
template <typename Stored>
TestArray<Stored> Vector(DType dtype, std::vector<Stored> data) {
  const int64_t n = static_cast<int64_t>(data.size());
  return {dtype, std::move(data), {n}, {1}};
}

// What the stored patterns of a type of 8 or 16 bits are worth, by pattern; of
// complex32, those of a part. Empty for other types.
inline std::vector<double> DecodedPatterns(DType dtype) {
  if (dtype == DType::kComplex32) dtype = DType::kFloat16;
  std::vector<double> values;
  VisitElementType(dtype, [&](auto tag) {
    using E = Element<tag.value>;
    if constexpr (std::is_same_v<typename E::Value, double> &&
                  sizeof(typename E::Stored) <= 2) {
      for (uint32_t bits = 0; bits < 1u << (8 * sizeof(typename E::Stored));
           ++bits) {
        values.push_back(E::Load(static_cast<typename E::Stored>(bits)));
      }
    }
  });
  return values;
}

// Those of them that are finite and not negative, in rising order; their number
// is also the first pattern that is not in it.
inline std::vector<double> FiniteValues(DType dtype) {
  std::vector<double> values = DecodedPatterns(dtype);
  size_t n = 0;
  while (n < values.size() && std::isfinite(values[n]) &&
         !std::signbit(values[n])) {
    ++n;
  }
  values.resize(n);
  return values;
}

inline bool HasInfinity(DType dtype) {
  for (double value : DecodedPatterns(dtype)) {
    if (std::isinf(value)) return true;
  }
  return false;
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_TESTUTIL_H_
