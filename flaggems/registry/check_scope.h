#ifndef FLAGGEMS_REGISTRY_CHECK_SCOPE_H_
#define FLAGGEMS_REGISTRY_CHECK_SCOPE_H_

// Marks the part of a thread's run that belongs to the checker.

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace flaggems {

// While a CheckScope lives, wrapped kernels that this thread reaches, or the
// workers of a parallel loop that it starts, go straight to the native kernel
// they replaced: a reference must never be
// computed by a kernel under test. Operators record no autograd graph and are
// not autocast. Scopes nest; one per stack frame.
class CheckScope {
 public:
  CheckScope() noexcept;
  ~CheckScope();
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;

  // Whether this thread is inside the checker, or works for one that is.
  static bool active() noexcept;

 private:
  const int outer_;  // what the mark was before
  const c10::AutoGradMode no_grad_{false};
  const at::AutoDispatchBelowADInplaceOrView below_autograd_;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast_{
      c10::autocast_dispatch_keyset};
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRY_CHECK_SCOPE_H_
