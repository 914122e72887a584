#include "flaggems/check/call_check.h"

namespace flaggems {

Judgement JudgementOf(const absl::Status& status) {
  Verdict verdict = Verdict::kErrorReference;
  if (absl::IsResourceExhausted(status)) verdict = Verdict::kErrorOutOfMemory;
  return Differs(verdict, std::string(status.message()));
}

}  // namespace flaggems
