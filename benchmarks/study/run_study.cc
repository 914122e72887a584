#include "benchmarks/study/run_study.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/study/rules.h"
#include "benchmarks/study/study_call.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/statistics/rounding_bias.h"

namespace flaggems::study {
namespace {

absl::Status Named(const absl::Status& status, const StudyCase& study_case,
                   c10::ScalarType dtype) {
  return {status.code(), absl::StrCat(study_case.kind, ", ", NameOf(dtype),
                                      ": ", status.message())};
}

}  // namespace

const char* NameOf(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Half:
      return "float16";
    case c10::ScalarType::BFloat16:
      return "bfloat16";
    default:
      return "float32";
  }
}

void Share::Add(bool called_wrong, double score) {
  lowest = total == 0 ? score : std::min(lowest, score);
  highest = std::max(highest, score);
  wrong += called_wrong;
  ++total;
}

void Share::Add(const Share& other) {
  if (other.total == 0) return;
  lowest = total == 0 ? other.lowest : std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
  wrong += other.wrong;
  total += other.total;
}

absl::StatusOr<CaseOutcome> JudgeCase(const StudyCase& study_case,
                                      bool is_wrong, c10::ScalarType dtype,
                                      int seeds) {
  CaseOutcome outcome{&study_case, dtype, is_wrong, {}, {}, {}};
  for (auto* shares : {&outcome.beyond, &outcome.within, &outcome.right}) {
    shares->resize(Rules().size());
  }
  for (int seed = 1; seed <= seeds; ++seed) {
    const absl::StatusOr<std::unique_ptr<StudyCall>> call = StatusOrOf([&] {
      return StudyCall::Make(study_case, static_cast<uint64_t>(seed), dtype);
    });
    if (!call.ok()) return Named(call.status(), study_case, dtype);
    const double ulps = (*call)->MaxUlps();
    const bool differs = is_wrong && ulps > 0;
    std::vector<Share>& shares = !differs   ? outcome.right
                                 : ulps > 1 ? outcome.beyond
                                            : outcome.within;
    for (size_t i = 0; i < Rules().size(); ++i) {
      const absl::StatusOr<Said> said = StatusOrOf(
          [&]() -> absl::StatusOr<Said> { return Rules()[i].judge(**call); });
      if (!said.ok()) return Named(said.status(), study_case, dtype);
      Share& share = shares[i];
      share.Add(said->wrong, said->score);
      if (said->wrong != differs && share.sample.empty()) {
        share.sample = said->message;
      }
    }
  }
  return outcome;
}

absl::StatusOr<BiasResult> FindBias(const StudyCase& study_case,
                                    c10::ScalarType dtype, int max_calls) {
  RoundingBias bias;
  BiasResult result;
  while (result.calls < max_calls && !result.reported &&
         result.counted < RoundingBias::kMaxElements) {
    ++result.calls;
    const auto steps =
        StatusOrOf([&]() -> absl::StatusOr<std::vector<RoundingStep>> {
          FG_ASSIGN_OR_RETURN(
              const std::unique_ptr<StudyCall> call,
              StudyCall::Make(study_case, static_cast<uint64_t>(result.calls),
                              dtype));
          return RoundingSteps(*call);
        });
    if (!steps.ok()) return Named(steps.status(), study_case, dtype);
    bias.Add(*steps);
    const RoundingBias::Summary summary = bias.summary();
    result.reported = summary.significant;
    result.counted = summary.counted;
    result.flips = std::max(summary.ups, summary.downs);
    result.expected = summary.expected_flips;
  }
  return result;
}

}  // namespace flaggems::study
