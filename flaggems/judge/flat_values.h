#ifndef FLAGGEMS_JUDGE_FLAT_VALUES_H_
#define FLAGGEMS_JUDGE_FLAT_VALUES_H_

// Results as one row of values, so that two calls can be matched one to one.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace flaggems {

// Lists and tuples flattened; a list is preceded by its length, so that
// [[a], [b]] and [[a, b], []] differ. Tensors that are made of others count as
// lists: a sparse one of its indices (coalesced) and values, a quantised one of
// its integers, scale and zero point.
struct FlatValue {
  c10::IValue value;
  int64_t list_size = -1;  // >= 0: the start of a list, `value` is None
  bool steps = false;      // integers of a quantised tensor
};

std::vector<FlatValue> FlattenValues(absl::Span<const c10::IValue> values);

// None or an undefined tensor.
bool IsNothing(const c10::IValue& value);

bool IsNumberOrTensor(const c10::IValue& value);

// A number as a 0-d tensor, so that there is one rule for both. Requires
// IsNumberOrTensor.
at::Tensor AsTensor(const c10::IValue& value);

// On the CPU, with conjugate and negative bits carried out.
at::Tensor ToHost(const at::Tensor& tensor);

// "(2, 3):torch.float32"
std::string TypeAndShape(const at::Tensor& tensor);

// Of a row-major position.
std::vector<int64_t> IndexOf(int64_t position, c10::IntArrayRef sizes);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_FLAT_VALUES_H_
