#ifndef FLAGGEMS_COMPARATOR_CUDA_TILE_QUEUE_CUH_
#define FLAGGEMS_COMPARATOR_CUDA_TILE_QUEUE_CUH_

// Which tiles a warp of a launch takes. A warp that is held up takes fewer: the
// launch ends when its last warp does. Only for compilers of CUDA.

#include <cstdint>

#include "flaggems/comparator/cuda/device_walk.h"

namespace flaggems {
namespace internal_device {

// Tiles in rising order, each for one warp of the grid: the first ones by the
// warp's number, then for who asks first, fewer at a time as fewer are left.
// Neighbours at a time, but not too many: all warps are to be in the same part
// of the arrays. Lane-uniform; all lanes of a warp call each function together.
class TileQueue {
 public:
  // `taken`: of the grid; 0 before the launch, and of no meaning after it.
  // Nobody adds to it any more once each warp has been given a tile beyond the
  // last. Less than 2^31 tiles.
  __device__ TileQueue(int64_t tiles, int64_t warp, int64_t warps,
                       unsigned* taken)
      : tiles_(static_cast<unsigned>(tiles)), taken_(taken) {
    // Of the tiles that are left, half of what would be everybody's part or so.
    shift_ = 32 - __clz(static_cast<int>(warps));
    const unsigned share = ShareOf(tiles_);
    first_shares_ = share * static_cast<unsigned>(warps);
    tile_ = share * static_cast<unsigned>(warp);
    end_ = tile_ + share;
    Ask(first_shares_);
  }

  __device__ unsigned Tile() const { return tile_; }
  __device__ void Advance() {
    if (++tile_ < end_) return;
    tile_ = first_shares_ + __shfl_sync(~0u, answer_, 0);
    end_ = tile_ + share_;
    Ask(end_);
  }

 private:
  static constexpr unsigned kMost = 16;

  __device__ unsigned ShareOf(unsigned left) const {
    return min(max(left >> shift_, 1u), kMost);
  }

  // For the next ones, ahead of time: nobody waits for the answer before
  // Advance() needs it. Those before `known` are somebody's.
  __device__ void Ask(unsigned known) {
    answer_ = tiles_;  // none are left
    if (known >= tiles_) return;
    share_ = ShareOf(tiles_ - known);
    if (threadIdx.x % kWarp == 0) answer_ = atomicAdd(taken_, share_);
  }

  unsigned tiles_;
  unsigned shift_;
  unsigned* taken_;
  unsigned first_shares_;  // tiles that warps have by their numbers
  unsigned tile_;
  unsigned end_;     // of the tiles at hand
  unsigned answer_;  // lane 0's
  unsigned share_ = 1;
};

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_TILE_QUEUE_CUH_
