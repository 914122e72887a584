// One pass over two arrays: warps walk (device_walk.h), blocks merge what their
// threads found, and the block that comes last merges the blocks.

#include <atomic>

#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/comparator/cuda/device_plan.h"
#include "flaggems/comparator/cuda/device_walk.h"
#include "flaggems/comparator/cuda/found_words.h"
#include "flaggems/comparator/cuda/processors.h"
#include "flaggems/comparator/cuda/staged_feed.cuh"
#include "flaggems/comparator/cuda/tile_queue.cuh"

namespace flaggems {
namespace {

using internal_device::BlockMaxima;
using internal_device::DirectFeed;
using internal_device::Found;
using internal_device::GridMaxima;
using internal_device::kWarp;
using internal_device::Planned;
using internal_device::StagedFeed;
using internal_device::Stages;
using internal_device::TileQueue;
using internal_device::WordMerger;

constexpr int kMaxBlocks = 320;
constexpr int64_t kMostTilesOfQueue = int64_t{1} << 31;
// More than a kernel has of shared memory beside what a launch gives it.
constexpr int kStaticBytes = 4 << 10;

// How many threads a block has, and how many blocks a processor.
struct Direct {
  static constexpr int kWarps = 8;
  static constexpr int kBlocksPerProcessor = 2;
};
struct Staged {
  static constexpr int kWarps = 16;
  static constexpr int kBlocksPerProcessor = 1;
};

struct Scratch {
  // All 0 between launches.
  alignas(256) unsigned finished;  // blocks
  alignas(256) unsigned taken;     // of TileQueue
  alignas(256) GridMaxima maxima;
  // What each block found, by word.
  alignas(256) uint64_t found[FoundWords::kWords][kMaxBlocks];

  __device__ void Clear() {
    finished = 0;
    taken = 0;
    maxima = {0, 0, 0};
  }
};

// Entries of a table that has a row for each word, with room for `room`
// entries. By one warp, whose lanes 0 to FoundWords::kWords - 1 get each its
// word of all `count` entries. Past the first level of the cache, which does
// not see what other processors have written. Out of line and in a loop: merged
// are the lanes of each warp, the warps of each block, parts of all blocks and
// these, and the later has the instructions at hand.
__device__ __noinline__ uint64_t MergeEntries(const volatile uint64_t* table,
                                              int room, int count) {
  static_assert(kWarp == 2 * FoundWords::kWords, "two lanes for each word");
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int word = lane % FoundWords::kWords;
  const WordMerger merge(word);
  const int key_word = merge.key_word();
  const auto read = [&](int i) -> WordMerger::Entry {
    return {key_word < 0 ? 0 : table[key_word * room + i],
            table[word * room + i]};
  };
  const int first = lane / FoundWords::kWords;
  WordMerger::Entry merged = read(first < count ? first : 0);
#pragma unroll 4
  for (int i = first + 2; i < count; i += 2) merged = merge(merged, read(i));
  const WordMerger::Entry other = {
      __shfl_down_sync(~0u, static_cast<unsigned long long>(merged.key),
                       FoundWords::kWords),
      __shfl_down_sync(~0u, static_cast<unsigned long long>(merged.value),
                       FoundWords::kWords)};
  return count > 1 ? merge(merged, other).value : merged.value;
}

// What the lanes of a warp found, by word. Rows of an odd number of words:
// lanes that read the same entry of all rows read from different banks.
struct WarpTable {
  static constexpr int kRoom = kWarp + 1;
  uint64_t found[FoundWords::kWords][kRoom];

  // Lanes 0 to FoundWords::kWords - 1 get each its word of all lanes.
  __device__ uint64_t Merge(const FoundWords& words) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    __syncwarp();
#pragma unroll
    for (int word = 0; word < FoundWords::kWords; ++word) {
      found[word][lane] = words.word[word];
    }
    __syncwarp();
    return MergeEntries(&found[0][0], kRoom, kWarp);
  }
};

template <typename Walk, typename Feed>
__device__ void WalkBlock(const Walk& walk, Feed& feed, int lane,
                          BlockMaxima* maxima, Found* found) {
  __syncthreads();
  if constexpr (Walk::kHasBounds) {
    walk.Prepare(feed, lane, maxima);
    __syncthreads();
    if (threadIdx.x == 0) {
      Tell(maxima);
      Learn(Current(maxima->grid), maxima);
    }
    // A second look takes longer than to ask the others first.
    __syncthreads();
  }
  walk.Walk(feed, lane, maxima, found);
}

template <typename Walk, typename Layout>
__global__ void __launch_bounds__(Layout::kWarps* kWarp,
                                  Layout::kBlocksPerProcessor)
    CompareKernel(const __grid_constant__ Walk walk, Scratch* scratch,
                  FoundWords* result, uint32_t* done) {
  constexpr int kWarps = Layout::kWarps;
  constexpr int kRoom = kWarps + 1;
  // As Stages asks for.
  extern __shared__ __align__(128) char memory[];
  __shared__ BlockMaxima maxima;
  __shared__ uint64_t of_warps[FoundWords::kWords][kRoom];
  __shared__ bool is_last;
  if (threadIdx.x == 0) maxima.Clear(&scratch->maxima);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const bool has_word = lane < FoundWords::kWords;
  const int64_t number = int64_t{blockIdx.x} * kWarps + warp;
  const int64_t warps = int64_t{gridDim.x} * kWarps;
  // A warp's own: its stages, and then its table.
  char* own;
  Found found;
  if constexpr (std::is_same_v<Layout, Staged>) {
    __shared__ unsigned numbers[kWarps][Stages<Walk, kWarps>::kCount];
    own = memory + warp * Stages<Walk, kWarps>::kBytesOfWarp;
    StagedFeed<Walk, kWarps> feed(
        walk, TileQueue(walk.tiles(), number, warps, &scratch->taken), lane,
        own, numbers[warp]);
    WalkBlock(walk, feed, lane, &maxima, &found);
  } else {
    own = memory + warp * sizeof(WarpTable);
    DirectFeed feed(number, warps);
    WalkBlock(walk, feed, lane, &maxima, &found);
  }
  const uint64_t of_warp =
      reinterpret_cast<WarpTable*>(own)->Merge(WordsOf(found));
  if (has_word) of_warps[lane][warp] = of_warp;
  __syncthreads();
  const int blocks = static_cast<int>(gridDim.x);
  uint64_t of_all = 0;
  if (warp == 0) {
    of_all = MergeEntries(&of_warps[0][0], kRoom, kWarps);
    if (blocks > 1) {
      if (has_word) scratch->found[lane][blockIdx.x] = of_all;
      __syncwarp();
      if (lane == 0) {
        __threadfence();
        is_last = atomicAdd(&scratch->finished, 1u) == gridDim.x - 1;
        __threadfence();
      }
    }
  }
  if (blocks > 1) {
    __syncthreads();
    if (!is_last) return;
    // A part of the blocks for each warp, and then the parts.
    const int parts = blocks < kWarps ? blocks : kWarps;
    if (warp < parts) {
      const int first = warp * blocks / parts;
      const int end = (warp + 1) * blocks / parts;
      const uint64_t of_part =
          MergeEntries(&scratch->found[0][first], kMaxBlocks, end - first);
      if (has_word) of_warps[lane][warp] = of_part;
    }
    __syncthreads();
    if (warp == 0) of_all = MergeEntries(&of_warps[0][0], kRoom, parts);
  }
  if (warp != 0) return;
  if (has_word) result->word[lane] = of_all;
  if (lane == 0) scratch->Clear();
  if (done == nullptr) return;
  // What kernels before this one wrote is in order before it too.
  __threadfence_system();
  __syncwarp();
  if (lane == 0) *static_cast<volatile uint32_t*>(done) = 1;
}

cudaError_t ErrorOf(Planned planned) {
  switch (planned) {
    case Planned::kYes:
      return cudaSuccess;
    case Planned::kSizesDiffer:
    case Planned::kBadConditions:
      return cudaErrorInvalidValue;
    case Planned::kNoRule:
    case Planned::kTooManyDimensions:
      return cudaErrorNotSupported;
  }
  return cudaErrorNotSupported;
}

// The visitor that launches what was planned.
struct Launcher {
  void* scratch;
  FoundWords* result;
  uint32_t* done;
  cudaStream_t stream;
  cudaError_t error = cudaSuccess;

  template <typename Walk>
  void operator()(const Walk& walk) {
    int processors = 0;
    error = Processors(&processors);
    if (error != cudaSuccess) return;
    if constexpr (internal_device::CanBeStaged<Walk>::value) {
      using OfWalk = Stages<Walk, Staged::kWarps>;
      // With a tile for each warp there is nothing to overlap.
      if (walk.full_tiles() > int64_t{processors} * Staged::kWarps &&
          walk.full_tiles() < kMostTilesOfQueue &&
          internal_device::IsAlignedToStage(walk)) {
        static_assert(OfWalk::kBytesOfWarp >= sizeof(WarpTable), "");
        constexpr int kBytes = OfWalk::kBytesOfWarp * Staged::kWarps;
        bool has_room = false;
        error = HasRoom<Walk>(kBytes, &has_room);
        if (error != cudaSuccess) return;
        if (has_room) return Launch<Staged>(walk, processors, kBytes);
      }
    }
    Launch<Direct>(walk, processors, Direct::kWarps * sizeof(WarpTable));
  }

 private:
  template <typename Layout, typename Walk>
  void Launch(const Walk& walk, int processors, size_t shared_bytes) {
    const int all = processors * Layout::kBlocksPerProcessor;
    const int64_t most = all < kMaxBlocks ? all : kMaxBlocks;
    const int64_t blocks = (walk.tiles() + Layout::kWarps - 1) / Layout::kWarps;
    const int64_t grid = blocks < 1 ? 1 : blocks < most ? blocks : most;
    CompareKernel<Walk, Layout>
        <<<static_cast<unsigned>(grid), Layout::kWarps * kWarp, shared_bytes,
           stream>>>(walk, static_cast<Scratch*>(scratch), result, done);
    error = cudaGetLastError();
  }

  // Whether the current device gives a block of the staged kernel so much
  // shared memory. Asked for once a device.
  template <typename Walk>
  static cudaError_t HasRoom(int bytes, bool* has_room) {
    constexpr int kDevices = 64;
    enum Answer { kNotAsked, kYes, kNo };
    static std::atomic<int> answers[kDevices];
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) return error;
    *has_room = false;
    if (device >= kDevices) return cudaSuccess;
    int answer = answers[device].load(std::memory_order_relaxed);
    if (answer == kNotAsked) {
      int most = 0;
      error = cudaDeviceGetAttribute(
          &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
      if (error != cudaSuccess) return error;
      answer = bytes + kStaticBytes <= most ? kYes : kNo;
      if (answer == kYes) {
        error = cudaFuncSetAttribute(
            CompareKernel<Walk, Staged>,
            cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (error != cudaSuccess) return error;
      }
      answers[device].store(answer, std::memory_order_relaxed);
    }
    *has_room = answer == kYes;
    return cudaSuccess;
  }
};

}  // namespace

int64_t DeviceCompareScratchBytes() { return sizeof(Scratch); }

cudaError_t LaunchCompareBudget(const ArrayView& got, const ArrayView& want,
                                const Budget& budget, void* scratch,
                                FoundWords* result, cudaStream_t stream,
                                uint32_t* done) {
  Launcher launcher{scratch, result, done, stream};
  const Planned planned =
      internal_device::VisitBudgetWalk(got, want, budget, launcher);
  return planned == Planned::kYes ? launcher.error : ErrorOf(planned);
}

cudaError_t LaunchCompareExactly(const ArrayView& got, const ArrayView& want,
                                 void* scratch, FoundWords* result,
                                 cudaStream_t stream, uint32_t* done) {
  Launcher launcher{scratch, result, done, stream};
  const Planned planned = internal_device::VisitExactWalk(got, want, launcher);
  return planned == Planned::kYes ? launcher.error : ErrorOf(planned);
}

}  // namespace flaggems
