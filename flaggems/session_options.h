#ifndef FLAGGEMS_SESSION_OPTIONS_H_
#define FLAGGEMS_SESSION_OPTIONS_H_

#include "absl/status/statusor.h"
#include "flaggems/check/check_session.h"
#include "flaggems/config/precision_options.h"

namespace flaggems {

// What a session of these options checks and how, but for the rank. Reads the
// policy and suppression files that they name; errors name file and line.
// Requires valid options.
absl::StatusOr<CheckSessionOptions> SessionOptionsOf(
    const PrecisionOptions& options);

}  // namespace flaggems

#endif  // FLAGGEMS_SESSION_OPTIONS_H_
