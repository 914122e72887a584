#include "flaggems/judge/judge_call.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/guarded_allocator.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/judge/contract.h"
#include "flaggems/judge/meaning.h"
#include "flaggems/judge/numbers.h"
#include "flaggems/judge/random_call.h"
#include "flaggems/judge/random_properties.h"
#include "flaggems/judge/reference_runs.h"
#include "flaggems/judge/unread_results.h"
#include "flaggems/reference/denied_calls.h"

namespace flaggems {
namespace {

class CallJudge {
 public:
  explicit CallJudge(const KernelCall& call) : call_(call), runs_(call) {}

  Judgement Judge() {
    if (auto denied = Denied()) return *std::move(denied);
    if (auto refused = Refused()) return *std::move(refused);
    if (auto broken = BrokenContract(call_, runs_)) {
      // With other counts, shapes or dtypes elements cannot be compared.
      if (broken->verdict == Verdict::kErrorReference ||
          broken->verdict == Verdict::kFailCount ||
          broken->verdict == Verdict::kFailShape ||
          broken->verdict == Verdict::kFailDtype) {
        return *std::move(broken);
      }
      worst_ = std::move(broken);
    }
    const OpClass op_class = call_.row.op_class;
    if (op_class == OpClass::kUninit || op_class == OpClass::kMeta) {
      return worst_.value_or(Judgement{});
    }
    if (IsRandomCall()) {
      JudgeRandomCall();
    } else {
      JudgeValues();
    }
    Judgement judgement = std::move(worst_).value_or(
        Differs(Verdict::kUntrustedEmpty, "no result"));
    judgement.rounding = std::move(rounding_);
    if (op_class == OpClass::kView) {
      // Where it lies and how is what is promised; it has the right elements
      // whatever they are, and if there are none.
      if (OutcomeOf(judgement.verdict) == Outcome::kUntrusted) {
        judgement.verdict = Verdict::kPass;
      }
    } else if (judgement.verdict == Verdict::kPass && AllZero()) {
      judgement.verdict = Verdict::kUntrustedAllZero;
    }
    return judgement;
  }

  Judgement JudgeThrown(const absl::Status& thrown) {
    if (auto denied = Denied()) return *std::move(denied);
    if (!call_.reference->is_operator()) {
      if (auto broken = BrokenMemory()) return *std::move(broken);
      return Differs(Verdict::kUntrustedReference,
                     absl::StrCat("the kernel refuses a call, and a golden "
                                  "function cannot say that it must not: ",
                                  thrown.message()));
    }
    const absl::StatusOr<ReferenceRun>& native = runs_.Native();
    if (native.ok()) {
      return Differs(Verdict::kFailThrow,
                     absl::StrCat("the kernel refuses a call that torch's own "
                                  "computes: ",
                                  thrown.message()));
    }
    if (absl::IsResourceExhausted(native.status())) {
      return Differs(Verdict::kErrorOutOfMemory,
                     std::string(native.status().message()));
    }
    if (auto broken = BrokenMemory()) return *std::move(broken);
    return Judgement{};
  }

 private:
  void Report(Judgement judgement) {
    if (!worst_ || IsWorse(judgement, *worst_)) worst_ = std::move(judgement);
  }

  // No reference may be asked.
  std::optional<Judgement> Denied() const {
    if (!call_.reference->is_operator()) return std::nullopt;
    if (auto reason =
            DeniedReason(call_.op.traits.key, call_.op.handle.schema(),
                         call_.before.arguments())) {
      return Differs(Verdict::kSkipPolicy, *std::move(reason));
    }
    return std::nullopt;
  }

  // The kernel computed what the reference does not. torch's own CPU kernels
  // promise float64, so their failure there shows in the numbers; the error of
  // a golden function says nothing of the kernel, whenever it comes.
  std::optional<Judgement> Refused() {
    const absl::StatusOr<ReferenceRun>& native = runs_.Native();
    if (native.ok()) {
      if (call_.reference->is_operator() || runs_.Wide().ok()) {
        return std::nullopt;
      }
      const absl::Status& wide = runs_.Wide().status();
      return absl::IsResourceExhausted(wide)
                 ? Differs(Verdict::kErrorOutOfMemory,
                           std::string(wide.message()))
                 : Differs(
                       Verdict::kErrorReference,
                       absl::StrCat(wide.message(),
                                    " (on float64 arguments; register it "
                                    "with widen = false if it takes none)"));
    }
    const absl::Status status = native.status();
    if (absl::IsResourceExhausted(status)) {
      return Differs(Verdict::kErrorOutOfMemory, std::string(status.message()));
    }
    // Kernels of a device take mixtures of dtypes that those of the CPU do not
    // (batch norm with statistics in float32); what is wrong with a call
    // otherwise is wrong in float64 too.
    if (!call_.on_host && runs_.Wide().ok()) return std::nullopt;
    if (absl::IsUnimplemented(status)) {
      // The CPU has no kernel for this dtype; float64 may have.
      if (runs_.Wide().ok()) return std::nullopt;
      return Differs(Verdict::kErrorReference,
                     std::string(runs_.Wide().status().message()));
    }
    if (!call_.reference->is_operator()) {
      return Differs(Verdict::kErrorReference, std::string(status.message()));
    }
    return Differs(Verdict::kFailThrow,
                   absl::StrCat("the kernel computes a call that torch's own "
                                "refuses: ",
                                status.message()));
  }

  // After an exception: arguments as they were.
  std::optional<Judgement> BrokenMemory() {
    const auto change = FindChange(call_.before, call_.arguments,
                                   call_.op.writable, call_.alone);
    if (!change || change->argument < 0) return std::nullopt;
    const auto& argument =
        call_.op.handle.schema()
            .arguments()[static_cast<size_t>(change->argument)];
    return Differs(Verdict::kFailArgument,
                   absl::StrCat("argument ", argument.name(),
                                " was changed by a call that was refused"));
  }

  // Without its random part an operator is judged as any other.
  bool IsRandomCall() const {
    const std::optional<double> dropout =
        DropoutOf(call_.op.handle.schema(), call_.before.arguments());
    if (dropout == 0) return false;
    if (!dropout && !call_.op.traits.nondeterministic_seeded &&
        call_.row.op_class != OpClass::kRandom) {
      return false;
    }
    return !InEval(call_.op, call_.before.arguments());
  }

  void JudgeRandomCall() {
    if (!HasRandomProperties(call_.op.traits.key)) {
      Report(Differs(Verdict::kUntrustedReference,
                     "random numbers without a property to judge them by"));
      return;
    }
    const absl::StatusOr<std::vector<c10::IValue>> outputs =
        OnHost(call_.outputs);
    const absl::StatusOr<std::vector<c10::IValue>> arguments =
        OnHost(call_.arguments);
    if (!outputs.ok() || !arguments.ok()) {
      Report(Differs(Verdict::kErrorOutOfMemory,
                     "no memory to copy the results to the host"));
      return;
    }
    absl::StatusOr<std::optional<RandomFailure>> failure = JudgeRandom(
        call_.op.handle, call_.before.arguments(), *outputs, *arguments);
    if (absl::IsUnimplemented(failure.status()) ||
        absl::IsInvalidArgument(failure.status())) {
      Report(Differs(Verdict::kUntrustedReference,
                     std::string(failure.status().message())));
      return;
    }
    if (!failure.ok()) {
      Report(Differs(Verdict::kErrorComparison,
                     std::string(failure.status().message())));
      return;
    }
    if (!*failure) {
      Report(Judgement{});
      return;
    }
    Judgement judgement =
        Differs(Verdict::kFailRandom,
                absl::StrCat((*failure)->property, ": ", (*failure)->message));
    judgement.output_index = (*failure)->output_index;
    judgement.worst_index = std::move((*failure)->worst_index);
    judgement.got = std::move((*failure)->got);
    judgement.want = std::move((*failure)->want);
    Report(std::move(judgement));
  }

  // Tensors of other devices copied to the CPU.
  static absl::StatusOr<std::vector<c10::IValue>> OnHost(
      absl::Span<const c10::IValue> values) {
    if (IsOnHost(values)) {
      return std::vector<c10::IValue>(values.begin(), values.end());
    }
    absl::StatusOr<Snapshot> copy = Snapshot::Take(values);
    if (!copy.ok()) return copy.status();
    return std::move(*copy).TakeArguments();
  }

  void JudgeValues() {
    const std::vector<FlatValue> got =
        ValuesOf(call_.outputs, call_.arguments, call_.op.writable);
    const size_t outputs = FlattenValues(call_.outputs).size();
    std::vector<Judgement> wrong;
    int output = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].list_size >= 0) continue;
      const int index = output++;
      if (IsUnread(call_.op, call_.before.arguments(), index)) continue;
      const bool is_argument = i >= outputs;
      // In-place and out operators return what they wrote; one that returns
      // something else cannot have written it.
      if (is_argument && (IsAmong(got[i].value, got, outputs) ||
                          (worst_ && worst_->verdict == Verdict::kFailAlias))) {
        continue;
      }
      Judgement judgement = JudgeValue(got[i].value, i, index);
      judgement.output_index = index;
      if (is_argument && OutcomeOf(judgement.verdict) == Outcome::kFail) {
        judgement.verdict = Verdict::kFailArgument;
        judgement.message = absl::StrCat(
            "the state written to an argument is wrong",
            judgement.message.empty() ? "" : "; ", judgement.message);
      }
      if (OutcomeOf(judgement.verdict) == Outcome::kFail) {
        wrong.push_back(std::move(judgement));
      } else {
        Report(std::move(judgement));
      }
    }
    if (wrong.empty()) return;
    if (const auto meaning = MeaningOfResults()) {
      if (meaning->message.empty()) {
        Report(Judgement{});
        return;
      }
      for (Judgement& judgement : wrong) judgement.message = meaning->message;
    }
    for (Judgement& judgement : wrong) Report(std::move(judgement));
  }

  std::optional<BrokenMeaning> MeaningOfResults() {
    const absl::StatusOr<std::optional<BrokenMeaning>> meaning =
        StatusOrOf([&]() -> absl::StatusOr<std::optional<BrokenMeaning>> {
          return JudgeMeaning(call_, runs_);
        });
    return meaning.ok() ? *meaning : std::nullopt;
  }

  static bool IsAmong(const c10::IValue& value,
                      const std::vector<FlatValue>& values, size_t count) {
    if (!value.isTensor()) return false;
    return std::any_of(
        values.begin(), values.begin() + static_cast<int64_t>(count),
        [&](const FlatValue& other) {
          return other.value.isTensor() &&
                 other.value.toTensor().is_same(value.toTensor());
        });
  }

  Judgement JudgeValue(const c10::IValue& got, size_t index, int output) {
    if (IsNothing(got)) {
      return Differs(Verdict::kUntrustedEmpty, "");
    }
    if (!IsNumberOrTensor(got)) {
      const absl::StatusOr<ReferenceRun>& native = runs_.Native();
      if (native.ok() && native->values[index].value == got) return Judgement{};
      return Differs(Verdict::kErrorComparison,
                     absl::StrCat("no rule to compare ", got.tagKind()));
    }
    const at::Tensor tensor = AsTensor(got);
    if (!IsPlainTensor(tensor)) {
      return Differs(Verdict::kErrorComparison,
                     "a result that is no strided tensor");
    }
    Judgement judgement =
        JudgeNumbers(call_, runs_, index,
                     WithUnreadCellsFilled(call_.op, call_.before.arguments(),
                                           output, ToHost(tensor)));
    rounding_.insert(rounding_.end(), judgement.rounding.begin(),
                     judgement.rounding.end());
    if (OutcomeOf(judgement.verdict) == Outcome::kFail &&
        judgement.worst_index && tensor.device().is_cpu() &&
        tensor.numel() > 0 &&
        IsUnwritten(tensor, PositionOf(*judgement.worst_index, tensor))) {
      judgement.verdict = Verdict::kFailValue;
      judgement.message = "never written by the kernel";
    }
    return judgement;
  }

  static int64_t PositionOf(const std::vector<int64_t>& index,
                            const at::Tensor& tensor) {
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      position = position * tensor.size(static_cast<int64_t>(d)) + index[d];
    }
    return position;
  }

  // Results and floating inputs are zero everywhere: nearly any kernel would
  // agree.
  bool AllZero() const {
    bool any = false;
    bool zero = true;
    VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
      if (!zero || (!tensor.is_floating_point() && !tensor.is_complex())) {
        return;
      }
      any = true;
      zero = tensor.numel() == 0 || !tensor.ne(0).any().item<bool>();
    });
    if (!any || !zero) return false;
    bool results = false;
    VisitTensors(call_.outputs, [&](const at::Tensor& tensor) {
      if (!zero || !IsPlainTensor(tensor) || tensor.numel() == 0) return;
      results = true;
      zero = !tensor.ne(0).any().item<bool>();
    });
    return results && zero;
  }

  const KernelCall& call_;
  ReferenceRuns runs_;
  std::optional<Judgement> worst_;
  std::vector<RoundingStep> rounding_;  // of all results
};

}  // namespace

Judgement JudgeCall(const KernelCall& call) {
  const auto judgement = StatusOrOf(
      [&]() -> absl::StatusOr<Judgement> { return CallJudge(call).Judge(); });
  return judgement.ok() ? *judgement : ErrorOf(judgement.status());
}

Judgement JudgeThrow(const KernelCall& call, const absl::Status& thrown) {
  const auto judgement = StatusOrOf([&]() -> absl::StatusOr<Judgement> {
    return CallJudge(call).JudgeThrown(thrown);
  });
  return judgement.ok() ? *judgement : ErrorOf(judgement.status());
}

}  // namespace flaggems
