#ifndef FLAGGEMS_COMPARATOR_CUDA_STAGED_FEED_CUH_
#define FLAGGEMS_COMPARATOR_CUDA_STAGED_FEED_CUH_

// A warp's tiles by way of shared memory: several tiles are on their way while
// one is looked at, and take no registers. Only for compilers of CUDA.

#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/device_look.h"
#include "flaggems/comparator/cuda/device_walk.h"
#include "flaggems/comparator/cuda/tile_queue.cuh"
#include "flaggems/core/dtype.h"

namespace flaggems {
namespace internal_device {

// Copies into shared memory that nobody waits for at once, 16 bytes a lane at a
// time. The bytes are there after a Wait() of each lane and a __syncwarp().
class AsyncCopy {
 public:
  // `shared`, an address of shared memory, and `global` are this lane's: 16 *
  // lane behind the start.
  template <int kBytes>
  static __device__ void Start(unsigned shared, const char* global) {
    constexpr int kRound = kWarp * 16;
    static_assert(kBytes % kRound == 0, "");
#pragma unroll
    for (int i = 0; i < kBytes; i += kRound) {
#if __CUDA_ARCH__ >= 800
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                       shared + i),
                   "l"(global + i)
                   : "memory");
#else
      const uint4 bytes = *reinterpret_cast<const uint4*>(global + i);
      asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(shared + i),
                   "r"(bytes.x), "r"(bytes.y), "r"(bytes.z), "r"(bytes.w)
                   : "memory");
#endif
    }
  }
  // What was started since the last Close() is one group.
  static __device__ void Close() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  // Until all groups but the last kMay are there.
  template <int kMay>
  static __device__ void Wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kMay) : "memory");
#endif
  }
};

template <typename Walk>
struct CanBeStaged : std::false_type {};
template <DType kGot, typename Rule, typename Positions>
struct CanBeStaged<ElementWalk<AlignedRuns<kGot>, Rule, Positions>>
    : std::true_type {};

template <typename Walk>
bool IsAlignedToStage(const Walk& walk) {
  const auto is_aligned = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % 16 == 0;
  };
  return is_aligned(walk.elements().got) && is_aligned(walk.elements().want) &&
         is_aligned(walk.conditions());
}

// What a tile takes of shared memory, for walks over AlignedRuns whose arrays
// are all aligned to 16 bytes. As many stages as there is room for, of all
// warps of a block.
template <typename Walk, int kWarps>
struct Stages {
  using Elements = typename Walk::Elements;
  static constexpr int kWantBytes =
      static_cast<int>(Walk::kTile * sizeof(double));
  static constexpr int kGotBytes = static_cast<int>(
      Walk::kTile * (sizeof(typename Elements::GotRun) / Walk::kRun));
  // Where they start in a stage.
  static constexpr int kWant = 0;
  static constexpr int kCondition = kWantBytes;
  static constexpr int kGot =
      Walk::kTakesCondition ? 2 * kWantBytes : kWantBytes;
  static constexpr int kBytes = kGot + kGotBytes;

  // Of the 227 KiB that a block can have. More than three stages were no
  // faster.
  static constexpr int kRoom = 192 << 10;
  static constexpr int kFit = kRoom / (kWarps * kBytes);
  static constexpr int kCount = kFit < 3 ? kFit : 3;
  static_assert(kCount >= 2, "one to look at and one on its way");
  // Copies that do not start at a line of the cache take 15 % longer.
  static_assert(kBytes % 128 == 0, "");
  static constexpr int kBytesOfWarp = kCount * kBytes;
};

template <typename Walk, int kWarps>
class StagedFeed {
  using Stage = Stages<Walk, kWarps>;
  using Elements = typename Walk::Elements;
  static constexpr int kStages = Stage::kCount;

 public:
  static constexpr int kRunsAtOnce = 4;
  static constexpr int kTilesOfLearning = 4;

  // `memory`: Stage::kBytesOfWarp of shared memory, this warp's alone, aligned
  // to 128 bytes; `numbers`: of the tiles in it, kStages of them.
  __device__ StagedFeed(const Walk& walk, const TileQueue& tiles, int lane,
                        char* memory, unsigned* numbers)
      : tiles_(tiles),
        full_tiles_(static_cast<unsigned>(walk.full_tiles())),
        got_(reinterpret_cast<const char*>(walk.elements().got) + lane * 16),
        want_(reinterpret_cast<const char*>(walk.elements().want) + lane * 16),
        conditions_(reinterpret_cast<const char*>(walk.conditions()) +
                    lane * 16),
        lane_(lane),
        memory_(memory),
        numbers_(numbers) {
#pragma unroll 1
    for (int i = 0; i < kStages; ++i) Fill();
  }

  __device__ int64_t Tile() {
    if (!arrived_) {
      AsyncCopy::Wait<kStages - 1>();
      __syncwarp();
      arrived_ = true;
      tile_ = numbers_[stage_];
    }
    return tile_;
  }

  // Fills the stage that nobody reads any more.
  __device__ void Advance() {
    __syncwarp();
    Fill();
    arrived_ = false;
  }

  __device__ void ReadRun(const Walk& /*walk*/, int lane, int run,
                          typename Walk::RunPairs* pairs) const {
    const int at = run * kWarp + lane;
    pairs->nonzero =
        Elements::Unpack(Shared<typename Elements::GotRun>(Stage::kGot)[at],
                         Shared<typename Elements::WantRun>(Stage::kWant)[at],
                         pairs->got, pairs->want);
    Run<double, Walk::kRun> condition = {};
    if constexpr (Walk::kTakesCondition) {
      condition = Shared<Run<double, Walk::kRun>>(Stage::kCondition)[at];
    }
    for (int k = 0; k < Walk::kRun; ++k) pairs->condition[k] = condition.x[k];
  }

 private:
  // In the present stage.
  template <typename T>
  __device__ const T* Shared(int offset) const {
    return reinterpret_cast<const T*>(memory_ + stage_ * Stage::kBytes +
                                      offset);
  }

  // The present stage, with the next tile of the queue, if that is a full one;
  // in any case a group, so that groups count stages. The next stage is the
  // present one then.
  __device__ void Fill() {
    const unsigned tile = tiles_.Tile();
    if (lane_ == 0) numbers_[stage_] = tile;
    if (tile < full_tiles_) {
      const auto to = static_cast<unsigned>(__cvta_generic_to_shared(
          memory_ + stage_ * Stage::kBytes + lane_ * 16));
      AsyncCopy::Start<Stage::kWantBytes>(
          to + Stage::kWant, want_ + uint64_t{tile} * Stage::kWantBytes);
      if constexpr (Walk::kTakesCondition) {
        AsyncCopy::Start<Stage::kWantBytes>(
            to + Stage::kCondition,
            conditions_ + uint64_t{tile} * Stage::kWantBytes);
      }
      AsyncCopy::Start<Stage::kGotBytes>(
          to + Stage::kGot, got_ + uint64_t{tile} * Stage::kGotBytes);
    }
    AsyncCopy::Close();
    stage_ = stage_ + 1 < kStages ? stage_ + 1 : 0;
    tiles_.Advance();
  }

  TileQueue tiles_;
  unsigned full_tiles_;
  // This lane's part of a first tile.
  const char* got_;
  const char* want_;
  const char* conditions_;
  int lane_;
  char* memory_;
  unsigned* numbers_;
  int stage_ = 0;
  bool arrived_ = false;
  unsigned tile_ = 0;
};

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_STAGED_FEED_CUH_
