#ifndef FLAGGEMS_ATEN_OP_TRAITS_OF_H_
#define FLAGGEMS_ATEN_OP_TRAITS_OF_H_

// What policies and records need to know of an operator and of one call.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/value_desc.h"
#include "flaggems/policy/op_traits.h"

namespace flaggems {

OpKey OpKeyOf(const c10::OperatorHandle& op);

// The dispatcher's operator of that name, or nullopt.
std::optional<c10::OperatorHandle> FindOperator(const OpKey& key);

// The names of all operators of the dispatcher (some 3,000), unsorted.
std::vector<OpKey> KnownOperators();

// From schema and tags. Thread-safe; looks at the schema once, no tensors.
OpTraits OpTraitsOf(const c10::OperatorHandle& op);

// By argument: whether the operator may write it. What its schema marks, and of
// the operators whose schemas leave it out what they write.
std::vector<bool> WritableArguments(const c10::OperatorHandle& op);

// From the arguments of one call: all tensors count, those in lists and behind
// optional and keyword arguments too.
CallTraits CallTraitsOf(absl::Span<const c10::IValue> arguments);

// Elements of the largest tensor among `values`, lists included.
int64_t MaxNumel(absl::Span<const c10::IValue> values);

// Tensors and lists of tensors, in order; other arguments are left out.
std::vector<ValueDesc> DescribeInputs(absl::Span<const c10::IValue> arguments);

// One output as itself, several as a list.
ValueDesc DescribeOutputs(absl::Span<const c10::IValue> outputs);

// The device of the first tensor ("cpu", "cuda:0"), else that of an argument
// that says it, else "cpu".
std::string DeviceOf(absl::Span<const c10::IValue> arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_OP_TRAITS_OF_H_
