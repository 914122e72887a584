// What the attention engines are asked: softmax(scale * q k^T + bias) v.
//
// No torch header.

#ifndef FLAGGEMS_KERNELS_CUDA_ATTENTION_H_
#define FLAGGEMS_KERNELS_CUDA_ATTENTION_H_

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Strides of the dimensions batch, head, row; in elements. Values of one row
// lie side by side.
struct RowStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
};

struct Attention {
  Element element = Element::kFloat32;
  int64_t batch = 0;
  int64_t heads = 0;        // of q and out
  int64_t key_heads = 0;    // divides heads: head h reads key head
  int64_t value_heads = 0;  // h / (heads / key_heads)
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t head_size = 0;   // of q and k
  int64_t value_size = 0;  // of v and out
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  // Added to the scores, of the same element type; strides may be 0. Or null.
  const void* bias = nullptr;
  void* out = nullptr;
  // Natural logarithm of the sum of the exponentials of a row's scores; or
  // null. Row r of head h of batch b is at (b * heads + h) * lse_rows + r.
  float* lse = nullptr;
  int64_t lse_rows = 0;
  // lse of a row that sees no key.
  float hidden_lse = 0;
  RowStrides q_strides;
  RowStrides k_strides;
  RowStrides v_strides;
  RowStrides bias_strides;
  RowStrides out_strides;
  int64_t bias_key_stride = 0;
  double scale = 1;
  // Query i sees the keys up to i + diagonal.
  bool causal = false;
  int64_t diagonal = 0;
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ATTENTION_H_
