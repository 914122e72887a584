#ifndef FLAGGEMS_LOG_SETUP_H_
#define FLAGGEMS_LOG_SETUP_H_

// From options to an open log.

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "flaggems/config/precision_options.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

// The number of this process in a torchrun, MPI or Slurm job of several
// processes, from the environment that they set; nullopt outside of one.
std::optional<int> JobRank();

// Where the log of these options goes: options.path, or
// $HOME/.flaggems/precision.log; with a rank "precision.rank3.log".
// kFailedPrecondition without a path and without $HOME.
absl::StatusOr<std::string> LogPath(const PrecisionOptions& options,
                                    std::optional<int> rank);

// Opens the log, in the format of the options, and stderr if they say so.
// Errors as OpenFileSink() and LogPath().
absl::StatusOr<std::unique_ptr<RecordSink>> OpenLog(
    const PrecisionOptions& options, std::optional<int> rank);

}  // namespace flaggems

#endif  // FLAGGEMS_LOG_SETUP_H_
