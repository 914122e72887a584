// A GPU on which nothing works any more, since a kernel failed there: each case
// is a process of its own, as the device works again in no other way.

#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "flaggems/precision.h"
#include "flaggems/testutil.h"

namespace flaggems {
namespace {

struct Case {
  std::string name;
  ReferencePlace reference;
  std::function<void(const at::Tensor& x)> fail;
  std::string error;  // in the summary; a regular expression
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

// A kernel writes to memory that is not there.
void WriteNowhere(const at::Tensor& x) {
  at::for_blob(reinterpret_cast<void*>(16), {x.numel()})
      .options(Cuda())
      .target_device(x.device())
      .make_tensor()
      .fill_(1);
}

// An assertion in torch's kernel fails.
void SelectBeyondTheEnd(const at::Tensor& x) {
  at::index_select(x, 0, at::full({8}, x.numel() + 5, Cuda().dtype(at::kLong)));
}

// Only in torch's kernel, which is the reference: that under test is careful.
void SelectCarefully(const at::Tensor& x) {
  SelectBeyondTheEnd(x);
  at::relu(x);
}

std::vector<Case> Cases() {
  const std::string illegal = "CUDA error 700, a kernel read or wrote memory";
  const std::string assertion = "CUDA error 710, an assertion";
  return {
      {"Address", ReferencePlace::kDevice, &WriteNowhere, illegal},
      {"Assertion", ReferencePlace::kDevice, &SelectBeyondTheEnd, assertion},
      {"AddressJudgedOnHost", ReferencePlace::kCpu, &WriteNowhere, illegal},
      {"AssertionJudgedOnHost", ReferencePlace::kCpu, &SelectBeyondTheEnd,
       assertion},
      {"Reference", ReferencePlace::kDevice, &SelectCarefully, assertion},
  };
}

class FailedDeviceTest : public CudaCheckTest,
                         public testing::WithParamInterface<Case> {
 protected:
  FailedDeviceTest() : CudaCheckTest(GetParam().reference) {
    // The child starts anew, so that it has no driver of its parent's.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  // Ends the process.
  [[noreturn]] void FailAndGoOn() {
    const std::string wrong = WhatIsWrong();
    std::fprintf(stderr, "%s\n%s\n", PrecisionSummaryTable().c_str(),
                 wrong.c_str());
    DisablePrecisionCheck();
    // Not _exit(): all destructors run.
    std::exit(wrong.empty() ? 0 : 1);
  }

 private:
  // Empty: all is as it should be.
  std::string WhatIsWrong() {
    std::optional<torch::Library> careful;
    if (GetParam().name == "Reference") {
      careful.emplace(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                      __FILE__, __LINE__);
      careful->impl("index_select",
                    [](const at::Tensor& x, int64_t, const at::Tensor& index) {
                      return at::zeros(index.sizes(), x.options());
                    });
    }
    Check({"aten::relu", "aten::index_select"});
    const at::Tensor x = at::randn({4096}, Cuda());
    at::relu(x);
    if (SummaryOf("relu").passed != 1) return "the first call is not right";
    at::relu(x);
    int thrown = 0;
    const auto call = [&](const std::function<void()>& body) {
      try {
        body();
        c10::cuda::device_synchronize();
      } catch (const c10::Error&) {
        ++thrown;
      }
    };
    call([&] { GetParam().fail(x); });
    for (int i = 0; i < 5; ++i) call([&] { at::relu(x); });
    if (thrown != 6) return "the program does not see its own errors";
    if (SummaryOf("relu").failed + SummaryOf("index_select").failed > 0) {
      return "a kernel is said to be wrong";
    }
    if (SummaryOf("relu").skipped.count("unsupported") == 0) {
      return "later calls are not skipped";
    }
    const std::string table = PrecisionSummaryTable();
    const size_t first = table.find("the device has failed");
    if (first == std::string::npos) return "the failure is not reported";
    if (table.find("the device has failed", first + 1) != std::string::npos) {
      return "the failure is reported more than once";
    }
    return CheckOnHost();
  }

  static std::string CheckOnHost() {
    ObserveOptions observe;
    observe.include = {"aten::neg"};
    observe.device = "cpu";
    const absl::StatusOr<Registration> registration = Observe(observe);
    if (!registration.ok()) return registration.status().ToString();
    at::neg(at::ones({8}));
    return SummaryOf("neg").passed == 1 ? "" : "the host's calls are unchecked";
  }
};

TEST_P(FailedDeviceTest, IsReportedOnceAndTheProgramGoesOn) {
  EXPECT_EXIT(FailAndGoOn(), testing::ExitedWithCode(0),
              "error in [a-z_]*: the device has failed, and nothing on devices "
              "is checked from here on: cuda:0: " +
                  GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(Failures, FailedDeviceTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
