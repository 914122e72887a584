#ifndef BENCHMARKS_STUDY_RUN_STUDY_H_
#define BENCHMARKS_STUDY_RUN_STUDY_H_

// Every rule's verdict on every case.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/study/study_case.h"

namespace flaggems::study {

inline constexpr std::array<c10::ScalarType, 3> kDtypes = {
    c10::ScalarType::Float, c10::ScalarType::Half, c10::ScalarType::BFloat16};

const char* NameOf(c10::ScalarType dtype);  // "float32"

// Calls that a rule called wrong.
struct Share {
  int wrong = 0;
  int total = 0;
  double lowest = 0;  // of the scores
  double highest = 0;
  std::string sample;  // what it said of the first call that it got wrong

  void Add(bool called_wrong, double score);
  void Add(const Share& other);
};

// What RoundingBias says of the calls with seeds 1, 2, ...
struct BiasResult {
  int calls = 0;  // made until it reported, or at all
  bool reported = false;
  int64_t counted = 0;  // elements
  int64_t flips = 0;    // to the side with more
  double expected = 0;  // at most, of a right kernel
};

// A case in one dtype.
struct CaseOutcome {
  const StudyCase* study_case;
  c10::ScalarType dtype;
  bool is_wrong;
  // By rule. Of wrong kernels the results that are more than one step of the
  // output's dtype from the correctly rounded one somewhere, the others that
  // differ from it, and those that are it. Of right kernels all are `right`.
  std::vector<Share> beyond, within, right;
};

// Seeds 1 to `seeds`. The caller holds a CheckScope.
absl::StatusOr<CaseOutcome> JudgeCase(const StudyCase& study_case,
                                      bool is_wrong, c10::ScalarType dtype,
                                      int seeds);

// At most `max_calls` calls, until the kernel is reported.
absl::StatusOr<BiasResult> FindBias(const StudyCase& study_case,
                                    c10::ScalarType dtype, int max_calls);

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_RUN_STUDY_H_
