#include "flaggems/check/checked_kernel.h"

#include <ATen/Parallel.h>
#include <ATen/core/stack.h>
#include <c10/core/StreamGuard.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/guarded_allocator.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/budget_check.h"
#include "flaggems/check/call_check.h"
#include "flaggems/check/check_timer.h"
#include "flaggems/check/fixed_check.h"
#include "flaggems/check/substitute.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/policy/op_summary.h"
#include "flaggems/policy/pending_queue.h"
#include "flaggems/policy/worker_pool.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/screen/costs.h"
#include "flaggems/screen/host_copy_screen.h"
#include "flaggems/screen/screen.h"

namespace flaggems {
namespace {

// The state of one admitted call.
class CheckedCall {
 public:
  CheckedCall(std::shared_ptr<const CheckedOp> op, CheckRuntime& runtime,
              std::shared_ptr<CheckSession> session,
              std::shared_ptr<const Reference> reference, int64_t call,
              const CallTraits& traits, absl::Span<const c10::IValue> arguments)
      : op_owner_(std::move(op)),
        op_(*op_owner_),
        runtime_(runtime),
        session_(std::move(session)),
        reference_(std::move(reference)),
        signature_(traits.signature),
        max_numel_(traits.max_numel),
        check_(MakeCheck(traits)) {
    record_.op = op_.judged.traits.key;
    record_.call = call;
    record_.device = DeviceOf(arguments);
    record_.inputs = DescribeInputs(arguments);
    if (session_->on_failure() == OnFailure::kSubstitute) {
      arguments_ = AllWithOwnLists(arguments);
    }
    record_.timestamp = session_->Now();
    record_.thread = static_cast<uint64_t>(gettid());
    const std::vector<bool>& writable = op_.judged.writable;
    for (size_t i = 0; i < writable.size(); ++i) {
      if (writable[i]) written_.push_back(arguments[i]);
    }
  }

  // Keeps what the check needs, before the kernel runs.
  void TakeArguments(absl::Span<const c10::IValue> arguments) {
    const CaptureTolerance tolerance(on_device());
    if (budget_check_ != nullptr && on_device()) {
      const CostTimer timer(CostPart::kSnapshot);
      prepared_ = TakeScreen(arguments);
      if (screen_ != nullptr || !prepared_.ok()) return;
    }
    prepared_ = check_->Prepare(arguments);
  }

  bool poison() const { return session_->poison(); }

  // The kernel returned. Where is_pending() is true after it, its verdict comes
  // later.
  void Judge(absl::Span<const c10::IValue> outputs) {
    const CaptureTolerance tolerance(on_device());
    bool comparable = true;
    bool vast = false;
    VisitTensors(outputs, [&](const at::Tensor& tensor) {
      comparable = comparable && IsComparable(tensor);
      vast = vast || IsVast(tensor);
    });
    if (!comparable || vast) {
      Skip(vast ? Verdict::kSkipSize : Verdict::kSkipUnsupported);
      return;
    }
    record_.output = DescribeOutputs(outputs);
    if (const auto skip = session_->policy().AdmitOutputs(MaxNumel(outputs))) {
      Skip(*skip);
      return;
    }
    if (screen_ != nullptr) {
      const absl::StatusOr<bool> enqueued = screen_->Enqueue(outputs);
      if (enqueued.ok() && *enqueued) {
        pending_ = session_->on_failure() == OnFailure::kLog;
        if (!pending_) ConcludeScreened();
        return;
      }
      prepared_ = enqueued.ok() ? PrepareFromScreen() : enqueued.status();
    }
    JudgeInFull(outputs);
  }

  // Its verdict comes later: the device works on it still, or a thread of
  // CheckRuntime::judges() does.
  bool is_pending() const { return pending_; }
  int64_t pending_bytes() const { return screen_->bytes(); }
  // Of a pending call that has ended; 0 if it is not known.
  int64_t device_ns() const { return screen_->DeviceNs().value_or(0); }

  // The functions of a pending call, see PendingCheck.
  bool DeviceIsDone() {
    const CaptureTolerance tolerance(on_device());
    return screen_->Ready();
  }
  void WaitForDevice() {
    const CaptureTolerance tolerance(on_device());
    if (!screened_) screened_ = screen_->Judged();
  }
  // Waits for the device if it has to. What has to be judged in full goes to
  // another thread; false if that has no room for it.
  bool StartJudging(WorkerPool::WhenFull when_full) {
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
  void GiveUpJudging() {
    std::promise<Judgement> promise;
    in_full_ = promise.get_future();
    promise.set_value(
        NotJudged(Verdict::kSkipThrottle,
                  "the threads that judge on the host had too much to do"));
  }
  bool is_judged() const {
    return !in_full_.valid() || in_full_.wait_for(std::chrono::seconds(0)) ==
                                    std::future_status::ready;
  }
  void WaitUntilJudged() const {
    if (in_full_.valid()) in_full_.wait();
  }
  void Drop() {
    record_.message = "too many calls wait for their verdict";
    Skip(Verdict::kSkipThrottle);
  }

  TimeBudget& time_budget() const { return session_->time_budget(); }
  // What the check cost after the call returned.
  void ChargeLater(int64_t ns) {
    time_budget().ChargeLater(BudgetSignature(*op_.ledger, signature_), ns);
  }

  // Ends a pending call; waits for the device if it has to.
  void ConcludeScreened() {
    const CaptureTolerance tolerance(on_device());
    WaitForDevice();
    const CostTimer timer(CostPart::kRecord);
    if (!screened_->ok()) {
      Conclude(ErrorOf(screened_->status(), Verdict::kErrorReference),
               /*dtype=*/"");
    } else if (**screened_) {
      TotalScreenCosts().accepted.fetch_add(1, std::memory_order_relaxed);
      Conclude(***screened_, /*dtype=*/"");
    } else {
      ConcludeInFull(in_full_.valid() ? JudgementOf(in_full_) : JudgeScreened(),
                     screen_->outputs());
    }
  }

  // The kernel threw.
  void JudgeException(const std::exception_ptr& exception) {
    const CaptureTolerance tolerance(on_device());
    if (screen_ != nullptr) prepared_ = PrepareFromScreen();
    if (IsSkip(prepared_)) {
      Conclude(Unprepared(), /*dtype=*/"");
      return;
    }
    if (absl::IsCancelled(StatusOfException(exception))) {
      Conclude(
          Differs(Verdict::kUntrustedReference, "the call was interrupted"),
          /*dtype=*/"");
      return;
    }
    Conclude(prepared_.ok() ? check_->JudgeException(exception) : Unprepared(),
             /*dtype=*/"");
  }

  // What the caller is to get in place of what the kernel gave it; nullopt: the
  // call did not fail, or nothing is to replace it, or nothing can.
  std::optional<std::vector<c10::IValue>> Substitutes() {
    if (session_->on_failure() != OnFailure::kSubstitute || !ended_ ||
        OutcomeOf(record_.verdict) != Outcome::kFail) {
      return std::nullopt;
    }
    const CaptureTolerance tolerance(on_device());
    std::vector<c10::IValue> outputs;
    const absl::StatusOr<Recomputed> reference = check_->Recompute();
    const absl::Status status =
        reference.ok()
            ? Substitute(op_.judged, *reference, arguments_, &outputs)
            : reference.status();
    if (status.ok()) return outputs;
    session_->NoteError(record_.op, absl::StrCat("a wrong result could not be "
                                                 "substituted: ",
                                                 status.message()));
    return std::nullopt;
  }

  // Judging threw; ends the call if it has not ended.
  void GiveUp() noexcept {
    if (ended_) return;
    ended_ = true;
    runtime_.Conclude(session_.get(), op_, Verdict::kErrorOutOfMemory,
                      signature_);
  }

 private:
  bool on_device() const { return record_.device != "cpu"; }

  // Null: calls of this session are judged in full.
  const ScreenMaker* Screens() const {
    // A screen costs the host some 50 us, whatever the size; so does a smaller
    // call on the CPU (docs/performance.md).
    constexpr int64_t kScreenedByAuto = 1024;
    const ReferencePlace place = session_->reference();
    const bool wanted =
        place == ReferencePlace::kDevice ||
        (place == ReferencePlace::kAuto && max_numel_ >= kScreenedByAuto);
    return wanted ? RegisteredScreenMaker() : nullptr;
  }

  // A screen of the device if one takes the call, else one that copies it to
  // the host; null without an error: the call is judged at once.
  // kUnavailable: it is not judged, as others are waiting.
  absl::Status TakeScreen(absl::Span<const c10::IValue> arguments) {
    const ScreenMaker* const screens = Screens();
    if (screens != nullptr) {
      FG_ASSIGN_OR_RETURN(screen_, MakeScreen(*screens, arguments));
      if (screen_ != nullptr) {
        accepts_ = true;
        if (session_->time_budget().limited()) screen_->MeasureDeviceTime();
        TotalScreenCosts().screened.fetch_add(1, std::memory_order_relaxed);
        return absl::OkStatus();
      }
    }
    if (session_->on_failure() != OnFailure::kLog) return absl::OkStatus();
    FG_ASSIGN_OR_RETURN(screen_,
                        HostCopyScreens().Make(op_.judged, budget_check_->row(),
                                               *op_.screen_hints, arguments,
                                               session_->memory_limit()));
    return absl::OkStatus();
  }

  // Within the memory that pending calls leave. They are waited for where a
  // large call needs it, or where they have most of it.
  absl::StatusOr<std::unique_ptr<Screen>> MakeScreen(
      const ScreenMaker& screens, absl::Span<const c10::IValue> arguments) {
    constexpr int64_t kLarge = 1 << 20;
    const auto make = [&](int64_t memory_limit) {
      return screens.Make(op_.judged, budget_check_->row(), *op_.screen_hints,
                          arguments, memory_limit);
    };
    const int64_t limit = session_->memory_limit();
    const int64_t pending = runtime_.pending().bytes();
    if (limit == 0 || pending == 0) return make(limit);
    absl::StatusOr<std::unique_ptr<Screen>> screen =
        make(std::max<int64_t>(1, limit - pending));
    if (!screen.ok() || *screen != nullptr ||
        (pending <= limit / 2 && max_numel_ < kLarge)) {
      return screen;
    }
    runtime_.pending().Drain();
    return make(std::max<int64_t>(1, limit - runtime_.pending().bytes()));
  }

  // What the screen holds becomes what the check has prepared.
  absl::Status PrepareFromScreen() {
    if (accepts_) {
      TotalScreenCosts().in_full.fetch_add(1, std::memory_order_relaxed);
    }
    return budget_check_->PrepareFrom(screen_->before(), screen_->after());
  }

  static Judgement NotJudged(Verdict verdict, absl::string_view message) {
    Judgement judgement;
    judgement.verdict = verdict;
    judgement.message = std::string(message);
    return judgement;
  }

  // Whether a call with this in prepared_ is a SKIP.
  static bool IsSkip(const absl::Status& prepared) {
    return absl::IsUnimplemented(prepared) || absl::IsUnavailable(prepared);
  }

  // What prepared_ says of the call where it is no OK.
  Judgement Unprepared() const {
    if (!IsSkip(prepared_)) return ErrorOf(prepared_, Verdict::kErrorReference);
    return NotJudged(absl::IsUnavailable(prepared_) ? Verdict::kSkipThrottle
                                                    : Verdict::kSkipUnsupported,
                     prepared_.message());
  }

  Judgement JudgementInFull(absl::Span<const c10::IValue> outputs) {
    return prepared_.ok() ? check_->Judge(outputs) : Unprepared();
  }

  void JudgeInFull(absl::Span<const c10::IValue> outputs) {
    ConcludeInFull(JudgementInFull(outputs), outputs);
  }

  void ConcludeInFull(Judgement judgement,
                      absl::Span<const c10::IValue> outputs) {
    const std::string dtype = OutcomeOf(judgement.verdict) == Outcome::kFail
                                  ? DtypeName(judgement.output_index, outputs)
                                  : "";
    Conclude(std::move(judgement), dtype);
  }

  // From the copies of the screen.
  Judgement JudgeScreened() {
    prepared_ = PrepareFromScreen();
    return JudgementInFull(screen_->outputs());
  }

  // That of the checker on the device of the screen's copies; nullopt: they are
  // on the host.
  std::optional<c10::Stream> ScreenStream() const {
    std::optional<c10::Device> device;
    const auto look = [&](const at::Tensor& tensor) {
      if (!tensor.device().is_cpu()) device = tensor.device();
    };
    VisitTensors(screen_->before(), look);
    VisitTensors(screen_->outputs(), look);
    return device ? CopyStream(*device) : std::nullopt;
  }

  // On a thread of the checker. Nothing of the call is touched once `promise`
  // is kept: the thread that waits for it may end the call.
  void JudgeFor(std::promise<Judgement>& promise) {
    try {
      Judgement judgement = [&] {
        const CheckScope scope;
        const CaptureTolerance tolerance(on_device());
        // Not in the program's stream, what has to come from the device.
        const c10::OptionalStreamGuard beside(ScreenStream());
        return JudgeScreened();
      }();
      promise.set_value(std::move(judgement));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }

  // Throws what judging threw.
  static Judgement JudgementOf(std::future<Judgement>& future) {
    try {
      return future.get();
    } catch (const std::future_error&) {
      return NotJudged(Verdict::kSkipThrottle,
                       "the program ended before the call was judged");
    }
  }

  std::unique_ptr<CallCheck> MakeCheck(const CallTraits& traits) {
    if (session_->tolerance_model() == ToleranceModel::kBudget) {
      auto check = std::make_unique<BudgetCheck>(
          op_.judged, reference_,
          session_->policy().BudgetFor(op_.judged.traits.key),
          session_->memory_limit());
      budget_check_ = check.get();
      return check;
    }
    const Tolerance tolerance =
        session_->policy().ToleranceFor(op_.judged.traits, traits);
    record_.rtol = tolerance.rtol;
    record_.atol = tolerance.atol;
    return std::make_unique<FixedCheck>(op_.judged, reference_, tolerance);
  }

  void Skip(Verdict verdict) {
    record_.verdict = verdict;
    ended_ = true;
    // What is skipped for want of time is no matter of the call.
    if (runtime_.Abandon(session_.get(), op_, verdict, signature_) &&
        verdict != Verdict::kSkipThrottle) {
      Log();
    }
  }

  // TorchName() of a result, counted as Judgement::output_index is; empty if it
  // has none.
  std::string DtypeName(int output_index,
                        absl::Span<const c10::IValue> outputs) const {
    std::vector<FlatValue> values = FlattenValues(outputs);
    for (FlatValue& value : FlattenValues(written_)) {
      values.push_back(std::move(value));
    }
    for (const FlatValue& value : values) {
      if (value.list_size >= 0 || output_index-- > 0) continue;
      if (IsNothing(value.value) || !IsNumberOrTensor(value.value)) return "";
      return std::string(
          TorchName(DTypeOf(AsTensor(value.value).scalar_type())));
    }
    return "";
  }

  // `dtype` is that of the failing output, empty without one.
  void Conclude(Judgement judgement, absl::string_view dtype) {
    if (OutcomeOf(judgement.verdict) == Outcome::kFail &&
        session_->policy().Suppressed(op_.judged.traits.key, dtype,
                                      judgement.verdict)) {
      judgement.verdict = Verdict::kSkipSuppressed;
    }
    if (judgement.verdict == Verdict::kPass) AddRounding(judgement);
    record_.verdict = judgement.verdict;
    record_.max_abs_diff = judgement.max_abs_diff;
    record_.max_rel_diff = judgement.max_rel_diff;
    record_.score = judgement.score;
    record_.output_index = judgement.output_index;
    record_.worst_index = std::move(judgement.worst_index);
    record_.got = std::move(judgement.got);
    record_.want = std::move(judgement.want);
    record_.message = std::move(judgement.message);
    if (judgement.allowed) record_.atol = *judgement.allowed;
    const bool suppressed = record_.verdict == Verdict::kSkipSuppressed;
    if (OutcomeOf(record_.verdict) == Outcome::kSkip && !suppressed) {
      Skip(record_.verdict);
      return;
    }
    if (judgement.score && !suppressed) {
      op_.ledger->NoteScore(*judgement.score);
    }
    if (OutcomeOf(record_.verdict) == Outcome::kError) {
      session_->NoteError(record_.op, record_.message);
    }
    ended_ = true;
    if (runtime_.Conclude(session_.get(), op_, record_.verdict, signature_)) {
      Log();
    }
    if (session_->on_failure() == OnFailure::kAbort &&
        OutcomeOf(record_.verdict) == Outcome::kFail) {
      Abort();
    }
  }

  // As the user asked: the process stops where a kernel is wrong.
  [[noreturn]] void Abort() {
    session_->Flush().IgnoreError();
    const std::string text = absl::StrCat(
        FormatSummaryTable(Summarize(runtime_.ledgers())),
        "flaggems: ", record_.op.ToString(), " is wrong in call ", record_.call,
        " (", ReasonName(record_.verdict), "), and on_failure is abort\n");
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::abort();
  }

  // Turns the judgement of the call with which a bias over all calls becomes
  // significant into a failure.
  void AddRounding(Judgement& judgement) {
    if (judgement.rounding.empty()) return;
    op_.bias->Add(judgement.rounding);
    const RoundingBias::Summary summary = op_.bias->summary();
    if (!summary.significant || !op_.bias->MarkReported()) return;
    judgement.verdict = Verdict::kFailValue;
    judgement.message = absl::StrFormat(
        "biased over %d calls: of %d different results %d were rounded up and "
        "%d down where the reference was not, at most %.1f could be; %.3f ulp "
        "on average",
        record_.call, summary.counted, summary.ups, summary.downs,
        summary.expected_flips, summary.mean_ulps);
  }

  void Log() {
    record_.profile = session_->profile();
    record_.reference = reference_->name();
    record_.rank = session_->rank();
    record_.pid = getpid();
    session_->Log(record_);
  }

  const std::shared_ptr<const CheckedOp> op_owner_;
  const CheckedOp& op_;
  CheckRuntime& runtime_;
  const std::shared_ptr<CheckSession> session_;
  const std::shared_ptr<const Reference> reference_;
  const uint64_t signature_;
  const int64_t max_numel_;  // of the arguments
  CheckRecord record_;
  std::vector<c10::IValue> written_;     // the arguments that may be
  std::vector<c10::IValue> arguments_;   // all, if results are substituted
  BudgetCheck* budget_check_ = nullptr;  // check_, if that is one
  std::unique_ptr<CallCheck> check_;
  std::unique_ptr<Screen> screen_;  // null: the call is judged in full
  bool accepts_ = false;            // screen_ does, what is right
  std::optional<absl::StatusOr<std::optional<Judgement>>> screened_;
  std::future<Judgement> in_full_;  // valid: another thread judges
  absl::Status prepared_ = absl::ResourceExhaustedError("not prepared");
  bool pending_ = false;
  bool ended_ = false;  // its verdict is counted
};

// Runs a part of the check as the checker; nothing it throws reaches the user's
// program. False if it threw: parts turn errors into verdicts themselves, so
// what is left is a failed allocation of the bookkeeping.
template <typename Part>
bool Guarded(Part&& part) noexcept {
  try {
    const CheckScope scope;
    part();
    return true;
  } catch (...) {
    return false;
  }
}

// A call whose verdict comes later.
class PendingCall final : public PendingCheck {
 public:
  explicit PendingCall(std::shared_ptr<CheckedCall> call)
      : call_(std::move(call)) {}

  bool Start(WhenBusy when_busy) override {
    if (!call_->DeviceIsDone()) return false;
    const bool started = Begin(WorkerPool::WhenFull::kRefuse);
    if (started || when_busy == WhenBusy::kKeep) return started;
    failed_ = !Guarded([&] { call_->GiveUpJudging(); });
    return started_ = true;
  }
  bool Ready() override { return failed_ || call_->is_judged(); }
  void WaitForDevice() override {
    // What fails here fails in Begin() again.
    if (!started_) Guarded([&] { call_->WaitForDevice(); });
  }
  void Wait() override {
    if (!started_) Begin(WorkerPool::WhenFull::kWait);
    if (!failed_) call_->WaitUntilJudged();
  }
  void Conclude() override {
    int64_t device_ns = 0;
    if (failed_ || !Timed([&] {
          call_->ConcludeScreened();
          device_ns = call_->device_ns();
        })) {
      call_->GiveUp();
    }
    call_->ChargeLater(spent_ns_ + device_ns);
  }
  void Drop() override {
    if (!Guarded([&] { call_->Drop(); })) call_->GiveUp();
  }
  int64_t bytes() const override { return call_->pending_bytes(); }

 private:
  // As Guarded(); it is part of what the check costs after the call.
  template <typename Part>
  bool Timed(Part&& part) {
    const bool timed = call_->time_budget().limited();
    const int64_t begun = timed ? call_->time_budget().Now() : 0;
    const bool done = Guarded(part);
    if (timed) spent_ns_ += call_->time_budget().Now() - begun;
    return done;
  }

  // False: no thread has room for it.
  bool Begin(WorkerPool::WhenFull when_full) {
    failed_ = !Timed([&] { started_ = call_->StartJudging(when_full); });
    return started_ = started_ || failed_;
  }

  const std::shared_ptr<CheckedCall> call_;
  bool started_ = false;
  bool failed_ = false;  // for want of memory
  int64_t spent_ns_ = 0;
};

class CheckedKernel final : public c10::OperatorKernel {
 public:
  CheckedKernel(std::shared_ptr<const CheckedOp> op, CheckRuntime* runtime)
      : op_(std::move(op)), runtime_(runtime) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    // A typed wrapper of ours still holds the lists that it put here.
    OwnTensorLists(stack, handle.schema().arguments().size());
    if (CheckScope::active()) {
      if (op_->native != nullptr) {
        op_->native->callBoxed(handle, keys, stack);
      } else {
        op_->kernel.callBoxed(handle, keys, stack);
      }
      return;
    }
    if (at::in_parallel_region()) {
      // In a parallel loop of another kernel: its other workers write beside
      // what this call reads, so that nothing can be said of the memory.
      op_->ledger->Count(Verdict::kSkipReentrant);
      op_->kernel.callBoxed(handle, keys, stack);
      return;
    }
    CheckTimer timer;
    std::shared_ptr<CheckedCall> call = Begin(handle, *stack, timer);
    timer.Pause();
    if (!call) {
      op_->kernel.callBoxed(handle, keys, stack);
      return;
    }
    const size_t below = stack->size() - handle.schema().arguments().size();
    try {
      std::optional<GuardedAllocation> guarded;
      if (call->poison()) guarded.emplace();
      op_->kernel.callBoxed(handle, keys, stack);
    } catch (...) {
      timer.Resume();
      const std::exception_ptr exception = std::current_exception();
      if (!Guarded([&] { call->JudgeException(exception); })) call->GiveUp();
      if (!Replace(*call, stack, below)) throw;
      return;
    }
    timer.Resume();
    if (!Guarded(
            [&] { call->Judge(absl::MakeConstSpan(*stack).subspan(below)); })) {
      call->GiveUp();
    }
    if (call->is_pending()) {
      // It may conclude others, which charge for themselves.
      timer.Pause();
      if (!Guarded([&] {
            runtime_->pending().Add(std::make_unique<PendingCall>(call));
          })) {
        call->GiveUp();
      }
      return;
    }
    Replace(*call, stack, below);
  }

 private:
  // Puts what the call is to return instead onto the stack, if anything.
  static bool Replace(CheckedCall& call, torch::jit::Stack* stack,
                      size_t below) {
    std::optional<std::vector<c10::IValue>> results;
    Guarded([&] {
      results = call.Substitutes();
      if (!results) return;
      // What a backward pass reads may be the kernel's alone.
      for (size_t i = 0; i < results->size() && below + i < stack->size();
           ++i) {
        if (IsNothing((*results)[i])) (*results)[i] = (*stack)[below + i];
      }
      // No more allocation below.
      stack->reserve(below + results->size());
    });
    if (!results) return false;
    stack->resize(below);
    for (c10::IValue& result : *results) stack->push_back(std::move(result));
    return true;
  }

  // Of earlier calls. Another thread may be capturing.
  void CollectVerdicts() const {
    const CaptureTolerance tolerance(runtime_->pending().pending() > 0);
    runtime_->pending().Poll();
  }

  // Decides on the call; null: it is counted, and only to be run.
  std::shared_ptr<CheckedCall> Begin(const c10::OperatorHandle& handle,
                                     const torch::jit::Stack& stack,
                                     CheckTimer& timer) {
    std::shared_ptr<CheckedCall> call;
    bool admitted = false;
    Guarded([&] {
      const std::shared_ptr<CheckSession> session = runtime_->session();
      if (session == nullptr) {
        op_->ledger->Count(Verdict::kSkipDisabled);
        return;
      }
      TimeBudget& budget = session->time_budget();
      const bool timed = budget.limited();
      int64_t begun = timed ? budget.Now() : 0;
      const int64_t number = op_->ledger->NextCall();
      const absl::Span<const c10::IValue> arguments =
          absl::MakeConstSpan(stack).last(handle.schema().arguments().size());
      CallTraits traits = CallTraitsOf(arguments);
      if (!traits.capturing) {
        // They charge for themselves.
        const int64_t before = timed ? budget.Now() : 0;
        CollectVerdicts();
        if (timed) begun += budget.Now() - before;
      }
      std::shared_ptr<const Reference> reference = op_->judged.reference.Get();
      if (reference == nullptr) {
        traits.supported = false;
        session->NoteUnchecked(op_->judged.traits.key,
                               op_->judged.reference.why_none());
      }
      bool no_time = false;
      if (const auto skip = session->policy().Admit(*op_->ledger, traits,
                                                    &budget, &no_time)) {
        op_->ledger->Count(*skip);
        runtime_->CloseIfSettled(session.get(), *op_);
        if (no_time) PassOverNext(*session, number, begun);
        return;
      }
      admitted = true;
      timer.Start(session, BudgetSignature(*op_->ledger, traits.signature));
      call = std::make_shared<CheckedCall>(op_, *runtime_, session,
                                           std::move(reference), number, traits,
                                           arguments);
      call->TakeArguments(arguments);
    });
    if (admitted && !call) {
      // Out of memory while the call was described.
      op_->ledger->FinishCheck();
      op_->ledger->Count(Verdict::kErrorOutOfMemory);
    }
    return call;
  }

  // A look at call `number`, since `begun`, found no time for a check; nor
  // would those at the next calls.
  void PassOverNext(CheckSession& session, int64_t number, int64_t begun) {
    TimeBudget& budget = session.time_budget();
    const int64_t now = budget.Now();
    budget.ChargeLook(now - begun);
    runtime_->PassOver(
        &session, *op_,
        op_->ledger->CallsToPassOver(number, now, budget.look_period()));
  }

  const std::shared_ptr<const CheckedOp> op_;
  CheckRuntime* const runtime_;
};

}  // namespace

c10::BoxedKernel MakeCheckedKernel(std::shared_ptr<const CheckedOp> op,
                                   CheckRuntime* runtime) {
  return c10::BoxedKernel::makeFromFunctor(
      std::make_unique<CheckedKernel>(std::move(op), runtime));
}

}  // namespace flaggems
