// What the attention kernels share: which rows a block has, and what a score
// becomes before the softmax.

#ifndef FLAGGEMS_KERNELS_CUDA_ATTENTION_TILE_CUH_
#define FLAGGEMS_KERNELS_CUDA_ATTENTION_TILE_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/attention.h"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

inline constexpr float kLog2E = 1.44269504088896340736f;
inline constexpr float kLn2 = 0.69314718055994530942f;

// An Attention as a block of a kernel sees it.
template <typename T>
struct TileProblem {
  const T* q;
  const T* k;
  const T* v;
  const T* bias;  // or null
  T* out;
  float* lse;  // or null
  int first_row;
  int queries;
  int keys;
  int head_size;
  int value_size;
  int64_t q_row;
  int64_t k_row;
  int64_t v_row;
  int64_t bias_row;
  int64_t bias_key;
  int64_t out_row;
  float scale;  // times log2(e)
  bool causal;
  int64_t diagonal;
  int lse_rows;
  float hidden_lse;
  int end_key;  // no row of the block sees a key from here on
};

// A block of kRows queries: block b works on tile b % tiles of head
// b / tiles. Tiles run from the last one, which has the most work if causal.
template <int kRows, typename T>
__device__ __forceinline__ TileProblem<T> TileOf(const Attention& a) {
  const int tiles = static_cast<int>((a.queries + kRows - 1) / kRows);
  const int tile = tiles - 1 - static_cast<int>(blockIdx.x % tiles);
  const int64_t head_of_all = blockIdx.x / tiles;
  const int64_t head = head_of_all % a.heads;
  const int64_t batch = head_of_all / a.heads;
  const int64_t key_head = head / (a.heads / a.key_heads);
  const int64_t value_head = head / (a.heads / a.value_heads);
  const auto start = [batch](const void* p, const RowStrides& s, int64_t h) {
    return static_cast<const T*>(p) + batch * s.batch + h * s.head;
  };
  TileProblem<T> t;
  t.q = start(a.q, a.q_strides, head);
  t.k = start(a.k, a.k_strides, key_head);
  t.v = start(a.v, a.v_strides, value_head);
  t.bias = a.bias == nullptr ? nullptr : start(a.bias, a.bias_strides, head);
  t.out = const_cast<T*>(start(a.out, a.out_strides, head));
  t.lse = a.lse == nullptr ? nullptr : a.lse + head_of_all * a.lse_rows;
  t.first_row = tile * kRows;
  t.queries = static_cast<int>(a.queries);
  t.keys = static_cast<int>(a.keys);
  t.head_size = static_cast<int>(a.head_size);
  t.value_size = static_cast<int>(a.value_size);
  t.q_row = a.q_strides.row;
  t.k_row = a.k_strides.row;
  t.v_row = a.v_strides.row;
  t.bias_row = a.bias_strides.row;
  t.bias_key = a.bias_key_stride;
  t.out_row = a.out_strides.row;
  t.scale = static_cast<float>(a.scale) * kLog2E;
  t.causal = a.causal;
  t.diagonal = a.diagonal;
  t.lse_rows = static_cast<int>(a.lse_rows);
  t.hidden_lse = a.hidden_lse;
  t.end_key = t.keys;
  if (t.causal) {
    const int64_t last = t.first_row + kRows - 1 + t.diagonal;
    t.end_key = static_cast<int>(max(int64_t{0}, min(last + 1, a.keys)));
  }
  return t;
}

// Base-2 logit of a dot product; -Inf where the row does not see the key.
template <typename T>
__device__ __forceinline__ float Logit(const TileProblem<T>& t, float dot,
                                       float bias, int row, int key) {
  if (key >= t.keys || (t.causal && key > row + t.diagonal)) return -INFINITY;
  return dot * t.scale + kLog2E * bias;
}

// The bias of a row and a key, 0 where there is none.
template <typename T>
__device__ __forceinline__ float BiasOf(const TileProblem<T>& t, int row,
                                        int key) {
  if (t.bias == nullptr || row >= t.queries || key >= t.keys) return 0.0f;
  return ToCompute(t.bias[row * t.bias_row + key * t.bias_key]);
}

// Fills Bytes (4, 8 or 16) at a shared address: from memory, or with zeros.
template <int kBytes>
__device__ __forceinline__ void CopyAsync(uint32_t to, const void* from,
                                          bool valid) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to),
                 "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(to),
                 "l"(from), "n"(kBytes), "r"(valid ? kBytes : 0)
                 : "memory");
  }
}

__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
}

__device__ __forceinline__ uint32_t SharedAddress(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// What is subtracted from logits of which `largest` is the largest.
__device__ __forceinline__ float Shift(float largest) {
  return largest == -INFINITY ? 0.0f : largest;
}

template <typename T>
__device__ __forceinline__ void StoreLse(const TileProblem<T>& t, int row,
                                         float largest, float sum) {
  if (t.lse == nullptr || row >= t.lse_rows) return;
  if (row >= t.queries) {
    t.lse[row] = INFINITY;
  } else {
    t.lse[row] = sum == 0.0f ? t.hidden_lse : (largest + log2f(sum)) * kLn2;
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ATTENTION_TILE_CUH_
