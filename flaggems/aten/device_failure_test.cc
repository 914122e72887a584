#include "flaggems/aten/device_failure.h"

#include <c10/core/Device.h>

#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::HasSubstr;

// What the probe answers, one after another, the last for ever.
std::vector<int> answers;
size_t asked = 0;

int Answer(const c10::Device&) {
  const int answer =
      answers[asked < answers.size() ? asked : answers.size() - 1];
  ++asked;
  if (answer < 0) throw std::runtime_error("no");
  return answer;
}

struct Case {
  std::string name;
  std::vector<int> answers;            // negative: it throws
  std::optional<std::string> failure;  // a part of it
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class DeviceFailureTest : public testing::TestWithParam<Case> {
 protected:
  DeviceFailureTest() { SetDeviceProbeForTesting(&Answer); }
  ~DeviceFailureTest() override { SetDeviceProbeForTesting(nullptr); }
};

TEST_P(DeviceFailureTest, IsWhatStays) {
  answers = GetParam().answers;
  asked = 0;
  const std::optional<std::string> failure =
      DeviceFailure(c10::Device(c10::kCUDA, 0));
  ASSERT_EQ(failure.has_value(), GetParam().failure.has_value());
  EXPECT_THAT(failure.value_or(""), HasSubstr(GetParam().failure.value_or("")));
}

INSTANTIATE_TEST_SUITE_P(
    Answers, DeviceFailureTest,
    testing::ValuesIn(std::vector<Case>{
        {"Works", {0}, std::nullopt},
        {"IllegalAddress", {700}, "CUDA error 700, a kernel read or wrote"},
        {"Assertion", {710}, "CUDA error 710, an assertion in a kernel failed"},
        {"Ecc", {214}, "ECC"},
        {"ContextDestroyed", {709}, "cudaDeviceReset"},
        {"ToldOnce", {700, 0}, std::nullopt},
        {"AnotherTheSecondTime", {700, 719}, std::nullopt},
        // Of a thread that never used the device.
        {"NoContext", {201}, std::nullopt},
        {"NoMemory", {2}, std::nullopt},
        {"NotReady", {600}, std::nullopt},
        {"ALaunchThatWasRefused", {701}, std::nullopt},
        {"UnderCapture", {900}, std::nullopt},
        {"Throws", {-1}, std::nullopt},
    }),
    [](const auto& info) { return info.param.name; });

TEST(DeviceFailureOfDriverTest, DevicesThatAreNoneHaveNotFailed) {
  EXPECT_EQ(DeviceFailure(c10::Device(c10::kCPU)), std::nullopt);
  EXPECT_EQ(DeviceFailure(c10::Device(c10::kMeta)), std::nullopt);
  // There is none of this index, on any machine.
  EXPECT_EQ(DeviceFailure(c10::Device(c10::kCUDA, 99)), std::nullopt);
}

}  // namespace
}  // namespace flaggems
