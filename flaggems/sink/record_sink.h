#ifndef FLAGGEMS_SINK_RECORD_SINK_H_
#define FLAGGEMS_SINK_RECORD_SINK_H_

// Where records go.

#include "absl/status/status.h"
#include "flaggems/core/check_record.h"

namespace flaggems {

// Implementations are thread-safe and do not throw. Send() must not call an
// operator: it may run inside one.
class RecordSink {
 public:
  virtual ~RecordSink() = default;

  // Writes one record. An error is counted by the caller and shown in the
  // summary; the user's program goes on.
  virtual absl::Status Send(const CheckRecord& record) = 0;

  // Makes what was sent visible to other processes.
  virtual absl::Status Flush() = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_RECORD_SINK_H_
