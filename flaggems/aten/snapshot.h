#ifndef FLAGGEMS_ATEN_SNAPSHOT_H_
#define FLAGGEMS_ATEN_SNAPSHOT_H_

// Copies of arguments in host memory that behave as the originals do.

#include <ATen/core/ivalue.h>

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace flaggems {

// Snapshot()
//
// Copies every tensor of `arguments` to the CPU; numbers, strings and None are
// taken over, a device argument becomes the CPU. What an operator can see of a
// tensor is kept: sizes, strides, conjugate and negative bits, whether it came
// from a Python number, and sharing: two arguments over one storage share one
// copy, so that an in-place operator writes through both. Of each storage only
// the range that the arguments reach is copied; storage offsets count from its
// start.
//
// Cost:    one copy of that range; on a device the copy waits for the stream.
// Threads: safe, as long as nobody writes the tensors meanwhile.
// Errors:  kUnimplemented      a tensor without plain memory, or a generator
//          kResourceExhausted  no memory for the copy
//          kInternal           a copy that the device refused, with its text
// Needs:   no autograd or wrapper above the current dispatch state: callers
//          hold a CheckScope.
absl::StatusOr<std::vector<c10::IValue>> Snapshot(
    absl::Span<const c10::IValue> arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_SNAPSHOT_H_
