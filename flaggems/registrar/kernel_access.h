#ifndef FLAGGEMS_REGISTRAR_KERNEL_ACCESS_H_
#define FLAGGEMS_REGISTRAR_KERNEL_ACCESS_H_

// What an observer needs of a kernel and c10 keeps to itself.
//
// c10 swaps the kernels of its dispatch table member by member and without a
// lock: functor, boxed entry, unboxed entry. A thread that calls the operator
// meanwhile may see the functor of one kernel and the entry of the other. That
// is harmless only if each entry can do with either functor, which holds if
// both kernels have the same one. Nothing public makes such a kernel, hence the
// access to private members (by explicit instantiation, which may name them:
// C++17, [temp.spec] paragraph 6). The members are those of libtorch 2.11.

#include <ATen/core/boxing/KernelFunction.h>

namespace flaggems {

// The kernel that `safe` calls. Unlike `safe` it can be called after it was
// deregistered, and goes on computing what it did.
c10::KernelFunction KernelOf(const c10::SafeKernelFunction& safe);

// Whether both run the same code with the same state.
bool IsSameKernel(const c10::KernelFunction& a, const c10::KernelFunction& b);

const c10::OperatorKernel* FunctorOf(const c10::KernelFunction& kernel);

// The entries for unboxed calls, which cast to Return (*)(c10::OperatorKernel*,
// c10::DispatchKeySet, Args...); one of them at most is not null.
struct UnboxedEntries {
  void* plain = nullptr;
  void* symbolic = nullptr;  // for arguments that are SymInts
};
UnboxedEntries UnboxedEntriesOf(const c10::KernelFunction& kernel);

// A kernel with the functor of `kernel` and these entries. `boxed` is called
// for unboxed calls too where there is no entry for them, and must not use the
// functor but to tell kernels apart.
c10::KernelFunction WithEntries(
    const c10::KernelFunction& kernel,
    c10::BoxedKernel::InternalBoxedKernelFunction* boxed,
    const UnboxedEntries& unboxed);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_KERNEL_ACCESS_H_
