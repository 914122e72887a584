#ifndef FLAGGEMS_CHECK_CHECKED_KERNEL_H_
#define FLAGGEMS_CHECK_CHECKED_KERNEL_H_

// The way of one checked call: admit, snapshot, run, reference, compare,
// record.

#include <ATen/core/boxing/BoxedKernel.h>

#include <memory>

#include "flaggems/check/checked_op.h"

namespace flaggems {

// A boxed kernel that runs `op->kernel` and checks the call. Its result is the
// kernel's own, unchanged; an exception of the kernel passes through; nothing
// of the checker throws. Every call ends in exactly one verdict, counted in
// op->ledger. `runtime` must outlive the kernel.
//
// A call made by the checker itself (CheckScope) runs the native kernel and is
// not counted: it is none of the program's.
c10::BoxedKernel MakeCheckedKernel(std::shared_ptr<const CheckedOp> op,
                                   CheckRuntime* runtime);

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CHECKED_KERNEL_H_
