#ifndef FLAGGEMS_REGISTRY_REGISTER_KERNEL_H_
#define FLAGGEMS_REGISTRY_REGISTER_KERNEL_H_

// FLAGGEMS_REGISTER_KERNEL: offers a kernel to the registry.
//
//   at::Tensor my_abs(const at::Tensor& self);
//   FLAGGEMS_REGISTER_KERNEL(abs_cpu, "aten::abs", ::flaggems::Backend::kCpu,
//                            &my_abs);
//
// At namespace scope of a .cc; `id` is unique in that file. Linking the file
// offers the kernel, Enable() or OnlyEnable() installs it. The Bazel target
// needs alwayslink = 1: nothing refers to the file, and a static link would
// drop it. The function takes and returns what the operator's schema says, as
// for torch::Library::impl; a mismatch is an error when it is installed.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/op_registration/infer_schema.h>
#include <c10/util/Metaprogramming.h>

#include <memory>
#include <utility>
#include <vector>

#include "flaggems/registry/gate.h"
#include "flaggems/registry/kernel_entry.h"

namespace flaggems {

// Adds an entry to the process-wide list. Both objects must live for ever.
// Meant for static initialisation; thread-safe.
class KernelRegistrar {
 public:
  explicit KernelRegistrar(const KernelEntry* entry) noexcept;

  // Every entry that was added in this process, in no particular order.
  static std::vector<const KernelEntry*> All();

 private:
  const KernelEntry* const entry_;
  const KernelRegistrar* next_ = nullptr;
};

namespace internal_registry {

template <auto* kFn, typename Signature>
struct KernelMaker;

template <auto* kFn, typename Result, typename... Args>
struct KernelMaker<kFn, Result(Args...)> {
  using Signature = Result(Args...);

  class Plain final : public c10::OperatorKernel {
   public:
    Result operator()(Args... args) {
      return (*kFn)(std::forward<Args>(args)...);
    }
  };

  class Gated final : public c10::OperatorKernel {
   public:
    explicit Gated(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}

    Result operator()(c10::DispatchKeySet keys, Args... args) {
      if (C10_LIKELY(gate_->TryForward())) {
        return (*kFn)(std::forward<Args>(args)...);
      }
      return c10::impl::BoxedKernelWrapper<Signature>::call(
          gate_->checked_kernel(), gate_->op(), keys,
          std::forward<Args>(args)...);
    }

   private:
    const std::shared_ptr<Gate> gate_;
  };

  template <typename Functor, typename... FunctorArgs>
  static InstallableKernel Make(FunctorArgs&&... args) {
    return {c10::KernelFunction::makeFromUnboxedFunctor</*AllowLegacyTypes=*/
                                                        false, Functor>(
                std::make_unique<Functor>(std::forward<FunctorArgs>(args)...)),
            c10::impl::CppSignature::make<Signature>(),
            std::make_unique<c10::FunctionSchema>(
                c10::detail::infer_schema::
                    createFunctionSchemaFromTraitsFlattenedReturns<
                        c10::guts::function_traits<Signature>>())};
  }

  static InstallableKernel MakePlain() { return Make<Plain>(); }
  static InstallableKernel MakeGated(std::shared_ptr<Gate> gate) {
    return Make<Gated>(std::move(gate));
  }
};

template <auto* kFn>
using MakerOf = KernelMaker<kFn, std::remove_pointer_t<decltype(kFn)>>;

}  // namespace internal_registry
}  // namespace flaggems

#define FLAGGEMS_REGISTER_KERNEL(id, op_name, backend, fn)          \
  static constexpr ::flaggems::KernelEntry flaggems_entry_##id{     \
      op_name,                                                      \
      backend,                                                      \
      __FILE__,                                                     \
      __LINE__,                                                     \
      &::flaggems::internal_registry::MakerOf<fn>::MakePlain,       \
      &::flaggems::internal_registry::MakerOf<fn>::MakeGated};      \
  static const ::flaggems::KernelRegistrar flaggems_registrar_##id( \
      &flaggems_entry_##id)

#endif  // FLAGGEMS_REGISTRY_REGISTER_KERNEL_H_
