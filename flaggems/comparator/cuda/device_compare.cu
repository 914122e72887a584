// One pass over two arrays: threads walk (device_walk.h), warps and blocks
// merge, and the block that comes last merges the blocks.

#include <cstring>

#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/comparator/cuda/device_plan.h"
#include "flaggems/comparator/cuda/device_walk.h"

namespace flaggems {
namespace {

using internal_device::BlockMaxima;
using internal_device::GridMaxima;
using internal_device::kThreads;
using internal_device::Planned;

constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
constexpr int kMaxBlocks = 1024;

struct Scratch {
  // Both 0 between launches.
  alignas(256) unsigned finished;  // blocks
  alignas(256) GridMaxima maxima;
  alignas(256) DeviceComparison parts[kMaxBlocks];
};

struct Words {
  static constexpr int kCount = sizeof(DeviceComparison) / sizeof(unsigned);
  static_assert(sizeof(DeviceComparison) == kCount * sizeof(unsigned), "");
  unsigned x[kCount];
};

__device__ Words WordsOf(const DeviceComparison& part) {
  Words words;
  memcpy(&words, &part, sizeof(words));
  return words;
}

__device__ DeviceComparison ComparisonOf(const Words& words) {
  DeviceComparison part;
  memcpy(&part, &words, sizeof(part));
  return part;
}

// Of all lanes, in lane 0.
__device__ DeviceComparison MergeWarp(DeviceComparison part) {
#pragma unroll 1
  for (int step = kWarp / 2; step > 0; step /= 2) {
    Words words = WordsOf(part);
#pragma unroll
    for (unsigned& x : words.x) x = __shfl_down_sync(~0u, x, step);
    part = Merge(part, ComparisonOf(words));
  }
  return part;
}

// Of all threads, in thread 0.
__device__ DeviceComparison MergeBlock(DeviceComparison part) {
  __shared__ Words warps[kWarps];
  part = MergeWarp(part);
  __syncthreads();  // of an earlier call
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = WordsOf(part);
  __syncthreads();
  if (threadIdx.x < kWarp) {
    part = MergeWarp(threadIdx.x < kWarps ? ComparisonOf(warps[threadIdx.x])
                                          : DeviceComparison());
  }
  return part;
}

__device__ void Deliver(const DeviceComparison& part, DeviceComparison* result,
                        uint32_t* done) {
  *result = part;
  if (done == nullptr) return;
  // What kernels before this one wrote is in order before it too.
  __threadfence_system();
  *static_cast<volatile uint32_t*>(done) = 1;
}

template <typename Walk>
__global__ void __launch_bounds__(kThreads, Walk::kBlocksPerProcessor)
    CompareKernel(const __grid_constant__ Walk walk, Scratch* scratch,
                  DeviceComparison* result, uint32_t* done) {
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
  DeviceComparison part = MergeBlock(
      walk.Walk(blockIdx.x, gridDim.x, static_cast<int>(threadIdx.x), &maxima));
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) {
      scratch->maxima = {0, 0, 0};
      Deliver(part, result, done);
    }
    return;
  }
  if (threadIdx.x == 0) {
    scratch->parts[blockIdx.x] = part;
    __threadfence();
    is_last = atomicAdd(&scratch->finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  part = DeviceComparison();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) {
    Words words;
    const auto* from = reinterpret_cast<const unsigned*>(&scratch->parts[i]);
    // Past the first level of the cache, which does not see other processors.
    for (int w = 0; w < Words::kCount; ++w) words.x[w] = __ldcg(from + w);
    part = Merge(part, ComparisonOf(words));
  }
  part = MergeBlock(part);
  if (threadIdx.x == 0) {
    scratch->finished = 0;
    scratch->maxima = {0, 0, 0};
    Deliver(part, result, done);
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
    int device = 0;
    int processors = 0;
    error = cudaGetDevice(&device);
    if (error != cudaSuccess) return;
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                   device);
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
