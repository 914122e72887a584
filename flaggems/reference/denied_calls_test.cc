#include "flaggems/reference/denied_calls.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const c10::IValue kNone;

struct DeniedCase {
  std::string name;
  std::string op;
  std::vector<c10::IValue> arguments;  // the first of the schema
  bool denied;
};

void PrintTo(const DeniedCase& c, std::ostream* os) { *os << c.name; }

at::Tensor Doubles(std::vector<double> values) { return at::tensor(values); }

std::vector<DeniedCase> Cases() {
  const at::Tensor x = at::ones({2, 3, 4});
  const at::Tensor s = at::ones({3});
  const at::Tensor none;
  const std::string legit = "aten::_native_batch_norm_legit";
  return {
      {"NormEval",
       "aten::native_batch_norm",
       {x, kNone, kNone, s, s, false, 0.1, 1e-5},
       false},
      {"NormEvalNone",
       "aten::native_batch_norm",
       {x, kNone, kNone, kNone, kNone, false, 0.1, 1e-5},
       true},
      {"NormEvalUndefined",
       "aten::native_batch_norm",
       {x, none, none, none, none, false, 0.1, 1e-5},
       true},
      {"NormEvalOneMissing",
       "aten::native_batch_norm",
       {x, kNone, kNone, s, kNone, false, 0.1, 1e-5},
       true},
      {"NormTrainNone",
       "aten::native_batch_norm",
       {x, kNone, kNone, kNone, kNone, true, 0.1, 1e-5},
       false},
      {"NormEvalNoneOut",
       "aten::native_batch_norm.out",
       {x, kNone, kNone, kNone, kNone, false, 0.1, 1e-5, s, s, s},
       true},
      {"LegitEval", legit, {x, kNone, kNone, s, s, false, 0.1, 1e-5}, false},
      {"LegitEvalUndefined",
       legit,
       {x, kNone, kNone, none, none, false, 0.1, 1e-5},
       true},
      {"LegitTrain", legit, {x, kNone, kNone, s, s, true, 0.1, 1e-5}, false},
      {"NoStatsEval",
       legit + ".no_stats",
       {x, kNone, kNone, false, 0.1, 1e-5},
       true},
      {"NoStatsTrain",
       legit + ".no_stats",
       {x, kNone, kNone, true, 0.1, 1e-5},
       false},
      {"FunctionalEvalUndefined",
       legit + "_functional",
       {x, kNone, kNone, none, none, false, 0.1, 1e-5},
       true},
      {"NoTraining",
       legit + "_no_training",
       {x, kNone, kNone, s, s, 0.1, 1e-5},
       false},
      {"NoTrainingUndefined",
       legit + "_no_training",
       {x, kNone, kNone, none, none, 0.1, 1e-5},
       true},
      {"NoUpdate",
       "aten::_batch_norm_no_update",
       {x, kNone, kNone, s, s, 0.1, 1e-5},
       false},
      {"NoUpdateNone",
       "aten::_batch_norm_no_update",
       {x, kNone, kNone, kNone, kNone, 0.1, 1e-5},
       true},
      {"BackwardEval",
       "aten::native_batch_norm_backward",
       {x, x, kNone, s, s, kNone, kNone, false},
       false},
      {"BackwardEvalNone",
       "aten::native_batch_norm_backward",
       {x, x, kNone, kNone, kNone, s, s, false},
       true},
      {"BackwardTrain",
       "aten::native_batch_norm_backward",
       {x, x, kNone, kNone, kNone, s, s, true},
       false},
      {"BackwardTrainNone",
       "aten::native_batch_norm_backward",
       {x, x, kNone, s, s, kNone, kNone, true},
       true},
      {"NewBackwardTrain",
       "aten::batch_norm_backward",
       {x, x, s, kNone, kNone, s, s, true},
       false},
      {"NewBackwardTrainNone",
       "aten::batch_norm_backward",
       {x, x, s, s, s, kNone, kNone, true},
       true},
      {"NewBackwardEvalNone",
       "aten::batch_norm_backward",
       {x, x, s, kNone, kNone, s, s, false},
       true},
      {"PolygammaEmpty", "aten::polygamma", {2, at::empty({0})}, false},
      {"PolygammaAtTheBound", "aten::polygamma", {2, Doubles({-1e5})}, false},
      {"PolygammaBelow", "aten::polygamma", {2, Doubles({1, -100000.5})}, true},
      {"PolygammaOrderThree", "aten::polygamma", {3, Doubles({-1e6})}, true},
      {"PolygammaMinusInf", "aten::polygamma", {2, Doubles({-kInf})}, true},
      {"PolygammaNan", "aten::polygamma", {2, Doubles({kNan})}, false},
      {"PolygammaOrderOne", "aten::polygamma", {1, Doubles({-1e18})}, false},
      {"PolygammaOrderZero", "aten::polygamma", {0, Doubles({-1e18})}, false},
      // -1e5 is beyond float16's range.
      {"PolygammaHalf",
       "aten::polygamma",
       {2, at::full({2}, -6e4, at::kHalf)},
       false},
      {"PolygammaBfloat16",
       "aten::polygamma",
       {2, at::full({2}, -1e6, at::kBFloat16)},
       true},
      {"PolygammaInteger",
       "aten::polygamma",
       {2, at::full({2}, -1000000)},
       true},
      {"PolygammaStrided",
       "aten::polygamma",
       {2, Doubles({1, -1e6, 2, -1e6}).slice(0, 0, 4, 2)},
       false},
      {"PolygammaInPlace", "aten::polygamma_", {Doubles({-1e6}), 2}, true},
      {"PolygammaOut",
       "aten::polygamma.out",
       {2, Doubles({-1e6}), Doubles({0})},
       true},
      {"Zeta", "aten::special_zeta", {Doubles({-1e6}), Doubles({2})}, false},
      {"ZetaBelow",
       "aten::special_zeta",
       {Doubles({3}), Doubles({-1e6})},
       true},
      {"ZetaScalarBelow",
       "aten::special_zeta.other_scalar",
       {Doubles({3}), -1e6},
       true},
      {"ZetaSelfScalar",
       "aten::special_zeta.self_scalar",
       {-1e6, Doubles({3})},
       false},
      {"Laguerre",
       "aten::special_laguerre_polynomial_l",
       {Doubles({1e6}), Doubles({1e5})},
       false},
      {"LaguerreAbove",
       "aten::special_laguerre_polynomial_l",
       {Doubles({.5}), Doubles({kInf})},
       true},
      {"LaguerreScalarAbove",
       "aten::special_laguerre_polynomial_l.n_scalar",
       {Doubles({.5}), 200000},
       true},
      {"Legendre",
       "aten::special_legendre_polynomial_p.x_scalar",
       {0.5, Doubles({-kInf, kNan, 7})},
       false},
      {"LegendreAbove",
       "aten::special_legendre_polynomial_p.x_scalar",
       {0.5, Doubles({100001})},
       true},
      {"AnotherOperator", "aten::digamma", {Doubles({-1e6})}, false},
  };
}

class DeniedCallsTest : public testing::TestWithParam<DeniedCase> {};

TEST_P(DeniedCallsTest, SaysWhy) {
  const absl::StatusOr<OpKey> key = OpKey::Parse(GetParam().op);
  ASSERT_THAT(key, IsOk());
  const auto op = FindOperator(*key);
  ASSERT_TRUE(op.has_value());
  const auto reason = DeniedReason(*key, op->schema(), GetParam().arguments);
  EXPECT_EQ(reason.has_value(), GetParam().denied);
  if (reason) {
    EXPECT_THAT(*reason, testing::HasSubstr("torch's CPU kernel"));
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, DeniedCallsTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(DeniedRowsTest, EveryRowHasACaseThatItDeniesAndNamesAnOperator) {
  std::set<std::string> denied;
  for (const DeniedCase& c : Cases()) {
    if (c.denied) denied.insert(c.op);
  }
  for (const DeniedRow& row : DeniedRows()) {
    EXPECT_TRUE(FindOperator({"aten", std::string(row.op), ""}).has_value())
        << row.op;
    EXPECT_THAT(
        denied,
        testing::Contains(testing::StartsWith("aten::" + std::string(row.op))));
    EXPECT_FALSE(row.why.empty());
  }
}

TEST(DeniedRowsTest, AnOperatorOfAnotherNamespaceIsNotDenied) {
  const auto op = FindOperator({"aten", "polygamma", ""});
  EXPECT_EQ(DeniedReason({"mine", "polygamma", ""}, op->schema(),
                         std::vector<c10::IValue>{2, Doubles({-1e6})}),
            std::nullopt);
}

}  // namespace
}  // namespace flaggems
