#ifndef FLAGGEMS_POLICY_SUPPRESSIONS_H_
#define FLAGGEMS_POLICY_SUPPRESSIONS_H_

// Failures that a user has accepted, each until a day. docs/flags.md describes
// the file.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/verdict.h"

namespace flaggems {

struct Suppression {
  std::string op;                 // a pattern as in skip_rules.h
  std::string dtype;              // TorchName() of a DType; "*": any
  std::optional<Verdict> reason;  // a FAIL; nullopt: any
  absl::CivilDay expiry;          // the last day on which it holds
  std::string why;
};

// Immutable; thread-safe.
class Suppressions {
 public:
  Suppressions() = default;  // none

  // The lines of a file, their fields separated by spaces or tabs
  //
  //   op  dtype|*  reason|*  YYYY-MM-DD  why, to the end of the line
  //
  // Blank lines and lines that start with '#' are none. kInvalidArgument,
  // "FILE:LINE: ...", for the first line that is wrong: among them an operator
  // that is not `known`, an expiry before `today`, and a line that says the
  // same as one before it. An empty `known` knows all.
  static absl::StatusOr<Suppressions> Parse(
      absl::string_view text, absl::string_view file, absl::CivilDay today,
      const std::function<bool(absl::string_view)>& known);

  // The same from the file itself; "suppressions: cannot read ..." with the
  // cause.
  static absl::StatusOr<Suppressions> Read(
      const std::string& path, absl::CivilDay today,
      const std::function<bool(absl::string_view)>& known);

  // The first line that accepts the failure `verdict` of an operator, or null.
  // `dtype` is the TorchName() of the failing output; where there is none (the
  // kernel threw) it is empty, and only "*" matches. A name stands for all its
  // overloads, not for its in-place form. Lives as long as this.
  const Suppression* Find(const OpKey& op, absl::string_view dtype,
                          Verdict verdict) const;

  const std::vector<Suppression>& all() const { return all_; }

 private:
  std::vector<Suppression> all_;  // as the file has them
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_SUPPRESSIONS_H_
