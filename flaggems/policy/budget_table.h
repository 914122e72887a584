#ifndef FLAGGEMS_POLICY_BUDGET_TABLE_H_
#define FLAGGEMS_POLICY_BUDGET_TABLE_H_

// How the error budget of each operator is made: its class, which says what the
// condition C is, and its constants. docs/tolerance.md explains both. The rows
// are generated from op_policy.tsv by make_budget_rows.py.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"

namespace flaggems {

enum class OpClass : uint8_t {
  kExact,   // values as the reference's: data movement, selection, integers
  kRound,   // C = |reference|: an operation that IEEE arithmetic rounds
  kSum,     // C = the operator on the magnitudes of its inputs
  kInput,   // C = the larger of |reference| and |inputs|
  kScale,   // C = the root mean square of the reference
  kStep,    // as kCond; next to a step the values on both sides are right
  kCond,    // C = |reference| + the effect of small changes of the inputs
  kProp,    // a property of the outputs together, A V = V diag(w)
  kRandom,  // the distribution
  kView,    // shape, strides and aliasing; so the next two
  kUninit,
  kMeta,
  kNone,  // nothing that float64 could say
};

inline constexpr int kNumOpClasses = static_cast<int>(OpClass::kNone) + 1;

// "exact", "round", ...
absl::string_view OpClassName(OpClass op_class);

// Whether the constants of a row mean anything: the class has a budget.
bool HasBudget(OpClass op_class);

// h * ulp + u * (a + b * sqrt(n) + l * n) * C, as in comparator/budget.h; u is
// 2^-24 for outputs of 32 and 16 bits, 2^-53 for float64.
struct BudgetConstants {
  double h = 0;
  double a = 0;
  double b = 0;
  double l = 0;
};

// What torch's own kernels for 16-bit types lose by rounding in between:
// (k + k_per_term * n) * u_out * C, where u_out is 2^-11 for float16 and 2^-8
// for bfloat16. An allowance for observing those kernels; others are judged
// without it.
struct Native16 {
  double k = 0;
  double k_per_term = 0;
};

// How a reference is computed in float64.
enum class Widening : uint8_t {
  kFloat64,            // the operator itself on widened arguments
  kFillDtypeDefaults,  // the same; defaults that depend on the dtype first
  kDefinition,         // no such kernel on the CPU: from the definition
  kNever,              // the result depends on the dtype
};

struct BudgetRow {
  absl::string_view pattern;  // "add", "div.Tensor_mode"; last of all "*"
  OpClass op_class;
  BudgetConstants constants;
  Native16 native_cpu;
  Native16 native_cuda;
  Widening widening;
  absl::string_view note;  // what is special about it; may be empty
};

// Sorted by pattern but for the last row, which is for every other operator.
absl::Span<const BudgetRow> BudgetRows();

// The patterns of rows that hold for `op`, the nearest first, as FindBudget()
// below says; without a namespace.
std::vector<std::string> BudgetPatterns(const OpKey& op);

// The row of an overload. The first that exists of
//   its own ("div.Tensor_mode"),
//   its operator's ("div"),
//   the same two of its functional form (without a trailing "_", then without a
//   leading "_foreach_"),
//   "*".
// Out variants are overloads of their functional form. Only operators of aten
// have rows; others get the last.
const BudgetRow& FindBudget(const OpKey& op);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_BUDGET_TABLE_H_
