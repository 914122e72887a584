// Arguments and small pieces of the norms' kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_DATA_CUH_
#define FLAGGEMS_KERNELS_CUDA_NORM_DATA_CUH_

#include <cmath>
#include <cstdint>

#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_norm {

enum class Kind { kLayer, kRms, kGroup };

// The weights' channels of a group norm: `channel_size` elements of a row have
// one gamma and one beta.
struct Channels {
  int64_t channel_size = 1;
  int64_t channels = 1;  // of a row
  int64_t groups = 1;    // rows of a sample
  FastDivide fast;       // by channel_size, for rows of less than 2^31
  bool is_fast = true;
  bool whole_vectors = false;  // no vector of an aligned row has two channels
};

template <typename T, typename S>
struct NormData {
  const T* in;
  const T* gamma;  // or null
  const T* beta;   // or null
  T* out;
  S* mean;  // null for kRms
  S* rstd;
  Compute<T> eps;
  Channels channels;
};

template <typename C>
struct Pair {
  C a;
  C b;
};

struct SumPairs {
  template <typename C>
  __device__ __forceinline__ Pair<C> operator()(const Pair<C>& x,
                                                const Pair<C>& y) const {
    return {x.a + y.a, x.b + y.b};
  }
};

// The mean as it is written: NaN of a row with an infinity, as aten's on the
// CPU. (What a running mean makes of one depends on the order.)
template <typename C>
__device__ __forceinline__ C WrittenMean(C mean) {
  return isfinite(mean) ? mean : static_cast<C>(NAN);
}

__device__ __forceinline__ float InverseSqrt(float x) { return 1 / sqrtf(x); }
__device__ __forceinline__ double InverseSqrt(double x) { return 1 / sqrt(x); }

}  // namespace internal_norm
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_DATA_CUH_
