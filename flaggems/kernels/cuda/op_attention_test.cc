// Attention on a GPU: values against float64, layouts of the results and rows
// that see no key against aten's own operators.

#include "flaggems/kernels/cuda/op_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

enum class Op { kFlash, kEfficient, kCudnn };

const char* NameOf(Op op) {
  switch (op) {
    case Op::kFlash:
      return "flash";
    case Op::kEfficient:
      return "efficient";
    case Op::kCudnn:
      return "cudnn";
  }
  return "";
}

struct Inputs {
  at::Tensor q, k, v, bias;
};

struct Problem {
  std::string name;
  std::function<Inputs(at::ScalarType)> make;
  bool causal = false;
  std::optional<double> scale;
  // False: what aten's operators do is wrong (NaN for a negative scale, an
  // illegal access for rows that are not aligned), or they refuse.
  bool native = true;
};

struct Case {
  Op op;
  at::ScalarType dtype;
  Problem problem;
};

void PrintTo(const Case& c, std::ostream* os) {
  *os << NameOf(c.op) << " " << c.problem.name << " " << c10::toString(c.dtype);
}

struct Results {
  std::vector<at::Tensor> tensors;
  std::vector<int64_t> lengths;
};

Results ResultsOf(const FlashResult& r) {
  return {{std::get<0>(r), std::get<1>(r), std::get<2>(r), std::get<3>(r),
           std::get<6>(r), std::get<7>(r), std::get<8>(r)},
          {std::get<4>(r).expect_int(), std::get<5>(r).expect_int()}};
}

Results ResultsOf(
    const std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>& r) {
  return {{std::get<0>(r), std::get<1>(r), std::get<2>(r), std::get<3>(r)}, {}};
}

std::optional<at::Tensor> BiasOf(const Inputs& in) {
  if (!in.bias.defined()) return std::nullopt;
  return in.bias;
}

Results Ours(Op op, const Inputs& in, const Problem& p) {
  switch (op) {
    case Op::kFlash:
      return ResultsOf(
          flash_attention(in.q, in.k, in.v, 0, p.causal, false, p.scale));
    case Op::kEfficient:
      return ResultsOf(efficient_attention(in.q, in.k, in.v, BiasOf(in), true,
                                           0, p.causal, p.scale));
    case Op::kCudnn:
      break;
  }
  return ResultsOf(cudnn_attention(in.q, in.k, in.v, BiasOf(in), true, 0,
                                   p.causal, false, p.scale));
}

// nullopt where aten refuses what ours computes (odd head sizes, alignment).
std::optional<Results> Native(Op op, const Inputs& in, const Problem& p) {
  try {
    switch (op) {
      case Op::kFlash:
        return ResultsOf(at::_scaled_dot_product_flash_attention(
            in.q, in.k, in.v, 0, p.causal, false, p.scale));
      case Op::kEfficient:
        return ResultsOf(at::_scaled_dot_product_efficient_attention(
            in.q, in.k, in.v, BiasOf(in), true, 0, p.causal, p.scale));
      case Op::kCudnn:
        return ResultsOf(at::_scaled_dot_product_cudnn_attention(
            in.q, in.k, in.v, BiasOf(in), true, 0, p.causal, false, p.scale));
    }
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

struct Oracle {
  at::Tensor out, lse, condition;
  at::Tensor hidden;  // rows that see no key
};

Oracle OracleOf(Op op, const Inputs& in, const Problem& p) {
  const at::Tensor q = in.q.to(at::kDouble);
  const int64_t heads = q.size(1);
  const auto heads_of = [heads](const at::Tensor& t) {
    return t.to(at::kDouble).repeat_interleave(heads / t.size(1), 1);
  };
  const at::Tensor k = heads_of(in.k), v = heads_of(in.v);
  const double scale =
      p.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
  at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * scale;
  if (in.bias.defined()) scores = scores + in.bias.to(at::kDouble);
  if (p.causal) {
    const int64_t diagonal = op == Op::kFlash ? k.size(2) - q.size(2) : 0;
    const at::Tensor sees =
        at::ones({q.size(2), k.size(2)}, q.options().dtype(at::kBool))
            .tril(diagonal);
    scores =
        scores.masked_fill(~sees, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor lse = at::logsumexp(scores, 3);
  const at::Tensor weights = at::nan_to_num(at::softmax(scores, 3), 0.0);
  return {at::matmul(weights, v), lse, at::matmul(weights, v.abs()),
          at::isinf(lse)};
}

class AttentionTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionTest, MatchesFloat64AndNativeLayout) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const Case& c = GetParam();
  at::manual_seed(20261129);
  const Inputs in = c.problem.make(c.dtype);
  Results got;
  try {
    got = Ours(c.op, in, c.problem);
  } catch (const c10::NotImplementedError& e) {
    GTEST_SKIP() << e.what_without_backtrace();
  }
  const Oracle want = OracleOf(c.op, in, c.problem);

  const bool half = c.dtype != at::kFloat;
  const double eps = c.dtype == at::kFloat  ? 0x1p-23
                     : c.dtype == at::kHalf ? 0x1p-10
                                            : 0x1p-7;
  // Rounding of the result; of the weights (16 bits), or of long sums.
  const at::Tensor bound = 0.51 * eps * want.out.abs() +
                           (half ? 1.5 * eps : 40 * 0x1p-23) * want.condition +
                           1e-30;
  const at::Tensor seen = ~want.hidden;
  const at::Tensor error = (got.tensors[0].to(at::kDouble) - want.out).abs();
  EXPECT_TRUE(
      (error <= bound).all(3).logical_or(want.hidden).all().item<bool>())
      << "largest error over bound: " << (error / bound).max().item<double>();
  const at::Tensor lse =
      got.tensors[1].flatten(2).narrow(2, 0, in.q.size(2)).to(at::kDouble);
  const at::Tensor lse_error = (lse - want.lse).abs();
  EXPECT_TRUE((lse_error <= 2e-5 * (1 + want.lse.abs()))
                  .logical_or(want.hidden)
                  .all()
                  .item<bool>())
      << "largest error of lse: "
      << at::nan_to_num(lse_error).max().item<double>();

  if (!c.problem.native) return;
  const std::optional<Results> native = Native(c.op, in, c.problem);
  if (!native.has_value()) return;
  EXPECT_EQ(got.lengths, native->lengths);
  for (size_t i = 0; i < got.tensors.size(); ++i) {
    const at::Tensor& ours = got.tensors[i];
    const at::Tensor& theirs = native->tensors[i];
    ASSERT_EQ(ours.defined(), theirs.defined()) << "output " << i;
    if (!ours.defined()) continue;
    EXPECT_EQ(ours.scalar_type(), theirs.scalar_type()) << "output " << i;
    EXPECT_EQ(ours.device(), theirs.device()) << "output " << i;
    EXPECT_EQ(ours.sizes(), theirs.sizes()) << "output " << i;
    EXPECT_EQ(ours.strides(), theirs.strides()) << "output " << i;
  }
  EXPECT_TRUE(at::equal(got.tensors[0].isnan(), native->tensors[0].isnan()));
  if (want.hidden.any().item<bool>()) {
    const at::Tensor rows = want.hidden.unsqueeze(3);
    const auto hidden = [&rows](const at::Tensor& t) {
      return at::nan_to_num(t).masked_select(rows.expand(t.sizes()));
    };
    EXPECT_TRUE(at::equal(hidden(got.tensors[0]), hidden(native->tensors[0])));
  }
}

at::Tensor Random(const std::vector<int64_t>& shape, at::ScalarType dtype) {
  return at::randn(shape, at::device(at::kCUDA).dtype(at::kFloat)).to(dtype);
}

Inputs Dense(int64_t queries, int64_t keys, int64_t size, at::ScalarType dtype,
             int64_t heads = 3, int64_t key_heads = 3, int64_t value_size = 0) {
  return {
      Random({2, heads, queries, size}, dtype),
      Random({2, key_heads, keys, size}, dtype),
      Random({2, key_heads, keys, value_size > 0 ? value_size : size}, dtype),
      at::Tensor()};
}

std::vector<Problem> Problems() {
  struct Sizes {
    int64_t queries, keys, size;
  };
  std::vector<Problem> all;
  // Around the tiles of 64 and 128 queries, 32 and 64 keys, 8 elements.
  for (const Sizes& s :
       {Sizes{1, 1, 64}, Sizes{5, 9, 64}, Sizes{64, 64, 64}, Sizes{129, 65, 64},
        Sizes{127, 200, 128}, Sizes{64, 63, 128}, Sizes{65, 97, 256},
        Sizes{33, 31, 72}, Sizes{17, 40, 5}, Sizes{70, 66, 33},
        Sizes{20, 130, 100}}) {
    const std::string name = std::to_string(s.queries) + "x" +
                             std::to_string(s.keys) + "x" +
                             std::to_string(s.size);
    for (const bool causal : {false, true}) {
      all.push_back({name + (causal ? "_causal" : ""),
                     [s](at::ScalarType dtype) {
                       return Dense(s.queries, s.keys, s.size, dtype);
                     },
                     causal, std::nullopt});
    }
  }
  for (const int64_t size : {64, 20}) {
    const std::string name = "_" + std::to_string(size);
    all.push_back({"rows_of_all_heads" + name,
                   [size](at::ScalarType dtype) {
                     Inputs in = Dense(3, 3, size, dtype, 40, 40);
                     for (at::Tensor* t : {&in.q, &in.k, &in.v}) {
                       *t = t->transpose(1, 2);
                     }
                     return in;
                   },
                   true, std::nullopt});
    all.push_back({"misaligned" + name,
                   [size](at::ScalarType dtype) {
                     Inputs in = Dense(33, 40, size + 8, dtype);
                     for (at::Tensor* t : {&in.q, &in.k, &in.v}) {
                       *t = t->narrow(3, 1, size);
                     }
                     return in;
                   },
                   false, std::nullopt, false});
    for (const double scale : {0.3, -0.2, 0.0}) {
      all.push_back(
          {"scale_" + std::to_string(scale) + name,
           [size](at::ScalarType dtype) { return Dense(33, 40, size, dtype); },
           false, scale, scale > 0});
    }
  }
  return all;
}

// Rows whose values are not side by side, of all tensors or of one. aten
// refuses them.
std::vector<Problem> ColumnProblems() {
  std::vector<Problem> all;
  for (const int64_t size : {64, 20}) {
    for (const bool only_query : {false, true}) {
      all.push_back(
          {(only_query ? "columns_query_" : "columns_") + std::to_string(size),
           [size, only_query](at::ScalarType dtype) {
             Inputs in = Dense(size, size, 40, dtype);
             for (at::Tensor* t : {&in.q, &in.k, &in.v}) {
               if (only_query && t != &in.q) continue;
               *t = t->transpose(2, 3).contiguous().transpose(2, 3);
             }
             return in;
           },
           false, std::nullopt, false});
    }
  }
  return all;
}

std::vector<Problem> GroupProblems() {
  std::vector<Problem> all;
  for (const int64_t size : {64, 128, 24}) {
    all.push_back({"groups_" + std::to_string(size),
                   [size](at::ScalarType dtype) {
                     return Dense(33, 40, size, dtype, 6, 2);
                   },
                   true, std::nullopt});
  }
  return all;
}

std::vector<Problem> BiasProblems() {
  std::vector<Problem> all;
  all.push_back(
      {"value_size",
       [](at::ScalarType dtype) { return Dense(33, 40, 64, dtype, 3, 3, 48); },
       false, std::nullopt});
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {2, 3, 33, 40}, {1, 1, 33, 40}, {2, 1, 1, 40}, {1, 3, 33, 1}}) {
    for (const bool causal : {false, true}) {
      std::string name = causal ? "causal_bias" : "bias";
      for (const int64_t size : shape) name += "_" + std::to_string(size);
      all.push_back({name,
                     [shape](at::ScalarType dtype) {
                       Inputs in = Dense(33, 40, 64, dtype);
                       in.bias = Random(shape, dtype).expand({2, 3, 33, 40});
                       return in;
                     },
                     causal, std::nullopt});
    }
  }
  for (const int64_t keys : {64, 128}) {
    all.push_back(
        {"mask_hides_keys_and_rows_" + std::to_string(keys),
         [keys](at::ScalarType dtype) {
           Inputs in = Dense(64, keys, 64, dtype);
           const double hidden = -std::numeric_limits<double>::infinity();
           at::Tensor mask = at::zeros({1, 1, 64, keys}, in.q.options());
           mask.select(2, 3).fill_(hidden);
           mask.select(2, 4).narrow(2, 8, 32).fill_(hidden);
           in.bias = mask.expand({2, 3, 64, keys});
           return in;
         },
         false, std::nullopt});
  }
  return all;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  const auto add = [&cases](Op op, const std::vector<Problem>& problems) {
    for (const Problem& p : problems) {
      cases.push_back({op, at::kBFloat16, p});
      cases.push_back({op, at::kHalf, p});
      if (op == Op::kEfficient) cases.push_back({op, at::kFloat, p});
    }
  };
  add(Op::kFlash, Problems());
  add(Op::kFlash, ColumnProblems());
  add(Op::kFlash, GroupProblems());
  add(Op::kEfficient, Problems());
  add(Op::kEfficient, ColumnProblems());
  add(Op::kEfficient, BiasProblems());
  add(Op::kCudnn, ColumnProblems());
  add(Op::kCudnn, GroupProblems());
  add(Op::kCudnn, BiasProblems());
  return cases;
}

std::string NameOfCase(const ::testing::TestParamInfo<Case>& info) {
  std::string name = std::string(NameOf(info.param.op)) + "_" +
                     c10::toString(info.param.dtype) + "_" +
                     info.param.problem.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Attention, AttentionTest,
                         ::testing::ValuesIn(AllCases()), NameOfCase);

TEST(AttentionErrorTest, LeavesDropoutToAten) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const Inputs in = Dense(4, 4, 64, at::kHalf);
  EXPECT_THROW(
      flash_attention(in.q, in.k, in.v, 0.1, false, false, std::nullopt),
      c10::NotImplementedError);
  EXPECT_THROW(efficient_attention(in.q, in.k, in.v, std::nullopt, true, 0.1,
                                   false, std::nullopt),
               c10::NotImplementedError);
}

TEST(AttentionErrorTest, RefusesShapesThatDoNotFit) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const Inputs in = Dense(4, 4, 64, at::kHalf);
  const Inputs other = Dense(4, 5, 64, at::kHalf);
  EXPECT_THROW(
      flash_attention(in.q, in.k, other.v, 0, false, false, std::nullopt),
      c10::Error);
  EXPECT_THROW(
      flash_attention(in.q, in.k.cpu(), in.v, 0, false, false, std::nullopt),
      c10::Error);
}

}  // namespace
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
