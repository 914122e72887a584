// Attention, forward, CUDA: aten::_scaled_dot_product_flash_attention,
// _scaled_dot_product_efficient_attention and
// _scaled_dot_product_cudnn_attention.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ATTENTION_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ATTENTION_H_

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// softmax(scale * query key^T + bias) value for each batch and head; query
// (batch, heads, queries, size), key and value (batch, key heads, keys, size).
// scale is 1 / sqrt(size) if it is not given; logsumexp is the natural one.
//
// The three differ as aten's do: types (efficient has float32, too), a bias,
// the layout of the results, and what a row that sees no key gives. Causal
// means that query i sees the keys up to i; in flash attention, that the last
// query sees the last key.
//
// cuDNN's kernel where it has one, else one of our own: any head size up to
// 256, any strides.
//
// NotImplementedError, for the native kernel to take over: dropout, debug
// masks, head sizes beyond 256, and what cuDNN does not serve and aten does
// faster than our own kernel (a bias that is not one matrix for all heads, say,
// or aligned float32).

using FlashResult =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt,
               c10::SymInt, at::Tensor, at::Tensor, at::Tensor>;

FlashResult flash_attention(const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, double dropout_p,
                            bool is_causal, bool return_debug_mask,
                            std::optional<double> scale);

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> efficient_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const std::optional<at::Tensor>& attn_bias, bool compute_log_sumexp,
    double dropout_p, bool is_causal, std::optional<double> scale);

FlashResult cudnn_attention(const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value,
                            const std::optional<at::Tensor>& attn_bias,
                            bool compute_log_sumexp, double dropout_p,
                            bool is_causal, bool return_debug_mask,
                            std::optional<double> scale);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ATTENTION_H_
