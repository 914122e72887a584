#ifndef FLAGGEMS_SCREEN_CALL_FINGERPRINT_H_
#define FLAGGEMS_SCREEN_CALL_FINGERPRINT_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace flaggems {

// A hash of all that a call looks like but the elements of its tensors: dtypes,
// devices, sizes, strides, conjugate bits and whether a tensor is a Python
// number, of arguments and results; which of them share a storage, and where
// each lies in it; numbers, strings and lists. nullopt: a value that it does
// not know, or a result that is no tensor. Some 0.3 us.
std::optional<uint64_t> CallFingerprint(absl::Span<const c10::IValue> arguments,
                                        absl::Span<const c10::IValue> outputs);

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_CALL_FINGERPRINT_H_
