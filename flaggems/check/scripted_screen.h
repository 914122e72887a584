#ifndef FLAGGEMS_CHECK_SCRIPTED_SCREEN_H_
#define FLAGGEMS_CHECK_SCRIPTED_SCREEN_H_

// A screen that the test controls, on the fake device, in front of the real
// check of profile strict. For tests.

#include <ATen/ATen.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/check/testutil.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/screen/screen.h"
#include "flaggems/testing/fake_device.h"
#include "gtest/gtest.h"

namespace flaggems {

// What one screen does, and what was asked of it.
struct Script {
  absl::StatusOr<bool> enqueued = true;
  std::atomic<bool> ready{true};
  bool settled = false;
  absl::StatusOr<std::optional<Judgement>> accepted = Judgement{};
  absl::Status made;
  int64_t bytes = 100;  // negative: to ask for them throws bad_alloc
  std::optional<int64_t> device_ns;
  bool holds_device_memory = false;
  std::atomic<bool> destroyed{false};
};

class ScriptedScreen final : public Screen {
 public:
  ScriptedScreen(Script* script, absl::Span<const c10::IValue> arguments)
      : script_(script),
        before_(Copies(arguments)),
        after_(arguments.begin(), arguments.end()) {}

  ~ScriptedScreen() override { script_->destroyed = true; }

  absl::StatusOr<bool> Enqueue(absl::Span<const c10::IValue> outputs) override {
    EXPECT_TRUE(CheckScope::active());
    if (script_->enqueued.ok() && *script_->enqueued) {
      outputs_ = Copies(outputs);
      after_ = Copies(after_);
    }
    return script_->enqueued;
  }
  bool settled() const override { return script_->settled; }
  bool Ready() override { return script_->ready; }
  absl::StatusOr<std::optional<Judgement>> Judged() override {
    EXPECT_TRUE(CheckScope::active());
    judged_ = true;
    return script_->accepted;
  }
  std::optional<int64_t> DeviceNs() override {
    EXPECT_TRUE(judged_);
    EXPECT_TRUE(CheckScope::active());
    return script_->device_ns;
  }
  const std::vector<c10::IValue>& before() const override { return before_; }
  const std::vector<c10::IValue>& after() const override { return after_; }
  const std::vector<c10::IValue>& outputs() const override { return outputs_; }
  int64_t bytes() const override {
    if (script_->bytes < 0) throw std::bad_alloc();
    return script_->bytes;
  }
  bool holds_device_memory() const override {
    return script_->holds_device_memory;
  }

 private:
  static std::vector<c10::IValue> Copies(absl::Span<const c10::IValue> values) {
    std::vector<c10::IValue> copies;
    for (const c10::IValue& value : values) {
      copies.push_back(
          value.isTensor()
              ? c10::IValue(ToFakeDevice(CpuAliasOf(value.toTensor()).clone()))
              : value);
    }
    return copies;
  }

  Script* const script_;
  const std::vector<c10::IValue> before_;
  std::vector<c10::IValue> after_;
  std::vector<c10::IValue> outputs_;
  bool judged_ = false;
};

class ScriptedMaker final : public ScreenMaker {
 public:
  absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp& op, const BudgetRow& /*row*/, ScreenHints& /*hints*/,
      absl::Span<const c10::IValue> arguments,
      const ScreenMemory& /*memory*/) const override {
    EXPECT_EQ(op.traits.key.name, "neg");
    if (next_ == scripts_.size()) return nullptr;
    Script* const script = &scripts_[next_++];
    if (!script->made.ok()) return script->made;
    return std::make_unique<ScriptedScreen>(script, arguments);
  }

  Script& Add() const { return scripts_.emplace_back(); }

 private:
  mutable std::deque<Script> scripts_;  // Script does not move
  mutable size_t next_ = 0;
};

class ScreenedCallTest : public FakeDeviceCallTest {
 protected:
  ScreenedCallTest() { RegisterScreenMaker(&screens_); }

  void Start(ReferencePlace place = ReferencePlace::kDevice,
             OnFailure on_failure = OnFailure::kLog, double time_fraction = 0) {
    CheckSessionOptions options = EveryCall(place);
    options.on_failure = on_failure;
    options.time_fraction = time_fraction;
    options.time_budget_clock = [this] { return now_; };
    FakeDeviceCallTest::Start("neg", std::move(options));
  }

  int64_t now_ = 0;  // ns, of the time budget
  ScriptedMaker screens_;
};

inline at::Tensor OneTwoThree() { return at::tensor({1.0F, 2.0F, 3.0F}); }

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_SCRIPTED_SCREEN_H_
