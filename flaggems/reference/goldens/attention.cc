#include "flaggems/reference/goldens/attention.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace flaggems {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

// Which keys a query sees: those at i + shift - left ... i + shift + right.
struct Window {
  int64_t left = kUnlimited;
  int64_t right = kUnlimited;
  bool from_bottom = false;  // the last query goes with the last key
};

Window Causal(bool is_causal, bool from_bottom) {
  return {kUnlimited, is_causal ? 0 : kUnlimited, from_bottom};
}

bool Limits(const Window& window) {
  return window.left < kUnlimited || window.right < kUnlimited;
}

// Of one head: queries (M, D), keys (N, D), values (N, E), all float64.
struct Head {
  Tensor q, k, v;
  double scale;
  Tensor bias;  // (M, N), or undefined
  Window window;
};

bool IsDefined(const OptionalTensor& tensor) {
  return tensor && tensor->defined();
}

double ScaleOf(std::optional<double> scale, const Tensor& query) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
}

// q k^T scale + bias, and -Inf where a query does not see the key.
Tensor Scores(const Head& head) {
  const int64_t m = head.q.size(0);
  const int64_t n = head.k.size(0);
  Tensor scores = at::mm(head.q, head.k.t()).mul_(head.scale);
  if (head.bias.defined()) scores.add_(head.bias);
  if (Limits(head.window)) {
    const int64_t shift = head.window.from_bottom ? n - m : 0;
    const Tensor distance = at::arange(n, at::kLong).unsqueeze(0) -
                            (at::arange(m, at::kLong) + shift).unsqueeze(1);
    scores.masked_fill_(distance.gt(head.window.right)
                            .logical_or(distance.lt(-head.window.left)),
                        -kInfinity);
  }
  return scores;
}

// exp(scores - logsumexp); a query that sees no key has no weights.
Tensor Weights(const Tensor& scores, const Tensor& logsumexp) {
  const Tensor none = logsumexp.isinf().unsqueeze(-1);
  return at::exp(scores - logsumexp.unsqueeze(-1)).masked_fill_(none, 0);
}

struct Attended {
  Tensor output;     // (M, E)
  Tensor logsumexp;  // (M), -Inf without keys
};

Attended Attend(const Head& head) {
  const Tensor scores = Scores(head);
  Tensor logsumexp = at::logsumexp(scores, {-1});
  return {at::mm(Weights(scores, logsumexp), head.v), logsumexp};
}

struct Gradients {
  Tensor q, k, v;
  Tensor scores;  // of the scores, so of the bias too
};

// With P the weights: dV = P^T dO, dS = P * (dO V^T - rowsum(dO * O)),
// dQ = dS K scale, dK = dS^T Q scale (FlashAttention, section 3.1). From the
// saved output and logsumexp, as the kernels do.
Gradients Differentiate(const Head& head, const Tensor& grad,
                        const Tensor& output, const Tensor& logsumexp) {
  const Tensor weights = Weights(Scores(head), logsumexp);
  const Tensor delta = (grad * output).sum(-1, /*keepdim=*/true);
  const Tensor scores = weights * (at::mm(grad, head.v.t()) - delta);
  return {at::mm(scores, head.k) * head.scale,
          at::mm(scores.t(), head.q) * head.scale, at::mm(weights.t(), grad),
          scores};
}

// The dtype of statistics.
at::ScalarType StatisticsType(const Tensor& query) {
  return query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// A batch of sequences, (B, H, M, D). Keys may have fewer heads, shared by
// groups of queries.
struct Batch {
  Batch(const Tensor& query, const Tensor& key, const Tensor& value,
        const OptionalTensor& attn_bias, std::optional<double> given_scale,
        const Window& given_window)
      : q(query.to(at::kDouble)),
        k(key.to(at::kDouble)),
        v(value.to(at::kDouble)),
        scale(ScaleOf(given_scale, query)),
        window(given_window) {
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
                "queries, keys and values of ", q.dim(), ", ", k.dim(), " and ",
                v.dim(), " dimensions, not 4");
    TORCH_CHECK(k.size(1) > 0 && q.size(1) % k.size(1) == 0, q.size(1),
                " heads of queries do not divide into ", k.size(1), " of keys");
    if (IsDefined(attn_bias)) {
      const Tensor wide =
          attn_bias->scalar_type() == at::kBool
              ? at::zeros(attn_bias->sizes(), at::kDouble)
                    .masked_fill_(attn_bias->logical_not(), -kInfinity)
              : attn_bias->to(at::kDouble);
      bias = wide.expand({q.size(0), q.size(1), q.size(2), k.size(2)});
    }
  }

  // Which head of the keys goes with head h of the queries; values likewise.
  int64_t Group(const Tensor& keys, int64_t h) const {
    return h / (q.size(1) / keys.size(1));
  }

  Head At(int64_t b, int64_t h) const {
    return {q[b][h],
            k[b][Group(k, h)],
            v[b][Group(v, h)],
            scale,
            bias.defined() ? bias[b][h] : Tensor(),
            window};
  }

  Tensor q, k, v;
  double scale;
  Tensor bias;
  Window window;
};

// (B, H, M, E) and (B, H, M).
Attended Attend(const Batch& batch) {
  const Tensor& q = batch.q;
  Attended all = {at::empty({q.size(0), q.size(1), q.size(2), batch.v.size(3)},
                            q.options()),
                  at::empty({q.size(0), q.size(1), q.size(2)}, q.options())};
  for (int64_t b = 0; b < q.size(0); ++b) {
    for (int64_t h = 0; h < q.size(1); ++h) {
      const Attended head = Attend(batch.At(b, h));
      all.output[b][h].copy_(head.output);
      all.logsumexp[b][h].copy_(head.logsumexp);
    }
  }
  return all;
}

// logsumexp: (B, H, M) or longer. `scores` only if asked for.
Gradients Differentiate(const Batch& batch, const Tensor& grad,
                        const Tensor& output, const Tensor& logsumexp,
                        bool want_scores) {
  const Tensor& q = batch.q;
  const Tensor wide_grad = grad.to(at::kDouble);
  const Tensor wide_output = output.to(at::kDouble);
  const Tensor wide_logsumexp =
      logsumexp.to(at::kDouble).narrow(2, 0, q.size(2));
  Gradients all = {at::zeros(q.sizes(), at::kDouble),
                   at::zeros(batch.k.sizes(), at::kDouble),
                   at::zeros(batch.v.sizes(), at::kDouble), Tensor()};
  if (want_scores) {
    all.scores = at::zeros({q.size(0), q.size(1), q.size(2), batch.k.size(2)},
                           at::kDouble);
  }
  for (int64_t b = 0; b < q.size(0); ++b) {
    for (int64_t h = 0; h < q.size(1); ++h) {
      const Gradients head =
          Differentiate(batch.At(b, h), wide_grad[b][h], wide_output[b][h],
                        wide_logsumexp[b][h]);
      all.q[b][h].copy_(head.q);
      all.k[b][batch.Group(batch.k, h)].add_(head.k);
      all.v[b][batch.Group(batch.v, h)].add_(head.v);
      if (want_scores) all.scores[b][h].copy_(head.scores);
    }
  }
  return all;
}

// What carries no number that is compared.
Tensor Nothing(at::ScalarType type) { return at::empty({0}, type); }
Tensor Seed() { return at::zeros({}, at::kLong); }

using Forward9 = std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t, int64_t,
                            Tensor, Tensor, Tensor>;
using Backward3 = std::tuple<Tensor, Tensor, Tensor>;
using Backward4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// A query that sees no key: flash attention saves +Inf.
Tensor FlashLogsumexp(const Tensor& logsumexp, const Tensor& query) {
  return logsumexp.masked_fill(logsumexp.eq(-kInfinity), kInfinity)
      .to(StatisticsType(query));
}

Backward3 InTypeOf(const Gradients& gradients, const Tensor& q, const Tensor& k,
                   const Tensor& v) {
  return {gradients.q.to(q.scalar_type()), gradients.k.to(k.scalar_type()),
          gradients.v.to(v.scalar_type())};
}

// ---- _scaled_dot_product_flash_attention: (B, H, M, D) ----

// The results of the forward operators, of which a golden function has only the
// output and the statistics.
Forward9 ForwardResults(const Attended& attended, const Tensor& query,
                        const Tensor& key, Tensor statistics,
                        Tensor debug_mask) {
  return {attended.output.to(query.scalar_type()),
          std::move(statistics),
          Tensor(),
          Tensor(),
          query.size(2),
          key.size(2),
          Seed(),
          Seed(),
          std::move(debug_mask)};
}

Forward9 SdpFlash(const Tensor& query, const Tensor& key, const Tensor& value,
                  double /*dropout_p*/, bool is_causal,
                  bool /*return_debug_mask*/, std::optional<double> scale) {
  const Attended attended = Attend(
      Batch(query, key, value, std::nullopt, scale, Causal(is_causal, true)));
  return ForwardResults(attended, query, key,
                        FlashLogsumexp(attended.logsumexp, query),
                        Nothing(query.scalar_type()));
}

Backward3 SdpFlashBackward(const Tensor& grad, const Tensor& query,
                           const Tensor& key, const Tensor& value,
                           const Tensor& out, const Tensor& logsumexp,
                           const Tensor& cum_seq_q, const Tensor& cum_seq_k,
                           int64_t, int64_t, double, bool is_causal,
                           const Tensor&, const Tensor&,
                           std::optional<double> scale) {
  TORCH_CHECK(!cum_seq_q.defined() && !cum_seq_k.defined(),
              "nested tensors are not supported");
  return InTypeOf(Differentiate(Batch(query, key, value, std::nullopt, scale,
                                      Causal(is_causal, true)),
                                grad, out, logsumexp, /*want_scores=*/false),
                  query, key, value);
}

// ---- _flash_attention: (B, M, H, D), or (sum of M, H, D) with offsets ----

struct FlashOptions {
  std::optional<double> scale;
  Window window;
  OptionalTensor seqused_k;
  OptionalTensor alibi_slopes;
};

int64_t Limit(std::optional<int64_t> size) {
  return size && *size >= 0 ? *size : kUnlimited;
}

Window FlashWindow(bool is_causal, std::optional<int64_t> left,
                   std::optional<int64_t> right) {
  return {Limit(left), is_causal ? 0 : Limit(right), /*from_bottom=*/true};
}

// Bounds of sequence b among the rows.
struct Rows {
  int64_t begin;
  int64_t count;
};

Rows RowsOf(const Tensor& offsets, int64_t b) {
  const int64_t begin = offsets[b].item<int64_t>();
  return {begin, offsets[b + 1].item<int64_t>() - begin};
}

// Sequence b as a batch of one, (1, H, m, D).
Tensor Sequence(const Tensor& x, const OptionalTensor& offsets, int64_t b) {
  if (!IsDefined(offsets)) return x[b].transpose(0, 1).unsqueeze(0);
  const Rows rows = RowsOf(*offsets, b);
  return x.narrow(0, rows.begin, rows.count).transpose(0, 1).unsqueeze(0);
}

// Puts `value`, (1, H, m, D), where Sequence() takes it from.
void SetSequence(Tensor& x, const OptionalTensor& offsets, int64_t b,
                 const Tensor& value) {
  Tensor rows = x;
  if (IsDefined(offsets)) {
    const Rows bounds = RowsOf(*offsets, b);
    rows = x.narrow(0, bounds.begin, bounds.count);
  } else {
    rows = x[b];
  }
  rows.copy_(value[0].transpose(0, 1));
}

// -slope * |i + N - M - j|
Tensor AlibiBias(const Tensor& slopes, int64_t b, int64_t m, int64_t n) {
  const Tensor distance =
      (at::arange(n, at::kDouble).unsqueeze(0) -
       (at::arange(m, at::kDouble) + static_cast<double>(n - m)).unsqueeze(1))
          .abs();
  const Tensor of_heads =
      (slopes.dim() == 2 ? slopes[b] : slopes).to(at::kDouble);
  return (-of_heads.reshape({-1, 1, 1}) * distance).unsqueeze(0);
}

int64_t Sequences(const Tensor& query, const OptionalTensor& cum_seq_q) {
  return IsDefined(cum_seq_q) ? cum_seq_q->numel() - 1 : query.size(0);
}

Batch FlashSequence(const Tensor& query, const Tensor& key, const Tensor& value,
                    const OptionalTensor& cum_seq_q,
                    const OptionalTensor& cum_seq_k, int64_t b,
                    const FlashOptions& options) {
  const Tensor q = Sequence(query, cum_seq_q, b);
  Tensor k = Sequence(key, cum_seq_k, b);
  Tensor v = Sequence(value, cum_seq_k, b);
  if (IsDefined(options.seqused_k)) {
    const int64_t used = (*options.seqused_k)[b].item<int64_t>();
    k = k.narrow(2, 0, used);
    v = v.narrow(2, 0, used);
  }
  OptionalTensor bias;
  if (IsDefined(options.alibi_slopes)) {
    bias = AlibiBias(*options.alibi_slopes, b, q.size(2), k.size(2));
  }
  return Batch(q, k, v, bias, ScaleOf(options.scale, query), options.window);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> Flash(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const OptionalTensor& cum_seq_q, const OptionalTensor& cum_seq_k, int64_t,
    int64_t, double, bool is_causal, bool, std::optional<double> scale,
    std::optional<int64_t> window_left, std::optional<int64_t> window_right,
    const OptionalTensor& seqused_k, const OptionalTensor& alibi_slopes) {
  const FlashOptions options = {
      scale, FlashWindow(is_causal, window_left, window_right), seqused_k,
      alibi_slopes};
  const bool packed = IsDefined(cum_seq_q);
  const int64_t heads = query.size(-2);
  std::vector<int64_t> sizes = query.sizes().vec();
  sizes.back() = value.size(-1);
  // Rows of no sequence are not written; zeros are what kernels leave there.
  Tensor output = at::zeros(sizes, at::kDouble);
  Tensor logsumexp =
      packed ? at::zeros({heads, query.size(0)}, at::kDouble)
             : at::zeros({query.size(0), heads, query.size(1)}, at::kDouble);
  for (int64_t b = 0; b < Sequences(query, cum_seq_q); ++b) {
    const Attended attended = Attend(
        FlashSequence(query, key, value, cum_seq_q, cum_seq_k, b, options));
    SetSequence(output, cum_seq_q, b, attended.output);
    if (packed) {
      const Rows rows = RowsOf(*cum_seq_q, b);
      logsumexp.narrow(1, rows.begin, rows.count).copy_(attended.logsumexp[0]);
    } else {
      logsumexp[b].copy_(attended.logsumexp[0]);
    }
  }
  return {output.to(query.scalar_type()), FlashLogsumexp(logsumexp, query),
          Seed(), Seed(), Nothing(query.scalar_type())};
}

Backward3 FlashBackward(const Tensor& grad, const Tensor& query,
                        const Tensor& key, const Tensor& value,
                        const Tensor& out, const Tensor& logsumexp,
                        const Tensor& cum_seq_q, const Tensor& cum_seq_k,
                        int64_t, int64_t, double, bool is_causal, const Tensor&,
                        const Tensor&, std::optional<double> scale,
                        std::optional<int64_t> window_left,
                        std::optional<int64_t> window_right) {
  const FlashOptions options = {
      scale, FlashWindow(is_causal, window_left, window_right), {}, {}};
  Gradients all = {at::zeros(query.sizes(), at::kDouble),
                   at::zeros(key.sizes(), at::kDouble),
                   at::zeros(value.sizes(), at::kDouble), Tensor()};
  for (int64_t b = 0; b < Sequences(query, cum_seq_q); ++b) {
    Tensor statistics;
    if (cum_seq_q.defined()) {
      const Rows rows = RowsOf(cum_seq_q, b);
      statistics = logsumexp.narrow(1, rows.begin, rows.count).unsqueeze(0);
    } else {
      statistics = logsumexp[b].unsqueeze(0);
    }
    const Gradients gradients = Differentiate(
        FlashSequence(query, key, value, cum_seq_q, cum_seq_k, b, options),
        Sequence(grad, cum_seq_q, b), Sequence(out, cum_seq_q, b), statistics,
        /*want_scores=*/false);
    SetSequence(all.q, cum_seq_q, b, gradients.q);
    SetSequence(all.k, cum_seq_k, b, gradients.k);
    SetSequence(all.v, cum_seq_k, b, gradients.v);
  }
  return InTypeOf(all, query, key, value);
}

// ---- memory-efficient attention ----

// Statistics are padded to whole tiles of 32 queries, with +Inf. A query that
// sees no key has 0 (mem_eff_attention/kernel_forward.h, part 7).
Tensor EfficientLogsumexp(const Tensor& logsumexp, const Tensor& query,
                          bool compute) {
  constexpr int64_t kTile = 32;
  const int64_t m = logsumexp.size(2);
  const int64_t padded = compute ? (m + kTile - 1) / kTile * kTile : 0;
  Tensor statistics = at::full({logsumexp.size(0), logsumexp.size(1), padded},
                               kInfinity, StatisticsType(query));
  if (compute) {
    statistics.narrow(2, 0, m).copy_(
        logsumexp.masked_fill(logsumexp.eq(-kInfinity), 0));
  }
  return statistics;
}

Tensor BiasGradient(const Gradients& gradients, const OptionalTensor& bias) {
  return at::sum_to(gradients.scores, bias->sizes()).to(bias->scalar_type());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> SdpEfficient(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const OptionalTensor& attn_bias, bool compute_log_sumexp, double,
    bool is_causal, std::optional<double> scale) {
  const Attended attended = Attend(
      Batch(query, key, value, attn_bias, scale, Causal(is_causal, false)));
  return {attended.output.to(query.scalar_type()),
          EfficientLogsumexp(attended.logsumexp, query, compute_log_sumexp),
          Seed(), Seed()};
}

Backward4 SdpEfficientBackward(const Tensor& grad, const Tensor& query,
                               const Tensor& key, const Tensor& value,
                               const Tensor& attn_bias, const Tensor& out,
                               const Tensor& logsumexp, const Tensor&,
                               const Tensor&, double,
                               std::array<bool, 4> grad_input_mask,
                               bool is_causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  const bool of_bias = attn_bias.defined() && grad_input_mask[3];
  const Gradients gradients = Differentiate(
      Batch(query, key, value, attn_bias, scale, Causal(is_causal, false)),
      grad, out, logsumexp, of_bias);
  const auto [q, k, v] = InTypeOf(gradients, query, key, value);
  return {q, k, v, of_bias ? BiasGradient(gradients, attn_bias) : Tensor()};
}

enum CustomMask : int64_t {
  kNoMask,
  kCausalFromTopLeft,
  kCausalFromBottomRight
};

Window EfficientWindow(int64_t mask, std::optional<int64_t> window_size) {
  TORCH_CHECK(mask >= kNoMask && mask <= kCausalFromBottomRight,
              "custom_mask_type ", mask);
  Window window = Causal(mask != kNoMask, mask == kCausalFromBottomRight);
  if (window_size && *window_size > 0) window.left = *window_size - 1;
  return window;
}

// (B, M, H, D); packed sequences are (1, sum of M, H, D).
Tensor EfficientRows(const Tensor& x, const OptionalTensor& offsets) {
  return IsDefined(offsets) ? x[0] : x;
}

Batch EfficientSequence(const Tensor& query, const Tensor& key,
                        const Tensor& value, const OptionalTensor& bias,
                        const OptionalTensor& offsets_q,
                        const OptionalTensor& offsets_k,
                        const OptionalTensor& seqlen_k, int64_t b,
                        std::optional<double> scale, const Window& window) {
  const Tensor q = Sequence(EfficientRows(query, offsets_q), offsets_q, b);
  Tensor k = Sequence(EfficientRows(key, offsets_k), offsets_k, b);
  Tensor v = Sequence(EfficientRows(value, offsets_k), offsets_k, b);
  if (IsDefined(seqlen_k)) {
    const int64_t used = (*seqlen_k)[b].item<int64_t>();
    k = k.narrow(2, 0, used);
    v = v.narrow(2, 0, used);
  }
  OptionalTensor of_sequence;
  if (IsDefined(bias)) {
    TORCH_CHECK(!IsDefined(offsets_q), "a bias of packed sequences");
    of_sequence = (bias->size(0) == 1 ? (*bias)[0] : (*bias)[b])
                      .narrow(-1, 0, k.size(2))
                      .unsqueeze(0);
  }
  return Batch(q, k, v, of_sequence, ScaleOf(scale, query), window);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t, int64_t> Efficient(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const OptionalTensor& bias, const OptionalTensor& offsets_q,
    const OptionalTensor& offsets_k, std::optional<int64_t> max_q,
    std::optional<int64_t> max_k, double, int64_t custom_mask_type,
    bool compute_log_sumexp, std::optional<double> scale,
    const OptionalTensor& seqlen_k, std::optional<int64_t> window_size) {
  const Window window = EfficientWindow(custom_mask_type, window_size);
  const bool packed = IsDefined(offsets_q);
  const int64_t sequences = packed ? offsets_q->numel() - 1 : query.size(0);
  const int64_t longest_q = packed ? max_q.value() : query.size(1);
  std::vector<int64_t> sizes = query.sizes().vec();
  sizes.back() = value.size(-1);
  Tensor output = at::zeros(sizes, at::kDouble);
  Tensor rows = EfficientRows(output, offsets_q);
  // What is behind the end of a short sequence is padding too.
  Tensor logsumexp =
      at::full({sequences, query.size(2), longest_q}, kInfinity, at::kDouble);
  for (int64_t b = 0; b < sequences; ++b) {
    const Attended attended =
        Attend(EfficientSequence(query, key, value, bias, offsets_q, offsets_k,
                                 seqlen_k, b, scale, window));
    SetSequence(rows, offsets_q, b, attended.output);
    logsumexp[b]
        .narrow(1, 0, attended.logsumexp.size(2))
        .copy_(attended.logsumexp[0]);
  }
  return {output.to(query.scalar_type()),
          EfficientLogsumexp(logsumexp, query, compute_log_sumexp),
          Seed(),
          Seed(),
          longest_q,
          max_k.value_or(key.size(1))};
}

Backward4 EfficientBackward(
    const Tensor& grad, const Tensor& query, const Tensor& key,
    const Tensor& value, const OptionalTensor& bias, const Tensor& out,
    const OptionalTensor& offsets_q, const OptionalTensor& offsets_k, int64_t,
    int64_t, const Tensor& logsumexp, double, const Tensor&, const Tensor&,
    int64_t custom_mask_type, bool bias_requires_grad,
    std::optional<double> scale, std::optional<int64_t> /*num_splits_key*/,
    std::optional<int64_t> window_size, bool /*shared_storage_dqdkdv*/) {
  const Window window = EfficientWindow(custom_mask_type, window_size);
  const bool of_bias = IsDefined(bias) && bias_requires_grad;
  Gradients all = {at::zeros(query.sizes(), at::kDouble),
                   at::zeros(key.sizes(), at::kDouble),
                   at::zeros(value.sizes(), at::kDouble), Tensor()};
  Tensor q = EfficientRows(all.q, offsets_q);
  Tensor k = EfficientRows(all.k, offsets_k);
  Tensor v = EfficientRows(all.v, offsets_k);
  if (of_bias) {
    all.scores =
        at::zeros({query.size(0), query.size(2), query.size(1), key.size(1)},
                  at::kDouble);
  }
  const int64_t sequences =
      IsDefined(offsets_q) ? offsets_q->numel() - 1 : query.size(0);
  for (int64_t b = 0; b < sequences; ++b) {
    const Gradients gradients = Differentiate(
        EfficientSequence(query, key, value, bias, offsets_q, offsets_k,
                          std::nullopt, b, scale, window),
        Sequence(EfficientRows(grad, offsets_q), offsets_q, b),
        Sequence(EfficientRows(out, offsets_q), offsets_q, b),
        logsumexp[b].unsqueeze(0), of_bias);
    SetSequence(q, offsets_q, b, gradients.q);
    SetSequence(k, offsets_k, b, gradients.k);
    SetSequence(v, offsets_k, b, gradients.v);
    if (of_bias) all.scores[b].copy_(gradients.scores[0]);
  }
  const auto [grad_q, grad_k, grad_v] = InTypeOf(all, query, key, value);
  return {grad_q, grad_k, grad_v, of_bias ? BiasGradient(all, bias) : Tensor()};
}

// ---- cuDNN: (B, H, M, D), statistics (B, H, M, 1) ----

Forward9 SdpCudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                  const OptionalTensor& attn_bias, bool compute_log_sumexp,
                  double, bool is_causal, bool, std::optional<double> scale) {
  const Attended attended = Attend(
      Batch(query, key, value, attn_bias, scale, Causal(is_causal, false)));
  return ForwardResults(
      attended, query, key,
      compute_log_sumexp
          ? attended.logsumexp.unsqueeze(-1).to(StatisticsType(query))
          : Tensor(),
      Tensor());
}

Backward3 SdpCudnnBackward(const Tensor& grad, const Tensor& query,
                           const Tensor& key, const Tensor& value,
                           const Tensor& out, const Tensor& logsumexp,
                           const Tensor&, const Tensor&,
                           const Tensor& attn_bias, const Tensor& cum_seq_q,
                           const Tensor& cum_seq_k, int64_t, int64_t, double,
                           bool is_causal, std::optional<double> scale) {
  TORCH_CHECK(!cum_seq_q.defined() && !cum_seq_k.defined(),
              "nested tensors are not supported");
  return InTypeOf(
      Differentiate(
          Batch(query, key, value, attn_bias, scale, Causal(is_causal, false)),
          grad, out,
          logsumexp.reshape({query.size(0), query.size(1), query.size(2)}),
          /*want_scores=*/false),
      query, key, value);
}

Forward9 Cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
               const OptionalTensor& attn_bias, const OptionalTensor& cum_seq_q,
               const OptionalTensor& cum_seq_k, int64_t, int64_t,
               bool compute_log_sumexp, double dropout_p, bool is_causal,
               bool return_debug_mask, std::optional<double> scale) {
  TORCH_CHECK(!IsDefined(cum_seq_q) && !IsDefined(cum_seq_k),
              "nested tensors are not supported");
  return SdpCudnn(query, key, value, attn_bias, compute_log_sumexp, dropout_p,
                  is_causal, return_debug_mask, scale);
}

// ---- the hook of backends that are not torch's own ----

Forward9 SdpOverrideable(const Tensor& query, const Tensor& key,
                         const Tensor& value, const OptionalTensor& attn_bias,
                         double, bool is_causal, bool,
                         std::optional<double> scale) {
  const Attended attended = Attend(
      Batch(query, key, value, attn_bias, scale, Causal(is_causal, false)));
  return ForwardResults(attended, query, key,
                        attended.logsumexp.to(StatisticsType(query)), Tensor());
}

}  // namespace

std::vector<GoldenRow> AttentionGoldens() {
  constexpr char kWhy[] = "no CPU kernel";
  return {
      GoldenOf<&SdpFlash>("aten::_scaled_dot_product_flash_attention", kWhy),
      GoldenOf<&SdpFlashBackward>(
          "aten::_scaled_dot_product_flash_attention_backward", kWhy),
      GoldenOf<&Flash>("aten::_flash_attention_forward", kWhy),
      GoldenOf<&FlashBackward>("aten::_flash_attention_backward", kWhy),
      GoldenOf<&SdpEfficient>("aten::_scaled_dot_product_efficient_attention",
                              kWhy),
      GoldenOf<&SdpEfficientBackward>(
          "aten::_scaled_dot_product_efficient_attention_backward", kWhy),
      GoldenOf<&Efficient>("aten::_efficient_attention_forward", kWhy),
      GoldenOf<&EfficientBackward>("aten::_efficient_attention_backward", kWhy),
      GoldenOf<&SdpCudnn>("aten::_scaled_dot_product_cudnn_attention", kWhy),
      GoldenOf<&SdpCudnnBackward>(
          "aten::_scaled_dot_product_cudnn_attention_backward", kWhy),
      GoldenOf<&Cudnn>("aten::_cudnn_attention_forward", kWhy),
      GoldenOf<&SdpCudnnBackward>("aten::_cudnn_attention_backward", kWhy),
      GoldenOf<&SdpOverrideable>(
          "aten::_scaled_dot_product_fused_attention_overrideable",
          "the CPU kernel only throws"),
  };
}

}  // namespace flaggems
