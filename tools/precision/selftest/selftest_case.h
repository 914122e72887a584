#ifndef TOOLS_PRECISION_SELFTEST_SELFTEST_CASE_H_
#define TOOLS_PRECISION_SELFTEST_SELFTEST_CASE_H_

// A kernel of one operator, known to be wrong or known to be right, and calls
// that show which. What a checker says of them tells whether it can be trusted.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "flaggems/core/verdict.h"

namespace flaggems::selftest {

using Stack = torch::jit::Stack;

// Argument stacks in the order of the calls; each has all arguments of the
// schema.
using CallList = std::vector<Stack>;

// libtorch's own CPU kernel of an operator, whatever is installed over it.
class NativeCall {
 public:
  // `op` as SelftestCase::op. To be called before a kernel of the self-test is
  // installed over the operator; later calls give the same kernel.
  // kNotFound: no such operator, or one without a kernel for the CPU.
  static absl::StatusOr<NativeCall> Of(const char* op);

  // Replaces the arguments, which are all of `stack`, by the results. Throws
  // what the kernel throws. The kernel sees conjugate and negative bits only
  // of operators that handle them themselves, as behind the dispatcher.
  void operator()(Stack* stack) const;

  const c10::OperatorHandle& op() const { return op_; }

 private:
  NativeCall(c10::OperatorHandle op,
             std::shared_ptr<const c10::SafeKernelFunction> kernel);

  c10::OperatorHandle op_;
  std::shared_ptr<const c10::SafeKernelFunction> kernel_;
};

struct SelftestCase {
  // Unique. W01 ... W40 and R1 ... R12 are the published mutants (a letter is
  // added where one of them is several cases); X are further wrong kernels, Q
  // further right ones.
  const char* id;
  // elementwise, reduction, softmax, norm, product, convolution, attention,
  // indexing, scan, sorting, random, in_place, out, view, state, factory,
  // complex, special, contract.
  const char* group;
  // The dispatcher's name with overload: "aten::clamp",
  // "aten::div.Tensor_mode".
  const char* op;
  // One line: what is wrong with the kernel, or why it is right.
  const char* what;
  // kPass for a right kernel. For a wrong one, what is to be said of at least
  // one of `calls`; others of them may be right.
  Verdict expected;
  // Replaces the arguments, which are all of `stack`, by the results. It may
  // call any operator but its own, for which there is `native`: its own one is
  // replaced while the case runs. Some kernels keep state from call to call,
  // so cases are not to be run by two threads at once.
  void (*kernel)(const NativeCall& native, Stack* stack);
  // Made afresh each time, equal to the bit each time; before the kernel is
  // installed, since making them may call the operator. Also resets the state
  // of a kernel that has one and seeds the random generators.
  CallList (*calls)();
  // Calls on which a wrong kernel is right, so that each has to pass. Null for
  // right kernels, and for wrong ones that are wrong on every call.
  CallList (*hiding_calls)() = nullptr;
  // The case is run with TF32 allowed (at::Context::setAllowTF32CuBLAS).
  bool allow_tf32 = false;
};

// Runs the case's kernel on a stack that may hold more than the arguments, as
// the dispatcher's may: they are its last elements.
void RunKernel(const SelftestCase& selftest_case, const NativeCall& native,
               Stack* stack);

}  // namespace flaggems::selftest

#endif  // TOOLS_PRECISION_SELFTEST_SELFTEST_CASE_H_
