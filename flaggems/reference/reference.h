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

  // For records: "cpu", "golden".
  virtual std::string name() const = 0;

  // Whether this is the operator itself, so that what it refuses no kernel may
  // compute and what it computes no kernel may refuse. A golden function is
  // not: its errors, the dtypes and sizes of its results say nothing of the
  // kernel.
  virtual bool is_operator() const { return true; }

  // Whether it may be asked in float64.
  virtual bool widens() const { return true; }
};

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_REFERENCE_H_
