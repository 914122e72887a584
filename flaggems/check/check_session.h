#ifndef FLAGGEMS_CHECK_CHECK_SESSION_H_
#define FLAGGEMS_CHECK_CHECK_SESSION_H_

// What EnablePrecisionCheck() sets up: one configuration and one open log.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "flaggems/config/precision_options.h"
#include "flaggems/core/clock.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/op_key.h"
#include "flaggems/policy/policy.h"
#include "flaggems/policy/time_budget.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

struct CheckSessionOptions {
  PolicyOptions policy;
  std::string profile = "original";
  std::optional<int> rank;
  ToleranceModel tolerance_model = ToleranceModel::kFixed;
  int64_t memory_limit = 0;  // bytes; of one check, 0: none
  bool poison = false;
  OnFailure on_failure = OnFailure::kLog;
  ReferencePlace reference = ReferencePlace::kCpu;
  double time_fraction = 0;  // of the run time, for checks; 0: no limit
  std::function<int64_t()> time_budget_clock = &SteadyNanoseconds;
};

// Thread-safe. Shared by the calls that are being checked, so it ends after
// the last of them.
class CheckSession {
 public:
  CheckSession(CheckSessionOptions options, std::unique_ptr<RecordSink> sink,
               const Clock* clock)
      : policy_(std::move(options.policy)),
        profile_(std::move(options.profile)),
        rank_(options.rank),
        tolerance_model_(options.tolerance_model),
        memory_limit_(options.memory_limit),
        poison_(options.poison),
        on_failure_(options.on_failure),
        reference_(options.reference),
        time_budget_(options.time_fraction,
                     std::move(options.time_budget_clock)),
        sink_(std::move(sink)),
        clock_(clock) {}

  const Policy& policy() const { return policy_; }
  const std::string& profile() const { return profile_; }
  std::optional<int> rank() const { return rank_; }
  ToleranceModel tolerance_model() const { return tolerance_model_; }
  int64_t memory_limit() const { return memory_limit_; }
  bool poison() const { return poison_; }
  OnFailure on_failure() const { return on_failure_; }
  ReferencePlace reference() const { return reference_; }
  TimeBudget& time_budget() { return time_budget_; }
  absl::Time Now() const { return clock_->Now(); }

  // Writes a record; a failure to write is counted, not returned.
  void Log(const CheckRecord& record);
  absl::Status Flush() { return sink_->Flush(); }

  // Keeps the first error text of each operator, for the summary.
  void NoteError(const OpKey& op, const std::string& message);

  // A device failed for good, which the check of a call of `op` found: nothing
  // on devices is checked from here on. Keeps the text as the error of the
  // operator in place of an earlier one. True for the first that finds it; of
  // the others nothing is kept.
  bool NoteDeviceFailure(const OpKey& op, const std::string& message);
  bool device_failed() const {
    return device_failed_.load(std::memory_order_acquire);
  }

  // Keeps why calls of an operator cannot be checked, for the summary.
  void NoteUnchecked(const OpKey& op, const std::string& why);

  int64_t write_errors() const {
    return write_errors_.load(std::memory_order_relaxed);
  }
  std::string first_write_error() const;
  std::map<std::string, std::string> first_errors() const;
  std::map<std::string, std::string> unchecked() const;

 private:
  const Policy policy_;
  const std::string profile_;
  const std::optional<int> rank_;
  const ToleranceModel tolerance_model_;
  const int64_t memory_limit_;
  const bool poison_;
  const OnFailure on_failure_;
  const ReferencePlace reference_;
  TimeBudget time_budget_;  // of the time since the session was made
  const std::unique_ptr<RecordSink> sink_;
  const Clock* const clock_;
  std::atomic<int64_t> write_errors_{0};
  std::atomic<bool> device_failed_{false};
  mutable Mutex mutex_;
  std::string first_write_error_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> first_errors_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> unchecked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CHECK_SESSION_H_
