#ifndef FLAGGEMS_JUDGE_RANDOM_TABLE_H_
#define FLAGGEMS_JUDGE_RANDOM_TABLE_H_

// Which distribution each random operator of torch draws from, and in which of
// its arguments the parameters are.

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"

namespace flaggems {

enum class RandomFamily : uint8_t {
  kUniform,      // [first, second)
  kNormal,       // mean first, standard deviation second
  kLogNormal,    // exp of a normal variable
  kCauchy,       // median first, scale second
  kExponential,  // rate first
  kGeometric,    // of success probability first; from 1 on
  kIntegers,     // first <= k < second
  kFullRange,    // integers from first to second, or to the end of the dtype
  kBernoulli,    // 1 with probability first
  kPoisson,      // mean first
  kBinomial,     // first draws of success probability second
  kGamma,        // shape first, scale 1
  kDirichlet,    // concentrations first, along the last dimension
  kMultinomial,  // `num_samples` indices with weights first, `replacement`
  kPermutation,  // of 0 ... first - 1
  kDropout,      // input first dropped with probability second, else scaled
  kKeep,         // the same, second is the probability to be kept
  kLeakyRelu,    // negative elements scaled by a uniform variable
  kShape,        // nothing but the shape of first is promised
};

// Where a parameter is: in `argument` of the schema, else in `instead`, else it
// is `value`. An argument that is None counts as not there.
struct RandomParameter {
  absl::string_view argument;
  absl::string_view instead;
  double value;
};

struct RandomRow {
  absl::string_view name;  // of the operator; its overloads are alike
  RandomFamily family;
  RandomParameter first;
  RandomParameter second;
};

absl::Span<const RandomRow> RandomRows();

// The row of an operator: its own, or that of the one that it does in place
// ("uniform_") or functionally ("normal_functional"). Null for operators that
// are not random, and for those of other namespaces than aten.
const RandomRow* FindRandomRow(const OpKey& op);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_RANDOM_TABLE_H_
