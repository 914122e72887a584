// One pass over two arrays: threads walk (device_walk.h), warps and blocks
// merge, and the block that comes last merges the blocks.

#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/comparator/cuda/device_plan.h"
#include "flaggems/comparator/cuda/device_walk.h"
#include "flaggems/comparator/cuda/processors.h"

namespace flaggems {
namespace {

using internal_device::BlockMaxima;
using internal_device::GridMaxima;
using internal_device::kThreads;
using internal_device::Planned;

constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
// What the block that comes last has room for.
constexpr int kMaxBlocks = 320;
static_assert(kMaxBlocks >= kThreads, "a block has a part of each thread");

struct Scratch {
  // Both 0 between launches.
  alignas(256) unsigned finished;  // blocks
  alignas(256) GridMaxima maxima;
  alignas(256) DeviceComparison parts[kMaxBlocks];
};

// ---- Merging: Merge() of comparison.h, field by field, by all warps of a
// block at once. To merge whole comparisons lane by lane would take longer than
// most comparisons.

__device__ int64_t ShuffleDown(int64_t x, int step) {
  return __shfl_down_sync(~0u, static_cast<long long>(x), step);
}
__device__ double ShuffleDown(double x, int step) {
  return __shfl_down_sync(~0u, x, step);
}
__device__ Int128 ShuffleDown(Int128 x, int step) {
  const auto low = static_cast<int64_t>(x);
  const auto high = static_cast<int64_t>(x >> 64);
  return static_cast<Int128>(ShuffleDown(high, step)) << 64 |
         static_cast<Int128>(static_cast<uint64_t>(ShuffleDown(low, step)));
}

// Of all parts, in lane 0; every lane calls it. get(part) is the field. Nothing
// is unrolled: to fetch instructions takes longer than to run them once.
template <typename T, typename Get, typename Op>
__device__ T MergeField(const DeviceComparison* parts, int count, int lane,
                        Get get, Op op) {
  T x = get(parts[lane < count ? lane : 0]);
#pragma unroll 1
  for (int i = lane + kWarp; i < count; i += kWarp) x = op(x, get(parts[i]));
#pragma unroll 1
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const T other = ShuffleDown(x, step);
    if (lane + step < count) x = op(x, other);
  }
  return x;
}

struct Score {
  double score;
  int64_t position;
};
__device__ Score ShuffleDown(Score x, int step) {
  return {ShuffleDown(x.score, step), ShuffleDown(x.position, step)};
}

// Of 1 to kMaxBlocks parts, into *merged. Other threads read it after a
// barrier. Out of line, so that the block that merges all blocks has the
// instructions at hand already.
__device__ __noinline__ void MergeParts(const DeviceComparison* parts,
                                        int count, DeviceComparison* merged) {
  using internal_comparison::First;
  using internal_comparison::Larger;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool leads = lane == 0;
  PartialComparison& all = merged->partial;
  const auto sum = [](auto a, auto b) { return a + b; };
  const auto larger = [](double a, double b) { return Larger(a, b); };
#define FG_MERGE_(T, field, op)                                               \
  {                                                                           \
    const T x = MergeField<T>(                                                \
        parts, count, lane,                                                   \
        [](const DeviceComparison& part) -> T { return part.partial.field; }, \
        op);                                                                  \
    if (leads) all.field = static_cast<decltype(all.field)>(x);               \
  }
  switch (static_cast<int>(threadIdx.x) / kWarp) {
    case 0:
      FG_MERGE_(int64_t, numel, sum)
      FG_MERGE_(int64_t, finite_numbers, sum)
      break;
    case 1:
      FG_MERGE_(int64_t, value_mismatches, sum)
      FG_MERGE_(int64_t, special_mismatches, sum)
      break;
    case 2: {
      FG_MERGE_(int64_t, want_nans, sum)
      FG_MERGE_(int64_t, flushed, sum)
      break;
    }
    case 3:
      FG_MERGE_(double, max_abs_diff, larger)
      FG_MERGE_(double, max_rel_diff, larger)
      break;
    case 4: {
      const Score worst = MergeField<Score>(
          parts, count, lane,
          [](const DeviceComparison& part) -> Score {
            return {part.partial.score, part.partial.worst_score};
          },
          [](const Score& a, const Score& b) -> Score {
            if (a.score == b.score) {
              return {a.score, First(a.position, b.position)};
            }
            return a.score > b.score ? a : b;
          });
      if (leads) {
        all.score = worst.score;
        all.worst_score = worst.position;
      }
      break;
    }
    case 5: {
      FG_MERGE_(int64_t, first_special,
                [](int64_t a, int64_t b) { return First(a, b); })
      const auto either = [](int64_t a, int64_t b) { return a | b; };
      FG_MERGE_(int64_t, nan_mismatch, either)
      const int64_t nonzero = MergeField<int64_t>(
          parts, count, lane,
          [](const DeviceComparison& part) { return part.got_nonzero; },
          either);
      if (leads) merged->got_nonzero = nonzero;
      break;
    }
    case 6:
      FG_MERGE_(Int128, ulp_errors, sum)
      break;
    case 7:
      FG_MERGE_(Int128, ulp_error_squares, sum)
      break;
  }
#undef FG_MERGE_
}
static_assert(kWarps == 8, "MergeParts() has work for eight warps");

__device__ void Deliver(const DeviceComparison& part, DeviceComparison* result,
                        uint32_t* done) {
  *result = part;
  if (done == nullptr) return;
  // What kernels before this one wrote is in order before it too.
  __threadfence_system();
  *static_cast<volatile uint32_t*>(done) = 1;
}

// Of all blocks, which wrote them before they counted themselves. Past the
// first level of the cache, which does not see other processors.
__device__ void ReadParts(const DeviceComparison* from, int count,
                          DeviceComparison* parts) {
  static_assert(sizeof(DeviceComparison) % sizeof(uint4) == 0, "");
  const int words =
      count * static_cast<int>(sizeof(DeviceComparison) / sizeof(uint4));
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kThreads) {
    reinterpret_cast<uint4*>(parts)[i] =
        __ldcg(reinterpret_cast<const uint4*>(from) + i);
  }
}

template <typename Walk>
__global__ void __launch_bounds__(kThreads, Walk::kBlocksPerProcessor)
    CompareKernel(const __grid_constant__ Walk walk, Scratch* scratch,
                  DeviceComparison* result, uint32_t* done) {
  __shared__ DeviceComparison parts[kMaxBlocks];
  __shared__ DeviceComparison merged;
  __shared__ BlockMaxima maxima;
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    maxima.abs = 0;
    maxima.rel = 0;
    maxima.score = 0;
    maxima.grid = &scratch->maxima;
  }
  __syncthreads();
  walk.Prepare(blockIdx.x, static_cast<int>(threadIdx.x), &maxima);
  __syncthreads();
  if (threadIdx.x == 0) Push(maxima);
  parts[threadIdx.x] =
      walk.Walk(blockIdx.x, gridDim.x, static_cast<int>(threadIdx.x), &maxima);
  __syncthreads();
  MergeParts(parts, kThreads, &merged);
  __syncthreads();
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) {
      scratch->maxima = {0, 0, 0};
      Deliver(merged, result, done);
    }
    return;
  }
  if (threadIdx.x == 0) {
    scratch->parts[blockIdx.x] = merged;
    __threadfence();
    is_last = atomicAdd(&scratch->finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  ReadParts(scratch->parts, static_cast<int>(gridDim.x), parts);
  __syncthreads();
  MergeParts(parts, static_cast<int>(gridDim.x), &merged);
  __syncthreads();
  if (threadIdx.x == 0) {
    scratch->finished = 0;
    scratch->maxima = {0, 0, 0};
    Deliver(merged, result, done);
  }
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
  DeviceComparison* result;
  uint32_t* done;
  cudaStream_t stream;
  cudaError_t error = cudaSuccess;

  template <typename Walk>
  void operator()(const Walk& walk) {
    int processors = 0;
    error = Processors(&processors);
    if (error != cudaSuccess) return;
    const int all = processors * Walk::kBlocksPerProcessor;
    const int64_t most = all < kMaxBlocks ? all : kMaxBlocks;
    const int64_t tiles = walk.tiles() > 0 ? walk.tiles() : 1;
    CompareKernel<<<static_cast<unsigned>(tiles < most ? tiles : most),
                    kThreads, 0, stream>>>(walk, static_cast<Scratch*>(scratch),
                                           result, done);
    error = cudaGetLastError();
  }
};

}  // namespace

int64_t DeviceCompareScratchBytes() { return sizeof(Scratch); }

cudaError_t LaunchCompareBudget(const ArrayView& got, const ArrayView& want,
                                const Budget& budget, void* scratch,
                                DeviceComparison* result, cudaStream_t stream,
                                uint32_t* done) {
  Launcher launcher{scratch, result, done, stream};
  const Planned planned =
      internal_device::VisitBudgetWalk(got, want, budget, launcher);
  return planned == Planned::kYes ? launcher.error : ErrorOf(planned);
}

cudaError_t LaunchCompareExactly(const ArrayView& got, const ArrayView& want,
                                 void* scratch, DeviceComparison* result,
                                 cudaStream_t stream, uint32_t* done) {
  Launcher launcher{scratch, result, done, stream};
  const Planned planned = internal_device::VisitExactWalk(got, want, launcher);
  return planned == Planned::kYes ? launcher.error : ErrorOf(planned);
}

}  // namespace flaggems
