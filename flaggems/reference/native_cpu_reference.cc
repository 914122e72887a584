#include "flaggems/reference/native_cpu_reference.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"

namespace flaggems {
namespace {

using KernelPointer = std::shared_ptr<const c10::SafeKernelFunction>;

// Native kernels by operator and dispatch key, as they were when first asked
// for. Leaked on purpose: kernels run during static destruction too.
class NativeKernels {
 public:
  static NativeKernels& Instance() {
    static NativeKernels& instance = *new NativeKernels();
    return instance;
  }

  // Every CPU kernel that is registered now.
  void CaptureAll() {
    for (const c10::OperatorName& name :
         c10::Dispatcher::singleton().getAllOpNames()) {
      const auto op = c10::Dispatcher::singleton().findOp(name);
      if (op) Get(*op, c10::DispatchKey::CPU);
    }
  }

  KernelPointer Get(const c10::OperatorHandle& op, c10::DispatchKey key) {
    absl::MutexLock lock(&mutex_);
    const auto [it, inserted] = kernels_.try_emplace(std::make_tuple(
        op.operator_name().name, op.operator_name().overload_name, key));
    if (inserted && op.hasComputedKernelForDispatchKey(key)) {
      it->second = std::make_shared<const c10::SafeKernelFunction>(
          op.getComputedKernelForDispatchKey(key));
    }
    return it->second;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::tuple<std::string, std::string, c10::DispatchKey>,
           KernelPointer>
      kernels_ ABSL_GUARDED_BY(mutex_);
};

class CapturedCpuKernel : public Reference {
 public:
  explicit CapturedCpuKernel(KernelPointer kernel)
      : kernel_(std::move(kernel)) {}

  absl::StatusOr<std::vector<c10::IValue>> Compute(
      std::vector<c10::IValue> arguments) const override {
    return StatusOrOf([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
      kernel_->callBoxed(kernel_->opHandle(),
                         c10::DispatchKeySet(c10::DispatchKey::CPU),
                         &arguments);
      return std::move(arguments);
    });
  }

  std::string name() const override { return "cpu"; }

 private:
  const KernelPointer kernel_;
};

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
  return std::make_shared<const CapturedCpuKernel>(std::move(kernel));
}

}  // namespace flaggems
