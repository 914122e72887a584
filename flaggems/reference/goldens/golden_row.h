#ifndef FLAGGEMS_REFERENCE_GOLDENS_GOLDEN_ROW_H_
#define FLAGGEMS_REFERENCE_GOLDENS_GOLDEN_ROW_H_

// One golden function that comes with the library.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/op_registration/infer_schema.h>

#include <type_traits>

#include "absl/strings/string_view.h"

namespace flaggems {

// Golden functions compute in float64 whatever they are given, and return the
// dtypes that the operator does; so widening changes their results' dtypes
// only.
struct GoldenRow {
  absl::string_view op;  // "aten::mm.dtype"
  c10::KernelFunction (*make)();
  c10::FunctionSchema (*infer)();
  absl::string_view why;  // there has to be one
};

template <auto* kFn>
GoldenRow GoldenOf(absl::string_view op, absl::string_view why) {
  return {
      op,
      [] { return c10::KernelFunction::makeFromUnboxedRuntimeFunction(kFn); },
      [] {
        return c10::inferFunctionSchemaFlattenedReturns<
            std::remove_pointer_t<decltype(kFn)>>();
      },
      why};
}

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_GOLDEN_ROW_H_
