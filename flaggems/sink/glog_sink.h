#ifndef FLAGGEMS_SINK_GLOG_SINK_H_
#define FLAGGEMS_SINK_GLOG_SINK_H_

// Records in the program's own log. This header includes nothing of glog: its
// macros have the names of c10's.

#include "absl/status/status.h"
#include "flaggems/core/check_record.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

// Logs the text line of each record at WARNING.
//
// glog is never initialised here; that is the business of main(). Before
// InitGoogleLogging() glog writes to stderr and, once in a process, says so.
class GlogSink : public RecordSink {
 public:
  enum class Destination {
    kAsConfigured,  // what the program's glog flags say
    kStderr,        // sets FLAGS_logtostderr, for the whole process: no log
                    // files any more
  };
  explicit GlogSink(Destination destination = Destination::kStderr);

  absl::Status Send(const CheckRecord& record) override;
  absl::Status Flush() override;
};

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_GLOG_SINK_H_
