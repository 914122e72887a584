#ifndef TOOLS_PRECISION_SELFTEST_RUN_CASE_H_
#define TOOLS_PRECISION_SELFTEST_RUN_CASE_H_

// What the checker says of a case of the self-test.

#include <string>

#include "absl/status/statusor.h"
#include "flaggems/core/verdict.h"
#include "tools/precision/selftest/selftest_case.h"

namespace flaggems::selftest {

struct CaseResult {
  // Of the calls that show the case: for a wrong kernel the expected verdict if
  // it was given, else the verdict that says most.
  Verdict said = Verdict::kPass;
  double score = 0;  // the highest
  std::string message;
  bool as_expected = false;
  std::string why_not;  // empty if as_expected
};

// Installs the case's kernel over torch's own, observes it in profile strict,
// makes the calls, and puts everything back. For one thread at a time. An error
// means that the case could not be run.
absl::StatusOr<CaseResult> RunCase(const SelftestCase& selftest_case);

}  // namespace flaggems::selftest

#endif  // TOOLS_PRECISION_SELFTEST_RUN_CASE_H_
