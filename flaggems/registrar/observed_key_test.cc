#include "flaggems/registrar/observed_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

using testing::HasSubstr;

TEST(ObservedKeyTest, DevicesAndKeys) {
  for (const auto& [device, key] :
       {std::pair<const char*, c10::DispatchKey>{"cpu", c10::DispatchKey::CPU},
        {"cuda", c10::DispatchKey::CUDA},
        {"xpu", c10::DispatchKey::XPU},
        {"privateuseone", c10::DispatchKey::PrivateUse1},
        {"PrivateUse1", c10::DispatchKey::PrivateUse1},
        {"CUDA", c10::DispatchKey::CUDA},
        {"SparseCPU", c10::DispatchKey::SparseCPU},
        {"QuantizedCPU", c10::DispatchKey::QuantizedCPU}}) {
    EXPECT_THAT(ObservedKey(device), IsOkAndHolds(key)) << device;
  }
}

TEST(ObservedKeyTest, Refuses) {
  for (const auto& [device, message] :
       {std::pair<const char*, const char*>{"", "device is \"\""},
        {"gpu", "device is \"gpu\"; it must be a device type"},
        {"cuda:1", "without an index"},
        {"meta", "compute no numbers"},
        {"Meta", "compute no numbers"},
        {"Autograd", "compute no numbers"},
        {"AutogradCPU", "compute no numbers"},
        {"CompositeImplicitAutograd", "compute no numbers"},
        {"Python", "compute no numbers"},
        {"FuncTorchBatched", "compute no numbers"},
        {"Undefined", "compute no numbers"}}) {
    EXPECT_THAT(
        ObservedKey(device),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << device;
  }
}

TEST(ObservedKeyTest, HasDevice) {
  EXPECT_TRUE(HasDevice(c10::DispatchKey::CPU));
  EXPECT_TRUE(HasDevice(c10::DispatchKey::SparseCPU));
  // Its library is not linked.
  EXPECT_FALSE(HasDevice(c10::DispatchKey::XPU));
}

}  // namespace
}  // namespace flaggems
