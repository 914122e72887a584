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
//
// FLAGGEMS_REGISTER_PARTIAL_KERNEL: the same for a kernel that does not have
// every dtype. It throws c10::NotImplementedError before it has written
// anything, and the call goes to the kernel that was registered before it, so
// that a program keeps its other dtypes. Costs nothing where nothing is thrown,
// some microseconds where it is.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/op_registration/infer_schema.h>
#include <c10/util/Exception.h>
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

template <auto* kFn, bool kPartial, typename Signature>
struct KernelMaker;

template <auto* kFn, bool kPartial, typename Result, typename... Args>
struct KernelMaker<kFn, kPartial, Result(Args...)> {
  using Signature = Result(Args...);

  // The kernel, or the native one in its place.
  class Kernel {
   public:
    explicit Kernel(std::shared_ptr<const NativeFallback> native)
        : native_(std::move(native)) {}

    Result Call(c10::DispatchKeySet keys, Args... args) const {
      if constexpr (!kPartial) {
        return (*kFn)(std::forward<Args>(args)...);
      } else {
        // Not forwarded: the arguments may be needed again.
        try {
          return (*kFn)(args...);
        } catch (const c10::NotImplementedError&) {
          if (native_ == nullptr) throw;
        }
        return c10::impl::BoxedKernelWrapper<Signature>::call(
            native_->kernel, native_->op, keys, std::forward<Args>(args)...);
      }
    }

   private:
    const std::shared_ptr<const NativeFallback> native_;
  };

  class Plain final : public c10::OperatorKernel {
   public:
    explicit Plain(std::shared_ptr<const NativeFallback> native)
        : kernel_(std::move(native)) {}

    Result operator()(c10::DispatchKeySet keys, Args... args) {
      return kernel_.Call(keys, std::forward<Args>(args)...);
    }

   private:
    const Kernel kernel_;
  };

  class Gated final : public c10::OperatorKernel {
   public:
    Gated(std::shared_ptr<Gate> gate,
          std::shared_ptr<const NativeFallback> native)
        : gate_(std::move(gate)), kernel_(std::move(native)) {}

    Result operator()(c10::DispatchKeySet keys, Args... args) {
      if (C10_LIKELY(gate_->TryForward())) {
        return kernel_.Call(keys, std::forward<Args>(args)...);
      }
      return c10::impl::BoxedKernelWrapper<Signature>::call(
          gate_->checked_kernel(), gate_->op(), keys,
          std::forward<Args>(args)...);
    }

   private:
    const std::shared_ptr<Gate> gate_;
    const Kernel kernel_;
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

  static InstallableKernel MakePlain(
      std::shared_ptr<const NativeFallback> native) {
    return Make<Plain>(std::move(native));
  }
  static InstallableKernel MakeGated(
      std::shared_ptr<Gate> gate,
      std::shared_ptr<const NativeFallback> native) {
    return Make<Gated>(std::move(gate), std::move(native));
  }
};

template <auto* kFn, bool kPartial>
using MakerOf =
    KernelMaker<kFn, kPartial, std::remove_pointer_t<decltype(kFn)>>;

}  // namespace internal_registry
}  // namespace flaggems

#define FLAGGEMS_REGISTER_KERNEL(id, op_name, backend, fn) \
  FLAGGEMS_INTERNAL_REGISTER_KERNEL(id, op_name, backend, fn, false)

#define FLAGGEMS_REGISTER_PARTIAL_KERNEL(id, op_name, backend, fn) \
  FLAGGEMS_INTERNAL_REGISTER_KERNEL(id, op_name, backend, fn, true)

#define FLAGGEMS_INTERNAL_REGISTER_KERNEL(id, op_name, backend, fn, partial) \
  static constexpr ::flaggems::KernelEntry flaggems_entry_##id{              \
      op_name,                                                               \
      backend,                                                               \
      __FILE__,                                                              \
      __LINE__,                                                              \
      partial,                                                               \
      &::flaggems::internal_registry::MakerOf<fn, partial>::MakePlain,       \
      &::flaggems::internal_registry::MakerOf<fn, partial>::MakeGated};      \
  static const ::flaggems::KernelRegistrar flaggems_registrar_##id(          \
      &flaggems_entry_##id)

#endif  // FLAGGEMS_REGISTRY_REGISTER_KERNEL_H_
