// Norms of rows of whole vectors (aligned_row.cuh). Formulas as in
// norm_rows.cuh.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_ALIGNED_CUH_
#define FLAGGEMS_KERNELS_CUDA_NORM_ALIGNED_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/aligned_row.cuh"
#include "flaggems/kernels/cuda/norm_data.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_norm {

// gamma and beta of vector `at` of a row. kGroup: of all its elements.
template <Kind kKind, typename T, typename S>
__device__ __forceinline__ void LoadVectorAffine(const NormData<T, S>& data,
                                                 int at, int64_t first_channel,
                                                 float (&gamma)[kVecWidth<T>],
                                                 float (&beta)[kVecWidth<T>]) {
  constexpr int kWidth = kVecWidth<T>;
  if constexpr (kKind == Kind::kGroup) {
    const int64_t channel =
        first_channel +
        data.channels.fast.Quotient(static_cast<uint32_t>(at * kWidth));
    const float g =
        data.gamma == nullptr ? 1.0f : ToCompute(__ldg(data.gamma + channel));
    const float b =
        data.beta == nullptr ? 0.0f : ToCompute(__ldg(data.beta + channel));
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      gamma[j] = g;
      beta[j] = b;
    }
  } else {
    if (data.gamma != nullptr) {
      Unpack<T>(__ldg(reinterpret_cast<const uint4*>(data.gamma) + at), gamma);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) gamma[j] = 1;
    }
    if (kKind == Kind::kLayer && data.beta != nullptr) {
      Unpack<T>(__ldg(reinterpret_cast<const uint4*>(data.beta) + at), beta);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) beta[j] = 0;
    }
  }
}

__device__ __forceinline__ void FetchToL2(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

// Starts to read the weights of a row of little work on a device that has
// little else to do: after the row's sums it would wait for them alone.
constexpr int64_t kFewBlocks = 1024;
template <Kind kKind, typename T, typename S, typename Row, int kVectors>
__device__ __forceinline__ void FetchAffine(const NormData<T, S>& data,
                                            const Row& row) {
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (!row.Has(i)) continue;
    if (data.gamma != nullptr) {
      FetchToL2(reinterpret_cast<const uint4*>(data.gamma) + row.At(i));
    }
    if (kKind == Kind::kLayer && data.beta != nullptr) {
      FetchToL2(reinterpret_cast<const uint4*>(data.beta) + row.At(i));
    }
  }
}

// Blocks of their own without prefetch have AlignedLimits::direct_threads at
// most. Three of a mean and a variance fit into a multiprocessor if a thread
// has 40 registers, which it can; with two their phases do not overlap enough.
// (RMS norms have fewer without being told.)
template <Kind kKind, Team kTeam, bool kPrefetch>
inline constexpr bool kHasThreeBlocks =
    kKind != Kind::kRms&& kTeam == Team::kBlock && !kPrefetch;

template <Kind kKind, typename T, typename S, int kVectors, Team kTeam,
          bool kPrefetch>
__global__ void __launch_bounds__(
    kHasThreeBlocks<kKind, kTeam, kPrefetch> ? 512 : 1024,
    kHasThreeBlocks<kKind, kTeam, kPrefetch> ? 3 : 0)
    NormAlignedKernel(const __grid_constant__ AlignedPlan plan,
                      const __grid_constant__ NormData<T, S> data) {
  constexpr int kWidth = kVecWidth<T>;
  constexpr bool kExact = sizeof(T) == 4;
  using A = SumType<T>;
  AlignedRow<kVectors, kTeam, kPrefetch> row(plan, data.in);
  do {
    uint4 x[kVectors];
    row.template Load<kStreamsRows<kKind, T>>(data.in, make_uint4(0, 0, 0, 0),
                                              x);
    if constexpr (kKind != Kind::kGroup &&
                  (kTeam == Team::kLanes || kVectors == 1)) {
      if (plan.blocks < kFewBlocks) {
        FetchAffine<kKind, T, S, decltype(row), kVectors>(data, row);
      }
    }
    // Two chains of doubles take the registers of four of floats.
    constexpr int kChains = kExact ? 2 : 4;
    A sums[kChains] = {};
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      float f[kWidth];
      Unpack<T>(x[i], f);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const A item = f[j];
        A& sum = sums[j % kChains];
        sum = kKind == Kind::kRms ? fma(item, item, sum) : sum + item;
      }
    }
    A m2 = row.Reduce(SumOf<A>(sums), Sum(), A{0});
    row.Prefetch(data.in);
    float mean = 0;
    float shift = 0;
    if constexpr (kKind != Kind::kRms) {
      if constexpr (kExact) {
        const double exact = m2 * data.inverse_n;
        mean = static_cast<float>(exact);
        shift = RestOf(exact, mean);
      } else {
        mean = m2 / static_cast<float>(plan.vectors * kWidth);
        Renew(x);
      }
      float squares[4] = {0, 0, 0, 0};
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        if (!row.Has(i)) continue;
        float f[kWidth];
        Unpack<T>(x[i], f);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          float d = f[j] - mean;
          if constexpr (kExact) d -= shift;
          squares[j % 4] = fmaf(d, d, squares[j % 4]);
        }
      }
      m2 = row.Reduce(SumOf<float>(squares), Sum(), 0.0f);
    }
    const float rstd =
        InverseSqrt<float>(fma(double{m2}, data.inverse_n, data.eps));
    if (row.leader()) {
      if constexpr (kKind != Kind::kRms) {
        data.mean[row.row()] = FromCompute<S>(WrittenMean(mean));
      }
      data.rstd[row.row()] = FromCompute<S>(rstd);
    }
    const int64_t first_channel =
        kKind == Kind::kGroup
            ? row.row() % data.channels.groups * data.channels.channels
            : 0;
    if constexpr (!kExact) Renew(x);
    uint4* out = row.Out(data.out);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (!row.Has(i)) continue;
      float gamma[kWidth];
      float beta[kWidth];
      LoadVectorAffine<kKind>(data, row.At(i), first_channel, gamma, beta);
      float f[kWidth];
      Unpack<T>(x[i], f);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if constexpr (kKind == Kind::kRms) {
          f[j] = f[j] * rstd * gamma[j];
        } else {
          f[j] -= mean;
          if constexpr (kExact) f[j] -= shift;
          f[j] = fmaf(f[j] * rstd, gamma[j], beta[j]);
        }
      }
      __stcs(out + row.At(i), Pack<T>(f));
    }
  } while (row.Next());
  row.Finish();
}

// Single elements: short rows of odd length.
template <Kind kKind, typename T, typename S>
__global__ void __launch_bounds__(128)
    NormNarrowKernel(const __grid_constant__ NarrowPlan plan,
                     const __grid_constant__ NormData<T, S> data) {
  const NarrowRow row(plan);
  float x[kNarrowItems];
  row.Load(data.in, 0.0f, x);
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kNarrowItems; ++i) {
    const double item = x[i];
    sum = kKind == Kind::kRms ? fma(item, item, sum) : sum + item;
  }
  double m2 = row.Reduce(sum, Sum());
  float mean = 0;
  if constexpr (kKind != Kind::kRms) {
    const double exact = m2 * data.inverse_n;
    mean = static_cast<float>(exact);
    const float shift = RestOf(exact, mean);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kNarrowItems; ++i) {
      x[i] = (x[i] - mean) - shift;
      if (row.Has(i)) squares = fmaf(x[i], x[i], squares);
    }
    m2 = row.Reduce(squares, Sum());
  }
  const float rstd = InverseSqrt<float>(fma(m2, data.inverse_n, data.eps));
  if (row.leader()) {
    if constexpr (kKind != Kind::kRms) {
      data.mean[row.row()] = FromCompute<S>(WrittenMean(mean));
    }
    data.rstd[row.row()] = FromCompute<S>(rstd);
  }
  const int64_t first_channel =
      kKind == Kind::kGroup
          ? row.row() % data.channels.groups * data.channels.channels
          : 0;
#pragma unroll
  for (int i = 0; i < kNarrowItems; ++i) {
    if (!row.Has(i)) continue;
    int64_t w = row.At(i);
    if constexpr (kKind == Kind::kGroup) {
      w = first_channel + data.channels.fast.Quotient(row.At(i));
    }
    const float gamma =
        data.gamma == nullptr ? 1.0f : ToCompute(__ldg(data.gamma + w));
    if constexpr (kKind == Kind::kRms) {
      row.Store(data.out, i, x[i] * rstd * gamma);
    } else {
      const float beta =
          data.beta == nullptr ? 0.0f : ToCompute(__ldg(data.beta + w));
      row.Store(data.out, i, fmaf(x[i] * rstd, gamma, beta));
    }
  }
}

template <Kind kKind, typename T, typename S>
bool HasAligned(const NormData<T, S>& data, int64_t n) {
  if (n % kVecWidth<T> != 0 || !IsAligned(data.in, 16) ||
      !IsAligned(data.out, 16)) {
    return false;
  }
  if (kKind == Kind::kGroup) {
    return data.channels.channel_size % kVecWidth<T> == 0;
  }
  return IsAligned(data.gamma, 16) && IsAligned(data.beta, 16);
}

template <Kind kKind, typename T, typename S>
cudaError_t LaunchNormAligned(const AlignedPlan& plan, int multiprocessors,
                              const NormData<T, S>& data, cudaStream_t stream) {
  return ForAlignedPlan(plan, [&](auto team, auto vectors, auto prefetch) {
    return LaunchAligned(
        plan, multiprocessors,
        &NormAlignedKernel<kKind, T, S, decltype(vectors)::value,
                           decltype(team)::value, decltype(prefetch)::value>,
        stream, data);
  });
}

}  // namespace internal_norm
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_ALIGNED_CUH_
