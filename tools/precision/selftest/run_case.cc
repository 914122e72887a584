#include "tools/precision/selftest/run_case.h"

#include <ATen/Context.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/check_session.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/config/precision_options.h"
#include "flaggems/core/clock.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/registrar/observer.h"
#include "flaggems/registrar/override_warning.h"
#include "flaggems/session_options.h"
#include "flaggems/sink/memory_sink.h"

namespace flaggems::selftest {
namespace {

// The case's kernel as a library would register it.
class PlantedKernel final : public c10::OperatorKernel {
 public:
  PlantedKernel(const SelftestCase& selftest_case, NativeCall native)
      : case_(selftest_case), native_(std::move(native)) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                  Stack* stack) {
    RunKernel(case_, native_, stack);
  }

 private:
  const SelftestCase& case_;
  const NativeCall native_;
};

class Tf32Allowed {
 public:
  explicit Tf32Allowed(bool allow)
      : before_(at::globalContext().allowTF32CuBLAS()) {
    at::globalContext().setAllowTF32CuBLAS(allow);
  }
  ~Tf32Allowed() { at::globalContext().setAllowTF32CuBLAS(before_); }
  Tf32Allowed(const Tf32Allowed&) = delete;
  Tf32Allowed& operator=(const Tf32Allowed&) = delete;

 private:
  const bool before_;
};

// Forwards to a sink that outlives the session.
class SharedSink final : public RecordSink {
 public:
  explicit SharedSink(MemorySink* sink) : sink_(sink) {}
  absl::Status Send(const CheckRecord& record) override {
    return sink_->Send(record);
  }
  absl::Status Flush() override { return sink_->Flush(); }

 private:
  MemorySink* const sink_;
};

absl::StatusOr<std::shared_ptr<CheckSession>> StrictSession(MemorySink* sink) {
  FG_ASSIGN_OR_RETURN(CheckSessionOptions options,
                      SessionOptionsOf(PrecisionOptions::Strict()));
  return std::make_shared<CheckSession>(
      std::move(options), std::make_unique<SharedSink>(sink), &Clock::System());
}

void MakeCalls(const c10::OperatorHandle& op, CallList calls) {
  for (Stack& stack : calls) {
    try {
      // Past the keys above the CPU, so that the kernel sees the arguments as
      // they are: torch carries out conjugate bits before most kernels.
      op.callBoxedForDispatchKey(c10::DispatchKey::CPU, stack);
    } catch (const std::exception&) {
      // What a kernel refuses is judged as what it returns is.
    }
  }
}

// One session's verdicts on one operator.
struct Outcomes {
  const OpLedger* ledger;
  int64_t Count(Outcome outcome) const {
    int64_t sum = 0;
    for (int i = 0; i < kNumVerdicts; ++i) {
      const auto verdict = static_cast<Verdict>(i);
      if (OutcomeOf(verdict) == outcome) sum += ledger->count(verdict);
    }
    return sum;
  }
  std::string Text() const {
    std::string text;
    for (int i = 0; i < kNumVerdicts; ++i) {
      const auto verdict = static_cast<Verdict>(i);
      if (ledger->count(verdict) == 0) continue;
      absl::StrAppend(&text, text.empty() ? "" : ", ",
                      OutcomeName(OutcomeOf(verdict)),
                      verdict == Verdict::kPass ? "" : " ", ReasonName(verdict),
                      " ", ledger->count(verdict));
    }
    return text;
  }
};

}  // namespace

absl::StatusOr<CaseResult> RunCase(const SelftestCase& selftest_case) {
  FG_ASSIGN_OR_RETURN(NativeCall native, NativeCall::Of(selftest_case.op));
  const c10::OperatorHandle op = native.op();
  const OpKey key = OpKeyOf(op);
  const Tf32Allowed tf32(selftest_case.allow_tf32);

  const NoOverrideWarning no_warning;
  const c10::RegistrationHandleRAII planted =
      c10::Dispatcher::singleton().registerImpl(
          op.operator_name(), c10::DispatchKey::CPU,
          c10::KernelFunction::makeFromBoxedFunctor(
              std::make_unique<PlantedKernel>(selftest_case, native)),
          std::nullopt, nullptr, "selftest");
  CheckRuntime runtime;
  MemorySink sink;
  FG_ASSIGN_OR_RETURN(const std::unique_ptr<InstalledKernel> observer,
                      InstallObserver(op, c10::DispatchKey::CPU, &runtime));
  const Outcomes outcomes{runtime.ledgers().Get(key)};
  CaseResult result;

  if (selftest_case.hiding_calls != nullptr) {
    FG_ASSIGN_OR_RETURN(std::shared_ptr<CheckSession> hiding,
                        StrictSession(&sink));
    runtime.Start(std::move(hiding));
    MakeCalls(op, selftest_case.hiding_calls());
    if (outcomes.Count(Outcome::kFail) + outcomes.Count(Outcome::kError) > 0 ||
        outcomes.Count(Outcome::kPass) == 0) {
      result.why_not = absl::StrCat("where it is right: ", outcomes.Text());
      if (!sink.records().empty()) {
        absl::StrAppend(&result.why_not, "; ", sink.records()[0].message);
      }
    }
  }
  const size_t before = sink.records().size();
  FG_ASSIGN_OR_RETURN(const std::shared_ptr<CheckSession> session,
                      StrictSession(&sink));
  runtime.Start(session);
  MakeCalls(op, selftest_case.calls());
  runtime.Stop();

  result.score = outcomes.ledger->worst_score();
  const std::vector<CheckRecord> records = sink.records();
  for (size_t i = before; i < records.size(); ++i) {
    const bool first = i == before;
    if (first || records[i].verdict == selftest_case.expected) {
      result.said = records[i].verdict;
      result.message = records[i].message;
      if (records[i].verdict == selftest_case.expected) break;
    }
  }
  if (records.size() == before && outcomes.Count(Outcome::kPass) == 0) {
    result.said = Verdict::kErrorComparison;
    for (int i = 0; i < kNumVerdicts; ++i) {
      const auto verdict = static_cast<Verdict>(i);
      if (outcomes.ledger->count(verdict) > 0) result.said = verdict;
    }
    for (const auto& [name, message] : session->first_errors()) {
      result.message = message;
    }
  }
  if (result.said != selftest_case.expected) {
    absl::StrAppend(&result.why_not, result.why_not.empty() ? "" : "; ",
                    outcomes.Text());
  } else if (selftest_case.expected == Verdict::kPass &&
             outcomes.Count(Outcome::kError) > 0) {
    absl::StrAppend(&result.why_not, outcomes.Text());
  }
  result.as_expected = result.why_not.empty();
  return result;
}

}  // namespace flaggems::selftest
