// The kernels of a screen. Compiled without contraction: what they make has the
// bits that the host's code makes.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "flaggems/comparator/element.h"
#include "flaggems/reference/perturbation.h"
#include "flaggems/screen/sample_quantile.h"
#include "flaggems/screen/screen_kernels_launch.h"

namespace flaggems {
namespace {

constexpr int kThreads = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements that a thread reads before it writes.
constexpr int kUnroll = 4;
constexpr int kBlocksPerProcessor = 8;

cudaError_t Processors(int* processors) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  return cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount,
                                device);
}

// ---- Batches: a launch's blocks are shared out to its items by size.

template <typename Item>
struct Batch {
  Item items[kScreenBatch];
  unsigned first_block[kScreenBatch + 1];  // of item i
};

struct Share {
  int item;
  int64_t thread;   // of those of this item
  int64_t threads;  // of this item
};

template <typename Item>
__device__ Share ShareOf(const Batch<Item>& batch) {
  int i = 0;
  while (blockIdx.x >= batch.first_block[i + 1]) ++i;
  const unsigned first = batch.first_block[i];
  return {i, int64_t{blockIdx.x - first} * kThreads + threadIdx.x,
          int64_t{batch.first_block[i + 1] - first} * kThreads};
}

// Launches `kernel` for the items; `units` of one item: what its threads loop
// over, and a thread takes kUnroll of them at a time.
template <typename Item, typename Units, typename Launch>
cudaError_t LaunchBatches(absl::Span<const Item> items, Units units,
                          Launch launch) {
  int processors = 0;
  const cudaError_t error = Processors(&processors);
  if (error != cudaSuccess) return error;
  const int64_t most = int64_t{processors} * kBlocksPerProcessor;
  for (size_t begin = 0; begin < items.size(); begin += kScreenBatch) {
    const auto part = items.subspan(begin, kScreenBatch);
    Batch<Item> batch = {};
    unsigned blocks = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      batch.items[i] = part[i];
      batch.first_block[i] = blocks;
      constexpr int64_t kUnits = int64_t{kThreads} * kUnroll;
      const int64_t wanted = (units(part[i]) + kUnits - 1) / kUnits;
      blocks += static_cast<unsigned>(wanted < most ? wanted : most);
      batch.first_block[i + 1] = blocks;
    }
    if (blocks == 0) continue;
    launch(batch, blocks, static_cast<int64_t>(begin));
    const cudaError_t launched = cudaGetLastError();
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

// ---- Widening.

__device__ double Made(double x, const WidenItem& item, int64_t i) {
  switch (item.mode) {
    case WidenItem::Mode::kKeep:
      return x;
    case WidenItem::Mode::kMagnitude:
      return fabs(x);
    case WidenItem::Mode::kMinusMagnitude:
      return -fabs(x);
    case WidenItem::Mode::kPerturb:
      return x * (1 + item.step * Draw(item.seed, i));
  }
  return x;
}

template <DType kDType>
__device__ void WidenAs(const WidenItem& item, const Share& share) {
  const auto* src = static_cast<const StoredOf<kDType>*>(item.src);
  const int64_t threads = share.threads;
  int64_t i = share.thread;
  for (; i + (kUnroll - 1) * threads < item.n; i += kUnroll * threads) {
    StoredOf<kDType> x[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) x[u] = src[i + u * threads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      item.dst[i + u * threads] =
          Made(static_cast<double>(Element<kDType>::Load(x[u])), item,
               i + u * threads);
    }
  }
  for (; i < item.n; i += threads) {
    item.dst[i] =
        Made(static_cast<double>(Element<kDType>::Load(src[i])), item, i);
  }
}

// Whether elements are real numbers: not complex, and not quantised.
bool IsReal(DType dtype) { return IsFloating(dtype) || IsIntegral(dtype); }

__global__ void __launch_bounds__(kThreads)
    WidenKernel(const __grid_constant__ Batch<WidenItem> batch) {
  const Share share = ShareOf(batch);
  const WidenItem& item = batch.items[share.item];
  switch (item.dtype) {
#define FG_WIDEN_(name)                \
  case DType::name:                    \
    WidenAs<DType::name>(item, share); \
    break;
    FG_WIDEN_(kBool)
    FG_WIDEN_(kUInt8)
    FG_WIDEN_(kInt8)
    FG_WIDEN_(kInt16)
    FG_WIDEN_(kInt32)
    FG_WIDEN_(kInt64)
    FG_WIDEN_(kUInt16)
    FG_WIDEN_(kUInt32)
    FG_WIDEN_(kUInt64)
    FG_WIDEN_(kFloat16)
    FG_WIDEN_(kBFloat16)
    FG_WIDEN_(kFloat32)
    FG_WIDEN_(kFloat64)
    FG_WIDEN_(kFloat8E4M3FN)
    FG_WIDEN_(kFloat8E5M2)
    FG_WIDEN_(kFloat8E4M3FNUZ)
    FG_WIDEN_(kFloat8E5M2FNUZ)
    FG_WIDEN_(kFloat8E8M0FNU)
#undef FG_WIDEN_
    default:
      break;  // excluded by LaunchWiden()
  }
}

// ---- Bytes.

// Bytes of the largest word that both addresses are aligned to: 16, 4, 2 or 1.
__host__ __device__ int WordBytes(const void* a, const void* b) {
  const uintptr_t both =
      reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b);
  if (both % 16 == 0) return 16;
  if (both % 4 == 0) return 4;
  return both % 2 == 0 ? 2 : 1;
}

// What threads loop over: words, and what is left of a range.
int64_t UnitsIn(const void* a, const void* b, int64_t nbytes) {
  const int word = WordBytes(a, b);
  return (nbytes + word - 1) / word;
}

__device__ unsigned Difference(uint4 x, uint4 y) {
  return (x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w);
}
template <typename Word>
__device__ unsigned Difference(Word x, Word y) {
  return x ^ y;
}

template <typename Word>
struct CompareWords {
  // Not 0 if words of this thread differ.
  static __device__ unsigned Walk(const void* a_data, const void* b_data,
                                  int64_t words, const Share& share) {
    const auto* a = static_cast<const Word*>(a_data);
    const auto* b = static_cast<const Word*>(b_data);
    const int64_t threads = share.threads;
    unsigned differs = 0;
    int64_t i = share.thread;
    for (; i + (kUnroll - 1) * threads < words; i += kUnroll * threads) {
      Word x[kUnroll], y[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        x[u] = a[i + u * threads];
        y[u] = b[i + u * threads];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) differs |= Difference(x[u], y[u]);
    }
    for (; i < words; i += threads) differs |= Difference(a[i], b[i]);
    return differs;
  }
};

template <typename Word>
struct CopyWords {
  static __device__ unsigned Walk(const void* from, void* to, int64_t words,
                                  const Share& share) {
    const auto* src = static_cast<const Word*>(from);
    auto* dst = static_cast<Word*>(to);
    const int64_t threads = share.threads;
    int64_t i = share.thread;
    for (; i + (kUnroll - 1) * threads < words; i += kUnroll * threads) {
      Word x[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) x[u] = src[i + u * threads];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) dst[i + u * threads] = x[u];
    }
    for (; i < words; i += threads) dst[i] = src[i];
    return 0;
  }
};

// Words<Word>::Walk over [a, a + nbytes) and b, then over the bytes that are
// left.
template <template <typename> class Words, typename B>
__device__ unsigned WalkBytes(const void* a, B* b, int64_t nbytes,
                              const Share& share) {
  const int word = WordBytes(a, b);
  const int64_t words = nbytes / word;
  unsigned found = 0;
  switch (word) {
    case 16:
      found = Words<uint4>::Walk(a, b, words, share);
      break;
    case 4:
      found = Words<uint32_t>::Walk(a, b, words, share);
      break;
    case 2:
      found = Words<uint16_t>::Walk(a, b, words, share);
      break;
    default:
      return Words<uint8_t>::Walk(a, b, words, share);
  }
  using Byte = std::conditional_t<std::is_const_v<B>, const char, char>;
  const int64_t done = words * word;
  return found | Words<uint8_t>::Walk(static_cast<const char*>(a) + done,
                                      static_cast<Byte*>(b) + done,
                                      nbytes - done, share);
}

__global__ void __launch_bounds__(kThreads)
    SameBytesKernel(const __grid_constant__ Batch<SameBytesItem> batch,
                    int32_t* different) {
  const Share share = ShareOf(batch);
  const SameBytesItem& item = batch.items[share.item];
  const unsigned differs =
      WalkBytes<CompareWords>(item.a, item.b, item.nbytes, share);
  // At most one write a block: memory of the host is far.
  if (__syncthreads_or(differs != 0) && threadIdx.x == 0) {
    different[share.item] = 1;
  }
}

__global__ void __launch_bounds__(kThreads)
    CopyKernel(const __grid_constant__ Batch<CopyItem> batch) {
  const Share share = ShareOf(batch);
  const CopyItem& item = batch.items[share.item];
  WalkBytes<CopyWords>(item.src, item.dst, item.nbytes, share);
}

// ---- Conditions.

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

cudaError_t LaunchWiden(absl::Span<const WidenItem> items,
                        cudaStream_t stream) {
  for (const WidenItem& item : items) {
    if (!IsReal(item.dtype)) return cudaErrorNotSupported;
  }
  return LaunchBatches(
      items, [](const WidenItem& item) { return item.n; },
      [&](const Batch<WidenItem>& batch, unsigned blocks, int64_t) {
        WidenKernel<<<blocks, kThreads, 0, stream>>>(batch);
      });
}

cudaError_t LaunchSameBytes(absl::Span<const SameBytesItem> items,
                            int32_t* different, cudaStream_t stream) {
  return LaunchBatches(
      items,
      [](const SameBytesItem& item) {
        return UnitsIn(item.a, item.b, item.nbytes);
      },
      [&](const Batch<SameBytesItem>& batch, unsigned blocks, int64_t begin) {
        SameBytesKernel<<<blocks, kThreads, 0, stream>>>(batch,
                                                         different + begin);
      });
}

cudaError_t LaunchCopy(absl::Span<const CopyItem> items, cudaStream_t stream) {
  return LaunchBatches(
      items,
      [](const CopyItem& item) {
        return UnitsIn(item.src, item.dst, item.nbytes);
      },
      [&](const Batch<CopyItem>& batch, unsigned blocks, int64_t) {
        CopyKernel<<<blocks, kThreads, 0, stream>>>(batch);
      });
}

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
