#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/op_var_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"
#include "flaggems/kernels/cuda/reduce_store.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// Sums of distances and of squared distances from the output's first element,
// in double. A shift by one of the elements leaves little to cancel: the sum of
// squares is at most n + 1 times the one about the mean. 16-bit elements add up
// a batch in float32, from the batch's own first element. (Never from one that
// is infinite: the mean would be NaN, not infinite.)
template <typename T>
struct Var : PlainOperator<T> {
  using In = T;
  using C = std::conditional_t<sizeof(T) == 2, float, double>;
  using Shift = C;
  struct Acc {
    double sum;
    double squares;
  };
  static constexpr bool kWide = sizeof(T) < 8;

  T* out;
  T* mean;  // may be null
  double n;
  double correction;
  bool root;

  __device__ Acc Identity() const { return {0, 0}; }
  __device__ In Filler() const { return FromCompute<T>(Compute<T>(0)); }
  __device__ C Read(T x) const { return ToCompute(x); }
  __device__ C ShiftOf(const T* x) const {
    const C first = ToCompute(__ldg(x));
    return isfinite(first) ? first : C(0);
  }

  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int valid,
                                        int64_t, int64_t, C shift) const {
    constexpr int N = U * V;
    constexpr int kChains = N < 4 ? N : 4;
    const C center = sizeof(T) == 2 && isfinite(x[0]) ? x[0] : shift;
    if (valid != U) {
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = i / V < valid ? x[i] : center;
    }
    C sums[kChains], squares[kChains];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const C d = x[i] - center;
      sums[i % kChains] = i < kChains ? d : sums[i % kChains] + d;
      squares[i % kChains] = i < kChains ? d * d : squares[i % kChains] + d * d;
    }
    const auto add = [](C a, C b) { return a + b; };
    const double sum = TreeReduce(sums, add);
    const double square = TreeReduce(squares, add);
    if constexpr (sizeof(T) == 2) {
      const double count = valid * V;
      const double moved = static_cast<double>(center) - shift;
      acc->sum += sum + count * moved;
      acc->squares += square + moved * (2 * sum + count * moved);
    } else {
      acc->sum += sum;
      acc->squares += square;
    }
  }

  __device__ __forceinline__ Acc Combine(const Acc& a, const Acc& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }

  __device__ void Finish(const Acc& acc, int64_t offset, C shift) const {
    const double distance = acc.sum / n;
    // Squares of finite doubles may overflow: infinite, not NaN.
    const double about_mean = isfinite(acc.sum) && isinf(acc.squares)
                                  ? acc.squares
                                  : acc.squares - acc.sum * distance;
    const double rest = n - correction;
    // NaN stays NaN.
    double variance =
        (about_mean < 0 ? 0.0 : about_mean) / (rest > 0 ? rest : 0.0);
    if (root) variance = sqrt(variance);
    out[offset] = RoundOnce<T>(variance);
    if (mean != nullptr) mean[offset] = RoundOnce<T>(shift + distance);
  }
};

}  // namespace

cudaError_t LaunchVar(const ReducePlan& plan, Element type, double correction,
                      bool root, const void* in, void* out, void* mean,
                      void* scratch, cudaStream_t stream) {
  return ForFloatsAndDouble(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Var<T> op = {{},
                       static_cast<T*>(out),
                       static_cast<T*>(mean),
                       static_cast<double>(plan.reduced),
                       correction,
                       root};
    return LaunchReduce(op, plan, static_cast<const T*>(in), scratch, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
