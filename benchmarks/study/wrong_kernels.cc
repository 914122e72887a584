#include "benchmarks/study/wrong_kernels.h"

#include <ATen/ATen.h>

#include <cmath>

#include "benchmarks/study/draws.h"
#include "benchmarks/study/float_loops.h"

namespace flaggems::study {
namespace {

using A = const Arguments&;

// --- Products. ---

at::Tensor WithoutLast(const at::Tensor& a, const at::Tensor& b, int64_t out) {
  const int64_t k = a.size(1) - out;
  return a.narrow(1, 0, k).mm(b.narrow(0, 0, k));
}

// Partial products of 64 k, stored in bfloat16 before they are added.
at::Tensor NarrowPartials(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor sum = at::zeros({a.size(0), b.size(1)});
  for (int64_t k = 0; k < a.size(1); k += 64) {
    const at::Tensor part = a.narrow(1, k, 64).mm(b.narrow(0, k, 64));
    sum += part.to(at::kBFloat16).to(at::kFloat);
  }
  return sum;
}

// --- Reductions and scans. ---

float HalfAccumulator(const float* x, int64_t n) {
  c10::Half sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    sum = static_cast<c10::Half>(static_cast<float>(sum) + x[i]);
  }
  return sum;
}

void ScanWithoutCarry(const float* in, float* out, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i == n - n / 4) sum = 0;
    out[i] = sum += in[i];
  }
}

void ScanWithNarrowCarry(const float* in, float* out, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i % 512 == 0) sum = static_cast<c10::Half>(sum);
    out[i] = sum += in[i];
  }
}

// --- Functions. ---

// log by Cephes' polynomial, whose last coefficient is 7.0376836292e-2.
float LogWithWrongCoefficient(float x) {
  int exponent;
  float m = std::frexp(x, &exponent);
  if (m < 0.70710678f) {
    m += m;
    --exponent;
  }
  const float f = m - 1;
  float p = 7.0376836292e-3f;
  for (const float c : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                        1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f,
                        -2.4999993993e-1f, 3.3333331174e-1f}) {
    p = p * f + c;
  }
  const float square = f * f;
  const float e = static_cast<float>(exponent);
  return (f + (f * square * p - 0.5f * square)) + e * 0.69314718f;
}

float TanhThatIsItsArgument(float x) {
  return std::fabs(x) < 0.03f ? x : std::tanh(x);
}

// Relative errors of up to `size`, of either sign.
at::Tensor Inexact(const at::Tensor& y, const at::Tensor& x, double size) {
  return y * (at::sin(x * 1e4) * size + 1);
}

// --- Softmax and norms. ---

at::Tensor SoftmaxOf(const at::Tensor& x, double more = 0) {
  const at::Tensor e = at::exp(x - x.amax(1, true));
  return e / (e.sum(1, true) + more);
}

at::Tensor PaddedSoftmax(const at::Tensor& x) {
  const at::Tensor max = x.amax(1, true);
  const at::Tensor e = at::exp(x - max);
  return e / (e.sum(1, true) + at::exp(-max));
}

at::Tensor SoftmaxGrad(const at::Tensor& grad, const at::Tensor& y) {
  return y * (grad - (grad * y).sum(1, true));
}

struct NormOptions {
  double eps = 1e-5;
  double correction = 0;  // of n
  double biases = 1;
  bool coarse = false;
};

Results LayerNormWith(A a, const NormOptions& options) {
  const at::Tensor x = a[0];
  const at::Tensor mean = x.mean(1, true);
  const double n = static_cast<double>(x.size(1)) - options.correction;
  const at::Tensor var = (x - mean).square().sum(1, true) / n;
  at::Tensor rstd = at::rsqrt(var + options.eps);
  if (options.coarse) rstd = CutTo(12, rstd);
  const at::Tensor out = (x - mean) * rstd * a[2] + a[3] * options.biases;
  return std::vector<at::Tensor>{out, mean, rstd};
}

at::Tensor Attend(A a, double scale, bool causal = false, int64_t diagonal = 1,
                  int64_t keys_left_out = 0) {
  at::Tensor scores = a[0].matmul(a[1].transpose(2, 3)) * scale;
  const int64_t n = scores.size(3) - keys_left_out;
  if (causal) {
    const at::Tensor hidden = at::ones({n, n}, at::kBool).triu(diagonal);
    scores = scores.masked_fill(hidden, -INFINITY);
  }
  return scores.narrow(3, 0, n).softmax(3).matmul(a[2].narrow(2, 0, n));
}

const StudyCase kWrong[] = {
    // Products.
    {"mm, K = 512: one k left out", "aten::mm", Mm512,
     [](A a) -> Results { return WithoutLast(a[0], a[1], 1); }},
    {"mm, K = 512: last block of 16 left out", "aten::mm", Mm512,
     [](A a) -> Results { return WithoutLast(a[0], a[1], 16); }},
    {"mm, K = 4096: one k left out", "aten::mm", Mm4096,
     [](A a) -> Results { return WithoutLast(a[0], a[1], 1); }},
    {"mm, K = 512: times 1.005", "aten::mm", Mm512,
     [](A a) -> Results { return a[0].mm(a[1]) * 1.005; }},
    {"mm, K = 4096: partial sums in bfloat16", "aten::mm", Mm4096,
     [](A a) -> Results { return NarrowPartials(a[0], a[1]); }},
    {"mm, K = 512: TF32 inputs", "aten::mm", Mm512,
     [](A a) -> Results { return CutTo(10, a[0]).mm(CutTo(10, a[1])); },
     /*float32_only=*/true},
    {"addmm: bias row added twice", "aten::addmm", Addmm,
     [](A a) -> Results { return a[1].mm(a[2]) + a[0] * 2; }},
    {"dot: one of 4,096 products left out", "aten::dot", Dot,
     [](A a) -> Results {
       return a[0].narrow(0, 0, 4095).dot(a[1].narrow(0, 0, 4095));
     }},
    {"convolution: last input channel left out", "aten::convolution", Conv,
     [](A a) -> Results {
       return at::conv2d(a[0].narrow(1, 0, 15), a[1].narrow(1, 0, 15), a[2]);
     }},
    // Reductions and scans.
    {"sum: one of 4,096 left out", "aten::sum.dim_IntList", SumRows,
     [](A a) -> Results { return a[0].narrow(1, 0, 4095).sum(1); }},
    {"sum: one of 4,096 left out, positive", "aten::sum.dim_IntList",
     SumPositive,
     [](A a) -> Results { return a[0].narrow(1, 0, 4095).sum(1); }},
    {"sum: float16 accumulator", "aten::sum.dim_IntList", SumPositive,
     [](A a) -> Results { return ReduceRows(a[0], HalfAccumulator); }},
    {"mean: over n - 1 of 4,096", "aten::mean.dim", SumRows,
     [](A a) -> Results { return a[0].sum(1) / 4095; }},
    {"mean: over n - 1 of 4,096, positive", "aten::mean.dim", SumPositive,
     [](A a) -> Results { return a[0].sum(1) / 4095; }},
    {"mean: one of 4,096 left out, positive", "aten::mean.dim", SumPositive,
     [](A a) -> Results { return a[0].narrow(1, 0, 4095).sum(1) / 4096; }},
    {"var: over n, n = 512", "aten::var.correction", VarShort,
     [](A a) -> Results { return a[0].var(1, false); }},
    {"var: over n, n = 4,096", "aten::var.correction", VarRows,
     [](A a) -> Results { return a[0].var(1, false); }},
    {"var: E[x^2] - m^2 at mean 100", "aten::var.correction", VarFar,
     [](A a) -> Results { return ReduceRows(a[0], RawMomentM2) / 4095; }},
    {"vector_norm: one of 4,096 left out", "aten::linalg_vector_norm", NormRows,
     [](A a) -> Results { return a[0].narrow(1, 0, 4095).norm(2, 1); }},
    {"mse_loss: mean over n - 1 of 4,096", "aten::mse_loss", MseLoss,
     [](A a) -> Results { return (a[0] - a[1]).square().sum() / 4095; }},
    {"cumsum: carry lost at a block", "aten::cumsum", ScanRows,
     [](A a) -> Results { return MapRows(a[0], ScanWithoutCarry); }},
    {"cumsum: carry in float16", "aten::cumsum", ScanPositive,
     [](A a) -> Results { return MapRows(a[0], ScanWithNarrowCarry); }},
    // Element-wise.
    {"mul: times 1.005", "aten::mul.Tensor", TwoNormal,
     [](A a) -> Results { return a[0] * a[1] * 1.005; }},
    {"mul: one of 4,096 off by 0.9 %", "aten::mul.Tensor", TwoNormal,
     [](A a) -> Results {
       at::Tensor y = a[0] * a[1];
       y[1234] *= 1.009;
       return y;
     }},
    {"add: plus 1e-3", "aten::add.Tensor", TwoNormal,
     [](A a) -> Results { return a[0] + a[1] + 1e-3; }},
    {"gelu: tanh formula for erf", "aten::gelu", Gelu,
     [](A a) -> Results { return at::gelu(a[0], "tanh"); }},
    {"gelu: x sigmoid(1.702 x)", "aten::gelu", Gelu,
     [](A a) -> Results { return a[0] * at::sigmoid(a[0] * 1.702); }},
    {"sigmoid: hardsigmoid", "aten::sigmoid", OneNormal,
     [](A a) -> Results { return at::hardsigmoid(a[0]); }},
    {"exp: relative errors of 2^-9", "aten::exp", OneNormal,
     [](A a) -> Results { return Inexact(a[0].exp(), a[0], 0x1p-9); }},
    {"exp: relative errors of 2^-13", "aten::exp", OneNormal,
     [](A a) -> Results { return Inexact(a[0].exp(), a[0], 0x1p-13); }},
    {"log: wrong last coefficient", "aten::log", OnePositive,
     [](A a) -> Results { return Map(a[0], LogWithWrongCoefficient); }},
    {"tanh: x below 0.03", "aten::tanh", OneNormal,
     [](A a) -> Results { return Map(a[0], TanhThatIsItsArgument); }},
    {"softplus: threshold 5 for 20", "aten::softplus", OneWide,
     [](A a) -> Results { return at::softplus(a[0], 1, 5); }},
    {"rsqrt: 12 bits", "aten::rsqrt", OnePositive,
     [](A a) -> Results { return CutTo(12, a[0].rsqrt()); }},
    {"div: reciprocal of 12 bits", "aten::div.Tensor", TwoPositive,
     [](A a) -> Results { return a[0] * CutTo(12, a[1].reciprocal()); }},
    // Softmax.
    {"softmax: one more exp(0) in the denominator", "aten::_softmax", Softmax,
     [](A a) -> Results { return PaddedSoftmax(a[0]); }},
    {"softmax: eps of 1e-3 in the denominator", "aten::_softmax", Softmax,
     [](A a) -> Results { return SoftmaxOf(a[0], 1e-3); }},
    {"softmax: one row zero", "aten::_softmax", Softmax,
     [](A a) -> Results {
       at::Tensor y = a[0].softmax(1);
       y[63].zero_();
       return y;
     }},
    {"softmax: logits times 1.005", "aten::_softmax", Softmax,
     [](A a) -> Results { return (a[0] * 1.005).softmax(1); }},
    {"log_softmax: plus 1e-3", "aten::_log_softmax", Softmax,
     [](A a) -> Results { return a[0].log_softmax(1) + 1e-3; }},
    {"logsumexp: one more exp(0)", "aten::logsumexp", LogSumExp,
     [](A a) -> Results { return at::log(a[0].exp().sum(1) + 1); }},
    {"softmax_backward: a row of 1e-4 with the wrong sign",
     "aten::_softmax_backward_data", SoftmaxBackwardSmall,
     [](A a) -> Results {
       at::Tensor y = SoftmaxGrad(a[0], a[1]);
       y[5].neg_();
       return y;
     }},
    {"softmax_backward: one term of the sum left out",
     "aten::_softmax_backward_data", SoftmaxBackward,
     [](A a) -> Results {
       const at::Tensor products = (a[0] * a[1]).narrow(1, 0, 255);
       return a[1] * (a[0] - products.sum(1, true));
     }},
    // Norms.
    {"layer_norm: eps 1e-6 for 1e-5", "aten::native_layer_norm", LayerNorm,
     [](A a) { return LayerNormWith(a, {1e-6}); }},
    {"layer_norm: eps 1e-6 for 1e-5, small rows", "aten::native_layer_norm",
     LayerNormSmall, [](A a) { return LayerNormWith(a, {1e-6}); }},
    {"layer_norm: variance over n - 1", "aten::native_layer_norm", LayerNorm,
     [](A a) {
       return LayerNormWith(a, {1e-5, 1});
     }},
    {"layer_norm: bias row added twice", "aten::native_layer_norm", LayerNorm,
     [](A a) {
       return LayerNormWith(a, {1e-5, 0, 2});
     }},
    {"layer_norm: rstd of 12 bits", "aten::native_layer_norm", LayerNorm,
     [](A a) {
       return LayerNormWith(a, {1e-5, 0, 1, true});
     }},
    // Attention.
    {"attention: scale 1/8.05 for 1/8", "aten::scaled_dot_product_attention",
     Attention, [](A a) -> Results { return Attend(a, 1 / 8.05); }},
    {"attention: causal mask off by one", "aten::scaled_dot_product_attention",
     CausalAttention, [](A a) -> Results { return Attend(a, 0.125, true, 2); }},
    {"attention: last key left out", "aten::scaled_dot_product_attention",
     Attention, [](A a) -> Results { return Attend(a, 0.125, false, 1, 1); }},
};

}  // namespace

absl::Span<const StudyCase> WrongKernels() { return kWrong; }

}  // namespace flaggems::study
