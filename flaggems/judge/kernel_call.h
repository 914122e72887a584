#ifndef FLAGGEMS_JUDGE_KERNEL_CALL_H_
#define FLAGGEMS_JUDGE_KERNEL_CALL_H_

// A call that a kernel under test made, and what there was before it.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/reference/reference.h"
#include "flaggems/reference/reference_source.h"

namespace flaggems {

// What is known of the operator; lives as long as the check.
struct JudgedOp {
  // Looks at schema and tags; the rest is the caller's.
  explicit JudgedOp(const c10::OperatorHandle& op);

  c10::OperatorHandle handle;
  OpTraits traits;
  // Who computes calls again on host tensors; each call asks it once.
  ReferenceSource reference;
  // Who computes them again on their device; may be null.
  std::shared_ptr<const Reference> device_reference;
  // By argument: the kernel may write it.
  std::vector<bool> writable;
  // The kernel is torch's own: its 16-bit roundings are allowed for
  // (BudgetRow::native_cpu, native_cuda).
  bool native = false;
};

// How far beside its arguments a check of the operator copies memory, in bytes,
// or kWholeStorage (aten/snapshot.h).
int64_t MarginOf(const JudgedOp& op);

struct KernelCall {
  const JudgedOp& op;
  std::shared_ptr<const Reference> reference;  // of this call; not null
  const BudgetRow& row;  // how the budget of the operator is made
  const Snapshot& before;
  absl::Span<const c10::IValue> arguments;  // the originals, after the call
  absl::Span<const c10::IValue> outputs;
  bool on_host = true;  // every tensor argument is on the CPU
  // Nobody else ran a wrapped kernel meanwhile: memory beside the arguments
  // can only have been written by this one.
  bool alone = true;
  // Arguments and outputs are rows of those of the call (row_sample.h): their
  // strides and memory say nothing.
  bool is_sample = false;
};

// The argument of that name as it was before the call; null if the schema has
// none.
const c10::IValue* FindArgument(const KernelCall& call, absl::string_view name);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_KERNEL_CALL_H_
