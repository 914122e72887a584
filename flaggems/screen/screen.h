#ifndef FLAGGEMS_SCREEN_SCREEN_H_
#define FLAGGEMS_SCREEN_SCREEN_H_

// The cheap test of a call in the memory of its device: the operator's native
// kernel there computes it again in float64, and one pass compares. A screen
// accepts what is right; of everything else it only says that it has to be
// judged in full (judge/judge_call.h), from the copies that it holds. So a
// failure is always one that the CPU's float64 reference confirmed.

#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/core/mutex.h"
#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/row_sample.h"

namespace flaggems {

// One call. The functions are called in this order, one at a time, each with a
// CheckScope; nothing throws but for lack of host memory.
class Screen {
 public:
  virtual ~Screen() = default;

  // DeviceNs() will be asked. Before Enqueue().
  virtual void MeasureDeviceTime() {}

  // The kernel returned: puts the test into the stream behind it, and keeps
  // what judging in full would need. False: the call has to be judged in full,
  // at once. Does not wait for the device.
  // kResourceExhausted: no memory on the device.
  virtual absl::StatusOr<bool> Enqueue(
      absl::Span<const c10::IValue> outputs) = 0;

  // After Enqueue() was true: the call is right, which Judged() says without
  // the device.
  virtual bool settled() const { return false; }

  // Whether Judged() would not wait. Does not wait.
  virtual bool Ready() = 0;

  // The judgement, where the device's word is enough: of a right call, and of
  // one that changed an argument. nullopt: it has to be judged in full. Waits
  // for the device, not for what came behind the test in the stream.
  // kInternal: an error of the device, with its text.
  virtual absl::StatusOr<std::optional<Judgement>> Judged() = 0;

  // After Judged(): the time that the device spent on the test, in ns; nullopt
  // if it is not known. Does not wait.
  virtual std::optional<int64_t> DeviceNs() { return std::nullopt; }

  // The arguments before the kernel ran, and after it, and its results, which
  // nobody else writes. On the device, or copies on the host. The latter two
  // are the call's own until Enqueue() was true.
  virtual const std::vector<c10::IValue>& before() const = 0;
  virtual const std::vector<c10::IValue>& after() const = 0;
  virtual const std::vector<c10::IValue>& outputs() const = 0;

  // Not null: all of them are rows of those of the call, Enqueue() false or
  // not, since the call is too large to be judged as a whole.
  virtual const RowSample* sample() const { return nullptr; }

  // Memory that is held, in bytes.
  virtual int64_t bytes() const = 0;

  // Before Enqueue(), and after it was true: whether to destroy it gives memory
  // back to the device. Then that takes no lock but those of allocators, and
  // waits at most for the device.
  virtual bool holds_device_memory() const { return false; }
};

// What the screens of one operator learn from its calls. Thread-safe.
class ScreenHints {
 public:
  // A result was not within the quick budget (value_budget.h) lately: its
  // condition is computed at once.
  std::atomic<bool> measure{false};

  // Of calls that are judged by rows, so that each has others.
  std::atomic<uint64_t> samples{0};

  // Whether a call of this fingerprint (call_fingerprint.h) kept its contract:
  // so does every call that looks the same.
  bool IsKnown(uint64_t fingerprint) const {
    const MutexLock lock(&mutex_);
    return known_.contains(fingerprint);
  }
  void Remember(uint64_t fingerprint) {
    const MutexLock lock(&mutex_);
    if (known_.size() >= kMaxKnown) known_.clear();
    known_.insert(fingerprint);
  }

 private:
  static constexpr size_t kMaxKnown = 4096;

  mutable Mutex mutex_;
  absl::flat_hash_set<uint64_t> known_ ABSL_GUARDED_BY(mutex_);
};

// What a check may hold, in bytes.
struct ScreenMemory {
  int64_t limit = 0;  // by itself; 0: no limit
  int64_t left = 0;   // of it, beside the calls that wait for their verdict
};

class ScreenMaker {
 public:
  virtual ~ScreenMaker() = default;

  // Before the kernel runs: what is needed of the arguments is copied, in the
  // current stream. Null: the call cannot be screened (it has no reference on
  // the device, arguments elsewhere, complex numbers, an operator that is
  // judged by other things than its numbers) or its check would take more than
  // the memory that is left. One that would take more than the limit is of rows
  // of the call.
  // `op`, `row` and `hints` outlive the screen.
  // kResourceExhausted: no memory on the device.
  virtual absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp& op, const BudgetRow& row, ScreenHints& hints,
      absl::Span<const c10::IValue> arguments,
      const ScreenMemory& memory) const = 0;
};

// The one of this program, null if none was linked. Thread-safe.
void RegisterScreenMaker(const ScreenMaker* maker);
const ScreenMaker* RegisteredScreenMaker();

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_SCREEN_H_
