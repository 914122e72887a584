#include "flaggems/precision.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/check_session.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/core/clock.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/log_setup.h"
#include "flaggems/only_copy.h"
#include "flaggems/option_warnings.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/policy/policy.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/reference/reference_source.h"
#include "flaggems/registrar/checking_registrar.h"
#include "flaggems/registrar/observed_key.h"
#include "flaggems/registrar/observed_ops.h"
#include "flaggems/registrar/observer.h"
#include "flaggems/registrar/plain_registrar.h"
#include "flaggems/registry/kernel_registry.h"
#include "flaggems/registry/register_kernel.h"
#include "flaggems/screen/costs.h"
#include "flaggems/screen/screen.h"
#include "flaggems/session_options.h"

namespace flaggems {
namespace {

// The process-wide state: torch's dispatcher is process-wide too. Leaked on
// purpose, because kernels run during static destruction.
class Precision {
 public:
  static Precision& Instance() {
    static Precision& instance = *new Precision();
    return instance;
  }

  // A forked child, a data loader's worker say, counts its own calls only.
  Precision() {
    pthread_atfork(nullptr, nullptr, [] {
      CheckRuntime& runtime = Instance().runtime_;
      runtime.pending().Discard();
      runtime.ledgers().Reset();
      const std::shared_ptr<CheckSession> session = runtime.session();
      if (session != nullptr) session->time_budget().Reset();
    });
  }

  CheckRuntime& runtime() { return runtime_; }

  void Start(std::shared_ptr<CheckSession> session, bool summary_at_exit)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    last_session_ = session;
    summary_at_exit_ = summary_at_exit;
    if (!workers_end_at_exit_) {
      // Before what it uses is destroyed, and after the summary.
      workers_end_at_exit_ =
          std::atexit([] { Instance().runtime_.judges().Stop(); }) == 0;
    }
    if (summary_at_exit && !at_exit_installed_) {
      at_exit_installed_ = std::atexit(&PrintSummaryAtExit) == 0;
    }
    runtime_.Start(std::move(session));
  }

  // Every call that was made has its verdict then.
  void Settle() { runtime_.pending().Drain(); }

  std::shared_ptr<CheckSession> last_session() const {
    const MutexLock lock(&mutex_);
    return last_session_;
  }

 private:
  static void PrintSummaryAtExit() {
    Precision& precision = Instance();
    {
      const MutexLock lock(&precision.mutex_);
      if (!precision.summary_at_exit_) return;
    }
    DisablePrecisionCheck();
    const std::string table = PrecisionSummaryTable();
    std::fwrite(table.data(), 1, table.size(), stderr);
  }

  CheckRuntime runtime_;
  mutable Mutex mutex_;
  // The session of the counts: the open one, or the last that was.
  std::shared_ptr<CheckSession> last_session_ ABSL_GUARDED_BY(mutex_);
  bool summary_at_exit_ ABSL_GUARDED_BY(mutex_) = false;
  bool workers_end_at_exit_ ABSL_GUARDED_BY(mutex_) = false;
  bool at_exit_installed_ ABSL_GUARDED_BY(mutex_) = false;
};

// Every pattern names an operator that torch has, of ours or not.
absl::Status CheckOperatorNames(absl::string_view field,
                                const std::vector<std::string>& patterns) {
  if (patterns.empty()) return absl::OkStatus();
  const std::vector<OpKey> known = KnownOperators();
  for (const std::string& pattern : patterns) {
    const auto matches = [&](const OpKey& key) {
      return PatternMatches(pattern, key);
    };
    if (absl::c_any_of(known, matches)) continue;
    std::vector<std::string> names;
    for (const OpKey& key : known) {
      if (key.ns == "aten") names.push_back(key.name);
    }
    absl::c_sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::vector<std::string> nearest = NearestNames(pattern, names, 3);
    return absl::InvalidArgumentError(absl::StrCat(
        field, ": torch has no operator \"", pattern, "\"",
        nearest.empty() ? ""
                        : absl::StrCat("; did you mean ",
                                       absl::StrJoin(nearest, ", "), "?")));
  }
  return absl::OkStatus();
}

// Once a process: a machine without the device runs the other backends'
// kernels, and a program that counted on this one's learns why it is slow.
void WarnOfMissingDevice(const std::string& backend) {
  TORCH_WARN_ONCE("flaggems: kernels for ", backend,
                  " are not enabled: torch sees no such device in this "
                  "process");
}

// What this process can do of `options`. Looks for a device only where they
// ask for one.
Abilities AbilitiesFor(const PrecisionOptions& options) {
  Abilities abilities;
  if (options.reference == ReferencePlace::kCpu) return abilities;
  abilities.device_checks = RegisteredScreenMaker() != nullptr;
  abilities.cuda_device = HasDevice(c10::DispatchKey::CUDA);
  return abilities;
}

}  // namespace

struct Registration::State {
  std::vector<std::string> ops;
  std::map<std::string, std::string> not_enabled;
  std::map<std::string, std::string> not_observed;
  std::vector<std::unique_ptr<InstalledKernel>> kernels;
};

Registration::Registration() = default;
Registration::~Registration() = default;
Registration::Registration(Registration&&) noexcept = default;
Registration& Registration::operator=(Registration&&) noexcept = default;

const std::vector<std::string>& Registration::ops() const {
  static const std::vector<std::string>& none = *new std::vector<std::string>();
  return state_ == nullptr ? none : state_->ops;
}

namespace {

const std::map<std::string, std::string>& NoReasons() {
  static const std::map<std::string, std::string>& none =
      *new std::map<std::string, std::string>();
  return none;
}

}  // namespace

const std::map<std::string, std::string>& Registration::not_enabled() const {
  return state_ == nullptr ? NoReasons() : state_->not_enabled;
}

const std::map<std::string, std::string>& Registration::not_observed() const {
  return state_ == nullptr ? NoReasons() : state_->not_observed;
}

absl::Status EnablePrecisionCheck(const PrecisionOptions& options) {
  FG_RETURN_IF_ERROR(CheckOnlyCopy());
  FG_RETURN_IF_ERROR(options.Validate());
  FG_RETURN_IF_ERROR(CheckOperatorNames("skip", options.skip));
  FG_RETURN_IF_ERROR(CheckOperatorNames("no_skip", options.no_skip));
  FG_ASSIGN_OR_RETURN(CheckSessionOptions session, SessionOptionsOf(options));
  session.rank = JobRank();
  FG_ASSIGN_OR_RETURN(std::unique_ptr<RecordSink> sink,
                      OpenLog(options, session.rank));
  WarnOnce(OptionWarnings(options, AbilitiesFor(options)));
  Precision::Instance().Settle();
  TotalScreenCosts().Reset();
  Precision::Instance().Start(
      std::make_shared<CheckSession>(std::move(session), std::move(sink),
                                     &Clock::System()),
      options.summary_at_exit);
  return absl::OkStatus();
}

void DisablePrecisionCheck() {
  const std::shared_ptr<CheckSession> session =
      Precision::Instance().runtime().Stop();
  Precision::Instance().Settle();
  if (session != nullptr) session->Flush().IgnoreError();
}

bool PrecisionCheckEnabled() {
  return Precision::Instance().runtime().session() != nullptr;
}

absl::StatusOr<Registration> Enable(const EnableOptions& options) {
  FG_ASSIGN_OR_RETURN(const KernelRegistry registry,
                      KernelRegistry::Build(KernelRegistrar::All()));
  std::vector<std::string> all;
  for (const KernelRegistry::Kernel& kernel : registry.kernels()) {
    all.push_back(kernel.key.ToString());
  }
  if (all.empty()) {
    return absl::FailedPreconditionError(
        "no kernel is linked into this program; depend on "
        "//flaggems:all_kernels, or on a library (alwayslink = 1) that uses "
        "FLAGGEMS_REGISTER_KERNEL");
  }
  return OnlyEnable(all, options);
}

absl::StatusOr<Registration> OnlyEnable(const std::vector<std::string>& include,
                                        const EnableOptions& options) {
  if (include.empty()) {
    return absl::InvalidArgumentError(
        "include names no operator; call Enable() to install every kernel");
  }
  FG_RETURN_IF_ERROR(CheckOnlyCopy());
  FG_ASSIGN_OR_RETURN(const KernelRegistry registry,
                      KernelRegistry::Build(KernelRegistrar::All()));
  FG_ASSIGN_OR_RETURN(const std::vector<KernelRegistry::Kernel> kernels,
                      registry.Select(include, options.exclude));
  PlainRegistrar plain;
  CheckingRegistrar checking(&Precision::Instance().runtime());
  Registrar& registrar = options.registrar == RegistrarKind::kPlain
                             ? static_cast<Registrar&>(plain)
                             : checking;
  auto state = std::make_unique<Registration::State>();
  for (const KernelRegistry::Kernel& kernel : kernels) {
    if (!HasDevice(DispatchKeyOf(kernel.entry->backend))) {
      const std::string backend = BackendName(kernel.entry->backend);
      WarnOfMissingDevice(backend);
      state->not_enabled[absl::StrCat(kernel.key.ToString(), " ", backend)] =
          absl::StrCat("torch sees no ", backend, " device in this process");
      continue;
    }
    FG_ASSIGN_OR_RETURN(std::unique_ptr<InstalledKernel> installed,
                        registrar.Install(kernel));
    state->kernels.push_back(std::move(installed));
    // An operator's kernels of several backends follow each other.
    const std::string op = kernel.key.ToString();
    if (state->ops.empty() || state->ops.back() != op) state->ops.push_back(op);
  }
  if (state->ops.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no kernel can be enabled: ", state->not_enabled.begin()->first, ": ",
        state->not_enabled.begin()->second));
  }
  Registration registration;
  registration.state_ = std::move(state);
  return registration;
}

absl::StatusOr<Registration> Observe(const ObserveOptions& options) {
  FG_RETURN_IF_ERROR(CheckOnlyCopy());
  FG_ASSIGN_OR_RETURN(const c10::DispatchKey key, ObservedKey(options.device));
  if (!HasDevice(key)) {
    return absl::FailedPreconditionError(
        absl::StrCat("device is \"", options.device,
                     "\", of which torch sees none in this process; kernels "
                     "of the CPU are observed with device \"cpu\""));
  }
  FG_ASSIGN_OR_RETURN(Selection selection,
                      SelectObserved(options.include, options.exclude, key));
  auto state = std::make_unique<Registration::State>();
  state->not_observed = std::move(selection.not_observed);
  for (const Observed& op : selection.observed) {
    absl::StatusOr<std::unique_ptr<InstalledKernel>> installed =
        InstallObserver(op.handle, key, &Precision::Instance().runtime());
    if (absl::IsAlreadyExists(installed.status()) && !op.named) {
      state->not_observed[op.key.ToString()] =
          "is enabled already, as a kernel of this library";
      continue;
    }
    if (!installed.ok()) return installed.status();
    state->kernels.push_back(*std::move(installed));
    state->ops.push_back(op.key.ToString());
  }
  if (state->ops.empty()) {
    return absl::InvalidArgumentError(
        "include matches no operator that can be observed: all are enabled "
        "already");
  }
  Registration registration;
  registration.state_ = std::move(state);
  return registration;
}

absl::StatusOr<std::vector<KernelInfo>> ListKernels(
    const std::vector<std::string>& include,
    const std::vector<std::string>& exclude, const PrecisionOptions& options) {
  FG_RETURN_IF_ERROR(options.Validate());
  FG_ASSIGN_OR_RETURN(const KernelRegistry registry,
                      KernelRegistry::Build(KernelRegistrar::All()));
  FG_ASSIGN_OR_RETURN(const std::vector<KernelRegistry::Kernel> kernels,
                      registry.Select(include, exclude));
  FG_ASSIGN_OR_RETURN(CheckSessionOptions session, SessionOptionsOf(options));
  const Policy policy(std::move(session.policy));
  std::vector<KernelInfo> infos;
  for (const KernelRegistry::Kernel& kernel : kernels) {
    KernelInfo info;
    info.op = kernel.key.ToString();
    info.backend = BackendName(kernel.entry->backend);
    info.op_class =
        std::string(OpClassName(policy.BudgetFor(kernel.key).op_class));
    info.place = absl::StrCat(kernel.entry->file, ":", kernel.entry->line);
    const std::optional<c10::OperatorHandle> op = FindOperator(kernel.key);
    if (!op) {
      info.skip_reason = "torch has no such operator";
    } else if (auto reason = policy.SkipReason(OpTraitsOf(*op))) {
      info.skip_reason = *std::move(reason);
    } else {
      const ReferenceSource source =
          ReferenceFor(*op, DispatchKeyOf(kernel.entry->backend),
                       KernelOrigin(*kernel.entry));
      const auto reference = source.Get();
      if (reference != nullptr) info.reference = reference->name();
      info.skip_reason = source.why_none();
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<OpSummary> PrecisionSummary() {
  Precision::Instance().Settle();
  return Summarize(Precision::Instance().runtime().ledgers());
}

std::map<std::string, int64_t> PrecisionCosts() {
  Precision::Instance().Settle();
  const ScreenCosts& costs = TotalScreenCosts();
  std::map<std::string, int64_t> result = {{"screened", costs.screened.load()},
                                           {"accepted", costs.accepted.load()},
                                           {"in_full", costs.in_full.load()}};
  for (int i = 0; i < kNumCostParts; ++i) {
    const auto part = static_cast<CostPart>(i);
    result.emplace(CostPartName(part),
                   costs.ns[static_cast<size_t>(part)].load());
  }
  return result;
}

std::string PrecisionSummaryTable() {
  std::string table = FormatSummaryTable(PrecisionSummary());
  const std::shared_ptr<CheckSession> session =
      Precision::Instance().last_session();
  if (session == nullptr) return table;
  for (const auto& [op, why] : session->unchecked()) {
    absl::StrAppend(&table, "not checked: ", op, ": ", why, "\n");
  }
  for (const auto& [op, message] : session->first_errors()) {
    absl::StrAppend(&table, "error in ", op, ": ", message, "\n");
  }
  if (session->write_errors() > 0) {
    absl::StrAppend(&table, session->write_errors(),
                    " records could not be written to the log: ",
                    session->first_write_error(), "\n");
  }
  return table;
}

}  // namespace flaggems
