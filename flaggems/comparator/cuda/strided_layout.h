#ifndef FLAGGEMS_COMPARATOR_CUDA_STRIDED_LAYOUT_H_
#define FLAGGEMS_COMPARATOR_CUDA_STRIDED_LAYOUT_H_

// Where the element at a row-major position lies, in two strided arrays of the
// same sizes, without a division instruction. Trivially copyable: a kernel's
// parameter.

#include <cstdint>
#include <type_traits>

#include "flaggems/core/array_view.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// Division by a fixed number as a multiplication and a shift (Granlund and
// Montgomery, Division by invariant integers using multiplication, 1994). Index
// is uint32_t or uint64_t; dividend and divisor are below half its range, and
// the divisor is at least 1.
template <typename Index>
class FastDivisor {
 public:
  FastDivisor() = default;
  explicit FastDivisor(Index divisor) : divisor_(divisor) {
    while ((Index{1} << shift_) < divisor) ++shift_;
    const Wide power = Wide{1} << kBits;
    multiplier_ = static_cast<Index>(
        power * ((Wide{1} << shift_) - divisor) / divisor + 1);
  }

  FG_HOST_DEVICE Index Quotient(Index dividend) const {
    return (UpperHalf(dividend, multiplier_) + dividend) >> shift_;
  }
  FG_HOST_DEVICE Index divisor() const { return divisor_; }

 private:
  static constexpr int kBits = 8 * sizeof(Index);
  __extension__ using Wide = unsigned __int128;

  FG_HOST_DEVICE static Index UpperHalf(Index a, Index b) {
    if constexpr (sizeof(Index) == 4) {
      return static_cast<Index>((static_cast<uint64_t>(a) * b) >> 32);
    } else {
#ifdef __CUDA_ARCH__
      return __umul64hi(a, b);
#else
      return static_cast<Index>((static_cast<Wide>(a) * b) >> 64);
#endif
    }
  }

  Index divisor_ = 1;
  Index multiplier_ = 1;
  int shift_ = 0;
};

// Dimensions of size 1 are dropped and neighbours joined that one stride covers
// in both arrays.
struct JoinedDimensions {
  static constexpr int kMaxRank = 8;

  int rank = 0;  // kMaxRank + 1: more than kMaxRank
  int64_t sizes[kMaxRank] = {};
  int64_t got_strides[kMaxRank] = {};
  int64_t want_strides[kMaxRank] = {};
};

// Requires views of the same sizes with at least one element.
inline JoinedDimensions JoinDimensions(const ArrayView& got,
                                       const ArrayView& want) {
  JoinedDimensions joined;
  for (size_t d = 0; d < got.sizes.size(); ++d) {
    const int64_t size = got.sizes[d];
    if (size == 1) continue;
    const int last = joined.rank - 1;
    if (last >= 0 && joined.got_strides[last] == got.strides[d] * size &&
        joined.want_strides[last] == want.strides[d] * size) {
      joined.sizes[last] *= size;
      joined.got_strides[last] = got.strides[d];
      joined.want_strides[last] = want.strides[d];
      continue;
    }
    if (joined.rank == JoinedDimensions::kMaxRank) {
      ++joined.rank;
      return joined;
    }
    joined.sizes[joined.rank] = size;
    joined.got_strides[joined.rank] = got.strides[d];
    joined.want_strides[joined.rank] = want.strides[d];
    ++joined.rank;
  }
  return joined;
}

// Index is uint32_t if there are less than 2^31 elements.
template <typename Index>
class StridedLayout {
 public:
  using Position = Index;

  explicit StridedLayout(const JoinedDimensions& joined)
      : rank_(joined.rank == 0 ? 1 : joined.rank) {
    for (int d = 0; d < joined.rank; ++d) {
      sizes_[d] = FastDivisor<Index>(static_cast<Index>(joined.sizes[d]));
      got_strides_[d] = joined.got_strides[d];
      want_strides_[d] = joined.want_strides[d];
    }
  }

  // In elements.
  FG_HOST_DEVICE void Offsets(int64_t position, int64_t* got,
                              int64_t* want) const {
    Index left = static_cast<Index>(position);
    *got = 0;
    *want = 0;
    for (int d = rank_ - 1; d > 0; --d) {
      const Index next = sizes_[d].Quotient(left);
      const int64_t index =
          static_cast<int64_t>(left - next * sizes_[d].divisor());
      *got += index * got_strides_[d];
      *want += index * want_strides_[d];
      left = next;
    }
    *got += static_cast<int64_t>(left) * got_strides_[0];
    *want += static_cast<int64_t>(left) * want_strides_[0];
  }

 private:
  int rank_;
  FastDivisor<Index> sizes_[JoinedDimensions::kMaxRank];
  int64_t got_strides_[JoinedDimensions::kMaxRank] = {};
  int64_t want_strides_[JoinedDimensions::kMaxRank] = {};
};

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_STRIDED_LAYOUT_H_
