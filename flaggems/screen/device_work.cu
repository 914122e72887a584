// Compiled without contraction: what the kernel makes has the bits that the
// host's code makes.

#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/cuda/processors.h"
#include "flaggems/comparator/element.h"
#include "flaggems/reference/perturbation.h"
#include "flaggems/screen/device_work_launch.h"

namespace flaggems {
namespace {

constexpr int kThreads = 256;
// Elements that a thread reads before it writes.
constexpr int kUnroll = 4;
constexpr int kBlocksPerProcessor = 8;

// A launch's blocks are shared out to its items by size. Parameters of a kernel
// cost the host time by the byte, hence a kernel for few items.
template <int kItems>
struct Batch {
  DeviceWork items[kItems];
  unsigned first_block[kItems + 1];  // of item i
};
constexpr int kFewItems = 4;

// Of the threads of one item.
struct Share {
  int item;
  int64_t thread;
  int64_t threads;
};

template <int kItems>
__device__ Share ShareOf(const Batch<kItems>& batch) {
  int i = 0;
  while (blockIdx.x >= batch.first_block[i + 1]) ++i;
  const unsigned first = batch.first_block[i];
  return {i, int64_t{blockIdx.x - first} * kThreads + threadIdx.x,
          int64_t{batch.first_block[i + 1] - first} * kThreads};
}

// ---- Widening.

__device__ double Made(double x, const DeviceWork& item, int64_t i) {
  switch (item.kind) {
    case DeviceWork::Kind::kMagnitude:
      return fabs(x);
    case DeviceWork::Kind::kMinusMagnitude:
      return -fabs(x);
    case DeviceWork::Kind::kPerturb:
      return x * (1 + item.step * Draw(item.seed, i));
    default:
      return x;
  }
}

template <DType kDType>
__device__ void WidenAs(const DeviceWork& item, const Share& share) {
  const auto* src = static_cast<const StoredOf<kDType>*>(item.src);
  auto* dst = static_cast<double*>(item.dst);
  const int64_t threads = share.threads;
  int64_t i = share.thread;
  for (; i + (kUnroll - 1) * threads < item.n; i += kUnroll * threads) {
    StoredOf<kDType> x[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) x[u] = src[i + u * threads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      dst[i + u * threads] =
          Made(static_cast<double>(Element<kDType>::Load(x[u])), item,
               i + u * threads);
    }
  }
  for (; i < item.n; i += threads) {
    dst[i] = Made(static_cast<double>(Element<kDType>::Load(src[i])), item, i);
  }
}

// Whether elements are real numbers: not complex, and not quantised.
bool IsReal(DType dtype) { return IsFloating(dtype) || IsIntegral(dtype); }

__device__ void Widen(const DeviceWork& item, const Share& share) {
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
      break;  // excluded by LaunchDeviceWork()
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

template <int kItems>
__global__ void __launch_bounds__(kThreads)
    WorkKernel(const __grid_constant__ Batch<kItems> batch) {
  const Share share = ShareOf(batch);
  const DeviceWork& item = batch.items[share.item];
  if (item.kind == DeviceWork::Kind::kCopy) {
    WalkBytes<CopyWords>(item.src, item.dst, item.n, share);
  } else if (item.kind == DeviceWork::Kind::kSameBytes) {
    const unsigned differs = WalkBytes<CompareWords>(
        item.src, static_cast<const void*>(item.dst), item.n, share);
    // At most one write a block: memory of the host is far.
    if (__syncthreads_or(differs != 0) && threadIdx.x == 0) {
      *item.different = 1;
    }
  } else {
    Widen(item, share);
  }
}

bool IsBytes(const DeviceWork& item) {
  return item.kind == DeviceWork::Kind::kCopy ||
         item.kind == DeviceWork::Kind::kSameBytes;
}

// What the threads of an item loop over.
int64_t UnitsOf(const DeviceWork& item) {
  return IsBytes(item) ? UnitsIn(item.src, item.dst, item.n) : item.n;
}

// At most kItems.
template <int kItems>
cudaError_t Launch(absl::Span<const DeviceWork> work, int64_t most_blocks,
                   cudaStream_t stream) {
  // A thread takes kUnroll units at a time.
  constexpr int64_t kUnits = int64_t{kThreads} * kUnroll;
  Batch<kItems> batch;
  unsigned blocks = 0;
  for (size_t i = 0; i < work.size(); ++i) {
    batch.items[i] = work[i];
    batch.first_block[i] = blocks;
    const int64_t wanted = (UnitsOf(work[i]) + kUnits - 1) / kUnits;
    blocks +=
        static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
    batch.first_block[i + 1] = blocks;
  }
  if (blocks == 0) return cudaSuccess;
  WorkKernel<kItems><<<blocks, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchDeviceWork(absl::Span<const DeviceWork> work,
                             cudaStream_t stream) {
  for (const DeviceWork& item : work) {
    if (!IsBytes(item) && !IsReal(item.dtype)) return cudaErrorNotSupported;
  }
  int processors = 0;
  const cudaError_t error = Processors(&processors);
  if (error != cudaSuccess) return error;
  const int64_t most = int64_t{processors} * kBlocksPerProcessor;
  for (size_t begin = 0; begin < work.size(); begin += kDeviceWorkPerLaunch) {
    const auto part = work.subspan(begin, kDeviceWorkPerLaunch);
    const cudaError_t launched =
        part.size() <= kFewItems
            ? Launch<kFewItems>(part, most, stream)
            : Launch<kDeviceWorkPerLaunch>(part, most, stream);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

}  // namespace flaggems
