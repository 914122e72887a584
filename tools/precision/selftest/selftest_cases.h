#ifndef TOOLS_PRECISION_SELFTEST_SELFTEST_CASES_H_
#define TOOLS_PRECISION_SELFTEST_SELFTEST_CASES_H_

// The cases of the self-test: data and kernels, no checker.

#include <vector>

#include "absl/types/span.h"
#include "tools/precision/selftest/selftest_case.h"

namespace flaggems::selftest {

// All of them, group after group. The pointers stay valid.
std::vector<const SelftestCase*> AllSelftestCases();

// One a source file.
absl::Span<const SelftestCase> ElementwiseCases();
absl::Span<const SelftestCase> ReductionCases();
absl::Span<const SelftestCase> SoftmaxCases();
absl::Span<const SelftestCase> NormCases();
absl::Span<const SelftestCase> ProductCases();
absl::Span<const SelftestCase> ConvolutionCases();
absl::Span<const SelftestCase> AttentionCases();
absl::Span<const SelftestCase> IndexingCases();
absl::Span<const SelftestCase> ScanCases();
absl::Span<const SelftestCase> SortingCases();
absl::Span<const SelftestCase> RandomCases();
absl::Span<const SelftestCase> InPlaceCases();
absl::Span<const SelftestCase> OutCases();
absl::Span<const SelftestCase> ViewCases();
absl::Span<const SelftestCase> StateCases();
absl::Span<const SelftestCase> FactoryCases();
absl::Span<const SelftestCase> ComplexCases();
absl::Span<const SelftestCase> SpecialCases();
absl::Span<const SelftestCase> ContractCases();

}  // namespace flaggems::selftest

#endif  // TOOLS_PRECISION_SELFTEST_SELFTEST_CASES_H_
