#include "benchmarks/cuda/accuracy_cases.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <utility>

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;
using In = AccuracyInputs;
using Dims = std::vector<int64_t>;

constexpr int64_t kNumel = 1 << 20;
constexpr int64_t kRowNumel = 1 << 22;

at::Tensor RandomWide(at::IntArrayRef sizes) {
  return at::randn(sizes, at::TensorOptions(at::kCUDA).dtype(at::kDouble));
}

// Operators of one input, or of two of one shape, and `rest`.
AccuracyCase Pointwise(const std::string& name, const std::string& op,
                       int inputs, bool positive, Arguments rest = {}) {
  return {name, "aten::" + op, [=](In& in) {
            Arguments arguments;
            for (int i = 0; i < inputs; ++i) {
              arguments.push_back(positive ? in.Positive({kNumel})
                                           : in.Normal({kNumel}));
            }
            arguments.insert(arguments.end(), rest.begin(), rest.end());
            return arguments;
          }};
}

void AddPointwise(std::vector<AccuracyCase>* cases) {
  for (const std::string op : {"exp", "sin", "cos", "tanh", "sigmoid", "erf",
                               "abs", "neg", "silu", "relu"}) {
    cases->push_back(Pointwise(op, op, 1, false));
  }
  for (const std::string op : {"sqrt", "rsqrt", "log", "reciprocal"}) {
    cases->push_back(Pointwise(op, op, 1, true));
  }
  const std::string none = "none";
  const std::string tanh = "tanh";
  const int64_t one = 1;
  cases->push_back(Pointwise("gelu", "gelu", 1, false, {none}));
  cases->push_back(Pointwise("gelu_tanh", "gelu", 1, false, {tanh}));
  cases->push_back(Pointwise("softplus", "softplus", 1, false, {1.0, 20.0}));
  cases->push_back(Pointwise("pow2.5", "pow.Tensor_Scalar", 1, true, {2.5}));
  cases->push_back(Pointwise("add", "add.Tensor", 2, false, {one}));
  cases->push_back(Pointwise("sub", "sub.Tensor", 2, false, {one}));
  cases->push_back(Pointwise("mul", "mul.Tensor", 2, false));
  cases->push_back(Pointwise("div", "div.Tensor", 2, true));
  cases->push_back(
      Pointwise("gelu_backward", "gelu_backward", 2, false, {none}));
  cases->push_back(Pointwise("silu_backward", "silu_backward", 2, false));
}

// A call on rows of n; `rest` follows the rows.
AccuracyCase OfRows(const std::string& name, const std::string& op, int64_t n,
                    Arguments rest, double scale = 1, double offset = 0) {
  return {name + "_" + std::to_string(n), "aten::" + op, [=](In& in) {
            Arguments arguments = {
                in.Of(RandomWide({kRowNumel / n, n}) * scale + offset)};
            arguments.insert(arguments.end(), rest.begin(), rest.end());
            return arguments;
          }};
}

// Gradients of (log) softmax at softmaxes of random rows.
AccuracyCase SoftmaxGradient(int64_t n, bool log) {
  const std::string op =
      log ? "_log_softmax_backward_data" : "_softmax_backward_data";
  AccuracyCase c;
  c.name = op.substr(1) + "_" + std::to_string(n);
  c.op = "aten::" + op;
  c.arguments = [=](In& in) -> Arguments {
    const at::Tensor grad = in.Normal({kRowNumel / n, n});
    const at::Tensor x = RandomWide({kRowNumel / n, n});
    return {grad, in.Of(log ? at::log_softmax(x, 1) : at::softmax(x, 1)),
            int64_t{1}, static_cast<int64_t>(in.dtype())};
  };
  c.condition = [=](const Arguments& a) {
    const at::Tensor grad = a[0].toTensor().abs();
    const at::Tensor result = a[1].toTensor();
    return log ? grad + result.exp() * grad.sum({1}, true)
               : result * (grad + (grad * result).sum({1}, true));
  };
  return c;
}

AccuracyCase NormGradient(int64_t n, bool rms) {
  const int64_t rows = kRowNumel / n;
  return {
      (rms ? "rms_norm_backward_" : "layer_norm_backward_") + std::to_string(n),
      rms ? "aten::_fused_rms_norm_backward"
          : "aten::native_layer_norm_backward",
      [=](In& in) {
        const at::Tensor x = RandomWide({rows, n});
        const at::Tensor mean = x.mean({1}, true);
        const at::Tensor squares = rms ? x.square() : (x - mean).square();
        Arguments arguments = {in.Normal({rows, n}), in.Of(x), Dims{n}};
        if (!rms) arguments.push_back(in.StatisticsOf(mean));
        arguments.push_back(
            in.StatisticsOf((squares.mean({1}, true) + 1e-5).rsqrt()));
        arguments.push_back(in.Normal({n}));
        if (!rms) arguments.push_back(in.Normal({n}));
        arguments.push_back(rms ? c10::List<bool>({true, true})
                                : c10::List<bool>({true, true, true}));
        return arguments;
      }};
}

void AddRows(std::vector<AccuracyCase>* cases) {
  const c10::IValue none;
  const auto add = [&](AccuracyCase c, bool is_sum) {
    c.is_sum = is_sum;
    cases->push_back(std::move(c));
  };
  for (const int64_t n : {128, 1024, 16384, 262144}) {
    const std::string tail = "_" + std::to_string(n);
    const Dims last = {1};
    add(OfRows("sum", "sum.dim_IntList", n, {last, false, none}), true);
    add(OfRows("mean", "mean.dim", n, {last, false, none}), true);
    add(OfRows("cumsum", "cumsum", n, {int64_t{1}, none}), true);
    add(OfRows("softmax", "_softmax", n, {int64_t{1}, false}), false);
    add(OfRows("log_softmax", "_log_softmax", n, {int64_t{1}, false}), false);
    add(OfRows("var", "var.correction", n, {last, none, false}), false);
    add(OfRows("var_off1000", "var.correction", n, {last, none, false}, 1,
               1000),
        false);
    if (n <= 1024) {
      add(OfRows("prod", "prod.dim_int", n, {int64_t{1}, false, none}, 0.1, 1),
          false);
    }
    add(SoftmaxGradient(n, false), false);
    add(SoftmaxGradient(n, true), false);
    const auto norm = [&](const std::string& name, const std::string& op,
                          bool has_bias) {
      AccuracyCase c;
      c.name = name + tail;
      c.op = op;
      c.arguments = [=](In& in) {
        Arguments arguments = {in.Normal({kRowNumel / n, n}), Dims{n},
                               in.Normal({n})};
        if (has_bias) arguments.push_back(in.Normal({n}));
        arguments.push_back(1e-5);
        return arguments;
      };
      if (has_bias) {
        c.condition = [=](const Arguments& a) {
          const at::Tensor scaled = at::layer_norm(
              a[0].toTensor(), {n}, a[2].toTensor(), {}, a[4].toDouble());
          return scaled.abs() + a[3].toTensor().abs();
        };
      }
      add(std::move(c), false);
    };
    norm("layer_norm", "aten::native_layer_norm", true);
    norm("rms_norm", "aten::_fused_rms_norm", false);
    if (n <= 16384) {
      add(NormGradient(n, false), false);
      add(NormGradient(n, true), false);
    }
  }
  AccuracyCase group;
  group.name = "group_norm";
  group.op = "aten::native_group_norm";
  group.arguments = [](In& in) -> Arguments {
    return {in.Normal({8, 256, 32, 32}),
            in.Normal({256}),
            in.Normal({256}),
            int64_t{8},
            int64_t{256},
            int64_t{32 * 32},
            int64_t{32},
            1e-5};
  };
  group.condition = [](const Arguments& a) {
    const at::Tensor scaled = at::group_norm(
        a[0].toTensor(), a[6].toInt(), a[1].toTensor(), {}, a[7].toDouble());
    return scaled.abs() + a[2].toTensor().abs().view({256, 1, 1});
  };
  add(std::move(group), false);
  add({"nll", "aten::nll_loss_forward",
       [none](In& in) -> Arguments {
         const at::Tensor x =
             in.Of(at::log_softmax(RandomWide({1024, 1000}), 1));
         return {x, in.Labels(1024, 1000), none, int64_t{1}, int64_t{-100}};
       }},
      false);
}

void AddProducts(std::vector<AccuracyCase>* cases) {
  constexpr int64_t kSide = 128;
  const int64_t one = 1;
  for (const int64_t k : {64, 1024, 8192, 65536}) {
    const std::string tail = "_" + std::to_string(k);
    cases->push_back({"mm" + tail, "aten::mm",
                      [k](In& in) -> Arguments {
                        return {in.Normal({kSide, k}), in.Normal({k, kSide})};
                      },
                      true});
    cases->push_back({"mm_pos" + tail, "aten::mm",
                      [k](In& in) -> Arguments {
                        // Means below the largest float16.
                        return {in.Positive({kSide, k}),
                                in.Of(RandomWide({k, kSide}).abs() * 0.125)};
                      },
                      true});
    cases->push_back({"addmm" + tail, "aten::addmm",
                      [k, one](In& in) -> Arguments {
                        return {in.Normal({kSide}), in.Normal({kSide, k}),
                                in.Normal({k, kSide}), one, one};
                      },
                      true});
  }
  cases->push_back(
      {"bmm", "aten::bmm",
       [](In& in) -> Arguments {
         return {in.Normal({16, 256, 512}), in.Normal({16, 512, 256})};
       },
       true});
  const auto attention = [](const Arguments& a) {
    const at::Tensor q = a[0].toTensor();
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    return at::softmax(q.matmul(a[1].toTensor().mT()) * scale, -1)
        .matmul(a[2].toTensor());
  };
  const auto attention_condition = [attention](Arguments a) {
    a[2] = a[2].toTensor().abs();
    return attention(a);
  };
  const auto heads = [](In& in) -> Arguments {
    return {in.Normal({2, 8, 512, 64}), in.Normal({2, 8, 512, 64}),
            in.Normal({2, 8, 512, 64})};
  };
  const c10::IValue none;
  cases->push_back(
      {"sdpa",
       "aten::_scaled_dot_product_efficient_attention",
       [=](In& in) {
         Arguments a = heads(in);
         for (const c10::IValue& v : Arguments{none, false, 0.0, false, none}) {
           a.push_back(v);
         }
         return a;
       },
       false,
       attention,
       {at::kFloat},
       attention_condition});
  cases->push_back(
      {"sdpa",
       "aten::_scaled_dot_product_flash_attention",
       [=](In& in) {
         Arguments a = heads(in);
         for (const c10::IValue& v : Arguments{0.0, false, false, none}) {
           a.push_back(v);
         }
         return a;
       },
       false,
       attention,
       {at::kHalf, at::kBFloat16},
       attention_condition});
}

}  // namespace

AccuracyInputs::AccuracyInputs(at::ScalarType dtype, Form form)
    : dtype_(dtype), form_(form) {
  at::manual_seed(20261129);
}

at::ScalarType AccuracyInputs::dtype() const {
  return form_ == Form::kRounded ? dtype_ : at::kDouble;
}

at::Tensor AccuracyInputs::InForm(const at::Tensor& rounded) const {
  if (form_ == Form::kRounded) return rounded;
  const at::Tensor wide = rounded.to(at::kDouble);
  return form_ == Form::kWide ? wide : wide.abs();
}

at::Tensor AccuracyInputs::Of(const at::Tensor& wide) const {
  return InForm(wide.to(dtype_));
}

at::Tensor AccuracyInputs::StatisticsOf(const at::Tensor& wide) const {
  return InForm(wide.to(at::kFloat));
}

at::Tensor AccuracyInputs::Normal(at::IntArrayRef sizes) {
  return Of(RandomWide(sizes));
}

at::Tensor AccuracyInputs::Positive(at::IntArrayRef sizes) {
  return Of(RandomWide(sizes).abs() + 0x1p-10);
}

at::Tensor AccuracyInputs::Labels(int64_t count, int64_t limit) {
  return at::randint(limit, {count},
                     at::TensorOptions(at::kCUDA).dtype(at::kLong));
}

std::vector<AccuracyCase> AccuracyCases() {
  std::vector<AccuracyCase> cases;
  AddPointwise(&cases);
  AddRows(&cases);
  AddProducts(&cases);
  return cases;
}

}  // namespace benchmarks
}  // namespace flaggems
