// Each golden function against an oracle on the CPU: the same operator in other
// terms, or autograd.

#include "flaggems/reference/goldens/shipped.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/reference/golden.h"

namespace flaggems {
namespace {

using at::Tensor;
using Values = std::vector<c10::IValue>;

const c10::IValue kNone;

c10::OperatorHandle Op(const std::string& name) {
  return FindOperator(*OpKey::Parse(name)).value();
}

// The results of the shipped golden function. Arguments that are left out at
// the end get the schema's default.
Values Golden(const std::string& name, Values arguments) {
  const c10::OperatorHandle op = Op(name);
  const auto& schema = op.schema().arguments();
  for (size_t i = arguments.size(); i < schema.size(); ++i) {
    arguments.push_back(schema[i].default_value().value());
  }
  InstallShippedGoldens();
  const auto golden = GoldenSlot::Of(OpKeyOf(op)).Get();
  TORCH_CHECK(golden != nullptr, "no golden function for ", name);
  auto results = golden->Compute(std::move(arguments));
  TORCH_CHECK(results.ok(), std::string(results.status().message()));
  return *std::move(results);
}

Tensor Randn(at::IntArrayRef sizes, uint64_t seed = 20261129) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn(sizes, generator, at::kDouble);
}

void ExpectClose(const c10::IValue& got, const Tensor& want,
                 const std::string& what, double tolerance = 1e-10) {
  ASSERT_TRUE(got.isTensor() && got.toTensor().defined()) << what;
  const Tensor x = got.toTensor().to(at::kDouble);
  ASSERT_EQ(x.sizes(), want.sizes()) << what;
  EXPECT_TRUE(at::allclose(x, want.to(at::kDouble), tolerance, tolerance,
                           /*equal_nan=*/true))
      << what << ": " << (x - want).abs().max().item<double>();
}

// Gradients of sum(outputs * grads) by autograd.
std::vector<Tensor> Autograd(
    std::vector<Tensor> leaves,
    const std::function<Tensor(const std::vector<Tensor>&)>& weighted_sum) {
  const at::AutoGradMode grad(true);
  for (Tensor& leaf : leaves) leaf = leaf.detach().requires_grad_();
  weighted_sum(leaves).backward();
  std::vector<Tensor> grads;
  for (const Tensor& leaf : leaves) {
    grads.push_back(leaf.grad().defined() ? leaf.grad()
                                          : at::zeros_like(leaf.detach()));
  }
  return grads;
}

TEST(ShippedGoldensTest, EachHasTheSignatureOfItsOperator) {
  for (const GoldenRow& row : ShippedGoldens()) {
    EXPECT_THAT(GoldenOfKernel(Op(std::string(row.op)), row.make(), row.infer(),
                               /*widen=*/true),
                IsOk())
        << row.op;
    EXPECT_FALSE(row.why.empty()) << row.op;
  }
}

// ---- attention ----

struct AttentionCase {
  std::string name;
  int64_t b, heads, key_heads, m, n, d;
  bool causal;
  double scale;  // 0: the default
};
void PrintTo(const AttentionCase& c, std::ostream* out) { *out << c.name; }

class AttentionTest : public testing::TestWithParam<AttentionCase> {
 protected:
  const AttentionCase& c() { return GetParam(); }
  c10::IValue Scale() {
    return c().scale == 0 ? c10::IValue() : c10::IValue(c().scale);
  }
  // torch's definition, of (B, H, M, D).
  Tensor Sdpa(const std::vector<Tensor>& x, const Tensor& mask = {}) {
    std::optional<Tensor> bias;
    if (mask.defined()) bias = mask;
    return std::get<0>(at::_scaled_dot_product_attention_math(
        x[0], x[1], x[2], bias, 0, c().causal && !mask.defined(), std::nullopt,
        c().scale == 0 ? std::nullopt : std::optional<double>(c().scale),
        /*enable_gqa=*/c().heads != c().key_heads));
  }
  Tensor LogSumExp(const Tensor& mask = {}) {
    const Tensor k = k_.repeat_interleave(c().heads / c().key_heads, 1);
    Tensor scores = at::matmul(q_, k.transpose(-2, -1)) *
                    (c().scale == 0 ? 1 / std::sqrt(static_cast<double>(c().d))
                                    : c().scale);
    if (mask.defined()) scores = scores + mask;
    if (c().causal) {
      scores.masked_fill_(
          at::ones({c().m, c().n}, at::kBool).tril().logical_not(),
          -std::numeric_limits<double>::infinity());
    }
    return at::logsumexp(scores, {-1});
  }
  bool Square() { return c().m == c().n; }

  const Tensor q_ =
      Randn({GetParam().b, GetParam().heads, GetParam().m, GetParam().d}, 1);
  const Tensor k_ = Randn(
      {GetParam().b, GetParam().key_heads, GetParam().n, GetParam().d}, 2);
  const Tensor v_ = Randn(
      {GetParam().b, GetParam().key_heads, GetParam().n, GetParam().d}, 3);
  const Tensor grad_ =
      Randn({GetParam().b, GetParam().heads, GetParam().m, GetParam().d}, 4);
};

TEST_P(AttentionTest, Flash) {
  // Unequal lengths are masked from the bottom by flash attention.
  if (c().causal && !Square()) GTEST_SKIP();
  const Values out = Golden("aten::_scaled_dot_product_flash_attention",
                            {q_, k_, v_, 0., c().causal, false, Scale()});
  ExpectClose(out[0], Sdpa({q_, k_, v_}), "output");
  ExpectClose(out[1], LogSumExp(), "logsumexp");
  EXPECT_EQ(out[4].toInt(), c().m);
  const auto want =
      Autograd({q_, k_, v_}, [&](const std::vector<Tensor>& leaves) {
        return (Sdpa(leaves) * grad_).sum();
      });
  const Values grads =
      Golden("aten::_scaled_dot_product_flash_attention_backward",
             {grad_, q_, k_, v_, out[0], out[1], Tensor(), Tensor(), c().m,
              c().n, 0., c().causal, out[6], out[7], Scale()});
  for (size_t i = 0; i < 3; ++i) {
    ExpectClose(grads[i], want[i], "gradient " + std::to_string(i));
  }

  const auto rows = [](const Tensor& x) {
    return x.transpose(1, 2).contiguous();
  };
  const Values flash = Golden("aten::_flash_attention_forward",
                              {rows(q_), rows(k_), rows(v_), kNone, kNone,
                               c().m, c().n, 0., c().causal, false, Scale()});
  ExpectClose(flash[0], rows(Sdpa({q_, k_, v_})), "flash");
  ExpectClose(flash[1], LogSumExp(), "flash logsumexp");
  const Values flash_grads = Golden(
      "aten::_flash_attention_backward",
      {rows(grad_), rows(q_), rows(k_), rows(v_), flash[0], flash[1], Tensor(),
       Tensor(), c().m, c().n, 0., c().causal, flash[2], flash[3], Scale()});
  for (size_t i = 0; i < 3; ++i) {
    ExpectClose(flash_grads[i], rows(want[i]), "flash gradient");
  }

  // The same sequences packed into one.
  const auto packed = [&](const Tensor& x) {
    return rows(x).reshape({-1, x.size(1), x.size(3)});
  };
  const Tensor offsets_q = at::arange(c().b + 1, at::kInt) * c().m;
  const Tensor offsets_k = at::arange(c().b + 1, at::kInt) * c().n;
  const Values varlen =
      Golden("aten::_flash_attention_forward",
             {packed(q_), packed(k_), packed(v_), offsets_q, offsets_k, c().m,
              c().n, 0., c().causal, false, Scale()});
  ExpectClose(varlen[0], packed(Sdpa({q_, k_, v_})), "packed");
  ExpectClose(varlen[1], LogSumExp().transpose(0, 1).reshape({c().heads, -1}),
              "packed logsumexp");
  const Values varlen_grads =
      Golden("aten::_flash_attention_backward",
             {packed(grad_), packed(q_), packed(k_), packed(v_), varlen[0],
              varlen[1], offsets_q, offsets_k, c().m, c().n, 0., c().causal,
              flash[2], flash[3], Scale()});
  for (size_t i = 0; i < 3; ++i) {
    ExpectClose(varlen_grads[i], packed(want[i]), "packed gradient");
  }
}

TEST_P(AttentionTest, Cudnn) {
  const Values out =
      Golden("aten::_scaled_dot_product_cudnn_attention",
             {q_, k_, v_, kNone, true, 0., c().causal, false, Scale()});
  ExpectClose(out[0], Sdpa({q_, k_, v_}), "output");
  ExpectClose(out[1], LogSumExp().unsqueeze(-1), "logsumexp");
  const auto want =
      Autograd({q_, k_, v_}, [&](const std::vector<Tensor>& leaves) {
        return (Sdpa(leaves) * grad_).sum();
      });
  const Values grads =
      Golden("aten::_scaled_dot_product_cudnn_attention_backward",
             {grad_, q_, k_, v_, out[0], out[1], out[6], out[7], Tensor(),
              Tensor(), Tensor(), c().m, c().n, 0., c().causal, Scale()});
  for (size_t i = 0; i < 3; ++i) {
    ExpectClose(grads[i], want[i], "gradient " + std::to_string(i));
  }
}

TEST_P(AttentionTest, CudnnOfLowLevelAndOverrideable) {
  const Values low = Golden("aten::_cudnn_attention_forward",
                            {q_, k_, v_, kNone, kNone, kNone, c().m, c().n,
                             true, 0., c().causal, false, Scale()});
  ExpectClose(low[0], Sdpa({q_, k_, v_}), "output");
  ExpectClose(low[1], LogSumExp().unsqueeze(-1), "logsumexp");
  EXPECT_EQ(low[4].toInt(), c().m);
  EXPECT_EQ(low[5].toInt(), c().n);
  const Tensor bias = Randn({c().b, c().heads, c().m, c().n}, 5);
  const Values biased = Golden("aten::_cudnn_attention_forward",
                               {q_, k_, v_, bias, kNone, kNone, c().m, c().n,
                                false, 0., false, false, Scale()});
  ExpectClose(biased[0], Sdpa({q_, k_, v_}, bias), "biased");
  EXPECT_FALSE(biased[1].toTensor().defined());
  EXPECT_ANY_THROW(Golden("aten::_cudnn_attention_forward",
                          {q_, k_, v_, kNone, at::tensor({0, 1}, at::kInt),
                           at::tensor({0, 1}, at::kInt), c().m, c().n, true}));
  const Values other =
      Golden("aten::_scaled_dot_product_fused_attention_overrideable",
             {q_, k_, v_, kNone, 0., c().causal, false, Scale()});
  ExpectClose(other[0], Sdpa({q_, k_, v_}), "overrideable");
}

TEST_P(AttentionTest, EfficientWithBias) {
  if (c().heads != c().key_heads) GTEST_SKIP();
  // Shared by the heads: its gradient is a sum.
  Tensor bias = Randn({c().b, 1, c().m, c().n}, 5);
  const Tensor causal =
      at::zeros({c().m, c().n}, at::kDouble)
          .masked_fill_(
              at::ones({c().m, c().n}, at::kBool).tril().logical_not(),
              c().causal ? -INFINITY : 0.);
  const Values out = Golden("aten::_scaled_dot_product_efficient_attention",
                            {q_, k_, v_, bias, true, 0., c().causal, Scale()});
  ExpectClose(out[0], Sdpa({q_, k_, v_}, bias + causal), "output");
  const Tensor statistics = out[1].toTensor();
  ASSERT_EQ(statistics.size(2), (c().m + 31) / 32 * 32);
  ExpectClose(statistics.narrow(2, 0, c().m), LogSumExp(bias), "logsumexp");
  const auto want =
      Autograd({q_, k_, v_, bias}, [&](const std::vector<Tensor>& leaves) {
        return (Sdpa(leaves, leaves[3] + causal) * grad_).sum();
      });
  const Values grads =
      Golden("aten::_scaled_dot_product_efficient_attention_backward",
             {grad_, q_, k_, v_, bias, out[0], out[1], out[2], out[3], 0.,
              c10::List<bool>({true, true, true, true}), c().causal, Scale()});
  for (size_t i = 0; i < 4; ++i) {
    ExpectClose(grads[i], want[i], "gradient " + std::to_string(i));
  }
  const auto rows = [](const Tensor& x) {
    return x.transpose(1, 2).contiguous();
  };
  const Values low =
      Golden("aten::_efficient_attention_forward",
             {rows(q_), rows(k_), rows(v_), bias, kNone, kNone, kNone, kNone,
              0., int64_t{c().causal}, true, Scale()});
  ExpectClose(low[0], rows(out[0].toTensor()), "low level");
  ExpectClose(low[1], statistics, "low level logsumexp");
  const Values low_grads =
      Golden("aten::_efficient_attention_backward",
             {rows(grad_), rows(q_), rows(k_), rows(v_), bias, low[0], kNone,
              kNone, c().m, c().n, low[1], 0., low[2], low[3],
              int64_t{c().causal}, true, Scale()});
  for (size_t i = 0; i < 3; ++i) {
    ExpectClose(low_grads[i], rows(want[i]), "low level gradient");
  }
  ExpectClose(low_grads[3], want[3], "low level gradient of the bias");
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionTest,
                         testing::ValuesIn(std::vector<AttentionCase>{
                             {"Plain", 2, 3, 3, 5, 5, 8, false, 0},
                             {"Causal", 2, 2, 2, 33, 33, 4, true, 0},
                             {"Scaled", 1, 2, 2, 4, 4, 8, true, 0.3},
                             {"MoreKeys", 1, 2, 2, 3, 7, 8, false, 0},
                             {"MoreQueries", 1, 2, 2, 7, 3, 8, true, 0},
                             {"GroupedHeads", 2, 6, 2, 5, 5, 4, true, 0},
                             {"OneQuery", 1, 4, 2, 1, 9, 4, false, 0},
                         }),
                         [](const auto& info) { return info.param.name; });

TEST(AttentionTest, FlashIsCausalFromTheBottom) {
  const Tensor q = Randn({1, 4, 1, 8}, 1);
  const Tensor k = Randn({1, 6, 1, 8}, 2);
  // Query i sees keys up to i + 2.
  const Values out = Golden("aten::_flash_attention_forward",
                            {q, k, k, kNone, kNone, 4, 6, 0., true, false});
  const Values first =
      Golden("aten::_flash_attention_forward",
             {q.narrow(1, 0, 1), k.narrow(1, 0, 3), k.narrow(1, 0, 3), kNone,
              kNone, 1, 3, 0., false, false});
  ExpectClose(out[0].toTensor().narrow(1, 0, 1), first[0].toTensor(), "first");
  // More queries than keys: the first see none.
  const Values none = Golden("aten::_flash_attention_forward",
                             {k, q, q, kNone, kNone, 6, 4, 0., true, false});
  EXPECT_EQ(none[0].toTensor().narrow(1, 0, 2).abs().max().item<double>(), 0);
  EXPECT_EQ(none[1].toTensor()[0][0][0].item<double>(), INFINITY);
  // A window of one key to the left.
  const Values window =
      Golden("aten::_flash_attention_forward",
             {q, q, q, kNone, kNone, 4, 4, 0., true, false, kNone, 0, 0});
  ExpectClose(window[0], q, "each query sees its own key");
}

TEST(AttentionTest, EfficientHasNoStatisticsOfQueriesWithoutKeys) {
  const Tensor q = Randn({1, 2, 5, 8}, 1);
  Tensor bias = Randn({1, 2, 5, 5}, 2);
  bias.select(2, 3).fill_(-INFINITY);
  const Values out = Golden("aten::_scaled_dot_product_efficient_attention",
                            {q, q, q, bias, true, 0., false});
  const Tensor statistics = out[1].toTensor();
  EXPECT_EQ(out[0].toTensor().select(2, 3).abs().max().item<double>(), 0);
  EXPECT_EQ(statistics[0][1][3].item<double>(), 0);
  EXPECT_NE(statistics[0][1][2].item<double>(), 0);
  EXPECT_EQ(statistics[0][1][5].item<double>(), INFINITY);
  const Values grads =
      Golden("aten::_scaled_dot_product_efficient_attention_backward",
             {at::ones_like(q), q, q, q, bias, out[0], statistics, out[2],
              out[3], 0., c10::List<bool>({true, true, true, true}), false});
  EXPECT_EQ(grads[0].toTensor().select(2, 3).abs().max().item<double>(), 0);
  EXPECT_TRUE(grads[3].toTensor().isfinite().all().item<bool>());
}

TEST(AttentionTest, ResultsHaveTheTypesOfTheOperator) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const Tensor q = Randn({1, 2, 3, 8}).to(type);
    const Values out = Golden("aten::_scaled_dot_product_flash_attention",
                              {q, q, q, 0., true, false});
    EXPECT_EQ(out[0].toTensor().scalar_type(), type);
    EXPECT_EQ(out[1].toTensor().scalar_type(), at::kFloat);
  }
}

// ---- products ----

TEST(MatmulTest, ResultsOfAnotherType) {
  const Tensor a = Randn({3, 5}, 1).to(at::kHalf);
  const Tensor b = Randn({5, 4}, 2).to(at::kHalf);
  const Tensor c = Randn({4}, 3).to(at::kHalf);
  const Tensor want = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  const auto type = static_cast<int64_t>(at::kFloat);
  const Values mm = Golden("aten::mm.dtype", {a, b, type});
  EXPECT_EQ(mm[0].toTensor().scalar_type(), at::kFloat);
  ExpectClose(mm[0], want, "mm", 1e-6);
  ExpectClose(
      Golden("aten::bmm.dtype", {a.unsqueeze(0), b.unsqueeze(0), type})[0],
      want.unsqueeze(0), "bmm", 1e-6);
  ExpectClose(Golden("aten::addmm.dtype", {c, a, b, type, 2, 0.5})[0],
              c.to(at::kDouble) * 2 + want * 0.5, "addmm", 1e-6);
  ExpectClose(Golden("aten::baddbmm.dtype",
                     {c, a.unsqueeze(0), b.unsqueeze(0), type, 2, 0.5})[0],
              (c.to(at::kDouble) * 2 + want * 0.5).unsqueeze(0), "baddbmm",
              1e-6);
  Tensor out = at::empty({0}, at::kFloat);
  const Values of_out = Golden("aten::mm.dtype_out", {a, b, type, out});
  EXPECT_TRUE(of_out[0].toTensor().is_same(out));
  ExpectClose(out, want, "mm.dtype_out", 1e-6);
}

TEST(MatmulTest, ScalesOfTensorsRowsAndBlocks) {
  const Tensor a = Randn({4, 256}, 1).to(at::kFloat8_e4m3fn);
  const Tensor b = Randn({130, 256}, 2).to(at::kFloat8_e4m3fn).t();
  const Tensor wa = a.to(at::kDouble);
  const Tensor wb = b.to(at::kDouble);
  const auto type = static_cast<int64_t>(at::kBFloat16);
  const auto scales = [](at::IntArrayRef sizes) {
    return Randn(sizes, 7).abs().to(at::kFloat);
  };
  const Tensor one = scales({1});
  const Values plain =
      Golden("aten::_scaled_mm", {a, b, one, one, kNone, kNone, type});
  EXPECT_EQ(plain[0].toTensor().scalar_type(), at::kBFloat16);
  ExpectClose(plain[0], at::mm(wa, wb) * one.square(), "tensor", 1e-2);
  const Tensor rows = scales({4, 1});
  const Tensor columns = scales({1, 130});
  const Tensor bias = Randn({130}, 3).to(at::kBFloat16);
  ExpectClose(
      Golden("aten::_scaled_mm", {a, b, rows, columns, bias, kNone,
                                  static_cast<int64_t>(at::kDouble)})[0],
      at::mm(wa, wb) * rows * columns + bias, "rows");
  // 4 rows in blocks of 1 by 128, 130 columns in blocks of 128 by 128.
  const Tensor of_rows = scales({4, 2});
  const Tensor of_blocks = scales({2, 2});
  Tensor want = at::zeros({4, 130}, at::kDouble);
  for (int64_t k = 0; k < 2; ++k) {
    Tensor part =
        at::mm(wa.narrow(1, 128 * k, 128) * of_rows.select(1, k).unsqueeze(1),
               wb.narrow(0, 128 * k, 128));
    part.narrow(1, 0, 128).mul_(of_blocks[k][0]);
    part.narrow(1, 128, 2).mul_(of_blocks[k][1]);
    want += part;
  }
  ExpectClose(
      Golden("aten::_scaled_mm", {a, b, of_rows, of_blocks, kNone, kNone,
                                  static_cast<int64_t>(at::kDouble)})[0],
      want, "blocks");
  EXPECT_ANY_THROW(Golden("aten::_scaled_mm", {a, b, scales({4, 16}), of_blocks,
                                               kNone, kNone, type}));
  ExpectClose(Golden("aten::_scaled_mm_v2",
                     {a, b, c10::List<Tensor>({rows}), std::vector<int64_t>{1},
                      std::vector<int64_t>{0}, c10::List<Tensor>({columns}),
                      std::vector<int64_t>{1}, std::vector<int64_t>{0}, kNone,
                      static_cast<int64_t>(at::kDouble)})[0],
              at::mm(wa, wb) * rows * columns, "v2");
}

TEST(MatmulTest, GroupsOfRows) {
  const Tensor a = Randn({5, 16}, 1).to(at::kFloat8_e4m3fn);
  const Tensor b = Randn({2, 16, 3}, 2).to(at::kFloat8_e4m3fn);
  const Tensor sa = Randn({5}, 3).abs().to(at::kFloat);
  const Tensor sb = Randn({2, 3}, 4).abs().to(at::kFloat);
  const Tensor all = at::cat(
      {at::mm(a.to(at::kDouble).narrow(0, 0, 2), b[0].to(at::kDouble)) * sb[0],
       at::mm(a.to(at::kDouble).narrow(0, 2, 3), b[1].to(at::kDouble)) *
           sb[1]});
  ExpectClose(Golden("aten::_scaled_grouped_mm",
                     {a, b, sa, sb, at::tensor({2, 5}, at::kInt), kNone, kNone,
                      static_cast<int64_t>(at::kDouble)})[0],
              all * sa.unsqueeze(1), "groups of rows");
  EXPECT_ANY_THROW(Golden("aten::_scaled_grouped_mm",
                          {a, b, sa, sb, at::tensor({2, 4}, at::kInt)}));
}

TEST(MatmulTest, GroupsOfColumnsInnerRowsAndBatches) {
  const Tensor a = Randn({3, 6}, 1).to(at::kFloat8_e4m3fn);
  const Tensor b = Randn({6, 4}, 2).to(at::kFloat8_e4m3fn);
  const Tensor wa = a.to(at::kDouble);
  const Tensor wb = b.to(at::kDouble);
  const auto type = static_cast<int64_t>(at::kDouble);
  const auto scales = [](at::IntArrayRef sizes, uint64_t seed) {
    return Randn(sizes, seed).abs().to(at::kFloat);
  };
  // (M, K) and (K, N) in groups of K: a product each, and rows of scales each.
  const Tensor sa = scales({2 * 3}, 3);
  const Tensor sb = scales({2 * 4}, 4);
  const Values inner =
      Golden("aten::_scaled_grouped_mm",
             {a, b, sa, sb, at::tensor({2, 6}, at::kInt), kNone, kNone, type});
  const auto part = [&](int64_t g, int64_t begin, int64_t count) {
    return at::mm(wa.narrow(1, begin, count), wb.narrow(0, begin, count)) *
           sa.narrow(0, 3 * g, 3).unsqueeze(1) * sb.narrow(0, 4 * g, 4);
  };
  ExpectClose(inner[0], at::stack({part(0, 0, 2), part(1, 2, 4)}),
              "groups of inner rows");
  // (G, M, K) and (K, N) in groups of N.
  const Tensor many = Randn({2, 3, 6}, 5).to(at::kFloat8_e4m3fn);
  const Tensor rows = scales({2, 3}, 6);
  const Tensor columns = scales({4}, 7);
  const Values flat =
      Golden("aten::_scaled_grouped_mm",
             {many, b, rows, columns, at::tensor({1, 4}, at::kInt), kNone,
              kNone, type});
  const auto of_columns = [&](int64_t g, int64_t begin, int64_t count) {
    return at::mm(many[g].to(at::kDouble), wb.narrow(1, begin, count)) *
           rows[g].unsqueeze(1) * columns.narrow(0, begin, count);
  };
  ExpectClose(flat[0], at::cat({of_columns(0, 0, 1), of_columns(1, 1, 3)}, 1),
              "groups of columns");
  // (G, M, K) and (G, K, N).
  const Tensor others = Randn({2, 6, 4}, 8).to(at::kFloat8_e4m3fn);
  const Tensor of_others = scales({2, 4}, 9);
  ExpectClose(
      Golden("aten::_scaled_grouped_mm",
             {many, others, rows, of_others, kNone, kNone, kNone, type})[0],
      at::bmm(many.to(at::kDouble), others.to(at::kDouble)) *
          rows.unsqueeze(2) * of_others.unsqueeze(1),
      "batches");
}

// Packed as the device does it: two numbers a byte, the first in its upper
// half, and the bytes that a lane loads of one row.
Tensor PackInt4(const Tensor& numbers, int64_t inner_tiles) {
  const int64_t n = numbers.size(0);
  const int64_t k = numbers.size(1);
  Tensor packed =
      at::zeros({n / 8, k / (16 * inner_tiles), 32, inner_tiles / 2}, at::kInt);
  const auto q = numbers.accessor<int64_t, 2>();
  auto words = packed.accessor<int32_t, 4>();
  for (int64_t tile = 0; tile < words.size(0); ++tile) {
    for (int64_t outer = 0; outer < words.size(1); ++outer) {
      for (int64_t t = 0; t < 32; ++t) {
        for (int64_t inner = 0; inner < words.size(3); ++inner) {
          const int64_t row = tile * 8 + t / 4;
          const int64_t base = (outer * inner_tiles + 2 * inner) * 8;
          const int64_t bytes[] = {base + t % 4, base + t % 4 + 4,
                                   base + t % 4 + 8, base + t % 4 + 12};
          uint32_t word = 0;
          for (int b = 0; b < 4; ++b) {
            const auto first = static_cast<uint32_t>(q[row][2 * bytes[b]]);
            const auto second = static_cast<uint32_t>(q[row][2 * bytes[b] + 1]);
            word |= first << (4 * b) | second << (16 + 4 * b);
          }
          words[tile][outer][t][inner] = static_cast<int32_t>(word);
        }
      }
    }
  }
  return packed;
}

TEST(MatmulTest, WeightsOf4Bits) {
  at::Generator generator = at::detail::createCPUGenerator(20261129);
  const Tensor numbers =
      at::randint(0, 16, {16, 128}, generator, at::TensorOptions(at::kLong));
  const Tensor x = Randn({3, 128}, 1);
  const Tensor scale_and_zeros = Randn({4, 16, 2}, 2);  // groups of 32
  Tensor weights = at::empty({16, 128}, at::kDouble);
  for (int64_t n = 0; n < 16; ++n) {
    for (int64_t k = 0; k < 128; ++k) {
      const auto pair = scale_and_zeros[k / 32][n];
      weights[n][k] = (numbers[n][k] - 8) * pair[0] + pair[1];
    }
  }
  for (const int64_t inner : {2, 4, 8}) {
    ExpectClose(Golden("aten::_weight_int4pack_mm",
                       {x, PackInt4(numbers, inner), 32, scale_and_zeros})[0],
                at::mm(x, weights.t()), "inner " + std::to_string(inner));
  }
}

// ---- norms ----

TEST(NormTest, RmsNormBackward) {
  const Tensor x = Randn({3, 4, 8}, 1);
  const Tensor weight = Randn({4, 8}, 2);
  const Tensor dy = Randn({3, 4, 8}, 3);
  const auto norm = [&](const Tensor& x, const Tensor& weight) {
    return at::rms_norm(x, {4, 8}, weight, 1e-5);
  };
  const auto want = Autograd({x, weight}, [&](const std::vector<Tensor>& l) {
    return (norm(l[0], l[1]) * dy).sum();
  });
  const Tensor rstd =
      at::rsqrt(x.square().mean({1, 2}, /*keepdim=*/true) + 1e-5);
  const auto grads = [&](bool first, bool second) {
    return Golden("aten::_fused_rms_norm_backward",
                  {dy, x, std::vector<int64_t>{4, 8}, rstd, weight,
                   c10::List<bool>({first, second})});
  };
  ExpectClose(grads(true, true)[0], want[0], "input");
  ExpectClose(grads(true, true)[1], want[1], "weight");
  EXPECT_FALSE(grads(false, true)[0].toTensor().defined());
  EXPECT_FALSE(grads(true, false)[1].toTensor().defined());
}

TEST(NormTest, CudnnBatchNorm) {
  const Tensor x = Randn({3, 4, 5}, 1);
  const Tensor weight = Randn({4}, 2);
  const Tensor bias = Randn({4}, 3);
  const Tensor dy = Randn({3, 4, 5}, 4);
  for (const bool training : {true, false}) {
    const Tensor mean = Randn({4}, 5);
    const Tensor var = Randn({4}, 6).abs() + 0.5;
    const Tensor want_mean = mean.clone();
    const Tensor want_var = var.clone();
    const auto want = at::native_batch_norm(x, weight, bias, want_mean,
                                            want_var, training, 0.1, 1e-5);
    const Values got =
        Golden("aten::cudnn_batch_norm",
               {x, weight, bias, mean, var, training, 0.1, 1e-5});
    ExpectClose(got[0], std::get<0>(want), "output");
    ExpectClose(mean, want_mean, "running mean");
    ExpectClose(var, want_var, "running variance");
    if (!training) continue;
    ExpectClose(got[1], std::get<1>(want), "mean");
    ExpectClose(got[2], std::get<2>(want), "invstd");
    const auto grads =
        Autograd({x, weight, bias}, [&](const std::vector<Tensor>& l) {
          return (std::get<0>(at::native_batch_norm(l[0], l[1], l[2], {}, {},
                                                    true, 0.1, 1e-5)) *
                  dy)
              .sum();
        });
    const Values backward =
        Golden("aten::cudnn_batch_norm_backward",
               {x, dy, weight, kNone, kNone, got[1], got[2], 1e-5, got[3]});
    for (size_t i = 0; i < 3; ++i) {
      ExpectClose(backward[i], grads[i], "gradient " + std::to_string(i));
    }
  }
}

// Two devices with parts of a batch agree with batch norm of all of it.
TEST(NormTest, PartsOfSyncBatchNorm) {
  const Tensor x = Randn({5, 4, 3}, 1);
  const Tensor dy = Randn({5, 4, 3}, 2);
  const Tensor weight = Randn({4}, 3);
  const Tensor bias = Randn({4}, 4);
  const auto parts = x.split_with_sizes({2, 3});
  const auto grads = dy.split_with_sizes({2, 3});
  std::vector<Tensor> means;
  std::vector<Tensor> invstds;
  for (const Tensor& part : parts) {
    const Values stats = Golden("aten::batch_norm_stats", {part, 1e-5});
    means.push_back(stats[0].toTensor());
    invstds.push_back(stats[1].toTensor());
  }
  const Tensor counts = at::tensor({6., 9.}, at::kDouble);
  const Tensor running_mean = at::zeros({4}, at::kDouble);
  const Tensor running_var = at::ones({4}, at::kDouble);
  const Values all = Golden("aten::batch_norm_gather_stats_with_counts",
                            {x, at::stack(means), at::stack(invstds),
                             running_mean, running_var, 0.1, 1e-5, counts});
  const Tensor want_mean = at::zeros({4}, at::kDouble);
  const Tensor want_var = at::ones({4}, at::kDouble);
  const auto want = at::native_batch_norm(x, weight, bias, want_mean, want_var,
                                          true, 0.1, 1e-5);
  ExpectClose(all[0], std::get<1>(want), "mean");
  ExpectClose(all[1], std::get<2>(want), "invstd");
  ExpectClose(running_mean, want_mean, "running mean");
  ExpectClose(running_var, want_var, "running variance");
  const auto want_grads =
      Autograd({x, weight, bias}, [&](const std::vector<Tensor>& l) {
        return (std::get<0>(at::native_batch_norm(l[0], l[1], l[2], {}, {},
                                                  true, 0.1, 1e-5)) *
                dy)
            .sum();
      });
  Tensor sum_dy = at::zeros({4}, at::kDouble);
  Tensor sum_dy_xmu = at::zeros({4}, at::kDouble);
  Tensor grad_weight = at::zeros({4}, at::kDouble);
  Tensor grad_bias = at::zeros({4}, at::kDouble);
  for (size_t i = 0; i < 2; ++i) {
    ExpectClose(Golden("aten::batch_norm_elemt",
                       {parts[i], weight, bias, all[0], all[1], 1e-5})[0],
                std::get<0>(want).split_with_sizes({2, 3})[i], "output");
    const Values sums =
        Golden("aten::batch_norm_backward_reduce",
               {grads[i], parts[i], all[0], all[1], weight, true, true, true});
    sum_dy += sums[0].toTensor();
    sum_dy_xmu += sums[1].toTensor();
    grad_weight += sums[2].toTensor();
    grad_bias += sums[3].toTensor();
  }
  ExpectClose(grad_weight, want_grads[1], "gradient of the weight");
  ExpectClose(grad_bias, want_grads[2], "gradient of the bias");
  for (size_t i = 0; i < 2; ++i) {
    ExpectClose(Golden("aten::batch_norm_backward_elemt",
                       {grads[i], parts[i], all[0], all[1], weight, sum_dy,
                        sum_dy_xmu, counts.to(at::kInt)})[0],
                want_grads[0].split_with_sizes({2, 3})[i], "gradient");
  }
}

// ---- recurrent cells ----

TEST(RnnTest, LstmCell) {
  const Tensor x = Randn({2, 12}, 1);
  const Tensor h = Randn({2, 12}, 2);
  const Tensor c = Randn({2, 3}, 3);
  const Tensor bx = Randn({12}, 4);
  const Tensor bh = Randn({12}, 5);
  const Tensor dhy = Randn({2, 3}, 6);
  const Tensor dcy = Randn({2, 3}, 7);
  // With weights of the identity the gates are what goes in.
  const Tensor eye = at::eye(12, at::kDouble);
  const auto cell = [&](const Tensor& gates, const Tensor& c) {
    return at::lstm_cell(gates, {at::zeros({2, 3}, at::kDouble), c}, eye,
                         at::zeros({12, 3}, at::kDouble));
  };
  const Values got = Golden("aten::_thnn_fused_lstm_cell", {x, h, c, bx, bh});
  const auto want = cell(x + h + bx + bh, c);
  ExpectClose(got[0], std::get<0>(want), "hy");
  ExpectClose(got[1], std::get<1>(want), "cy");
  const auto grads =
      Autograd({x + h + bx + bh, c}, [&](const std::vector<Tensor>& l) {
        const auto [hy, cy] = cell(l[0], l[1]);
        return (hy * dhy).sum() + (cy * dcy).sum();
      });
  const Values backward = Golden("aten::_thnn_fused_lstm_cell_backward_impl",
                                 {dhy, dcy, c, got[1], got[2], true});
  ExpectClose(backward[0], grads[0], "gates");
  ExpectClose(backward[1], grads[1], "cx");
  ExpectClose(backward[2], grads[0].sum(0), "bias");
}

TEST(RnnTest, GruCell) {
  const Tensor x = Randn({2, 9}, 1);
  const Tensor h = Randn({2, 9}, 2);
  const Tensor hx = Randn({2, 3}, 3);
  const Tensor bx = Randn({9}, 4);
  const Tensor bh = Randn({9}, 5);
  const Tensor dhy = Randn({2, 3}, 6);
  const auto cell = [](const Tensor& x, const Tensor& h, const Tensor& hx) {
    const auto gx = x.chunk(3, 1);
    const auto gh = h.chunk(3, 1);
    const Tensor r = (gx[0] + gh[0]).sigmoid();
    const Tensor z = (gx[1] + gh[1]).sigmoid();
    const Tensor n = (gx[2] + r * gh[2]).tanh();
    return (1 - z) * n + z * hx;
  };
  const Values got = Golden("aten::_thnn_fused_gru_cell", {x, h, hx, bx, bh});
  ExpectClose(got[0], cell(x + bx, h + bh, hx), "hy");
  // The cell of torch, whose gates are products with weights.
  const Tensor eye = at::eye(9, at::kDouble);
  const Tensor to_gates = Randn({9, 3}, 8);
  ExpectClose(
      Golden("aten::_thnn_fused_gru_cell", {x, hx.mm(to_gates.t()), hx})[0],
      at::gru_cell(x, hx, eye, to_gates), "gru_cell");
  const auto grads =
      Autograd({x + bx, h + bh, hx}, [&](const std::vector<Tensor>& l) {
        return (cell(l[0], l[1], l[2]) * dhy).sum();
      });
  const Values backward =
      Golden("aten::_thnn_fused_gru_cell_backward", {dhy, got[1], true});
  for (size_t i = 0; i < 3; ++i) {
    ExpectClose(backward[i], grads[i], "gradient " + std::to_string(i));
  }
  ExpectClose(backward[3], grads[0].sum(0), "input bias");
  ExpectClose(backward[4], grads[1].sum(0), "hidden bias");
}

// ---- convolutions ----

TEST(ConvolutionTest, OfCudnnAndDepth1) {
  const Tensor x = Randn({2, 4, 7, 6}, 1);
  const Tensor weight = Randn({6, 2, 3, 3}, 2);
  const Tensor bias = Randn({6}, 3);
  const std::vector<int64_t> stride = {2, 1}, padding = {1, 0},
                             dilation = {1, 2};
  const Tensor want =
      at::conv2d(x, weight, std::nullopt, stride, padding, dilation, 2);
  ExpectClose(
      Golden("aten::cudnn_convolution",
             {x, weight, padding, stride, dilation, 2, false, false, false})[0],
      want, "cudnn");
  const Tensor with_bias = want + bias.reshape({1, 6, 1, 1});
  ExpectClose(Golden("aten::cudnn_convolution_relu",
                     {x, weight, bias, stride, padding, dilation, 2})[0],
              with_bias.relu(), "relu");
  const Tensor z = Randn(want.sizes(), 4);
  ExpectClose(
      Golden("aten::cudnn_convolution_add_relu",
             {x, weight, z, 0.5, bias, stride, padding, dilation, 2})[0],
      (with_bias + z * 0.5).relu(), "add_relu");
  const Tensor transposed = Randn({4, 3, 3, 3}, 5);
  const std::vector<int64_t> output_padding = {1, 0};
  ExpectClose(Golden("aten::cudnn_convolution_transpose",
                     {x, transposed, padding, output_padding, stride, dilation,
                      2, false, false, false})[0],
              at::conv_transpose2d(x, transposed, std::nullopt, stride, padding,
                                   output_padding, 2, dilation),
              "transposed");
  const Tensor depthwise = Randn({8, 1, 3, 3}, 6);
  const Tensor of_depth = Randn({8}, 7);
  const std::vector<int64_t> kernel = {3, 3};
  ExpectClose(Golden("aten::_conv_depthwise2d", {x, depthwise, kernel, of_depth,
                                                 stride, padding, dilation})[0],
              at::conv2d(x, depthwise, of_depth, stride, padding, dilation, 4),
              "depthwise");
}

TEST(ConvolutionTest, OfDepthIn3d) {
  const Tensor x = Randn({2, 4, 5, 6, 7}, 1);
  const Tensor weight = Randn({8, 1, 3, 2, 3}, 2);
  const Tensor bias = Randn({8}, 3);
  const std::vector<int64_t> kernel = {3, 2, 3}, stride = {1, 2, 1},
                             padding = {1, 0, 2}, dilation = {1, 1, 2};
  const Tensor want = at::conv3d(x, weight, bias, stride, padding, dilation, 4);
  ExpectClose(Golden("aten::conv_depthwise3d",
                     {x, weight, kernel, bias, stride, padding, dilation})[0],
              want, "of a batch");
  ExpectClose(Golden("aten::conv_depthwise3d", {x[1], weight, kernel, bias,
                                                stride, padding, dilation})[0],
              want[1], "without a batch");
}

}  // namespace
}  // namespace flaggems
