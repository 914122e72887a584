#ifndef FLAGGEMS_SINK_FILE_SINK_H_
#define FLAGGEMS_SINK_FILE_SINK_H_

// A log file: one record, one line, one write(2).

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

// A function that turns a record into a line, newline excluded.
using RecordFormatter = std::string (*)(const CheckRecord& record);

// Opens `path` for writing. The directory is made with mode 0700; an existing
// file is renamed to "<path>.1" first (an older ".1" is replaced).
//
// The returned sink appends each line with one write, so lines of several
// threads never mix and a killed process tears at most the last one. After a
// failed or short write (a full disk) the next line starts on a line of its
// own; Send() reports the error and later records are still tried.
//
// Errors: kInvalidArgument    the path is empty or is a directory
//         kPermissionDenied, kNotFound, kResourceExhausted, kUnknown from the
//         system, with the path and strerror text
absl::StatusOr<std::unique_ptr<RecordSink>> OpenFileSink(
    const std::string& path, RecordFormatter formatter);

// "a/precision.log", 3 -> "a/precision.rank3.log".
std::string PathOfRank(absl::string_view path, int rank);

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_FILE_SINK_H_
