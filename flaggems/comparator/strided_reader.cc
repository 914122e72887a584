#include "flaggems/comparator/strided_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace flaggems {

absl::Status ValidateView(const ArrayView& view) {
  if (view.sizes.size() != view.strides.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "array has ", view.sizes.size(), " sizes but ", view.strides.size(),
        " strides; pass one stride a dimension"));
  }
  bool empty = false;
  for (int64_t size : view.sizes) {
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("array has a dimension of size ", size,
                       "; sizes must not be negative"));
    }
    empty |= size == 0;
  }
  if (empty) return absl::OkStatus();
  int64_t numel = 1;
  for (int64_t size : view.sizes) {
    if (__builtin_mul_overflow(numel, size, &numel)) {
      return absl::InvalidArgumentError(
          "array has more elements than int64 can count; check its sizes");
    }
  }
  if (view.data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("array of ", numel, " elements has no memory"));
  }
  return absl::OkStatus();
}

int64_t OffsetOf(const ArrayView& view, int64_t position) {
  int64_t offset = 0;
  for (size_t d = view.sizes.size(); d-- > 0;) {
    offset += position % view.sizes[d] * view.strides[d];
    position /= view.sizes[d];
  }
  return offset;
}

StridedReader::StridedReader(const ArrayView& view, int64_t begin)
    : data_(view.data), offset_(OffsetOf(view, begin)) {
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    const int64_t size = view.sizes[d];
    const int64_t stride = view.strides[d];
    if (size == 1) continue;
    if (rank_ > 0 && strides_[rank_ - 1] == size * stride) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = stride;
    } else {
      sizes_[rank_] = size;
      strides_[rank_] = stride;
      ++rank_;
    }
  }
  if (rank_ == 0) {
    sizes_[0] = 1;
    strides_[0] = 0;
    rank_ = 1;
  }
  for (int d = rank_ - 1; d >= 0; --d) {
    index_[d] = begin % sizes_[d];
    begin /= sizes_[d];
  }
}

void StridedReader::Advance(int64_t run) {
  int d = rank_ - 1;
  index_[d] += run;
  offset_ += run * strides_[d];
  // Carry; after the last element all of it returns to the first.
  while (index_[d] == sizes_[d]) {
    offset_ -= sizes_[d] * strides_[d];
    index_[d] = 0;
    if (--d < 0) return;
    ++index_[d];
    offset_ += strides_[d];
  }
}

}  // namespace flaggems
