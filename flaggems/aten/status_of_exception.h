#ifndef FLAGGEMS_ATEN_STATUS_OF_EXCEPTION_H_
#define FLAGGEMS_ATEN_STATUS_OF_EXCEPTION_H_

// The border where exceptions of libtorch become absl::Status.

#include <exception>

#include "absl/status/status.h"

namespace flaggems {

// kResourceExhausted for memory that could not be had (std::bad_alloc,
// c10::OutOfMemoryError, the CPU allocator's plain c10::Error), kUnimplemented
// for c10::NotImplementedError, kCancelled for Python's KeyboardInterrupt and
// SystemExit out of a kernel written in it, kInternal for the rest; the text is
// the first line of the exception's, without a backtrace.
absl::Status StatusOfException(std::exception_ptr exception) noexcept;

// Runs `body` (which returns a Status or StatusOr) and turns whatever it
// throws into a Status.
template <typename Body>
auto StatusOrOf(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return StatusOfException(std::current_exception());
  }
}

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_STATUS_OF_EXCEPTION_H_
