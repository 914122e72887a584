// Attention in float16 and bfloat16 on tensor cores (mma.sync m16n8k16).

#include <cstdint>

#include "flaggems/kernels/cuda/attention_tile.cuh"
#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_attention_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;

// Elements of a 16-byte chunk, the unit in which tiles move.
constexpr int kChunk = 8;

// A tile of rows of kHead elements in shared memory. Chunks of a row change
// places with its number, so that eight rows of one column are eight banks.
template <int kHead>
__device__ __forceinline__ uint32_t Place(uint32_t tile, int row, int chunk) {
  return tile + 2 * (row * kHead) + 16 * (chunk ^ (row & 7));
}

__device__ __forceinline__ void LoadMatrices(uint32_t (&r)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}

__device__ __forceinline__ void LoadTransposed(uint32_t (&r)[4],
                                               uint32_t from) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(from));
}

// c (16 x 8) += a (16 x 16) b (16 x 8).
template <typename T>
__device__ __forceinline__ void MultiplyAdd(float (&c)[4],
                                            const uint32_t (&a)[4], uint32_t b0,
                                            uint32_t b1);

template <>
__device__ __forceinline__ void MultiplyAdd<__nv_bfloat16>(
    float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void MultiplyAdd<__half>(float (&c)[4],
                                                    const uint32_t (&a)[4],
                                                    uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t Pack(float low, float high, __half) {
  const __half2 both = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}
__device__ __forceinline__ uint32_t Pack(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}

// kRows rows from `first`, zero beyond `rows` rows and `size` columns, in
// accesses of kBytes.
template <int kRows, int kHead, int kBytes, typename T>
__device__ __forceinline__ void CopyTile(uint32_t tile, const T* from,
                                         int64_t stride, int first, int rows,
                                         int size) {
  constexpr int kChunks = kHead / kChunk;
#pragma unroll 4
  for (int i = threadIdx.x; i < kRows * kChunks; i += kThreads) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const uint32_t to = Place<kHead>(tile, row, chunk);
    const bool in_row = first + row < rows;
    const T* p = from + (in_row ? (first + row) * stride : 0);
#pragma unroll
    for (int e = 0; e < kChunk; e += kBytes / 2) {
      const int column = chunk * kChunk + e;
      const bool valid = in_row && column < size;
      CopyAsync<kBytes>(to + 2 * e, valid ? p + column : from, valid);
    }
  }
}

// The same in accesses of one element.
template <int kRows, int kHead, typename T>
__device__ __noinline__ void CopyTileByElements(uint32_t tile, const T* from,
                                                int64_t stride, int first,
                                                int rows, int size) {
  for (int i = threadIdx.x; i < kRows * kHead; i += kThreads) {
    const int row = i / kHead;
    const int column = i % kHead;
    const uint32_t to =
        Place<kHead>(tile, row, column / kChunk) + 2 * (column % kChunk);
    T x = FromCompute<T>(0.0f);
    if (first + row < rows && column < size) {
      x = from[(first + row) * stride + column];
    }
    asm volatile("st.shared.b16 [%0], %1;\n" ::"r"(to),
                 "h"(reinterpret_cast<const uint16_t&>(x))
                 : "memory");
  }
}

// `bytes`: what rows can be read by, 16, 8, 4 or 2.
template <int kRows, int kHead, typename T>
__device__ __forceinline__ void LoadTile(uint32_t tile, const T* from,
                                         int64_t stride, int first, int rows,
                                         int size, int bytes) {
  if (bytes == 16) {
    CopyTile<kRows, kHead, 16>(tile, from, stride, first, rows, size);
  } else if (bytes == 8) {
    CopyTile<kRows, kHead, 8>(tile, from, stride, first, rows, size);
  } else if (bytes == 4) {
    CopyTile<kRows, kHead, 4>(tile, from, stride, first, rows, size);
  } else {
    CopyTileByElements<kRows, kHead>(tile, from, stride, first, rows, size);
  }
}

// Bytes by which a tensor's rows can be read or written.
struct Access {
  int q, k, v, out;
};

// The bias of a row and two keys side by side; `pairs`: can be read as one.
template <typename T>
__device__ __forceinline__ float2 BiasPair(const TileProblem<T>& t, int row,
                                           int key, bool pairs) {
  if (pairs && row < t.queries && key + 1 < t.keys) {
    const Vec<T, 2> both = LoadVec<2>(t.bias + row * t.bias_row + key);
    return {ToCompute(both.at[0]), ToCompute(both.at[1])};
  }
  return {BiasOf(t, row, key), BiasOf(t, row, key + 1)};
}

// A warp has kRowTiles times 16 queries; a block meets kKeys keys at a time.
template <typename T, int kHead, int kRowTiles, int kKeys>
__global__ void __launch_bounds__(kThreads)
    AttentionKernel(const __grid_constant__ Attention attention,
                    Access access) {
  constexpr int kRows = kWarps * kRowTiles * 16;
  constexpr int kSteps = kHead / 16;
  constexpr int kKeyTiles = kKeys / 8;
  constexpr int kHeadTiles = kHead / 8;
  extern __shared__ __align__(128) unsigned char shared[];
  const uint32_t q_tile = SharedAddress(shared);
  const uint32_t k_tile = q_tile + 2 * kRows * kHead;
  const uint32_t v_tile = k_tile + 2 * kKeys * kHead;

  const TileProblem<T> t = TileOf<kRows, T>(attention);
  const bool bias_pairs = t.bias != nullptr && t.bias_key == 1 &&
                          t.bias_row % 2 == 0 &&
                          reinterpret_cast<uintptr_t>(t.bias) % 4 == 0;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  // Of a warp's rows and a matrix's columns, those of this lane.
  const int row_in_tile = lane / 4;
  const int column = lane % 4 * 2;
  const int warp_row = warp * kRowTiles * 16;

  float out[kRowTiles][kHeadTiles][4] = {};
  float largest[kRowTiles][2];
  float sum[kRowTiles][2];
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    largest[m][0] = largest[m][1] = -INFINITY;
    sum[m][0] = sum[m][1] = 0.0f;
  }

  LoadTile<kRows, kHead>(q_tile, t.q, t.q_row, t.first_row, t.queries,
                         t.head_size, access.q);
  if (t.end_key > 0) {
    LoadTile<kKeys, kHead>(k_tile, t.k, t.k_row, 0, t.keys, t.head_size,
                           access.k);
  }
  CommitCopies();

  for (int key = 0; key < t.end_key; key += kKeys) {
    WaitForCopies();
    __syncthreads();
    LoadTile<kKeys, kHead>(v_tile, t.v, t.v_row, key, t.keys, t.value_size,
                           access.v);
    CommitCopies();

    // Dot products of the warp's queries with the keys.
    float score[kRowTiles][kKeyTiles][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      uint32_t q[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        LoadMatrices(q[m], Place<kHead>(q_tile, warp_row + 16 * m + lane % 16,
                                        2 * step + lane / 16));
      }
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {
        uint32_t k[4];
        LoadMatrices(k, Place<kHead>(k_tile, 8 * n + lane % 8 + lane / 16 * 8,
                                     2 * step + lane / 8 % 2));
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          MultiplyAdd<T>(score[m][n], q[m], k[0], k[1]);
          MultiplyAdd<T>(score[m][n + 1], q[m], k[2], k[3]);
        }
      }
    }

    WaitForCopies();
    __syncthreads();
    if (key + kKeys < t.end_key) {
      LoadTile<kKeys, kHead>(k_tile, t.k, t.k_row, key + kKeys, t.keys,
                             t.head_size, access.k);
      CommitCopies();
    }

    // Logits, and what is left of the earlier keys' share.
    const bool plain =
        t.bias == nullptr && key + kKeys <= t.keys &&
        (!t.causal || key + kKeys - 1 <= t.first_row + t.diagonal);
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row =
            t.first_row + warp_row + 16 * m + row_in_tile + 8 * half;
        float top = largest[m][half];
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
          float* s = &score[m][n][2 * half];
          if (plain) {
            s[0] *= t.scale;
            s[1] *= t.scale;
          } else {
            const int k = key + 8 * n + column;
            const float2 bias = BiasPair(t, row, k, bias_pairs);
            s[0] = Logit(t, s[0], bias.x, row, k);
            s[1] = Logit(t, s[1], bias.y, row, k + 1);
          }
          top = fmaxf(top, fmaxf(s[0], s[1]));
        }
        top = fmaxf(top, __shfl_xor_sync(kFullWarp, top, 1));
        top = fmaxf(top, __shfl_xor_sync(kFullWarp, top, 2));
        const float shift = Shift(top);
        const float keep = exp2f(largest[m][half] - shift);
        largest[m][half] = top;
        float total = 0.0f;
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& s = score[m][n][2 * half + e];
            s = exp2f(s - shift);
            total += s;
          }
        }
        sum[m][half] = sum[m][half] * keep + total;
#pragma unroll
        for (int n = 0; n < kHeadTiles; ++n) {
          out[m][n][2 * half] *= keep;
          out[m][n][2 * half + 1] *= keep;
        }
      }
    }

    // Weights times values.
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      uint32_t p[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* s = &score[m][2 * step + i / 2][2 * (i % 2)];
          p[m][i] = Pack(s[0], s[1], T());
        }
      }
#pragma unroll
      for (int n = 0; n < kHeadTiles; n += 2) {
        uint32_t v[4];
        LoadTransposed(
            v, Place<kHead>(v_tile, 16 * step + lane % 16, n + lane / 16));
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          MultiplyAdd<T>(out[m][n], p[m], v[0], v[1]);
          MultiplyAdd<T>(out[m][n + 1], p[m], v[2], v[3]);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float total = sum[m][half];
      total += __shfl_xor_sync(kFullWarp, total, 1);
      total += __shfl_xor_sync(kFullWarp, total, 2);
      const int row = t.first_row + warp_row + 16 * m + row_in_tile + 8 * half;
      if (column == 0) StoreLse(t, row, largest[m][half], total);
      if (row >= t.queries) continue;
      const float factor = total == 0.0f ? 0.0f : 1.0f / total;
      T* to = t.out + row * t.out_row;
#pragma unroll
      for (int n = 0; n < kHeadTiles; ++n) {
        const int c = 8 * n + column;
        const float first = out[m][n][2 * half] * factor;
        const float second = out[m][n][2 * half + 1] * factor;
        if (access.out >= 4 && c + 1 < t.value_size) {
          *reinterpret_cast<uint32_t*>(to + c) = Pack(first, second, T());
        } else {
          if (c < t.value_size) to[c] = FromCompute<T>(first);
          if (c + 1 < t.value_size) to[c + 1] = FromCompute<T>(second);
        }
      }
    }
  }
}

template <typename T, int kHead, int kRowTiles, int kKeys>
cudaError_t Launch(const Attention& a, const Access& access,
                   cudaStream_t stream) {
  constexpr int kRows = kWarps * kRowTiles * 16;
  constexpr int kBytes = 2 * kHead * (kRows + 2 * kKeys);
  const auto kernel = AttentionKernel<T, kHead, kRowTiles, kKeys>;
  // Again at every call: it is cheap, and belongs to the current device.
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const int64_t blocks = a.batch * a.heads * ((a.queries + kRows - 1) / kRows);
  if (blocks > INT32_MAX) return cudaErrorNotSupported;
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(a,
                                                                      access);
  return cudaGetLastError();
}

template <typename T>
cudaError_t ForHead(const Attention& a, cudaStream_t stream) {
  const auto access_of = [](const void* p, const RowStrides& s, int64_t size) {
    for (int bytes = 16; bytes > 2; bytes /= 2) {
      const int elements = bytes / 2;
      if (IsAligned(p, bytes) && s.batch % elements == 0 &&
          s.head % elements == 0 && s.row % elements == 0 &&
          size % elements == 0) {
        return bytes;
      }
    }
    return 2;
  };
  const Access access = {access_of(a.q, a.q_strides, a.head_size),
                         access_of(a.k, a.k_strides, a.head_size),
                         access_of(a.v, a.v_strides, a.value_size),
                         access_of(a.out, a.out_strides, 2)};
  const int64_t size = a.head_size > a.value_size ? a.head_size : a.value_size;
  if (size <= 64) return Launch<T, 64, 2, 64>(a, access, stream);
  if (size <= 128) return Launch<T, 128, 1, 64>(a, access, stream);
  return Launch<T, 256, 1, 32>(a, access, stream);
}

}  // namespace

cudaError_t LaunchAttention16(const Attention& attention, cudaStream_t stream) {
  if (attention.head_size > kMaxHeadSize ||
      attention.value_size > kMaxHeadSize ||
      attention.queries > INT32_MAX / 2 || attention.keys > INT32_MAX / 2) {
    return cudaErrorNotSupported;
  }
  switch (attention.element) {
    case Element::kFloat16:
      return ForHead<__half>(attention, stream);
    case Element::kBFloat16:
      return ForHead<__nv_bfloat16>(attention, stream);
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
