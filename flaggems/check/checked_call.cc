#include "flaggems/check/checked_call.h"

#include <c10/core/StreamGuard.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/device_failure.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/fixed_check.h"
#include "flaggems/check/substitute.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/screen/costs.h"
#include "flaggems/screen/host_copy_screen.h"

namespace flaggems {
namespace {

constexpr absl::string_view kDeviceFailed = "the device has failed";

Judgement NotJudged(Verdict verdict, absl::string_view message) {
  Judgement judgement;
  judgement.verdict = verdict;
  judgement.message = std::string(message);
  return judgement;
}

// Whether a call whose preparation ended so is a SKIP.
bool IsSkip(const absl::Status& prepared) {
  return absl::IsUnimplemented(prepared) || absl::IsUnavailable(prepared);
}

// That of the checker on the device of the screen's copies; nullopt: they are
// on the host.
std::optional<c10::Stream> StreamOf(const Screen& screen) {
  std::optional<c10::Device> device;
  const auto look = [&](const at::Tensor& tensor) {
    if (!tensor.device().is_cpu()) device = tensor.device();
  };
  VisitTensors(screen.before(), look);
  VisitTensors(screen.outputs(), look);
  return device ? CopyStream(*device) : std::nullopt;
}

// Throws what judging threw.
Judgement JudgementOf(std::future<Judgement>& future) {
  try {
    return future.get();
  } catch (const std::future_error&) {
    return NotJudged(Verdict::kSkipThrottle,
                     "the program ended before the call was judged");
  }
}

}  // namespace

CheckedCall::CheckedCall(std::shared_ptr<const CheckedOp> op,
                         CheckRuntime& runtime,
                         std::shared_ptr<CheckSession> session,
                         std::shared_ptr<const Reference> reference,
                         int64_t call, const CallTraits& traits,
                         absl::Span<const c10::IValue> arguments)
    : op_owner_(std::move(op)),
      op_(*op_owner_),
      runtime_(runtime),
      session_(std::move(session)),
      max_numel_(traits.max_numel),
      recorder_(op_, runtime_, session_, reference, call, traits, arguments),
      check_(MakeCheck(std::move(reference), traits)) {
  if (session_->on_failure() == OnFailure::kSubstitute) {
    arguments_ = AllWithOwnLists(arguments);
  }
}

CheckedCall::~CheckedCall() {
  // Leaked: to end events, streams and memory is to touch the device.
  if (on_device() && session_->device_failed()) taken_.screen.release();
}

std::unique_ptr<CallCheck> CheckedCall::MakeCheck(
    std::shared_ptr<const Reference> reference, const CallTraits& traits) {
  if (session_->tolerance_model() == ToleranceModel::kBudget) {
    auto check = std::make_unique<BudgetCheck>(
        op_.judged, std::move(reference),
        session_->policy().BudgetFor(op_.judged.traits.key, op_.budget),
        session_->memory_limit());
    budget_check_ = check.get();
    return check;
  }
  const Tolerance tolerance =
      session_->policy().ToleranceFor(op_.judged.traits, traits);
  recorder_.SetTolerance(tolerance.rtol, tolerance.atol);
  return std::make_unique<FixedCheck>(op_.judged, std::move(reference),
                                      tolerance);
}

void CheckedCall::TakeArguments(absl::Span<const c10::IValue> arguments,
                                CheckTimer& timer) {
  const CaptureTolerance tolerance(on_device());
  prepared_ = Prepare(arguments, timer);
}

absl::Status CheckedCall::Prepare(absl::Span<const c10::IValue> arguments,
                                  CheckTimer& timer) {
  if (budget_check_ != nullptr && on_device()) {
    const CostTimer cost(CostPart::kSnapshot);
    FG_ASSIGN_OR_RETURN(
        taken_, TakeScreen(op_, runtime_, *session_, budget_check_->row(),
                           arguments, max_numel_, timer));
    if (taken_.screen != nullptr) return absl::OkStatus();
  }
  return check_->Prepare(arguments);
}

bool CheckedCall::poison() const { return session_->poison(); }

void CheckedCall::Judge(absl::Span<const c10::IValue> outputs) {
  const CaptureTolerance tolerance(on_device());
  if (shed_) {
    SkipShed();
    return;
  }
  bool comparable = true;
  bool vast = false;
  VisitTensors(outputs, [&](const at::Tensor& tensor) {
    comparable = comparable && IsComparable(tensor);
    vast = vast || IsVast(tensor);
  });
  if (!comparable || vast) {
    recorder_.Skip(vast ? Verdict::kSkipSize : Verdict::kSkipUnsupported);
    return;
  }
  recorder_.SetOutputs(outputs);
  if (const auto skip = session_->policy().AdmitOutputs(MaxNumel(outputs))) {
    recorder_.Skip(*skip);
    return;
  }
  if (taken_.screen != nullptr) {
    const absl::StatusOr<bool> enqueued = taken_.screen->Enqueue(outputs);
    if (enqueued.ok() && *enqueued) {
      pending_ = session_->on_failure() == OnFailure::kLog &&
                 !taken_.screen->settled();
      if (!pending_) ConcludeScreened();
      return;
    }
    prepared_ = enqueued.ok() ? PrepareFromScreen() : enqueued.status();
    if (taken_.screen->sample() != nullptr) outputs = taken_.screen->outputs();
  }
  Conclude(JudgementInFull(outputs), outputs);
}

void CheckedCall::JudgeException(const std::exception_ptr& exception) {
  const CaptureTolerance tolerance(on_device());
  // It may be of a kernel that was launched long before.
  if (EndIfDeviceFailed()) return;
  if (shed_) {
    SkipShed();
    return;
  }
  if (taken_.screen != nullptr) prepared_ = PrepareFromScreen();
  if (IsSkip(prepared_)) {
    recorder_.Conclude(Unprepared());
    return;
  }
  if (absl::IsCancelled(StatusOfException(exception))) {
    recorder_.Conclude(
        Differs(Verdict::kUntrustedReference, "the call was interrupted"));
    return;
  }
  recorder_.Conclude(prepared_.ok() ? check_->JudgeException(exception)
                                    : Unprepared());
}

std::optional<std::vector<c10::IValue>> CheckedCall::Substitutes() {
  const CheckRecord& record = recorder_.record();
  if (session_->on_failure() != OnFailure::kSubstitute || !recorder_.ended() ||
      OutcomeOf(record.verdict) != Outcome::kFail) {
    return std::nullopt;
  }
  const CaptureTolerance tolerance(on_device());
  std::vector<c10::IValue> outputs;
  const absl::StatusOr<Recomputed> reference = check_->Recompute();
  const absl::Status status =
      reference.ok() ? Substitute(op_.judged, *reference, arguments_, &outputs)
                     : reference.status();
  if (status.ok()) return outputs;
  session_->NoteError(record.op,
                      absl::StrCat("a wrong result could not be substituted: ",
                                   status.message()));
  return std::nullopt;
}

bool CheckedCall::DeviceIsDone() {
  const CaptureTolerance tolerance(on_device());
  if (screened_ || session_->device_failed()) return true;
  return taken_.screen->Ready();
}

void CheckedCall::WaitForDevice() {
  const CaptureTolerance tolerance(on_device());
  if (screened_) return;
  if (session_->device_failed()) {
    screened_ = absl::InternalError(kDeviceFailed);
  } else {
    screened_ = taken_.screen->Judged();
  }
}

bool CheckedCall::StartJudging(WorkerPool::WhenFull when_full) {
  WaitForDevice();
  if (!screened_->ok() || **screened_) return true;
  auto promise = std::make_shared<std::promise<Judgement>>();
  std::future<Judgement> future = promise->get_future();
  if (!runtime_.judges().Submit([this, promise] { JudgeFor(*promise); },
                                when_full)) {
    return false;
  }
  in_full_ = std::move(future);
  return true;
}

// On a thread of the checker. Nothing of the call is touched once `promise` is
// kept: the thread that waits for it may end the call.
void CheckedCall::JudgeFor(std::promise<Judgement>& promise) {
  try {
    Judgement judgement = [&] {
      const CheckScope scope;
      const CaptureTolerance tolerance(on_device());
      // Not in the program's stream, what has to come from the device.
      const c10::OptionalStreamGuard beside(StreamOf(*taken_.screen));
      return JudgeScreened();
    }();
    promise.set_value(std::move(judgement));
  } catch (...) {
    promise.set_exception(std::current_exception());
  }
}

void CheckedCall::GiveUpJudging() {
  std::promise<Judgement> promise;
  in_full_ = promise.get_future();
  promise.set_value(
      NotJudged(Verdict::kSkipThrottle,
                "the threads that judge on the host had too much to do"));
}

bool CheckedCall::is_judged() const {
  return !in_full_.valid() || in_full_.wait_for(std::chrono::seconds(0)) ==
                                  std::future_status::ready;
}

void CheckedCall::WaitUntilJudged() const {
  if (in_full_.valid()) in_full_.wait();
}

std::optional<int64_t> CheckedCall::Shed() {
  if (taken_.screen == nullptr || !taken_.screen->holds_device_memory()) {
    return std::nullopt;
  }
  const int64_t bytes = taken_.screen->bytes();
  taken_.screen.reset();
  shed_ = true;
  return bytes;
}

void CheckedCall::SkipShed() {
  recorder_.Skip(Verdict::kSkipThrottle,
                 "the program needed the memory that the check held");
}

void CheckedCall::Drop() {
  recorder_.Skip(Verdict::kSkipThrottle,
                 "too many calls wait for their verdict");
}

void CheckedCall::ConcludeScreened() {
  if (shed_) {
    SkipShed();
    return;
  }
  const CaptureTolerance tolerance(on_device());
  WaitForDevice();
  const CostTimer timer(CostPart::kRecord);
  if (!screened_->ok()) {
    Conclude(ErrorOf(screened_->status(), Verdict::kErrorReference), {});
  } else if (**screened_) {
    TotalScreenCosts().accepted.fetch_add(1, std::memory_order_relaxed);
    recorder_.ConcludeResults(***screened_, taken_.screen->outputs());
  } else {
    Judgement judgement =
        in_full_.valid() ? JudgementOf(in_full_) : JudgeScreened();
    Conclude(std::move(judgement), taken_.screen->outputs());
  }
}

// Ends the call. An error, and a reference that refuses what the kernel did,
// may be of a device on which nothing works any more.
void CheckedCall::Conclude(Judgement judgement,
                           absl::Span<const c10::IValue> outputs) {
  const bool by_device = OutcomeOf(judgement.verdict) == Outcome::kError ||
                         judgement.verdict == Verdict::kFailThrow;
  if (by_device && EndIfDeviceFailed()) return;
  recorder_.ConcludeResults(std::move(judgement), outputs);
}

// Whether the device of the call has failed for good, so that nothing can be
// said of the call: it is an error if it is the first that finds that, else a
// skip.
bool CheckedCall::EndIfDeviceFailed() {
  if (!on_device()) return false;
  const CheckRecord& record = recorder_.record();
  if (!session_->device_failed()) {
    const std::optional<std::string> failure =
        DeviceFailure(c10::Device(record.device));
    if (!failure) return false;
    const std::string message = absl::StrCat(
        kDeviceFailed,
        ", and nothing on devices is checked from here on: ", record.device,
        ": ", *failure,
        "; CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds the kernel, which "
        "need not be this one");
    if (session_->NoteDeviceFailure(record.op, message)) {
      recorder_.Conclude(Differs(Verdict::kErrorReference, message));
      return true;
    }
  }
  recorder_.Skip(Verdict::kSkipUnsupported, kDeviceFailed);
  return true;
}

TimeBudget& CheckedCall::time_budget() const { return session_->time_budget(); }

void CheckedCall::ChargeLater(int64_t ns) {
  time_budget().ChargeLater(BudgetSignature(*op_.ledger, recorder_.signature()),
                            ns);
}

// What the screen holds becomes what the check has prepared.
absl::Status CheckedCall::PrepareFromScreen() {
  if (taken_.accepts) {
    TotalScreenCosts().in_full.fetch_add(1, std::memory_order_relaxed);
  }
  return budget_check_->PrepareFrom(
      taken_.screen->before(), taken_.screen->after(), taken_.screen->sample());
}

// What prepared_ says of the call where it is no OK.
Judgement CheckedCall::Unprepared() const {
  if (!IsSkip(prepared_)) return ErrorOf(prepared_, Verdict::kErrorReference);
  return NotJudged(absl::IsUnavailable(prepared_) ? Verdict::kSkipThrottle
                                                  : Verdict::kSkipUnsupported,
                   prepared_.message());
}

Judgement CheckedCall::JudgementInFull(absl::Span<const c10::IValue> outputs) {
  return prepared_.ok() ? check_->Judge(outputs) : Unprepared();
}

// From the copies of the screen.
Judgement CheckedCall::JudgeScreened() {
  prepared_ = PrepareFromScreen();
  return JudgementInFull(taken_.screen->outputs());
}

}  // namespace flaggems
