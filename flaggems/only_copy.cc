#include "flaggems/only_copy.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "flaggems/aten/status_of_exception.h"

namespace flaggems {
namespace {

// The file that this code was loaded from.
std::string ThisFile() {
  static const char here = 0;
  Dl_info info;
  return dladdr(&here, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                : "a program";
}

// What all copies see is the dispatcher: the first reserves a namespace in it,
// which it refuses to the others with the text that the first gave.
absl::Status Reserve() {
  const absl::Status reserved = StatusOrOf([] {
    // Never given back.
    new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().registerLibrary("flaggems", ThisFile()));
    return absl::OkStatus();
  });
  if (reserved.ok()) return reserved;
  return absl::FailedPreconditionError(absl::StrCat(
      "flaggems is in this process twice, and this copy (", ThisFile(),
      ") came second: load or link one only (", reserved.message(), ")"));
}

}  // namespace

absl::Status CheckOnlyCopy() {
  static const absl::Status& status = *new absl::Status(Reserve());
  return status;
}

}  // namespace flaggems
