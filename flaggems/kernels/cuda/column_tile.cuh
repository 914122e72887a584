// RowTile's counterpart for a dimension that is not the innermost one: the
// elements of a row are `inner` apart. Neighbouring threads have neighbouring
// rows, so accesses are coalesced; a row's elements lie with the threads of a
// column of the block.
//
// Same use as RowTile (row_tile.cuh): Load, Reduce, ForEach, Store, chunks.

#ifndef FLAGGEMS_KERNELS_CUDA_COLUMN_TILE_CUH_
#define FLAGGEMS_KERNELS_CUDA_COLUMN_TILE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

struct ColumnPlan {
  int64_t outer = 0;
  int64_t n = 0;
  int64_t inner = 0;
  int width = 0;      // threads side by side, each with a row; a power of two
  int height = 0;     // threads of a row, a power of two
  int64_t tiles = 0;  // of `width` rows in inner
  int64_t blocks = 0;
};

inline ColumnPlan PlanColumns(int64_t outer, int64_t n, int64_t inner,
                              int items) {
  constexpr int kMost = 1024;
  ColumnPlan plan;
  plan.outer = outer;
  plan.n = n;
  plan.inner = inner;
  plan.width = 1;
  while (plan.width < kWarp && plan.width < inner) plan.width *= 2;
  plan.height = 1;
  while (plan.height * plan.width < kMost && int64_t{plan.height} * items < n) {
    plan.height *= 2;
  }
  while (plan.width * plan.height < 128 && plan.width < inner) plan.width *= 2;
  if (plan.width * plan.height < kWarp) plan.height = kWarp / plan.width;
  plan.tiles = (inner + plan.width - 1) / plan.width;
  plan.blocks = outer * plan.tiles;
  return plan;
}

template <typename... Parameters, typename... Arguments>
cudaError_t LaunchColumns(const ColumnPlan& plan,
                          void (*kernel)(ColumnPlan, Parameters...),
                          cudaStream_t stream, Arguments... arguments) {
  if (plan.blocks == 0) return cudaSuccess;
  kernel<<<static_cast<unsigned>(plan.blocks), plan.width * plan.height, 0,
           stream>>>(plan, arguments...);
  return cudaGetLastError();
}

template <typename T, int kItems_>
class ColumnTile {
 public:
  using C = Compute<T>;
  static constexpr int kItems = kItems_;

  // `shared`: 1024 values of the largest type that Reduce is called with.
  __device__ __forceinline__ ColumnTile(const ColumnPlan& plan, void* shared)
      : shared_(shared),
        width_(plan.width),
        height_(plan.height),
        n_(plan.n),
        inner_(plan.inner) {
    x_ = threadIdx.x % width_;
    y_ = threadIdx.x / width_;
    const int64_t outer = blockIdx.x / plan.tiles;
    const int64_t column = (blockIdx.x - outer * plan.tiles) * width_ + x_;
    active_ = column < inner_;
    start_ = outer * n_ * inner_ + (active_ ? column : 0);
    const int64_t chunk = int64_t{height_} * kItems;
    chunks_ = n_ <= chunk ? 1 : (n_ + chunk - 1) / chunk;
    SetChunk(0);
  }

  __device__ bool active() const { return active_; }
  __device__ int slice() const { return 0; }
  __device__ int64_t row() const { return start_; }
  __device__ bool leader() const { return false; }
  __device__ int64_t chunks() const { return chunks_; }
  __device__ __forceinline__ void SetChunk(int64_t chunk) {
    const int64_t before = chunk * height_ * kItems;
    base_ = start_ + (before + y_) * inner_;
    const int64_t left = active_ ? n_ - before : 0;
    high_ = left > (1 << 30) ? (1 << 30) : static_cast<int>(left);
  }
  __device__ __forceinline__ bool Valid(int item) const {
    return item * height_ + y_ < high_;
  }

  template <bool kStream = false, typename U>
  __device__ __forceinline__ void Load(const U* tensor, C fill,
                                       C (&x)[kItems]) const {
    const U* p = tensor + base_;
    const int64_t step = height_ * inner_;
    U raw[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      raw[i] = Valid(i) ? p[i * step] : FromCompute<U>(fill);
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) x[i] = ToCompute(raw[i]);
  }

  template <bool kStream = false, typename U>
  __device__ __forceinline__ void LoadPair(const U* first, const U* second,
                                           C fill, C (&x)[kItems],
                                           C (&y)[kItems]) const {
    Load(first, fill, x);
    Load(second, fill, y);
  }

  template <typename U>
  __device__ __forceinline__ void Store(U* tensor, const C (&x)[kItems]) const {
    U* p = tensor + base_;
    const int64_t step = height_ * inner_;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (Valid(i)) p[i * step] = FromCompute<U>(x[i]);
    }
  }

  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (Valid(i)) f(i);
    }
  }

  template <typename V, typename Op>
  __device__ __forceinline__ V Reduce(V value, Op op, V) {
    if (height_ == 1) return value;
    V* slots = static_cast<V*>(shared_);
    __syncthreads();
    slots[threadIdx.x] = value;
    __syncthreads();
    for (int half = height_ / 2; half > 0; half /= 2) {
      if (y_ < half) {
        value = op(value, slots[threadIdx.x + half * width_]);
        slots[threadIdx.x] = value;
      }
      __syncthreads();
    }
    return slots[x_];
  }

  __device__ __forceinline__ void Finish() {}

 private:
  void* shared_;
  int width_;
  int height_;
  int x_;
  int y_;
  int high_;
  bool active_;
  int64_t n_;
  int64_t inner_;
  int64_t start_;
  int64_t base_;
  int64_t chunks_;
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_COLUMN_TILE_CUH_
