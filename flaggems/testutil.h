#ifndef FLAGGEMS_TESTUTIL_H_
#define FLAGGEMS_TESTUTIL_H_

// What tests of the facade share. For tests.

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "flaggems/precision.h"
#include "gtest/gtest.h"

namespace flaggems {

// The row of "relu"; empty if there is none. Waits for verdicts.
inline OpSummary SummaryOf(const std::string& op) {
  for (const OpSummary& summary : PrecisionSummary()) {
    if (summary.op == op) return summary;
  }
  return {};
}

inline const at::TensorOptions& Cuda() {
  static const auto& options = *new at::TensorOptions(at::kCUDA);
  return options;
}

// Checks of kernels of a CUDA device; skipped where there is none.
class CudaCheckTest : public testing::Test {
 protected:
  explicit CudaCheckTest(ReferencePlace reference) : reference_(reference) {}

  void SetUp() override {
    if (!at::hasCUDA()) {
      GTEST_SKIP() << "this machine has no GPU that torch can use";
    }
    at::globalContext().setAllowTF32CuBLAS(false);
  }
  void TearDown() override { DisablePrecisionCheck(); }

  // Checks every call of `ops` by profile strict; what is logged is in Log().
  void Check(std::vector<std::string> ops,
             const std::function<void(PrecisionOptions&)>& change = nullptr) {
    PrecisionOptions options = PrecisionOptions::Strict();
    options.max_checks = 1'000'000;
    options.reference = reference_;
    options.summary_at_exit = false;
    path_ = testing::TempDir() + "/cuda_check_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    options.path = path_;
    if (change) change(options);
    ASSERT_TRUE(EnablePrecisionCheck(options).ok());
    ObserveOptions observe;
    observe.include = std::move(ops);
    observe.device = "cuda";
    absl::StatusOr<Registration> registration = Observe(observe);
    ASSERT_TRUE(registration.ok()) << registration.status();
    registration_ = *std::move(registration);
  }

  // Ends the check.
  std::string Log() {
    registration_ = Registration();
    DisablePrecisionCheck();
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  const ReferencePlace reference_;
  std::string path_;
  Registration registration_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_TESTUTIL_H_
