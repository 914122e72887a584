#include "flaggems/judge/judgement.h"

namespace flaggems {
namespace {

int Severity(Verdict verdict) {
  switch (OutcomeOf(verdict)) {
    case Outcome::kFail:
      switch (verdict) {
        case Verdict::kFailCount:
          return 15;
        case Verdict::kFailDtype:
          return 14;
        case Verdict::kFailShape:
          return 13;
        case Verdict::kFailSpecial:
          return 12;
        case Verdict::kFailRandom:
          return 10;
        case Verdict::kFailArgument:
          return 9;
        case Verdict::kFailAlias:
          return 8;
        case Verdict::kFailLayout:
          return 7;
        default:
          return 11;
      }
    case Outcome::kError:
      return 4;
    case Outcome::kPass:
      return 3;
    case Outcome::kUntrusted:
      return 2;
    case Outcome::kSkip:
      return 1;
  }
  return 0;
}

}  // namespace

Judgement ErrorOf(const absl::Status& status, Verdict otherwise) {
  return Differs(absl::IsResourceExhausted(status) ? Verdict::kErrorOutOfMemory
                                                   : otherwise,
                 std::string(status.message()));
}

bool IsWorse(const Judgement& a, const Judgement& b) {
  const int severity_a = Severity(a.verdict);
  const int severity_b = Severity(b.verdict);
  if (severity_a != severity_b) return severity_a > severity_b;
  return a.score.value_or(0) > b.score.value_or(0);
}

}  // namespace flaggems
