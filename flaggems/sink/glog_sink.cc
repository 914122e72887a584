#include "flaggems/sink/glog_sink.h"

#include <new>

#include "absl/status/status.h"
#include "flaggems/core/check_record.h"
#include "flaggems/sink/format.h"
#include "glog/logging.h"

namespace flaggems {

GlogSink::GlogSink(Destination destination) {
  if (destination == Destination::kStderr) FLAGS_logtostderr = true;
}

absl::Status GlogSink::Send(const CheckRecord& record) {
  try {
    LOG(WARNING) << FormatTextLine(record);
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    // Without a message: that would need memory.
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

absl::Status GlogSink::Flush() {
  google::FlushLogFiles(google::GLOG_INFO);
  return absl::OkStatus();
}

}  // namespace flaggems
