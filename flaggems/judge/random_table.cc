#include "flaggems/judge/random_table.h"

#include <limits>

#include "absl/strings/strip.h"

namespace flaggems {
namespace {

// A parameter that has no default must be an argument.
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr RandomParameter Fixed(double value) { return {"", "", value}; }
constexpr RandomParameter Argument(absl::string_view name) {
  return {name, "", kNone};
}

constexpr RandomRow kRows[] = {
    {"rand", RandomFamily::kUniform, Fixed(0), Fixed(1)},
    {"rand_like", RandomFamily::kUniform, Fixed(0), Fixed(1)},
    {"uniform", RandomFamily::kUniform, Argument("from"), Argument("to")},
    {"randn", RandomFamily::kNormal, Fixed(0), Fixed(1)},
    {"randn_like", RandomFamily::kNormal, Fixed(0), Fixed(1)},
    {"normal", RandomFamily::kNormal, Argument("mean"), Argument("std")},
    {"log_normal", RandomFamily::kLogNormal, Argument("mean"), Argument("std")},
    {"cauchy", RandomFamily::kCauchy, Argument("median"), Argument("sigma")},
    {"exponential", RandomFamily::kExponential, Argument("lambd"), Fixed(0)},
    {"geometric", RandomFamily::kGeometric, Argument("p"), Fixed(0)},
    {"randint", RandomFamily::kIntegers, {"low", "", 0}, Argument("high")},
    {"randint_like", RandomFamily::kIntegers, {"low", "", 0}, Argument("high")},
    // Without an end it is the dtype's: see the documentation of random_().
    {"random", RandomFamily::kFullRange, {"from", "", 0}, Argument("to")},
    // bernoulli(self) has the probabilities in self.
    {"bernoulli", RandomFamily::kBernoulli, {"p", "self", kNone}, Fixed(0)},
    {"poisson", RandomFamily::kPoisson, Argument("self"), Fixed(0)},
    {"binomial", RandomFamily::kBinomial, Argument("count"), Argument("prob")},
    {"_standard_gamma", RandomFamily::kGamma, Argument("self"), Fixed(0)},
    {"_sample_dirichlet", RandomFamily::kDirichlet, Argument("self"), Fixed(0)},
    {"multinomial", RandomFamily::kMultinomial, Argument("self"), Fixed(0)},
    {"randperm", RandomFamily::kPermutation, Argument("n"), Fixed(0)},
    {"native_dropout", RandomFamily::kDropout, Argument("input"),
     Argument("p")},
    {"dropout",
     RandomFamily::kDropout,
     {"input", "self", kNone},
     Argument("p")},
    // Its p is the probability to be kept: torch's dropout calls it with 1 - p.
    {"_fused_dropout", RandomFamily::kKeep, Argument("self"), Argument("p")},
    {"rrelu", RandomFamily::kLeakyRelu, Argument("lower"), Argument("upper")},
    {"rrelu_with_noise", RandomFamily::kLeakyRelu, Argument("lower"),
     Argument("upper")},
    {"alpha_dropout", RandomFamily::kShape, {"input", "self", kNone}, Fixed(0)},
    {"feature_dropout",
     RandomFamily::kShape,
     {"input", "self", kNone},
     Fixed(0)},
    {"feature_alpha_dropout",
     RandomFamily::kShape,
     {"input", "self", kNone},
     Fixed(0)},
};

}  // namespace

absl::Span<const RandomRow> RandomRows() { return kRows; }

const RandomRow* FindRandomRow(const OpKey& op) {
  if (op.ns != "aten") return nullptr;
  absl::string_view name = op.name;
  if (!absl::ConsumeSuffix(&name, "_functional")) {
    absl::ConsumeSuffix(&name, "_");
  }
  for (const RandomRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace flaggems
