#ifndef FLAGGEMS_GOLDEN_H_
#define FLAGGEMS_GOLDEN_H_

// Golden functions: what computes the calls of an operator again when torch
// has no CPU kernel that could, or none that can be trusted. A custom operator
// needs one: without it the check would compare its kernel with itself, and
// skips its calls (SKIP unsupported).
//
//   at::Tensor Swish(const at::Tensor& x, double beta) {
//     return x * at::sigmoid(beta * x);
//   }
//   absl::Status status = flaggems::RegisterGolden("my::swish", &Swish);
//
// A golden function gets the arguments as the kernel got them, on the CPU:
// copies, so what it writes stays its own. Of an operator that writes arguments
// (in place, out=) it writes them and returns what the schema says. It runs on
// the thread of the checked call, and from several threads at once if the
// operator does. Operators that it calls are torch's own, also where a kernel
// under test is installed over them. Autograd is there, with GradMode off; a
// golden function of a backward operator may turn it on and differentiate.
//
// With `widen` (the default) it is called with floating tensors as float64,
// complex ones as complex128, dtype arguments likewise, several times for one
// call: on the arguments as they were, widened, and with small changes that
// show how sensitive the result is. It must compute in the type that it is
// given; rounding in between counts as an error of the kernel. Without `widen`
// it is only called with the arguments as they are, and its own rounding is
// allowed for: error budgets are twice as large.
//
// What a golden function does wrong is no failure of the kernel: if it throws,
// or its results are not the schema's, or have other sizes or dtypes than the
// kernel's, the call ends in ERROR(reference) with the reason. A kernel that
// refuses a call is not compared (UNTRUSTED).
//
// Golden functions for torch's fused attention, norms, optimisers and others
// that have no CPU kernel come with the library (docs/goldens.md); one of yours
// replaces them.
//
// Includes headers of ATen, unlike precision.h. All functions are thread-safe
// and do not throw. They may be called before or after the operator is enabled
// or observed; calls that begin later count.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/infer_schema.h>

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "flaggems/reference/golden.h"

namespace flaggems {

struct GoldenOptions {
  bool widen = true;
};

// RegisterGolden()
//
// A boxed function (GoldenFunction), for any operator.
//
// `op` is "ns::name.overload"; without "ns::" the namespace is aten. Without an
// overload it is the default overload, or the only one there is; "default"
// names the default one. Registering again replaces.
//
// kNotFound         torch has no such operator; names the nearest
// kInvalidArgument  no operator name; several overloads and none is named
//                   (lists them); `function` is empty; or its C++ signature is
//                   not the operator's (says the difference)
absl::Status RegisterGolden(absl::string_view op, GoldenFunction function,
                            const GoldenOptions& options = {});

// A function pointer or an object with one operator(), that takes and returns
// what torch::Library::impl() wants of a kernel. Several results are a
// std::tuple.
template <
    typename Function,
    std::enable_if_t<!std::is_convertible_v<Function, GoldenFunction>, int> = 0>
absl::Status RegisterGolden(absl::string_view op, Function function,
                            const GoldenOptions& options = {});

// Calls the operator `golden` of the dispatcher ("flaggems_golden::swish"),
// boxed. Its arguments and results are those of `op`; their names may differ.
// So a golden function can be written in Python, with torch.library.
// Errors as RegisterGolden(), for both names.
absl::Status RegisterGoldenOperator(absl::string_view op,
                                    absl::string_view golden,
                                    const GoldenOptions& options = {});

// Removes what is registered, of ours too; calls are judged by the native CPU
// kernel then, if there is one that can be trusted.
// kNotFound  no such operator, or no golden function is registered for it
absl::Status UnregisterGolden(absl::string_view op);

// Implementation details.
namespace internal_golden {

// As RegisterGolden(), of a kernel with this inferred schema.
absl::Status RegisterKernel(absl::string_view op, c10::KernelFunction kernel,
                            const c10::FunctionSchema& inferred,
                            const GoldenOptions& options);

}  // namespace internal_golden

template <
    typename Function,
    std::enable_if_t<!std::is_convertible_v<Function, GoldenFunction>, int>>
absl::Status RegisterGolden(absl::string_view op, Function function,
                            const GoldenOptions& options) {
  using Plain = std::remove_pointer_t<Function>;
  c10::FunctionSchema inferred =
      c10::detail::infer_schema::createFunctionSchemaFromTraitsFlattenedReturns<
          c10::guts::infer_function_traits_t<Plain>>();
  if constexpr (std::is_function_v<Plain>) {
    return internal_golden::RegisterKernel(
        op, c10::KernelFunction::makeFromUnboxedRuntimeFunction(function),
        inferred, options);
  } else {
    return internal_golden::RegisterKernel(
        op, c10::KernelFunction::makeFromUnboxedLambda(std::move(function)),
        inferred, options);
  }
}

}  // namespace flaggems

#endif  // FLAGGEMS_GOLDEN_H_
