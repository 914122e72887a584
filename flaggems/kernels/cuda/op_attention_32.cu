// Attention in float32 with plain multiply-adds.

#include <cstdint>

#include "flaggems/kernels/cuda/attention_tile.cuh"
#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_attention_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// 16 x 16 threads; each has 8 queries, every 16th key and 4 side by side of
// every 64 values.
constexpr int kSide = 16;
constexpr int kThreads = kSide * kSide;
constexpr int kEach = 8;
constexpr int kRows = kSide * kEach;
// Rows in shared memory are this much longer: eight rows of one column then
// start in different banks.
constexpr int kPad = 4;

// kCount rows from `first`, zero beyond `rows` rows and `size` columns, in
// accesses of kBytes.
template <int kCount, int kHead, int kBytes>
__device__ __forceinline__ void CopyTile(float* tile, const float* from,
                                         int64_t stride, int first, int rows,
                                         int size) {
  constexpr int kElements = kBytes / 4;
  constexpr int kPieces = kHead / kElements;
#pragma unroll 4
  for (int i = threadIdx.x; i < kCount * kPieces; i += kThreads) {
    const int row = i / kPieces;
    const int column = i % kPieces * kElements;
    const bool valid = first + row < rows && column < size;
    CopyAsync<kBytes>(SharedAddress(tile + row * (kHead + kPad) + column),
                      valid ? from + (first + row) * stride + column : from,
                      valid);
  }
}

template <int kCount, int kHead>
__device__ __forceinline__ void LoadTile(float* tile, const float* from,
                                         int64_t stride, int first, int rows,
                                         int size, bool vectors) {
  if (vectors) {
    CopyTile<kCount, kHead, 16>(tile, from, stride, first, rows, size);
  } else {
    CopyTile<kCount, kHead, 4>(tile, from, stride, first, rows, size);
  }
}

__device__ __forceinline__ float4 Quad(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

struct Alignment32 {
  bool q, k, v;
};

template <int kHead, int kKeys>
__global__ void __launch_bounds__(kThreads)
    AttentionKernel(const __grid_constant__ Attention attention,
                    Alignment32 aligned) {
  constexpr int kStride = kHead + kPad;
  constexpr int kKeysEach = kKeys / kSide;
  constexpr int kQuadsEach = kHead / 64;
  extern __shared__ __align__(16) float shared[];
  float* q_tile = shared;
  float* k_tile = q_tile + kRows * kStride;
  float* v_tile = k_tile + kKeys * kStride;
  float* weights = v_tile + kKeys * kStride;  // kRows x (kKeys + kPad)

  const TileProblem<float> t = TileOf<kRows, float>(attention);
  const int x = threadIdx.x % kSide;
  const int first = threadIdx.x / kSide * kEach;

  float out[kEach][kQuadsEach][4] = {};
  float largest[kEach];
  float sum[kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    largest[r] = -INFINITY;
    sum[r] = 0.0f;
  }
  LoadTile<kRows, kHead>(q_tile, t.q, t.q_row, t.first_row, t.queries,
                         t.head_size, aligned.q);
  if (t.end_key > 0) {
    LoadTile<kKeys, kHead>(k_tile, t.k, t.k_row, 0, t.keys, t.head_size,
                           aligned.k);
  }
  CommitCopies();

  for (int key = 0; key < t.end_key; key += kKeys) {
    WaitForCopies();
    __syncthreads();
    LoadTile<kKeys, kHead>(v_tile, t.v, t.v_row, key, t.keys, t.value_size,
                           aligned.v);
    CommitCopies();

    float score[kEach][kKeysEach] = {};
#pragma unroll 2
    for (int c = 0; c < kHead; c += 4) {
      float4 k[kKeysEach];
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) {
        k[j] = Quad(k_tile + (x + kSide * j) * kStride + c);
      }
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
        const float4 q = Quad(q_tile + (first + r) * kStride + c);
#pragma unroll
        for (int j = 0; j < kKeysEach; ++j) {
          score[r][j] = fmaf(q.x, k[j].x, score[r][j]);
          score[r][j] = fmaf(q.y, k[j].y, score[r][j]);
          score[r][j] = fmaf(q.z, k[j].z, score[r][j]);
          score[r][j] = fmaf(q.w, k[j].w, score[r][j]);
        }
      }
    }

    const bool plain =
        t.bias == nullptr && key + kKeys <= t.keys &&
        (!t.causal || key + kKeys - 1 <= t.first_row + t.diagonal);
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const int row = t.first_row + first + r;
      float top = largest[r];
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) {
        const int k = key + x + kSide * j;
        float& s = score[r][j];
        s = plain ? s * t.scale : Logit(t, s, BiasOf(t, row, k), row, k);
        top = fmaxf(top, s);
      }
      top =
          WarpReduce<kSide>(top, [](float a, float b) { return fmaxf(a, b); });
      const float shift = Shift(top);
      const float keep = exp2f(largest[r] - shift);
      largest[r] = top;
      float total = 0.0f;
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) {
        const float weight = exp2f(score[r][j] - shift);
        total += weight;
        weights[(first + r) * (kKeys + kPad) + x + kSide * j] = weight;
      }
      sum[r] = sum[r] * keep + total;
#pragma unroll
      for (int i = 0; i < kQuadsEach; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) out[r][i][e] *= keep;
      }
    }

    // Values are there, keys are done with. A row of weights is written and
    // read by lanes of one warp.
    WaitForCopies();
    __syncthreads();
    if (key + kKeys < t.end_key) {
      LoadTile<kKeys, kHead>(k_tile, t.k, t.k_row, key + kKeys, t.keys,
                             t.head_size, aligned.k);
      CommitCopies();
    }

#pragma unroll 1
    for (int j = 0; j < kKeys; j += 4) {
      float4 w[kEach];
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
        w[r] = Quad(weights + (first + r) * (kKeys + kPad) + j);
      }
#pragma unroll
      for (int i = 0; i < kQuadsEach; ++i) {
        const float* v = v_tile + j * kStride + 64 * i + 4 * x;
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          const float4 value = Quad(v + step * kStride);
#pragma unroll
          for (int r = 0; r < kEach; ++r) {
            const float weight = reinterpret_cast<const float*>(&w[r])[step];
            out[r][i][0] = fmaf(weight, value.x, out[r][i][0]);
            out[r][i][1] = fmaf(weight, value.y, out[r][i][1]);
            out[r][i][2] = fmaf(weight, value.z, out[r][i][2]);
            out[r][i][3] = fmaf(weight, value.w, out[r][i][3]);
          }
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const float total =
        WarpReduce<kSide>(sum[r], [](float a, float b) { return a + b; });
    const int row = t.first_row + first + r;
    if (x == 0) StoreLse(t, row, largest[r], total);
    if (row >= t.queries) continue;
    const float factor = total == 0.0f ? 0.0f : 1.0f / total;
    float* to = t.out + row * t.out_row;
#pragma unroll
    for (int i = 0; i < kQuadsEach; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int c = 64 * i + 4 * x + e;
        if (c < t.value_size) to[c] = out[r][i][e] * factor;
      }
    }
  }
}

template <int kHead, int kKeys>
cudaError_t Launch(const Attention& a, const Alignment32& aligned,
                   cudaStream_t stream) {
  constexpr int kBytes =
      4 * ((kRows + 2 * kKeys) * (kHead + kPad) + kRows * (kKeys + kPad));
  const auto kernel = AttentionKernel<kHead, kKeys>;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const int64_t blocks = a.batch * a.heads * ((a.queries + kRows - 1) / kRows);
  if (blocks > INT32_MAX) return cudaErrorNotSupported;
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(a,
                                                                      aligned);
  return cudaGetLastError();
}

__global__ void ReplaceMinusInf(float* numbers, int64_t count, float value) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count && numbers[i] == -INFINITY) numbers[i] = value;
}

}  // namespace

cudaError_t LaunchReplaceMinusInf(float* numbers, int64_t count, float value,
                                  cudaStream_t stream) {
  const int64_t blocks = (count + kThreads - 1) / kThreads;
  if (blocks > INT32_MAX) return cudaErrorNotSupported;
  ReplaceMinusInf<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      numbers, count, value);
  return cudaGetLastError();
}

cudaError_t LaunchAttention32(const Attention& a, cudaStream_t stream) {
  if (a.element != Element::kFloat32 || a.head_size > kMaxHeadSize ||
      a.value_size > kMaxHeadSize || a.queries > INT32_MAX / 2 ||
      a.keys > INT32_MAX / 2) {
    return cudaErrorNotSupported;
  }
  const auto in_vectors = [](const void* p, const RowStrides& s, int64_t size) {
    return IsAligned(p, 16) && s.batch % 4 == 0 && s.head % 4 == 0 &&
           s.row % 4 == 0 && size % 4 == 0;
  };
  const Alignment32 aligned = {in_vectors(a.q, a.q_strides, a.head_size),
                               in_vectors(a.k, a.k_strides, a.head_size),
                               in_vectors(a.v, a.v_strides, a.value_size)};
  const int64_t size = a.head_size > a.value_size ? a.head_size : a.value_size;
  if (size <= 64) return Launch<64, 64>(a, aligned, stream);
  if (size <= 128) return Launch<128, 64>(a, aligned, stream);
  return Launch<256, 32>(a, aligned, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
