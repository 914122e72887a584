#ifndef FLAGGEMS_SINK_FILE_SINK_H_
#define FLAGGEMS_SINK_FILE_SINK_H_

// A log file: one record, one line, one write(2).

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/check_record.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

// A function that turns a record into a line, newline excluded. It may throw
// std::bad_alloc only.
using RecordFormatter = std::string (*)(const CheckRecord& record);

// Opens `path` for writing. The directories that it lacks are made with mode
// 0700, the file has mode 0600; an existing regular file is renamed to
// "<path>.1" (an older ".1" is replaced), once the new one
// is known to be good: on an error nothing is changed. A character device
// (/dev/null, /dev/stderr) is opened as it is.
//
// A full disk is found here where the system tells without a record being
// written: no room for the file's entry, no block left to reserve (where the
// file system can reserve), no free block at all (where it counts them), a
// device that refuses an empty write. A file system that does neither (some
// network ones), or one that fills up later, is found by the first Send().
//
// The returned sink appends each line with one write, so lines of several
// threads never mix and a killed process tears at most the last one. After a
// short write (a full disk) the next line starts on a line of its own; Send()
// reports every error and later records are still tried. A write beyond
// RLIMIT_FSIZE is an error too, never a SIGXFSZ.
//
// Errors: kInvalidArgument    the path is empty, is a directory, is neither a
//                             file nor a character device, or is no valid path
//         kPermissionDenied, kNotFound, kResourceExhausted, kUnknown from the
//         system, with the path and strerror text
absl::StatusOr<std::unique_ptr<RecordSink>> OpenFileSink(
    const std::string& path, RecordFormatter formatter);

// "a/precision.log", 3 -> "a/precision.rank3.log"; without an extension
// "a/log" -> "a/log.rank3". An empty path stays empty.
std::string PathOfRank(absl::string_view path, int rank);

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_FILE_SINK_H_
