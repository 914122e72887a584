#include "flaggems/reference/native_cpu_reference.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/mutex.h"

namespace flaggems {
namespace {

using KernelPointer = std::shared_ptr<const c10::SafeKernelFunction>;

// Of a view the dispatcher's fallback hands the bits on, whatever is
// registered: the schema says that an argument is shared and none is written.
bool IsView(const c10::OperatorHandle& op) {
  if (!op.hasSchema()) return false;
  bool shares = false;
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.alias_info() == nullptr) continue;
    if (argument.alias_info()->isWrite()) return false;
    shares = true;
  }
  return shares;
}

// Native kernels by operator and dispatch key, as they were when first asked
// for. Leaked on purpose: kernels run during static destruction too.
class NativeKernels {
 public:
  static NativeKernels& Instance() {
    static NativeKernels& instance = *new NativeKernels();
    return instance;
  }

  // Every kernel for the CPU and CUDA that is registered now.
  void CaptureAll() {
    for (const c10::OperatorName& name :
         c10::Dispatcher::singleton().getAllOpNames()) {
      const auto op = c10::Dispatcher::singleton().findOp(name);
      if (!op) continue;
      Get(*op, c10::DispatchKey::CPU);
      Get(*op, c10::DispatchKey::CUDA);
    }
  }

  KernelPointer Get(const c10::OperatorHandle& op, c10::DispatchKey key) {
    const MutexLock lock(&mutex_);
    const auto [it, inserted] = kernels_.try_emplace(std::make_tuple(
        op.operator_name().name, op.operator_name().overload_name, key));
    if (inserted && op.hasComputedKernelForDispatchKey(key)) {
      if (IsView(op) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::Conjugate)) {
        handles_conjugates_.insert(op.operator_name());
      }
      it->second = std::make_shared<const c10::SafeKernelFunction>(
          op.getComputedKernelForDispatchKey(key));
    }
    return it->second;
  }

  // Whether the operator's own kernels were given conjugate and negative bits
  // when its kernel was captured; of other operators the dispatcher carries
  // them out before it calls a kernel.
  bool HandlesConjugates(const c10::OperatorHandle& op) {
    const MutexLock lock(&mutex_);
    return handles_conjugates_.count(op.operator_name()) > 0;
  }

 private:
  Mutex mutex_;
  std::unordered_set<c10::OperatorName> handles_conjugates_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::tuple<std::string, std::string, c10::DispatchKey>,
           KernelPointer>
      kernels_ ABSL_GUARDED_BY(mutex_);
};

class CapturedKernel : public Reference {
 public:
  CapturedKernel(KernelPointer kernel, c10::DispatchKey key,
                 bool handles_conjugates)
      : kernel_(std::move(kernel)),
        key_(key),
        handles_conjugates_(handles_conjugates) {}

  absl::StatusOr<std::vector<c10::IValue>> Compute(
      std::vector<c10::IValue> arguments) const override {
    return StatusOrOf([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
      if (!handles_conjugates_) {
        for (c10::IValue& argument : arguments) Resolve(argument);
      }
      kernel_->callBoxed(kernel_->opHandle(), c10::DispatchKeySet(key_),
                         &arguments);
      return std::move(arguments);
    });
  }

  std::string name() const override {
    return key_ == c10::DispatchKey::CPU ? "cpu" : "device";
  }

 private:
  // A tensor with a lazy sign becomes one without. (What an operator writes has
  // none: the dispatcher makes it write elsewhere.)
  static void Resolve(c10::IValue& argument) {
    if (!argument.isTensor() || !argument.toTensor().defined()) return;
    const at::Tensor& tensor = argument.toTensor();
    if (tensor.is_conj() || tensor.is_neg()) {
      argument = tensor.resolve_conj().resolve_neg();
    }
  }

  const KernelPointer kernel_;
  const c10::DispatchKey key_;
  const bool handles_conjugates_;
};

std::shared_ptr<const Reference> MakeCaptured(KernelPointer kernel,
                                              const c10::OperatorHandle& op,
                                              c10::DispatchKey key) {
  return std::make_shared<const CapturedKernel>(
      std::move(kernel), key, NativeKernels::Instance().HandlesConjugates(op));
}

// Before the registrations of the program that links this library (which have
// the default priority), so that a kernel which the program registers over a
// native one is judged by that and not by itself. An exception would end the
// program: what could not be captured here is captured when it is asked for.
__attribute__((constructor(1000))) void CaptureNativeKernels() {
  StatusOrOf([] {
    NativeKernels::Instance().CaptureAll();
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

KernelPointer NativeKernel(const c10::OperatorHandle& op,
                           c10::DispatchKey key) {
  return NativeKernels::Instance().Get(op, key);
}

absl::StatusOr<std::shared_ptr<const Reference>> NativeCpuReference(
    const c10::OperatorHandle& op) {
  KernelPointer kernel = NativeKernel(op, c10::DispatchKey::CPU);
  if (kernel == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        OpKeyOf(op).ToString(), " has no CPU kernel to compare with"));
  }
  return MakeCaptured(std::move(kernel), op, c10::DispatchKey::CPU);
}

std::shared_ptr<const Reference> NativeDeviceReference(
    const c10::OperatorHandle& op, c10::DispatchKey key) {
  KernelPointer kernel = NativeKernel(op, key);
  if (kernel == nullptr) return nullptr;
  return MakeCaptured(std::move(kernel), op, key);
}

}  // namespace flaggems
