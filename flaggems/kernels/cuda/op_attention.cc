#include "flaggems/kernels/cuda/op_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "flaggems/kernels/cuda/attention.h"
#include "flaggems/kernels/cuda/attention_cudnn.h"
#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_attention_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr char kFlash[] = "_scaled_dot_product_flash_attention";
constexpr char kEfficient[] = "_scaled_dot_product_efficient_attention";
constexpr char kCudnn[] = "_scaled_dot_product_cudnn_attention";

void CheckShapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const char* op) {
  // Each of aten's three operators has an error of its own for that.
  TORCH_CHECK_NOT_IMPLEMENTED(
      q.dim() == 4 && k.dim() == 4 && v.dim() == 4, op,
      ": query, key and value must have 4 dimensions, got shapes ", q.sizes(),
      ", ", k.sizes(), " and ", v.sizes());
  CheckSameDevice(op, {{q, "query"}, {k, "key"}, {v, "value"}});
  TORCH_CHECK(
      k.scalar_type() == q.scalar_type() && v.scalar_type() == q.scalar_type(),
      op, ": query, key and value must have the same dtype, got ",
      q.scalar_type(), ", ", k.scalar_type(), " and ", v.scalar_type());
  TORCH_CHECK(k.size(2) == v.size(2), op,
              ": Key and Value must have the same sequence length");
  TORCH_CHECK(q.size(0) == k.size(0) && q.size(0) == v.size(0) &&
                  q.size(3) == k.size(3),
              op, ": shapes ", q.sizes(), ", ", k.sizes(), " and ", v.sizes(),
              " do not fit together");
}

void RefuseDropout(double dropout_p, bool debug_mask, const char* op) {
  TORCH_CHECK_NOT_IMPLEMENTED(dropout_p == 0.0 && !debug_mask, op,
                              ": dropout and debug masks are not implemented");
}

RowStrides StridesOf(const at::Tensor& t) {
  return {t.stride(0), t.stride(1), t.stride(2)};
}

bool HasDenseRows(const at::Tensor& t) {
  return t.stride(3) == 1 || t.size(3) == 1;
}

at::Tensor WithDenseRows(const at::Tensor& t) {
  return HasDenseRows(t) ? t : t.contiguous();
}

double ScaleOf(const at::Tensor& q, std::optional<double> scale) {
  return scale.has_value() ? *scale
                           : 1.0 / std::sqrt(static_cast<double>(q.size(3)));
}

struct Options {
  double scale = 1;
  bool causal = false;
  bool causal_from_end = false;
  float hidden_lse = 0;
};

// Whether aten has a fast kernel for the problem, and ours is slower: it is
// left to aten then. Ours serve other head sizes, alignments and scales.
bool AtenIsFaster(const Attention& a, bool dense_rows) {
  const int64_t elements = a.element == Element::kFloat32 ? 4 : 8;
  const auto aligned = [elements](const void* p, const RowStrides& s) {
    return reinterpret_cast<uintptr_t>(p) % 16 == 0 &&
           s.batch % elements == 0 && s.head % elements == 0 &&
           s.row % elements == 0;
  };
  return dense_rows && a.scale > 0 && a.keys > 0 &&
         a.head_size % elements == 0 && a.value_size % elements == 0 &&
         aligned(a.q, a.q_strides) && aligned(a.k, a.k_strides) &&
         aligned(a.v, a.v_strides);
}

// Fills out and, if it is defined and not empty, lse.
void Attend(const at::Tensor& query, const at::Tensor& key,
            const at::Tensor& value, const at::Tensor& bias,
            const Options& options, at::Tensor& out, at::Tensor& lse,
            const char* op) {
  TORCH_CHECK_NOT_IMPLEMENTED(HasDenseRows(out), op, ": query of strides ",
                              query.strides(), " is not implemented");
  const at::Tensor q = WithDenseRows(query);
  const at::Tensor k = WithDenseRows(key);
  const at::Tensor v = WithDenseRows(value);
  Attention a;
  a.element = ElementOf(q.scalar_type(), op);
  a.batch = q.size(0);
  a.heads = q.size(1);
  a.key_heads = k.size(1);
  a.value_heads = v.size(1);
  a.queries = q.size(2);
  a.keys = k.size(2);
  a.head_size = q.size(3);
  a.value_size = v.size(3);
  a.q = q.const_data_ptr();
  a.k = k.const_data_ptr();
  a.v = v.const_data_ptr();
  a.q_strides = StridesOf(q);
  a.k_strides = StridesOf(k);
  a.v_strides = StridesOf(v);
  a.out = out.mutable_data_ptr();
  a.out_strides = StridesOf(out);
  if (bias.defined()) {
    a.bias = bias.const_data_ptr();
    a.bias_strides = StridesOf(bias);
    a.bias_key_stride = bias.stride(3);
  }
  if (lse.defined() && lse.numel() > 0) {
    a.lse = lse.mutable_data_ptr<float>();
    a.lse_rows = lse.size(2);
  }
  a.scale = options.scale;
  a.causal = options.causal;
  if (options.causal && options.causal_from_end) {
    a.diagonal = a.keys - a.queries;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      a.head_size <= kMaxHeadSize && a.value_size <= kMaxHeadSize, op,
      ": head sizes beyond ", kMaxHeadSize, " are not implemented");
  a.hidden_lse = options.hidden_lse;
  const DeviceStream on(q);
  if ((a.lse == nullptr || a.lse_rows == a.queries) &&
      EnqueueCudnnAttention(a, on.stream(), op)) {
    // cuDNN's lse of a row that a bias hides is -Inf.
    if (a.bias != nullptr && a.lse != nullptr && !std::isinf(a.hidden_lse)) {
      CheckLaunch(
          LaunchReplaceMinusInf(a.lse, lse.numel(), a.hidden_lse, on.stream()),
          q.scalar_type(), op);
    }
    return;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      !AtenIsFaster(a, q.is_same(query) && k.is_same(key) && v.is_same(value)),
      op, ": left to aten, which has a faster kernel for it");
  CheckLaunch(a.element == Element::kFloat32
                  ? LaunchAttention32(a, on.stream())
                  : LaunchAttention16(a, on.stream()),
              q.scalar_type(), op);
}

// The heads of key and value are shared by groups of heads of query.
void CheckGroups(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const char* op) {
  TORCH_CHECK(k.size(1) > 0 && v.size(1) > 0 && q.size(1) % k.size(1) == 0 &&
                  q.size(1) % v.size(1) == 0,
              op,
              ": the number of heads of key and value must divide that of"
              " query, got ",
              q.size(1), ", ", k.size(1), " and ", v.size(1));
}

void RequireHalf(const at::Tensor& q, const char* op) {
  if (q.scalar_type() != at::kHalf && q.scalar_type() != at::kBFloat16) {
    ThrowNotImplemented(q.scalar_type(), op);
  }
}

// Uninitialised, with the order of q's dimensions in memory, but dense rows.
at::Tensor EmptyInOrderOf(const at::Tensor& q, at::IntArrayRef sizes) {
  if (!HasDenseRows(q)) return Empty(sizes, q.scalar_type(), q);
  if (q.sizes() == sizes) return at::empty_like(q);
  std::vector<int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&q](int64_t a, int64_t b) {
    return q.stride(a) < q.stride(b);
  });
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (const int64_t d : order) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return EmptyStrided(sizes, strides, q.scalar_type(), q);
}

}  // namespace

FlashResult flash_attention(const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, double dropout_p,
                            bool is_causal, bool return_debug_mask,
                            std::optional<double> scale) {
  RefuseDropout(dropout_p, return_debug_mask, kFlash);
  CheckShapes(query, key, value, kFlash);
  RequireHalf(query, kFlash);
  CheckGroups(query, key, value, kFlash);
  TORCH_CHECK(query.size(3) == value.size(3), kFlash,
              ": query and value must have the same head size, got ",
              query.size(3), " and ", value.size(3));
  // One query that shares its keys is laid out anew; so are columns, which
  // aten refuses.
  const bool anew = (query.size(2) == 1 && query.size(1) > key.size(1)) ||
                    !HasDenseRows(query);
  at::Tensor out =
      (anew
           ? Empty({query.size(0), query.size(2), query.size(1), query.size(3)},
                   query.scalar_type(), query)
           : at::empty_like(query.transpose(1, 2)))
          .transpose(1, 2);
  at::Tensor lse =
      Empty({query.size(0), query.size(1), query.size(2)}, at::kFloat, query);
  Options options;
  options.scale = ScaleOf(query, scale);
  options.causal = is_causal;
  options.causal_from_end = true;
  options.hidden_lse = std::numeric_limits<float>::infinity();
  if (out.numel() > 0) {
    Attend(query, key, value, at::Tensor(), options, out, lse, kFlash);
  }
  return {out,
          lse,
          at::Tensor(),
          at::Tensor(),
          query.size(2),
          key.size(2),
          Empty({2}, at::kUInt64, query),
          Empty({}, at::kUInt64, query),
          Empty({0}, query.scalar_type(), query)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> efficient_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const std::optional<at::Tensor>& attn_bias, bool compute_log_sumexp,
    double dropout_p, bool is_causal, std::optional<double> scale) {
  RefuseDropout(dropout_p, false, kEfficient);
  CheckShapes(query, key, value, kEfficient);
  if (query.scalar_type() != at::kFloat) RequireHalf(query, kEfficient);
  TORCH_CHECK(query.size(1) == key.size(1) && query.size(1) == value.size(1),
              kEfficient,
              ": query, key and value must have the same number of heads");
  const int64_t batch = query.size(0), heads = query.size(1),
                queries = query.size(2);
  at::Tensor bias;
  if (attn_bias.has_value() && attn_bias->defined()) {
    TORCH_CHECK(attn_bias->scalar_type() == query.scalar_type(), kEfficient,
                ": invalid dtype for bias - should match query's dtype");
    CheckSameDevice(kEfficient, {{query, "query"}, {*attn_bias, "attn_bias"}});
    TORCH_CHECK(attn_bias->dim() == 4, kEfficient,
                ": attn_bias must have 4 dimensions, got shape ",
                attn_bias->sizes());
    bias = attn_bias->expand({batch, heads, queries, key.size(2)});
  }
  at::Tensor out =
      Empty({batch, queries, heads, value.size(3)}, query.scalar_type(), query)
          .transpose(1, 2);
  const int64_t rows = compute_log_sumexp ? (queries + 31) / 32 * 32 : 0;
  at::Tensor lse = Empty({batch, heads, rows}, at::kFloat, query);
  Options options;
  options.scale = ScaleOf(query, scale);
  options.causal = is_causal;
  if (out.numel() > 0) {
    Attend(query, key, value, bias, options, out, lse, kEfficient);
  }
  const at::TensorOptions on_host = at::TensorOptions().dtype(at::kLong);
  return {out, lse, at::empty({}, on_host), at::empty({}, on_host)};
}

FlashResult cudnn_attention(const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value,
                            const std::optional<at::Tensor>& attn_bias,
                            bool compute_log_sumexp, double dropout_p,
                            bool is_causal, bool return_debug_mask,
                            std::optional<double> scale) {
  RefuseDropout(dropout_p, return_debug_mask, kCudnn);
  CheckShapes(query, key, value, kCudnn);
  RequireHalf(query, kCudnn);
  CheckGroups(query, key, value, kCudnn);
  // aten's results are undefined tensors then.
  TORCH_CHECK_NOT_IMPLEMENTED(query.numel() > 0 && key.numel() > 0, kCudnn,
                              ": empty tensors are left to aten");
  const int64_t batch = query.size(0), heads = query.size(1),
                queries = query.size(2), keys = key.size(2);
  at::Tensor bias;
  if (attn_bias.has_value() && attn_bias->defined()) {
    CheckSameDevice(kCudnn, {{query, "query"}, {*attn_bias, "attn_bias"}});
    TORCH_CHECK(attn_bias->scalar_type() == query.scalar_type(), kCudnn,
                ": attn_bias must have query's dtype, got ",
                attn_bias->scalar_type());
    bias = attn_bias->expand({batch, heads, queries, keys});
  }
  at::Tensor out =
      EmptyInOrderOf(query, {batch, heads, queries, value.size(3)});
  at::Tensor lse;
  if (compute_log_sumexp) {
    lse = Empty({batch, heads, queries, 1}, at::kFloat, query);
  }
  Options options;
  options.scale = ScaleOf(query, scale);
  options.causal = is_causal;
  options.hidden_lse = -std::numeric_limits<float>::infinity();
  if (out.numel() > 0) {
    Attend(query, key, value, bias, options, out, lse, kCudnn);
  }
  return {out,
          lse,
          at::Tensor(),
          at::Tensor(),
          queries,
          keys,
          Empty({}, at::kLong, query),
          Empty({}, at::kLong, query),
          at::Tensor()};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
