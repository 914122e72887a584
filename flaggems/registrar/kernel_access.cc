#include "flaggems/registrar/kernel_access.h"

#include <utility>

namespace flaggems {
namespace {

template <typename Member, typename Member::Pointer kPointer>
struct Grant {
  friend typename Member::Pointer PointerTo(Member) { return kPointer; }
};

struct SafeKernel {
  using Pointer = c10::KernelFunction c10::SafeKernelFunction::*;
  friend Pointer PointerTo(SafeKernel);
};
template struct Grant<SafeKernel, &c10::SafeKernelFunction::kernel_>;

struct BoxedPart {
  using Pointer = c10::BoxedKernel c10::KernelFunction::*;
  friend Pointer PointerTo(BoxedPart);
};
template struct Grant<BoxedPart, &c10::KernelFunction::boxed_kernel_func_>;

struct BoxedEntry {
  using Pointer =
      c10::BoxedKernel::InternalBoxedKernelFunction* c10::BoxedKernel::*;
  friend Pointer PointerTo(BoxedEntry);
};
template struct Grant<BoxedEntry, &c10::BoxedKernel::boxed_kernel_func_>;

struct BoxedFunctor {
  using Pointer = c10::intrusive_ptr<c10::OperatorKernel> c10::BoxedKernel::*;
  friend Pointer PointerTo(BoxedFunctor);
};
template struct Grant<BoxedFunctor, &c10::BoxedKernel::functor_>;

struct Unboxed {
  using Pointer = void* c10::KernelFunction::*;
  friend Pointer PointerTo(Unboxed);
};
template struct Grant<Unboxed, &c10::KernelFunction::unboxed_kernel_func_>;

struct SymUnboxed {
  using Pointer = void* c10::KernelFunction::*;
  friend Pointer PointerTo(SymUnboxed);
};
template struct Grant<SymUnboxed,
                      &c10::KernelFunction::sym_unboxed_kernel_func_>;

}  // namespace

c10::KernelFunction KernelOf(const c10::SafeKernelFunction& safe) {
  return safe.*PointerTo(SafeKernel{});
}

bool IsSameKernel(const c10::KernelFunction& a, const c10::KernelFunction& b) {
  return FunctorOf(a) == FunctorOf(b) && a._equalsBoxedAndUnboxed(b);
}

const c10::OperatorKernel* FunctorOf(const c10::KernelFunction& kernel) {
  return ((kernel.*PointerTo(BoxedPart{})).*PointerTo(BoxedFunctor{})).get();
}

UnboxedEntries UnboxedEntriesOf(const c10::KernelFunction& kernel) {
  return {kernel.*PointerTo(Unboxed{}), kernel.*PointerTo(SymUnboxed{})};
}

c10::KernelFunction WithEntries(
    const c10::KernelFunction& kernel,
    c10::BoxedKernel::InternalBoxedKernelFunction* boxed,
    const UnboxedEntries& unboxed) {
  c10::BoxedKernel part = kernel.*PointerTo(BoxedPart{});
  part.*PointerTo(BoxedEntry{}) = boxed;
  c10::KernelFunction result =
      c10::KernelFunction::makeFromBoxedKernel(std::move(part));
  result.*PointerTo(Unboxed{}) = unboxed.plain;
  result.*PointerTo(SymUnboxed{}) = unboxed.symbolic;
  return result;
}

}  // namespace flaggems
