#ifndef FLAGGEMS_REGISTRAR_INSTALLED_CHECK_H_
#define FLAGGEMS_REGISTRAR_INSTALLED_CHECK_H_

#include <memory>
#include <utility>

#include "flaggems/check/checked_op.h"
#include "flaggems/registrar/dispatcher_slot.h"
#include "flaggems/registrar/registrar.h"

namespace flaggems {

// A checked kernel in the dispatcher. Its destruction takes it out before the
// runtime forgets the operator.
class InstalledCheck final : public InstalledKernel {
 public:
  // `runtime` has the operator already, and outlives this.
  InstalledCheck(std::unique_ptr<DispatcherSlot> slot,
                 std::shared_ptr<const CheckedOp> op, CheckRuntime* runtime)
      : slot_(std::move(slot)), op_(std::move(op)), runtime_(runtime) {}

  ~InstalledCheck() override {
    slot_.reset();
    runtime_->Remove(op_.get());
  }

 private:
  std::unique_ptr<DispatcherSlot> slot_;
  const std::shared_ptr<const CheckedOp> op_;
  CheckRuntime* const runtime_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_INSTALLED_CHECK_H_
