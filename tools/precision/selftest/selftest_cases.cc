#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {

std::vector<const SelftestCase*> AllSelftestCases() {
  std::vector<const SelftestCase*> all;
  for (const absl::Span<const SelftestCase> group :
       {ElementwiseCases(), ReductionCases(), SoftmaxCases(), NormCases(),
        ProductCases(), ConvolutionCases(), AttentionCases(), IndexingCases(),
        ScanCases(), SortingCases(), RandomCases(), InPlaceCases(), OutCases(),
        ViewCases(), StateCases(), FactoryCases(), ComplexCases(),
        SpecialCases(), ContractCases()}) {
    for (const SelftestCase& selftest_case : group) {
      all.push_back(&selftest_case);
    }
  }
  return all;
}

}  // namespace flaggems::selftest
