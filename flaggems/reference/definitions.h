#ifndef FLAGGEMS_REFERENCE_DEFINITIONS_H_
#define FLAGGEMS_REFERENCE_DEFINITIONS_H_

// Operators whose own kernel cannot compute in float64.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>

#include "flaggems/reference/reference.h"

namespace flaggems {

// Who computes the operator in float64: its definition in terms of other
// operators where a table has one (convolution for mkldnn_convolution), else
// `own`. A golden function is its own definition.
std::shared_ptr<const Reference> WideReference(
    const c10::OperatorHandle& op, const std::shared_ptr<const Reference>& own);

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_DEFINITIONS_H_
