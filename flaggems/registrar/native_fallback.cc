#include "flaggems/registrar/native_fallback.h"

#include <utility>

namespace flaggems {
namespace {

class Forward final : public c10::OperatorKernel {
 public:
  explicit Forward(std::shared_ptr<const c10::SafeKernelFunction> native)
      : native_(std::move(native)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    native_->callBoxed(op, keys, stack);
  }

 private:
  const std::shared_ptr<const c10::SafeKernelFunction> native_;
};

}  // namespace

std::shared_ptr<const NativeFallback> FallbackTo(
    const c10::OperatorHandle& op,
    std::shared_ptr<const c10::SafeKernelFunction> native) {
  if (native == nullptr) return nullptr;
  return std::make_shared<NativeFallback>(
      NativeFallback{op, c10::BoxedKernel::makeFromFunctor(
                             std::make_unique<Forward>(std::move(native)))});
}

}  // namespace flaggems
