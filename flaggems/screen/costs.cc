#include "flaggems/screen/costs.h"

namespace flaggems {

absl::string_view CostPartName(CostPart part) {
  switch (part) {
    case CostPart::kSnapshot:
      return "snapshot";
    case CostPart::kContract:
      return "contract";
    case CostPart::kReference:
      return "reference";
    case CostPart::kCompare:
      return "compare";
    case CostPart::kRecord:
      return "record";
  }
  return "";
}

void ScreenCosts::Reset() {
  for (std::atomic<int64_t>& part : ns) part.store(0);
  screened.store(0);
  accepted.store(0);
  in_full.store(0);
}

ScreenCosts& TotalScreenCosts() {
  static ScreenCosts costs;
  return costs;
}

}  // namespace flaggems
