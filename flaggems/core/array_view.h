#ifndef FLAGGEMS_CORE_ARRAY_VIEW_H_
#define FLAGGEMS_CORE_ARRAY_VIEW_H_

// A strided array in host memory that somebody else owns.

#include <cstdint>

#include "absl/types/span.h"
#include "flaggems/core/dtype.h"

namespace flaggems {

// `data` points at the element with index (0, ..., 0). Strides are in elements
// and may be 0 (expanded) or negative. The memory, `sizes` and `strides` must
// outlive the view.
struct ArrayView {
  const void* data = nullptr;
  DType dtype = DType::kOther;
  absl::Span<const int64_t> sizes;
  absl::Span<const int64_t> strides;

  // Product of sizes; 1 for a 0-d array.
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t size : sizes) n *= size;
    return n;
  }

  // Elements follow each other in row-major order (dimensions of size 1 have
  // any stride; an array without elements is contiguous).
  bool is_contiguous() const {
    if (numel() == 0) return true;
    int64_t expected = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      if (sizes[d] != 1 && strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  }
};

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_ARRAY_VIEW_H_
