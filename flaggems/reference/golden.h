#ifndef FLAGGEMS_REFERENCE_GOLDEN_H_
#define FLAGGEMS_REFERENCE_GOLDEN_H_

// Golden functions: who computes the calls of an operator again in place of
// its native kernel. flaggems/golden.h is the way in for users.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/op_key.h"
#include "flaggems/reference/reference.h"

namespace flaggems {

// Takes the arguments off the stack and puts the results on it, as a boxed
// kernel does. Thread-safe. It may throw.
using GoldenFunction = std::function<void(torch::jit::Stack* stack)>;

// A golden function of an operator with this schema. Compute() resolves
// conjugate and negative bits (an argument that the operator writes gets what
// was written back), makes autograd available (GradMode is off), and checks
// that number and types of the results are the schema's. kInternal or
// kUnimplemented with the function's text: it threw, or its results are none
// of this schema.
std::shared_ptr<const Reference> MakeGolden(const c10::FunctionSchema& schema,
                                            GoldenFunction function,
                                            bool widen);

// The same of a kernel, which is called boxed. kInvalidArgument: `inferred`,
// the schema of its C++ signature, is not that of `op`; says the difference.
absl::StatusOr<std::shared_ptr<const Reference>> GoldenOfKernel(
    const c10::OperatorHandle& op, c10::KernelFunction kernel,
    const c10::FunctionSchema& inferred, bool widen);

// The place of one operator in the process-wide table of golden functions.
// Thread-safe.
class GoldenSlot {
 public:
  // Never destroyed.
  static GoldenSlot& Of(const OpKey& op);

  // Null without a golden function.
  std::shared_ptr<const Reference> Get() const;
  // Replaces what is there, null removes it; returns what was there. Calls
  // that are being checked keep the one they began with.
  std::shared_ptr<const Reference> Set(std::shared_ptr<const Reference> golden);

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const Reference> golden_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDEN_H_
