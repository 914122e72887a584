#ifndef FLAGGEMS_COMPARATOR_STRIDED_READER_H_
#define FLAGGEMS_COMPARATOR_STRIDED_READER_H_

// Walks a strided array in row-major order without allocating.

#include <cstdint>

#include "absl/status/status.h"
#include "flaggems/core/array_view.h"

namespace flaggems {

// kInvalidArgument unless sizes and strides have the same length, no size is
// negative, the number of elements fits int64_t, and there is memory behind
// them. The functions below require a valid view.
absl::Status ValidateView(const ArrayView& view);

// Offset in elements of a row-major position from the view's first element.
int64_t OffsetOf(const ArrayView& view, int64_t position);

// Requires a view with at least one element, whose memory it keeps pointing
// to; `sizes` and `strides` are needed by the constructor only.
class StridedReader {
 public:
  // The first element read is the one at row-major position `begin`, which is
  // in [0, numel).
  StridedReader(const ArrayView& view, int64_t begin);

  // Copies the next `count` elements; Stored has the size of an element. Must
  // not go beyond the last element.
  template <typename Stored>
  void Read(int64_t count, Stored* out) {
    const Stored* const data = static_cast<const Stored*>(data_);
    while (count > 0) {
      const int64_t left = sizes_[rank_ - 1] - index_[rank_ - 1];
      const int64_t step = strides_[rank_ - 1];
      const int64_t run = count < left ? count : left;
      for (int64_t i = 0; i < run; ++i) out[i] = data[offset_ + i * step];
      out += run;
      count -= run;
      Advance(run);
    }
  }

 private:
  // An array with elements has at most 62 dimensions of size 2 and more.
  static constexpr int kMaxRank = 63;

  // Moves on by `run` elements, which all lie in the current innermost row.
  void Advance(int64_t run);

  const void* data_;
  int64_t offset_ = 0;
  // The view's dimensions without those of size 1 and with neighbours joined
  // where one stride covers both; at least one.
  int rank_ = 0;
  int64_t sizes_[kMaxRank];
  int64_t strides_[kMaxRank];
  int64_t index_[kMaxRank];
};

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_STRIDED_READER_H_
