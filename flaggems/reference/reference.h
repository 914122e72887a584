#ifndef FLAGGEMS_REFERENCE_REFERENCE_H_
#define FLAGGEMS_REFERENCE_REFERENCE_H_

// Who computes a call again.

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace flaggems {

class Reference {
 public:
  virtual ~Reference() = default;

  // Runs the operator on `arguments` (host copies, or arguments on the CPU
  // that the operator does not write) and returns its results. Thread-safe;
  // the caller holds a CheckScope. Does not throw.
  // kResourceExhausted: no memory; other errors: the operator refused the
  // call, with its text.
  virtual absl::StatusOr<std::vector<c10::IValue>> Compute(
      std::vector<c10::IValue> arguments) const = 0;

  // For records: "cpu".
  virtual std::string name() const = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_REFERENCE_H_
