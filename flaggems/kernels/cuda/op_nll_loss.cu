#include <cstdint>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/device_assert.cuh"
#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_nll_loss_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kReduceThreads = 512;
// Samples that one block sums by itself.
constexpr int64_t kOneBlock = 8 * kReduceThreads;
constexpr int64_t kMaxBlocks = 1024;

struct Sums {
  double loss;
  double weight;
};

struct AddSums {
  __device__ Sums operator()(const Sums& a, const Sums& b) const {
    return {a.loss + b.loss, a.weight + b.weight};
  }
};

template <typename T>
struct Samples {
  const T* self;
  const int64_t* target;
  const T* weight;
  int64_t count;
  int64_t classes;
  int64_t positions;
  int64_t ignore_index;

  // The element of `self` of a sample; -1 where it is ignored.
  __device__ int64_t ElementOf(int64_t i, int64_t* t) const {
    *t = target[i];
    if (*t == ignore_index) return -1;
    FG_DEVICE_ASSERT(*t >= 0 && *t < classes && "target out of bounds");
    if (positions == 1) return i * classes + *t;
    const int64_t b = i / positions;
    return (b * classes + *t) * positions + (i - b * positions);
  }
};

template <typename T>
Samples<T> SamplesOf(const NllLoss& loss) {
  return {static_cast<const T*>(loss.self),
          loss.target,
          static_cast<const T*>(loss.weight),
          loss.batch * loss.positions,
          loss.classes,
          loss.positions,
          loss.ignore_index};
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    EachKernel(Samples<T> samples, T* out, T* total_weight) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i == 0) *total_weight = FromCompute<T>(Compute<T>(0));
  if (i >= samples.count) return;
  int64_t t;
  const int64_t element = samples.ElementOf(i, &t);
  Compute<T> value = 0;
  if (element >= 0) {
    value = -ToCompute(samples.self[element]);
    if (samples.weight != nullptr) value *= ToCompute(samples.weight[t]);
  }
  out[i] = FromCompute<T>(value);
}

template <typename T>
__device__ void Finish(const Sums& sums, bool mean, bool one_sample, T* out,
                       T* total_weight) {
  using C = Compute<T>;
  double value = sums.loss;
  if (mean && !(one_sample && sums.weight == 0 && sums.loss == 0)) {
    value /= sums.weight;
  }
  *out = FromCompute<T>(static_cast<C>(value));
  *total_weight = FromCompute<T>(static_cast<C>(sums.weight));
}

// One block: the result; several: their sums.
template <typename T>
__global__ void __launch_bounds__(kReduceThreads)
    SumKernel(Samples<T> samples, bool mean, bool one_sample, T* out,
              T* total_weight, Sums* partial) {
  __shared__ Sums shared[kWarp];
  Sums sums = {0, 0};
  bool ignored = true;
  for (int64_t i =
           static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
       i < samples.count;
       i += static_cast<int64_t>(gridDim.x) * kReduceThreads) {
    int64_t t;
    const int64_t element = samples.ElementOf(i, &t);
    if (element < 0) continue;
    ignored = false;
    const double weight =
        samples.weight == nullptr
            ? 1.0
            : static_cast<double>(ToCompute(samples.weight[t]));
    sums.loss -= weight * static_cast<double>(ToCompute(samples.self[element]));
    sums.weight += weight;
  }
  sums = BlockReduce(sums, AddSums(), Sums{0, 0}, shared);
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1) {
    Finish(sums, mean, one_sample && ignored, out, total_weight);
  } else {
    partial[blockIdx.x] = sums;
  }
}

template <typename T>
__global__ void __launch_bounds__(kReduceThreads)
    FinishKernel(const Sums* partial, int count, bool mean, T* out,
                 T* total_weight) {
  __shared__ Sums shared[kWarp];
  Sums sums = {0, 0};
  for (int i = threadIdx.x; i < count; i += kReduceThreads) {
    sums = AddSums()(sums, partial[i]);
  }
  sums = BlockReduce(sums, AddSums(), Sums{0, 0}, shared);
  if (threadIdx.x == 0) Finish(sums, mean, false, out, total_weight);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    BackwardKernel(Samples<T> samples, const T* grad, int64_t grad_stride,
                   const T* total_weight, T* grad_self) {
  using C = Compute<T>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= samples.count) return;
  int64_t t;
  const int64_t element = samples.ElementOf(i, &t);
  if (element < 0) return;
  C value = -ToCompute(grad[i * grad_stride]);
  if (total_weight != nullptr) value /= ToCompute(*total_weight);
  if (samples.weight != nullptr) value *= ToCompute(samples.weight[t]);
  grad_self[element] = FromCompute<T>(value);
}

// All of grad_self, for one position a sample and rows of whole vectors. Zeros
// are stored without waiting for the targets; the thread that stored one in the
// place of a target stores again.
constexpr int kRowUnroll = 4;
// Beyond it the driver's fill and a second launch are faster.
constexpr int64_t kMaxRowVectors = int64_t{1} << 20;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    BackwardRowsKernel(Samples<T> samples, const T* grad, int64_t grad_stride,
                       const T* total_weight, T* grad_self, uint32_t vectors,
                       FastDivide per_row) {
  using C = Compute<T>;
  constexpr int N = kVecWidth<T>;
  const uint32_t first = blockIdx.x * (kThreads * kRowUnroll) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kRowUnroll; ++u) {
    const uint32_t vector = first + u * kThreads;
    if (vector < vectors) {
      reinterpret_cast<uint4*>(grad_self)[vector] = make_uint4(0, 0, 0, 0);
    }
  }
#pragma unroll
  for (int u = 0; u < kRowUnroll; ++u) {
    const uint32_t vector = first + u * kThreads;
    if (vector >= vectors) return;
    uint32_t i = vector;
    const int64_t column = int64_t{per_row.DivideInPlace(&i)} * N;
    const int64_t t = samples.target[i];
    if (t == samples.ignore_index) continue;
    FG_DEVICE_ASSERT(t >= 0 && t < samples.classes && "target out of bounds");
    if (t < column || t >= column + N) continue;
    C value = -ToCompute(grad[i * grad_stride]);
    if (total_weight != nullptr) value /= ToCompute(*total_weight);
    if (samples.weight != nullptr) value *= ToCompute(samples.weight[t]);
    grad_self[i * samples.classes + t] = FromCompute<T>(value);
  }
}

int64_t BlocksOf(const NllLoss& loss) {
  const int64_t samples = loss.batch * loss.positions;
  if (samples <= kOneBlock) return 1;
  const int64_t blocks = (samples - 1) / (2 * kReduceThreads) + 1;
  return blocks < kMaxBlocks ? blocks : kMaxBlocks;
}

}  // namespace

size_t NllLossScratch(const NllLoss& loss) {
  if (loss.reduction == LossReduction::kNone) return 0;
  const int64_t blocks = BlocksOf(loss);
  return blocks == 1 ? 0 : static_cast<size_t>(blocks) * sizeof(Sums);
}

cudaError_t LaunchNllLoss(const NllLoss& loss, bool one_sample, void* out,
                          void* total_weight, void* scratch,
                          cudaStream_t stream) {
  return ForFloatsAndDouble(loss.element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Samples<T> samples = SamplesOf<T>(loss);
    if (loss.reduction == LossReduction::kNone) {
      const int64_t blocks = (samples.count + kThreads - 1) / kThreads;
      EachKernel<T><<<static_cast<unsigned>(blocks > 0 ? blocks : 1), kThreads,
                      0, stream>>>(samples, static_cast<T*>(out),
                                   static_cast<T*>(total_weight));
      return cudaGetLastError();
    }
    const bool mean = loss.reduction == LossReduction::kMean;
    const int64_t blocks = BlocksOf(loss);
    Sums* const partial = static_cast<Sums*>(scratch);
    SumKernel<T><<<static_cast<unsigned>(blocks), kReduceThreads, 0, stream>>>(
        samples, mean, one_sample, static_cast<T*>(out),
        static_cast<T*>(total_weight), partial);
    if (blocks > 1) {
      FinishKernel<T><<<1, kReduceThreads, 0, stream>>>(
          partial, static_cast<int>(blocks), mean, static_cast<T*>(out),
          static_cast<T*>(total_weight));
    }
    return cudaGetLastError();
  });
}

cudaError_t LaunchNllLossBackward(const NllLoss& loss, const void* grad,
                                  int64_t grad_stride, const void* total_weight,
                                  void* grad_self, cudaStream_t stream) {
  const int64_t samples = loss.batch * loss.positions;
  if (samples == 0) return cudaSuccess;
  const bool mean = loss.reduction == LossReduction::kMean;
  const bool each = loss.reduction == LossReduction::kNone;
  return ForFloatsAndDouble(loss.element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    constexpr int N = kVecWidth<T>;
    const T* const divisor =
        mean ? static_cast<const T*>(total_weight) : nullptr;
    const int64_t stride = each ? grad_stride : 0;
    const int64_t vectors = samples * (loss.classes / N);
    if (loss.positions == 1 && loss.classes % N == 0 &&
        vectors <= kMaxRowVectors && IsAligned(grad_self, 16)) {
      BackwardRowsKernel<T>
          <<<static_cast<unsigned>((vectors - 1) / (kThreads * kRowUnroll) + 1),
             kThreads, 0, stream>>>(
              SamplesOf<T>(loss), static_cast<const T*>(grad), stride, divisor,
              static_cast<T*>(grad_self), static_cast<uint32_t>(vectors),
              FastDivide(static_cast<uint32_t>(loss.classes / N)));
      return cudaGetLastError();
    }
    const cudaError_t error = cudaMemsetAsync(
        grad_self, 0, static_cast<size_t>(samples) * loss.classes * sizeof(T),
        stream);
    if (error != cudaSuccess) return error;
    BackwardKernel<T>
        <<<static_cast<unsigned>((samples - 1) / kThreads + 1), kThreads, 0,
           stream>>>(SamplesOf<T>(loss), static_cast<const T*>(grad), stride,
                     divisor, static_cast<T*>(grad_self));
    return cudaGetLastError();
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
