#ifndef FLAGGEMS_JUDGE_JUDGEMENT_H_
#define FLAGGEMS_JUDGE_JUDGEMENT_H_

// What is said of one call.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/core/verdict.h"
#include "flaggems/statistics/rounding_bias.h"

namespace flaggems {

struct Judgement {
  Verdict verdict = Verdict::kPass;
  double max_abs_diff = 0;
  double max_rel_diff = 0;
  // Of all elements, in spacings (comparator/comparison.h); none without a pair
  // of finite floating numbers.
  std::optional<double> mean_error_ulps;
  std::optional<double> rms_error_ulps;
  std::optional<double> score;
  // The error that was allowed at worst_index, where it depends on the element.
  std::optional<double> allowed;
  int output_index = 0;  // of the worst output, lists counted through
  std::optional<std::vector<int64_t>> worst_index;
  std::string got;
  std::string want;
  std::string message;  // what differs where no element does; an error's text
  // How some elements of a 16-bit result were rounded, for the statistics over
  // all calls (statistics/rounding_bias.h). Of results that are right.
  std::vector<RoundingStep> rounding;
};

// A verdict without numbers.
inline Judgement Differs(Verdict verdict, std::string message) {
  Judgement judgement;
  judgement.verdict = verdict;
  judgement.max_abs_diff = std::numeric_limits<double>::quiet_NaN();
  judgement.max_rel_diff = judgement.max_abs_diff;
  judgement.message = std::move(message);
  return judgement;
}

// What a status says of a call that it kept from being judged: out of memory,
// else `otherwise`. Not for an OK status.
Judgement ErrorOf(const absl::Status& status,
                  Verdict otherwise = Verdict::kErrorComparison);

// Whether `a` says more than `b`: of the outputs of one call the judgement that
// says most is the call's. FAIL before ERROR before PASS before UNTRUSTED; of
// failures what makes elements incomparable first; of equals the higher score.
bool IsWorse(const Judgement& a, const Judgement& b);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_JUDGEMENT_H_
