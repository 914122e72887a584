#include "flaggems/sink/tee_sink.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace flaggems {

TeeSink::TeeSink(std::vector<std::unique_ptr<RecordSink>> sinks)
    : sinks_(std::move(sinks)) {}

absl::Status TeeSink::Send(const CheckRecord& record) {
  absl::Status first;
  for (const auto& sink : sinks_) first.Update(sink->Send(record));
  return first;
}

absl::Status TeeSink::Flush() {
  absl::Status first;
  for (const auto& sink : sinks_) first.Update(sink->Flush());
  return first;
}

}  // namespace flaggems
