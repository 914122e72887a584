#include "flaggems/check/call_recorder.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/thread_id.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/policy/op_summary.h"

namespace flaggems {
namespace {

// TorchName() of each value, lists counted through; empty without a dtype.
std::vector<std::string> DtypeNames(absl::Span<const c10::IValue> values) {
  std::vector<std::string> names;
  for (const FlatValue& value : FlattenValues(values)) {
    if (value.list_size >= 0) continue;
    std::string& name = names.emplace_back();
    if (IsNothing(value.value) || !IsNumberOrTensor(value.value)) continue;
    name = std::string(TorchName(DTypeOf(AsTensor(value.value).scalar_type())));
  }
  return names;
}

}  // namespace

CallRecorder::CallRecorder(const CheckedOp& op, CheckRuntime& runtime,
                           std::shared_ptr<CheckSession> session,
                           std::shared_ptr<const Reference> reference,
                           int64_t call, const CallTraits& traits,
                           absl::Span<const c10::IValue> arguments)
    : op_(op),
      runtime_(runtime),
      session_(std::move(session)),
      reference_(std::move(reference)),
      signature_(traits.signature) {
  record_.op = op_.judged.traits.key;
  record_.call = call;
  record_.device = DeviceOf(arguments);
  record_.inputs = DescribeInputs(arguments);
  record_.timestamp = session_->Now();
  record_.thread = ThreadId();
  const std::vector<bool>& writable = op_.judged.writable;
  for (size_t i = 0; i < writable.size(); ++i) {
    if (!writable[i]) continue;
    for (std::string& dtype : DtypeNames(arguments.subspan(i, 1))) {
      written_dtypes_.push_back(std::move(dtype));
    }
  }
}

void CallRecorder::SetTolerance(double rtol, double atol) {
  record_.rtol = rtol;
  record_.atol = atol;
}

void CallRecorder::SetOutputs(absl::Span<const c10::IValue> outputs) {
  record_.output = DescribeOutputs(outputs);
}

void CallRecorder::Skip(Verdict verdict, absl::string_view message) {
  if (!message.empty()) record_.message = std::string(message);
  record_.verdict = verdict;
  ended_ = true;
  // What is skipped for want of time is no matter of the call.
  if (runtime_.Abandon(session_.get(), op_, verdict, signature_) &&
      verdict != Verdict::kSkipThrottle) {
    Log();
  }
}

void CallRecorder::ConcludeResults(Judgement judgement,
                                   absl::Span<const c10::IValue> outputs) {
  const std::string dtype = OutcomeOf(judgement.verdict) == Outcome::kFail
                                ? DtypeName(judgement.output_index, outputs)
                                : "";
  Conclude(std::move(judgement), dtype);
}

void CallRecorder::Conclude(Judgement judgement, absl::string_view dtype) {
  if (OutcomeOf(judgement.verdict) == Outcome::kFail &&
      session_->policy().Suppressed(op_.judged.traits.key, dtype,
                                    judgement.verdict)) {
    judgement.verdict = Verdict::kSkipSuppressed;
  }
  if (judgement.verdict == Verdict::kPass) AddRounding(judgement);
  record_.verdict = judgement.verdict;
  record_.max_abs_diff = judgement.max_abs_diff;
  record_.max_rel_diff = judgement.max_rel_diff;
  record_.mean_error_ulps = judgement.mean_error_ulps;
  record_.rms_error_ulps = judgement.rms_error_ulps;
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

void CallRecorder::GiveUp() noexcept {
  if (ended_) return;
  ended_ = true;
  runtime_.Conclude(session_.get(), op_, Verdict::kErrorOutOfMemory,
                    signature_);
}

// Of a result, counted as Judgement::output_index is; empty if it has none.
std::string CallRecorder::DtypeName(
    int output_index, absl::Span<const c10::IValue> outputs) const {
  std::vector<std::string> dtypes = DtypeNames(outputs);
  dtypes.insert(dtypes.end(), written_dtypes_.begin(), written_dtypes_.end());
  const auto index = static_cast<size_t>(output_index);
  return index < dtypes.size() ? dtypes[index] : "";
}

// Turns the judgement of the call with which a bias over all calls becomes
// significant into a failure.
void CallRecorder::AddRounding(Judgement& judgement) const {
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

// As the user asked: the process stops where a kernel is wrong.
void CallRecorder::Abort() {
  session_->Flush().IgnoreError();
  const std::string text = absl::StrCat(
      FormatSummaryTable(Summarize(runtime_.ledgers())),
      "flaggems: ", record_.op.ToString(), " is wrong in call ", record_.call,
      " (", ReasonName(record_.verdict), "), and on_failure is abort\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::abort();
}

void CallRecorder::Log() {
  record_.profile = session_->profile();
  record_.reference = reference_->name();
  record_.rank = session_->rank();
  record_.pid = getpid();
  session_->Log(record_);
}

}  // namespace flaggems
