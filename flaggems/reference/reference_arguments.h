#ifndef FLAGGEMS_REFERENCE_REFERENCE_ARGUMENTS_H_
#define FLAGGEMS_REFERENCE_REFERENCE_ARGUMENTS_H_

// The arguments with which a reference computes a call again.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/policy/budget_table.h"

namespace flaggems {

struct ReferenceArgumentOptions {
  // Floating tensors become float64, complex ones complex128, and what else
  // names a floating type with them: dtype arguments, half_to_float. Defaults
  // that depend on the dtype are filled in before (Widening of the row).
  bool widen = true;
  Widening widening = Widening::kFloat64;
  // Integer tensors become float64 too: for operators that make floating
  // numbers of integers. Needs `widen`.
  bool widen_integers = false;
  // Of a call without tensors and without a dtype argument that says it: the
  // type that the result has, float64 or complex128; nullopt leaves it out.
  std::optional<c10::ScalarType> factory_dtype;

  // What becomes of widened elements.
  enum class Elements {
    kKeep,
    kMagnitude,  // |x|; scalars that weigh summands too
    kPerturb,    // x * (1 + step * r), r random with 1/2 <= |r| <= 1
  };
  Elements elements = Elements::kKeep;
  double step = 0;    // of kPerturb
  uint64_t seed = 0;  // of kPerturb: the same seed, the same numbers
  // kPerturb: Python numbers too. For factories, whose input they are.
  bool perturb_numbers = false;
  // kMagnitude: the subtrahend of sub and rsub gets a minus sign, so that the
  // operator adds.
  std::optional<int> negative_argument;

  // Python numbers are rounded to this type first: kernels may hold them in
  // float32 or in the type of the tensor. Arguments of the schema's type float
  // are rounded to float32 instead: nothing narrower holds an epsilon.
  std::optional<c10::ScalarType> scalar_type;

  // Nothing that the reference writes is shared with `arguments`. False where
  // the operator writes no argument: then unchanged tensors are shared.
  bool copy = true;
};

// `arguments` are plain tensors (those of a Snapshot), on the CPU or, if a
// DeviceWidener is there (device_widener.h), on one device; what is made of
// them lies where they do. Tensors over one storage share one again if they
// have the same dtype. Thread-safe. Cost: a pass over what is widened or
// copied. kResourceExhausted: no memory. kUnimplemented: elements on a device
// that no DeviceWidener takes.
absl::StatusOr<std::vector<c10::IValue>> ReferenceArguments(
    const c10::FunctionSchema& schema, absl::Span<const c10::IValue> arguments,
    const ReferenceArgumentOptions& options);

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_REFERENCE_ARGUMENTS_H_
