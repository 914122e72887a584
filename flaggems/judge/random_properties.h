#ifndef FLAGGEMS_JUDGE_RANDOM_PROPERTIES_H_
#define FLAGGEMS_JUDGE_RANDOM_PROPERTIES_H_

// Random operators have no reference: they are judged by what every draw, and
// all draws of one call together, must be like.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"

namespace flaggems {

// The probability that a call of a right kernel fails, at most. It is divided
// by the number of tests that are made on the call (Bonferroni's inequality),
// each of which has a bound of its p-value that holds for every sample size
// (statistics/tail_bounds.h).
inline constexpr double kRandomFalseAlarmRate = 1e-6;

// A property that does not hold.
struct RandomFailure {
  // What kind: "range", "nan", "distribution", "mean", "spread", "frequency",
  // "repetition", "kept share", "scale", "mask", "permutation", ...
  std::string property;
  std::string message;   // one sentence, with numbers
  int output_index = 0;  // always that of the output that was judged
  // Of the first element that is wrong by itself; else empty.
  std::optional<std::vector<int64_t>> worst_index;
  std::string got;
  std::string want;
};

// Whether JudgeRandom() knows the operator.
bool HasRandomProperties(const OpKey& op);

// JudgeRandom()
//
// arguments_before: as on the dispatcher's stack, with what they held before
//   the call; one value an argument of the schema.
// arguments_after: the same after the call, or empty. Needed only for the noise
//   that rrelu_with_noise() writes.
// outputs: what the kernel returned.
//
// nullopt: nothing is wrong, or nothing can be said: no elements, too few to
// tell, or parameters for which the distribution is not defined. Shapes, dtypes
// and strides are for others to judge, and so is whether equal seeds give equal
// results.
//
// Tests. Every draw: its support, NaN, Inf. All draws: a Kolmogorov-Smirnov
// test; mean and variance of normal ones; mean of exponential, gamma, Poisson
// and binomial ones, and of 0 and 1; frequencies of integers and classes; draws
// that repeat at a distance. What rounding into the output's dtype, and random
// numbers that are multiples of 2^-(digits of that dtype), 24 at most, make of
// the distribution is accepted: torch's own kernels draw like that.
//
// Tensors are on the CPU. Of more than 2^22 elements 64 evenly spread blocks
// are judged. Cost: up to some 50 ns an element. The caller holds a CheckScope.
// Thread-safe. Does not throw.
//
// Errors: kUnimplemented    the operator has no row in random_table.h, or a
//                           tensor is not plain memory on the CPU
//         kInvalidArgument  arguments or outputs are not those of the schema
//         others            what torch threw
absl::StatusOr<std::optional<RandomFailure>> JudgeRandom(
    const c10::OperatorHandle& op,
    absl::Span<const c10::IValue> arguments_before,
    absl::Span<const c10::IValue> outputs,
    absl::Span<const c10::IValue> arguments_after = {},
    double false_alarm_rate = kRandomFalseAlarmRate);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_RANDOM_PROPERTIES_H_
