#include "flaggems/aten/status_of_exception.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>
#include <typeinfo>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace flaggems {
namespace {

absl::string_view FirstLine(absl::string_view text) {
  return text.substr(0, text.find('\n'));
}

// What Python raises to end a program, through a kernel that is written in it:
// nothing that the kernel did. The types are libtorch_python's, which is not
// linked; they are known by their names and their text, "KeyboardInterrupt:
// ...".
bool IsPythonInterrupt(const std::exception& exception) {
  const absl::string_view type = typeid(exception).name();
  if (type != "12python_error" && type != "N8pybind1117error_already_setE") {
    return false;
  }
  const absl::string_view text = exception.what();
  return absl::StartsWith(text, "KeyboardInterrupt") ||
         absl::StartsWith(text, "SystemExit");
}

}  // namespace

absl::Status StatusOfException(std::exception_ptr exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of host memory");
  } catch (const c10::OutOfMemoryError& e) {
    return absl::ResourceExhaustedError(FirstLine(e.what_without_backtrace()));
  } catch (const c10::NotImplementedError& e) {
    return absl::UnimplementedError(FirstLine(e.what_without_backtrace()));
  } catch (const c10::Error& e) {
    const absl::string_view text = FirstLine(e.what_without_backtrace());
    // c10's CPU allocator has no exception type of its own.
    if (absl::StrContains(text, "DefaultCPUAllocator")) {
      return absl::ResourceExhaustedError(text);
    }
    return absl::InternalError(text);
  } catch (const std::exception& e) {
    if (IsPythonInterrupt(e)) return absl::CancelledError(FirstLine(e.what()));
    return absl::InternalError(FirstLine(e.what()));
  } catch (...) {
    return absl::InternalError("an exception that is no std::exception");
  }
}

}  // namespace flaggems
