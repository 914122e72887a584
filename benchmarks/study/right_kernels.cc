#include "benchmarks/study/right_kernels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "benchmarks/study/draws.h"
#include "benchmarks/study/float_loops.h"

namespace flaggems::study {
namespace {

using A = const Arguments&;

constexpr float kLog2E = 1.44269504f;
constexpr float kLn2 = 0.69314718f;

template <SumOrder kOrder>
Results Sum(A a) {
  return ReduceRows(a[0], kOrder);
}

template <SumOrder kOrder>
Results Mean(A a) {
  const float scale = 1.0f / static_cast<float>(a[0].size(1));
  return ReduceRows(a[0], [scale](const float* x, int64_t n) {
    return kOrder(x, n) * scale;
  });
}

template <SumOrder kM2>
Results Var(A a) {
  return ReduceRows(a[0], [](const float* x, int64_t n) {
    return kM2(x, n) / static_cast<float>(n - 1);
  });
}

template <SumOrder kOrder>
Results Mm(A a) {
  return ProductBy(kOrder, a[0], a[1]);
}

template <int64_t kParts>
Results SplitK(A a) {
  return FmaProduct(a[0], a[1], kParts);
}

Results BmmInParts(A a) {
  std::vector<at::Tensor> products;
  for (int64_t i = 0; i < a[0].size(0); ++i) {
    products.push_back(FmaProduct(a[0][i], a[1][i], 4));
  }
  return at::stack(products);
}

// The product of patches, as im2col kernels have it.
Results ConvByColumns(A a) {
  const at::Tensor columns = at::im2col(a[0], {3, 3}, {1, 1}, {0, 0}, {1, 1});
  const at::Tensor weight = a[1].flatten(1);
  std::vector<at::Tensor> images;
  for (int64_t i = 0; i < columns.size(0); ++i) {
    images.push_back(FmaProduct(weight, columns[i]));
  }
  return at::stack(images).view({2, 24, 10, 10}) + a[2].view({1, 24, 1, 1});
}

void SequentialScan(const float* in, float* out, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = sum += in[i];
}

// Scans of blocks, then the sums before each block.
void BlockedScan(const float* in, float* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  float before = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    SequentialScan(in + begin, out + begin, end - begin);
    const float sum = out[end - 1];
    for (int64_t i = begin; i < end; ++i) out[i] += before;
    before += sum;
  }
}

// Hillis and Steele: log2(n) steps of adding what is 1, 2, 4, ... before.
void DoublingScan(const float* in, float* out, int64_t n) {
  std::copy(in, in + n, out);
  for (int64_t step = 1; step < n; step *= 2) {
    for (int64_t i = n; i-- > step;) out[i] += out[i - step];
  }
}

float SequentialProduct(const float* x, int64_t n) {
  float product = 1;
  for (int64_t i = 0; i < n; ++i) product *= x[i];
  return product;
}

float TreeProduct(const float* x, int64_t n) {
  if (n == 1) return x[0];
  return TreeProduct(x, n / 2) * TreeProduct(x + n / 2, n - n / 2);
}

// --- Functions. ---

// 2^n times a polynomial of degree 6 in the rest (Cephes).
float ExpByPolynomial(float x) {
  const float n = std::nearbyint(x * kLog2E);
  const float r = std::fma(-n, -2.12194440e-4f, std::fma(-n, 0.693359375f, x));
  float p = 1.9875691500e-4f;
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                        1.6666665459e-1f, 5.0000001201e-1f}) {
    p = p * r + c;
  }
  return std::ldexp(p * r * r + r + 1, static_cast<int>(n));
}

float GeluByTanh(float x) {
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1 + std::tanh(inner));
}

float GeluBySigmoid(float x) {
  const float inner = 0.7978845608f * std::fma(0.044715f * x * x, x, x);
  return x / (1 + std::exp(-2 * inner));
}

float TanhByExpm1(float x) {
  const float e = std::expm1(2 * std::fabs(x));
  return std::copysign(e / (e + 2), x);
}

float Log1pByLog(float x) {
  const float y = 1 + x;
  return y == 1 ? x : std::log(y) * (x / (y - 1));
}

float SoftplusOfMagnitude(float x) {
  return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
}

at::Tensor FusedMultiplyAdd(const at::Tensor& a, const at::Tensor& b,
                            const at::Tensor& c) {
  const at::Tensor out = c.clone();
  const float* x = a.const_data_ptr<float>();
  const float* y = b.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < c.numel(); ++i) to[i] = std::fma(x[i], y[i], to[i]);
  return out;
}

// --- Softmax. ---

void SoftmaxByExp2(const float* in, float* out, int64_t n) {
  const float max = *std::max_element(in, in + n) * kLog2E;
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += out[i] = std::exp2(std::fma(in[i], kLog2E, -max));
  }
  const float scale = 1 / sum;
  for (int64_t i = 0; i < n; ++i) out[i] *= scale;
}

// Maximum and sum in one pass (Milakov and Gimelshein).
void OnlineSoftmax(const float* in, float* out, int64_t n) {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float next = std::max(max, in[i]);
    sum = sum * std::exp(max - next) + std::exp(in[i] - next);
    max = next;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = std::exp(in[i] - max) / sum;
}

// exp(x - log(sum)): one exponential more, no division.
void SoftmaxByLog(const float* in, float* out, int64_t n) {
  const float max = *std::max_element(in, in + n);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(in[i] - max);
  const float shift = max + std::log(sum);
  for (int64_t i = 0; i < n; ++i) out[i] = std::exp(in[i] - shift);
}

template <bool kShiftFirst>
void LogSoftmax(const float* in, float* out, int64_t n) {
  const float max = *std::max_element(in, in + n);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp2((in[i] - max) * kLog2E);
  const float log = std::log2(sum) * kLn2;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = kShiftFirst ? (in[i] - max) - log : in[i] - (max + log);
  }
}

float LogSumExpByExp2(const float* x, int64_t n) {
  const float max = *std::max_element(x, x + n);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp2((x[i] - max) * kLog2E);
  return max + std::log2(sum) * kLn2;
}

// --- Norms. ---

template <SumOrder kM2>
Results LayerNormBy(A a) {
  const at::Tensor x = a[0];
  const double n = static_cast<double>(x.size(1));
  const at::Tensor mean = (ReduceRows(x, StridedSum) / n).unsqueeze(1);
  const at::Tensor var = (ReduceRows(x, kM2) / n).unsqueeze(1);
  const at::Tensor rstd = at::rsqrt(var + a.number(4));
  return std::vector<at::Tensor>{(x - mean) * rstd * a[2] + a[3], mean, rstd};
}

// One multiplication and one addition an element: x * s + (bias - mean * s).
Results FoldedLayerNorm(A a) {
  const auto [var, mean] = at::var_mean(a[0], 1, false, true);
  const at::Tensor root = at::sqrt(var + a.number(4));
  const at::Tensor scale = a[2] / root;
  return std::vector<at::Tensor>{a[0] * scale + (a[3] - mean * scale), mean,
                                 at::reciprocal(root)};
}

// --- Attention. ---

// Blocks of 32 keys with a running maximum, exp2 for exp (Dao et al.).
Results FlashAttention(A a) {
  const bool causal = a.values()[5].toBool();
  const at::Tensor query = a[0] * (0.125 * kLog2E);
  const int64_t n = a[1].size(2);
  at::Tensor max = at::full({1, 4, n, 1}, -INFINITY);
  at::Tensor sum = at::zeros({1, 4, n, 1});
  at::Tensor out = at::zeros_like(a[2]);
  for (int64_t k = 0; k < n; k += 32) {
    at::Tensor scores = query.matmul(a[1].narrow(2, k, 32).transpose(2, 3));
    if (causal) {
      const at::Tensor hidden = at::ones({n, 32}, at::kBool).triu(1 - k);
      scores = scores.masked_fill(hidden, -INFINITY);
    }
    const at::Tensor next = at::maximum(max, scores.amax(3, true));
    const at::Tensor decay = at::exp2(max - next);
    const at::Tensor weights = at::exp2(scores - next);
    sum = sum * decay + weights.sum(3, true);
    out = out * decay + weights.matmul(a[2].narrow(2, k, 32));
    max = next;
  }
  return out / sum;
}

Results PlainAttention(A a) {
  const at::Tensor scores = (a[0] * 0.125).matmul(a[1].transpose(2, 3));
  return MapRows(scores, OnlineSoftmax).matmul(a[2]);
}

const StudyCase kRight[] = {
    // Sums.
    {"sum, sequential", "aten::sum.dim_IntList", SumRows, Sum<SequentialSum>},
    {"sum, reversed", "aten::sum.dim_IntList", SumRows, Sum<ReversedSum>},
    {"sum, pairwise", "aten::sum.dim_IntList", SumRows, Sum<PairwiseSum>},
    {"sum, Kahan", "aten::sum.dim_IntList", SumRows, Sum<KahanSum>},
    {"sum, positive, sequential", "aten::sum.dim_IntList", SumPositive,
     Sum<SequentialSum>},
    {"sum, positive, in blocks", "aten::sum.dim_IntList", SumPositive,
     Sum<BlockedSum>},
    {"sum of 1e5, sequential", "aten::sum.dim_IntList", SumLong,
     Sum<SequentialSum>},
    {"sum of 1e5, positive, sequential", "aten::sum.dim_IntList",
     SumLongPositive, Sum<SequentialSum>},
    {"sum of 1e5, positive, 32 lanes", "aten::sum.dim_IntList", SumLongPositive,
     Sum<StridedSum>},
    {"mean, sequential, times 1/n", "aten::mean.dim", SumPositive,
     Mean<SequentialSum>},
    {"mean, in blocks, times 1/n", "aten::mean.dim", SumRows, Mean<BlockedSum>},
    {"vector_norm, sequential", "aten::linalg_vector_norm", NormRows,
     [](A a) -> Results {
       return ReduceRows(a[0].square(), SequentialSum).sqrt();
     }},
    {"mse_loss, sequential", "aten::mse_loss", MseLoss,
     [](A a) -> Results {
       return ReduceRows((a[0] - a[1]).square(), SequentialSum) / 4096;
     }},
    {"prod, sequential", "aten::prod.dim_int", ProdRows,
     [](A a) -> Results { return ReduceRows(a[0], SequentialProduct); }},
    {"prod, tree", "aten::prod.dim_int", ProdRows,
     [](A a) -> Results { return ReduceRows(a[0], TreeProduct); }},
    // Variances.
    {"var, two passes", "aten::var.correction", VarRows, Var<TwoPassM2>},
    {"var, two passes, sequential", "aten::var.correction", VarRows,
     Var<SequentialM2>},
    {"var, Welford", "aten::var.correction", VarRows, Var<WelfordM2>},
    {"var, Welford in blocks", "aten::var.correction", VarRows, Var<ChanM2>},
    {"var, from the first element", "aten::var.correction", VarRows,
     Var<ShiftedM2>},
    {"var at mean 10, two passes, sequential", "aten::var.correction",
     VarShifted, Var<SequentialM2>},
    {"var at mean 10, Welford", "aten::var.correction", VarShifted,
     Var<WelfordM2>},
    // At 1e5 one accumulator errs by more than the 1 / n that a variance over n
    // for one over n - 1 makes: there no bound can accept the one and refuse
    // the other (docs/tolerance.md).
    {"var of 1e4, two passes, sequential", "aten::var.correction", VarOf1e4,
     Var<SequentialM2>},
    {"var of 1e4, Welford", "aten::var.correction", VarOf1e4, Var<WelfordM2>},
    {"var of 1e5, Welford in blocks", "aten::var.correction", VarLong,
     Var<ChanM2>},
    {"var at mean 0, E[x^2] - m^2", "aten::var.correction", VarRows,
     Var<RawMomentM2>},
    {"std, Welford", "aten::std.correction", VarRows,
     [](A a) -> Results { return Var<WelfordM2>(a).tensors[0].sqrt(); }},
    // Products.
    {"mm, K = 512, sequential", "aten::mm", Mm512, Mm<SequentialSum>},
    {"mm, K = 512, reversed", "aten::mm", Mm512, Mm<ReversedSum>},
    {"mm, K = 512, fma", "aten::mm", Mm512, SplitK<1>},
    {"mm, K = 512, 4 parts of K", "aten::mm", Mm512, SplitK<4>},
    {"mm, K = 4096, sequential", "aten::mm", Mm4096, Mm<SequentialSum>},
    {"mm, K = 4096, in blocks", "aten::mm", Mm4096, Mm<BlockedSum>},
    {"mm, K = 4096, pairwise", "aten::mm", Mm4096, Mm<PairwiseSum>},
    {"mm, K = 4096, 8 parts of K, fma", "aten::mm", Mm4096, SplitK<8>},
    {"mm, K = 4096, positive, fma", "aten::mm", MmPositive, SplitK<1>},
    {"mm, K = 4096, positive, 8 parts of K", "aten::mm", MmPositive, SplitK<8>},
    {"addmm, bias first", "aten::addmm", Addmm,
     [](A a) -> Results {
       const at::Tensor rows = at::cat({at::ones({32, 1}), a[1]}, 1);
       return FmaProduct(rows, at::cat({a[0].unsqueeze(0), a[2]}, 0));
     }},
    {"bmm, 4 parts of K, fma", "aten::bmm", Bmm, BmmInParts},
    {"dot, sequential", "aten::dot", Dot,
     [](A a) -> Results { return ReduceRows(a[0] * a[1], SequentialSum); }},
    {"convolution, columns, fma", "aten::convolution", Conv, ConvByColumns},
    // Scans.
    {"cumsum, sequential", "aten::cumsum", ScanRows,
     [](A a) -> Results { return MapRows(a[0], SequentialScan); }},
    {"cumsum, in blocks", "aten::cumsum", ScanRows,
     [](A a) -> Results { return MapRows(a[0], BlockedScan); }},
    {"cumsum, positive, sequential", "aten::cumsum", ScanPositive,
     [](A a) -> Results { return MapRows(a[0], SequentialScan); }},
    {"cumsum, positive, doubling", "aten::cumsum", ScanPositive,
     [](A a) -> Results { return MapRows(a[0], DoublingScan); }},
    // Element-wise.
    {"exp, exp2(x log2 e)", "aten::exp", OneWide,
     [](A a) -> Results { return at::exp2(a[0] * kLog2E); }},
    {"exp, polynomial", "aten::exp", OneWide,
     [](A a) -> Results { return Map(a[0], ExpByPolynomial); }},
    {"log, log2(x) ln 2", "aten::log", OnePositive,
     [](A a) -> Results { return a[0].log2() * kLn2; }},
    {"log1p, log", "aten::log1p", OnePositive,
     [](A a) -> Results { return Map(a[0], Log1pByLog); }},
    {"pow, exp2(y log2 x)", "aten::pow.Tensor_Tensor", TwoPositive,
     [](A a) -> Results { return at::exp2(a[1] * a[0].log2()); }},
    {"gelu, erf", "aten::gelu", Gelu,
     [](A a) -> Results {
       return a[0] * 0.5 * (at::erf(a[0] * 0.70710678) + 1);
     }},
    {"gelu, erfc", "aten::gelu", Gelu,
     [](A a) -> Results { return a[0] * 0.5 * at::erfc(a[0] * -0.70710678); }},
    {"gelu tanh, tanh", "aten::gelu", GeluTanh,
     [](A a) -> Results { return Map(a[0], GeluByTanh); }},
    {"gelu tanh, sigmoid", "aten::gelu", GeluTanh,
     [](A a) -> Results { return Map(a[0], GeluBySigmoid); }},
    {"sigmoid, exp", "aten::sigmoid", OneNormal,
     [](A a) -> Results { return at::reciprocal(at::exp(-a[0]) + 1); }},
    {"sigmoid, tanh", "aten::sigmoid", OneNormal,
     [](A a) -> Results { return at::tanh(a[0] * 0.5) * 0.5 + 0.5; }},
    {"tanh, expm1", "aten::tanh", OneNormal,
     [](A a) -> Results { return Map(a[0], TanhByExpm1); }},
    {"silu, x / (1 + exp(-x))", "aten::silu", OneWide,
     [](A a) -> Results { return a[0] / (at::exp(-a[0]) + 1); }},
    {"softplus, log1p of exp(-|x|)", "aten::softplus", OneWide,
     [](A a) -> Results { return Map(a[0], SoftplusOfMagnitude); }},
    {"rsqrt, 1 / sqrt", "aten::rsqrt", OnePositive,
     [](A a) -> Results { return at::reciprocal(a[0].sqrt()); }},
    {"sqrt, x rsqrt(x)", "aten::sqrt", OnePositive,
     [](A a) -> Results { return a[0] * a[0].rsqrt(); }},
    {"div, times reciprocal", "aten::div.Tensor", TwoPositive,
     [](A a) -> Results { return a[0] * a[1].reciprocal(); }},
    {"addcmul, fma", "aten::addcmul", ThreeNormal,
     [](A a) -> Results { return FusedMultiplyAdd(a[1], a[2], a[0]); }},
    {"lerp, (1 - w) a + w b", "aten::lerp.Tensor", ThreeNormal,
     [](A a) -> Results { return a[0] * (1 - a[2]) + a[1] * a[2]; }},
    // Softmax.
    {"softmax, exp2, times 1/sum", "aten::_softmax", Softmax,
     [](A a) -> Results { return MapRows(a[0], SoftmaxByExp2); }},
    {"softmax, online", "aten::_softmax", SoftmaxWide,
     [](A a) -> Results { return MapRows(a[0], OnlineSoftmax); }},
    {"softmax, wide, exp2", "aten::_softmax", SoftmaxWide,
     [](A a) -> Results { return MapRows(a[0], SoftmaxByExp2); }},
    {"softmax, exp(x - log sum)", "aten::_softmax", SoftmaxWide,
     [](A a) -> Results { return MapRows(a[0], SoftmaxByLog); }},
    {"log_softmax, exp2, (x - max) - log", "aten::_log_softmax", Softmax,
     [](A a) -> Results { return MapRows(a[0], LogSoftmax<true>); }},
    {"log_softmax, exp2, x - (max + log)", "aten::_log_softmax", SoftmaxWide,
     [](A a) -> Results { return MapRows(a[0], LogSoftmax<false>); }},
    {"logsumexp, exp2 and log2", "aten::logsumexp", LogSumExp,
     [](A a) -> Results { return ReduceRows(a[0], LogSumExpByExp2); }},
    {"softmax_backward, g y - y sum", "aten::_softmax_backward_data",
     SoftmaxBackward,
     [](A a) -> Results {
       const at::Tensor products = a[0] * a[1];
       const at::Tensor sums = ReduceRows(products, SequentialSum);
       return products - a[1] * sums.unsqueeze(1);
     }},
    // Norms.
    {"layer_norm, two passes", "aten::native_layer_norm", LayerNorm,
     LayerNormBy<SequentialM2>},
    {"layer_norm, Welford in blocks", "aten::native_layer_norm", LayerNorm,
     LayerNormBy<ChanM2>},
    {"layer_norm, E[x^2] - m^2 at mean 0", "aten::native_layer_norm", LayerNorm,
     LayerNormBy<RawMomentM2>},
    {"layer_norm, small rows, folded", "aten::native_layer_norm",
     LayerNormSmall, FoldedLayerNorm},
    // Attention.
    {"attention, scaled queries, online softmax",
     "aten::scaled_dot_product_attention", Attention, PlainAttention},
    {"attention, blocks of keys, exp2", "aten::scaled_dot_product_attention",
     Attention, FlashAttention},
    {"causal attention, blocks of keys, exp2",
     "aten::scaled_dot_product_attention", CausalAttention, FlashAttention},
};

}  // namespace

absl::Span<const StudyCase> RightKernels() { return kRight; }

}  // namespace flaggems::study
