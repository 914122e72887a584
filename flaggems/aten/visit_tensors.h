#ifndef FLAGGEMS_ATEN_VISIT_TENSORS_H_
#define FLAGGEMS_ATEN_VISIT_TENSORS_H_

// The one walk over the tensors in arguments and results.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "absl/types/span.h"

namespace flaggems {

// Calls visit(const at::Tensor&) for every defined tensor of `value`: itself,
// or the elements of a list or tuple, nested ones too.
template <typename Visitor>
void VisitTensors(const c10::IValue& value, Visitor&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) VisitTensors(item, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) {
      VisitTensors(item, visit);
    }
  }
}

template <typename Visitor>
void VisitTensors(absl::Span<const c10::IValue> values, Visitor&& visit) {
  for (const c10::IValue& value : values) VisitTensors(value, visit);
}

template <typename Visitor>
void VisitTensors(const std::vector<c10::IValue>& values, Visitor&& visit) {
  for (const c10::IValue& value : values) VisitTensors(value, visit);
}

// Whether every tensor of `values` is on the CPU.
bool IsOnHost(absl::Span<const c10::IValue> values);

// The value, with lists of its own (of the same tensors). A kernel may take a
// List[Tensor] for a List[Optional[Tensor]] only while nobody else holds it.
c10::IValue WithOwnLists(const c10::IValue& value);
std::vector<c10::IValue> AllWithOwnLists(absl::Span<const c10::IValue> values);
// The last `count` values of a stack, where they are lists of tensors that
// somebody else holds too.
void OwnTensorLists(std::vector<c10::IValue>* stack, size_t count);

// A tensor that can be copied and recomputed as plain memory: strided, with a
// storage, not quantised, no functorch wrapper or meta tensor.
bool IsPlainTensor(const at::Tensor& tensor);

// A tensor that can be described and compared: plain, sparse in a form that has
// elements of its own, or quantised. Not nested, blocked sparse, of mkldnn's
// layout or with names of dimensions.
bool IsComparable(const at::Tensor& tensor);

// Far more elements than memory, as expand() makes them: a pass over the
// elements would take as long as if they were there.
bool IsVast(const at::Tensor& tensor);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_VISIT_TENSORS_H_
