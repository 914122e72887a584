#include "flaggems/registrar/observer.h"

#include <ATen/core/boxing/KernelFunction.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/checked_kernel.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/reference/reference_source.h"
#include "flaggems/registrar/dispatcher_slot.h"
#include "flaggems/registrar/kernel_access.h"
#include "flaggems/registrar/observed_kernels.h"
#include "flaggems/registry/gate.h"

namespace flaggems {
namespace {

std::shared_ptr<const CheckedOp> MakeObservedOp(
    const c10::OperatorHandle& handle, c10::DispatchKey key,
    const c10::SafeKernelFunction& kernel, CheckRuntime* runtime) {
  auto op = std::make_shared<CheckedOp>(handle);
  op->native = NativeKernel(handle, key);
  op->judged.native = op->native != nullptr &&
                      op->native->debug() == kernel.debug() &&
                      IsTorchsOwn(kernel.debug());
  op->judged.reference = ReferenceFor(handle, key, kernel.debug());
  op->judged.device_reference = DeviceReferenceFor(handle, key, kernel.debug());
  op->ledger = runtime->ledgers().Get(op->judged.traits.key);
  op->gate = std::make_shared<Gate>(
      handle, op->ledger->counter(Verdict::kSkipDisabled));
  op->kernel = KernelOf(kernel);
  op->gate->set_checked_kernel(MakeCheckedKernel(op, runtime));
  return op;
}

// The observers of this process, whose dispatcher is one too. Leaked on
// purpose: operators are called during static destruction.
class Observers {
 public:
  static Observers& Instance() {
    static Observers& instance = *new Observers();
    return instance;
  }

  absl::Status Add(const c10::OperatorHandle& handle, c10::DispatchKey key,
                   CheckRuntime* runtime) {
    const MutexLock lock(&mutex_);
    ObservedKernel* const observed = ObservedKernelFor(handle, key);
    State& state = states_[observed];
    const c10::SafeKernelFunction kernel =
        handle.getComputedKernelForDispatchKey(key);
    if (state.users > 0 && IsSameKernel(KernelOf(kernel), state.installed)) {
      ++state.users;
      return absl::OkStatus();
    }
    if (state.users > 0) {
      // A kernel was registered over the observer, which moves over it.
      state.runtime->Remove(state.all.back()->op.get());
      state.slot.reset();
    }
    FG_ASSIGN_OR_RETURN(
        std::unique_ptr<DispatcherSlot> slot,
        DispatcherSlot::Reserve(OpKeyOf(handle), key, "an observer"));
    Observed& last = LastOf(state, handle, key, kernel, runtime);
    state.installed =
        ObservingKernel(last.op->kernel, key, &last.observation, observed);
    FG_RETURN_IF_ERROR(slot->Fill(state.installed));
    runtime->Add(last.op);
    state.slot = std::move(slot);
    state.runtime = runtime;
    ++state.users;
    return absl::OkStatus();
  }

  void Remove(const c10::OperatorHandle& handle, c10::DispatchKey key) {
    const MutexLock lock(&mutex_);
    State& state = states_[ObservedKernelFor(handle, key)];
    if (--state.users > 0) return;
    state.runtime->Remove(state.all.back()->op.get());
    state.slot.reset();
  }

 private:
  struct Observed {
    std::shared_ptr<const CheckedOp> op;
    uint64_t runtime_id;
    Observation observation;
  };
  struct State {
    int users = 0;
    CheckRuntime* runtime = nullptr;  // while there are users
    std::unique_ptr<DispatcherSlot> slot;
    c10::KernelFunction installed;  // by the slot
    // All that were ever installed; the last one was last.
    std::vector<std::unique_ptr<Observed>> all;
  };

  // The one that was there before, if it is for the same kernel, so that
  // observing again and again takes no more memory.
  static Observed& LastOf(State& state, const c10::OperatorHandle& handle,
                          c10::DispatchKey key,
                          const c10::SafeKernelFunction& kernel,
                          CheckRuntime* runtime) {
    if (state.all.empty() || state.all.back()->runtime_id != runtime->id() ||
        state.all.back()->op->judged.handle != handle ||
        !IsSameKernel(state.all.back()->op->kernel, KernelOf(kernel))) {
      auto observed = std::make_unique<Observed>();
      observed->op = MakeObservedOp(handle, key, kernel, runtime);
      observed->runtime_id = runtime->id();
      observed->observation.op = observed->op.get();
      observed->observation.gate = observed->op->gate.get();
      state.all.push_back(std::move(observed));
    }
    return *state.all.back();
  }

  Mutex mutex_;
  std::map<const ObservedKernel*, State> states_ ABSL_GUARDED_BY(mutex_);
};

class Observer final : public InstalledKernel {
 public:
  Observer(const c10::OperatorHandle& op, c10::DispatchKey key)
      : op_(op), key_(key) {}
  ~Observer() override { Observers::Instance().Remove(op_, key_); }

 private:
  const c10::OperatorHandle op_;
  const c10::DispatchKey key_;
};

}  // namespace

std::optional<std::string> WhyNotObservable(const c10::OperatorHandle& op,
                                            c10::DispatchKey key) {
  if (!op.hasSchema()) return "has no schema";
  if (!op.hasComputedKernelForDispatchKey(key)) {
    return absl::StrCat("has no kernel for ", c10::toString(key));
  }
  const bool own =
      op.hasKernelForDispatchKey(key) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
      op.hasKernelForDispatchKey(
          c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
  if (!own) {
    if (op.hasKernelForDispatchKey(
            c10::DispatchKey::CompositeImplicitAutograd)) {
      return "only calls other operators; observe those, or \"aten::*\"";
    }
    return absl::StrCat("has no kernel for ", c10::toString(key),
                        " but a fallback of the dispatcher");
  }
  if (KernelOf(op.getComputedKernelForDispatchKey(key)).isFallthrough()) {
    return absl::StrCat("passes calls on at ", c10::toString(key));
  }
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<InstalledKernel>> InstallObserver(
    const c10::OperatorHandle& handle, c10::DispatchKey key,
    CheckRuntime* runtime) {
  if (!handle.hasComputedKernelForDispatchKey(key)) {
    return absl::NotFoundError(absl::StrCat(
        OpKeyOf(handle).ToString(), " has no kernel for ", c10::toString(key)));
  }
  FG_RETURN_IF_ERROR(Observers::Instance().Add(handle, key, runtime));
  return std::make_unique<Observer>(handle, key);
}

}  // namespace flaggems
