// The kernels of a condition. Compiled without contraction: what they make has
// the bits that the host's code makes.

#include <cstdint>
#include <limits>

#include "flaggems/comparator/cuda/processors.h"
#include "flaggems/screen/conditions_launch.h"
#include "flaggems/screen/sample_quantile.h"

namespace flaggems {
namespace {

constexpr int kThreads = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements that a thread reads before it writes.
constexpr int kUnroll = 4;
constexpr int kBlocksPerProcessor = 8;

__global__ void __launch_bounds__(kThreads)
    EffectKernel(const double* want, const double* moved, double* effect,
                 int64_t n, bool first) {
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + (kUnroll - 1) * threads < n; i += kUnroll * threads) {
    double change[kUnroll], before[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t k = i + u * threads;
      change[u] = fabs(moved[k] - want[k]);
      before[u] = first ? 0 : effect[k];
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      effect[i + u * threads] = change[u] > before[u] ? change[u] : before[u];
    }
  }
  for (; i < n; i += threads) {
    const double change = fabs(moved[i] - want[i]);
    const double before = first ? 0 : effect[i];
    effect[i] = change > before ? change : before;
  }
}

// A block finds one of the quantiles.
__global__ void __launch_bounds__(kConditionsSample / 2)
    QuantilesKernel(const double* want, const double* effect, int64_t n,
                    bool pointwise, double* quantiles) {
  __shared__ double values[kConditionsSample];
  constexpr int kSorters = kConditionsSample / 2;
  const auto which = static_cast<SampledValue>(blockIdx.x);
  const int64_t sample = SampleSize(n);
  bool has[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = static_cast<int>(threadIdx.x) + half * kSorters;
    double value = 0;
    has[half] = false;
    if (i < sample) {
      const int64_t at = SamplePosition(n, i);
      has[half] =
          ValueOfSample(which, pointwise, fabs(want[at]), effect[at], &value);
    }
    // Behind all that are there.
    values[i] = has[half] ? value : kInfinity;
  }
  const int count = __syncthreads_count(has[0]) + __syncthreads_count(has[1]);
  // Bitonic.
  for (int size = 2; size <= kConditionsSample; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int t = static_cast<int>(threadIdx.x);
      const int low = 2 * stride * (t / stride) + t % stride;
      const bool rising = (low & size) == 0;
      const double a = values[low];
      const double b = values[low + stride];
      if ((a > b) == rising) {
        values[low] = b;
        values[low + stride] = a;
      }
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) {
    quantiles[blockIdx.x] = count == 0 ? 0 : values[QuantileRank(count)];
  }
}

__global__ void __launch_bounds__(kThreads)
    ConditionsKernel(const double* want, double* effect, int64_t n,
                     ConditionsFormula formula, const double* quantiles) {
  const Quantiles q{quantiles[0], quantiles[1], quantiles[2]};
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + (kUnroll - 1) * threads < n; i += kUnroll * threads) {
    double w[kUnroll], p[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      w[u] = want[i + u * threads];
      p[u] = effect[i + u * threads];
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      effect[i + u * threads] = ConditionOf(formula, q, fabs(w[u]), p[u]);
    }
  }
  for (; i < n; i += threads) {
    effect[i] = ConditionOf(formula, q, fabs(want[i]), effect[i]);
  }
}

// Blocks for n elements of one array.
cudaError_t BlocksFor(int64_t n, unsigned* blocks) {
  int processors = 0;
  const cudaError_t error = Processors(&processors);
  if (error != cudaSuccess) return error;
  constexpr int64_t kElements = int64_t{kThreads} * kUnroll;
  const int64_t wanted = (n + kElements - 1) / kElements;
  const int64_t most = int64_t{processors} * kBlocksPerProcessor;
  *blocks = static_cast<unsigned>(wanted < most ? wanted : most);
  return cudaSuccess;
}

}  // namespace

cudaError_t LaunchEffect(const double* want, const double* moved,
                         double* effect, int64_t n, bool first,
                         cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  unsigned blocks = 0;
  const cudaError_t error = BlocksFor(n, &blocks);
  if (error != cudaSuccess) return error;
  EffectKernel<<<blocks, kThreads, 0, stream>>>(want, moved, effect, n, first);
  return cudaGetLastError();
}

cudaError_t LaunchConditions(const double* want, double* effect, int64_t n,
                             const ConditionsFormula& formula,
                             double* quantiles, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  unsigned blocks = 0;
  cudaError_t error = BlocksFor(n, &blocks);
  if (error != cudaSuccess) return error;
  QuantilesKernel<<<kSampledValues, kConditionsSample / 2, 0, stream>>>(
      want, effect, n, formula.pointwise, quantiles);
  error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  ConditionsKernel<<<blocks, kThreads, 0, stream>>>(want, effect, n, formula,
                                                    quantiles);
  return cudaGetLastError();
}

}  // namespace flaggems
