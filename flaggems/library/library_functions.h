#ifndef FLAGGEMS_LIBRARY_LIBRARY_FUNCTIONS_H_
#define FLAGGEMS_LIBRARY_LIBRARY_FUNCTIONS_H_

// The functions of libflaggems.so: those of precision.h over JSON, so that a
// caller in any language needs no header and no ABI of ours.

#include <string>

#include "absl/strings/string_view.h"

namespace flaggems {

// Calls the function `name` with `arguments`, a JSON object. Returns
// {"result": ...}, or {"error": {"code": "NOT_FOUND", "message": "..."}} with
// absl's name of the code. Does not throw. Thread-safe.
//
// name                     arguments                          result
// enable_precision_check   {"options": {"rtol": "1e-3"}}      null
// disable_precision_check                                     null
// enabled                                                     true or false
// enable                   {"include", "exclude", "checked"}  see below
// observe                  {"include", "exclude", "device"}   see below
// remove                   {"id"}                             null
// golden                   {"op", "function", "widen"}        null
// remove_golden            {"op"}                             null
// summary                                                     [OpSummary]
// summary_table                                               text
// version                                                     {"flaggems",
//                                                              "torch"}
//
// The options are those of docs/flags.md, each as its flag takes it; the
// environment counts where the call says nothing. enable and observe return
// {"id": 3, "ops": [names], "not_observed": {name: reason}}; "remove" takes the
// id. "function" is the name of a dispatcher operator, see
// RegisterGoldenOperator() in golden.h.
std::string CallLibraryFunction(absl::string_view name,
                                absl::string_view arguments) noexcept;

}  // namespace flaggems

#endif  // FLAGGEMS_LIBRARY_LIBRARY_FUNCTIONS_H_
