#ifndef FLAGGEMS_JUDGE_MEANING_VIEW_H_
#define FLAGGEMS_JUDGE_MEANING_VIEW_H_

// What judging by meaning looks at: arguments by name, and results as host
// tensors.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/meaning.h"
#include "flaggems/judge/reference_runs.h"

namespace flaggems {

class MeaningView {
 protected:
  MeaningView(const KernelCall& call, ReferenceRuns& runs)
      : call_(call), runs_(runs) {}

  static BrokenMeaning Right() { return {}; }
  static BrokenMeaning Wrong(std::string message) {
    return {std::move(message)};
  }

  const c10::IValue* Argument(absl::string_view name) const {
    return FindArgument(call_, name);
  }

  bool Flag(absl::string_view name) const {
    const c10::IValue* const value = Argument(name);
    return value != nullptr && value->isBool() && value->toBool();
  }

  at::Tensor Input(absl::string_view name = "self") const {
    const c10::IValue* const value = Argument(name);
    return value != nullptr && value->isTensor() && value->toTensor().defined()
               ? ToHost(value->toTensor())
               : at::Tensor();
  }

  // Result i of the kernel and of the native kernel; undefined if there is no
  // such tensor.
  at::Tensor Got(size_t i) const { return TensorIn(call_.outputs, i); }
  at::Tensor Want(size_t i) { return TensorIn(runs_.Native()->outputs, i); }
  static at::Tensor TensorIn(absl::Span<const c10::IValue> values, size_t i) {
    if (i >= values.size() || !values[i].isTensor() ||
        !values[i].toTensor().defined()) {
      return at::Tensor();
    }
    return ToHost(values[i].toTensor());
  }

  const KernelCall& call_;
  ReferenceRuns& runs_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_MEANING_VIEW_H_
