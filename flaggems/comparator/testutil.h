#ifndef FLAGGEMS_COMPARATOR_TESTUTIL_H_
#define FLAGGEMS_COMPARATOR_TESTUTIL_H_

// Arrays for tests.

#include <cstdint>
#include <utility>
#include <vector>

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

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_TESTUTIL_H_
