#ifndef FLAGGEMS_SINK_TEE_SINK_H_
#define FLAGGEMS_SINK_TEE_SINK_H_

// One record to several sinks.

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/core/check_record.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

// Every sink gets every record, in the order given, also after another one has
// failed; the first error is returned. Without sinks all is OK.
class TeeSink : public RecordSink {
 public:
  explicit TeeSink(std::vector<std::unique_ptr<RecordSink>> sinks);

  absl::Status Send(const CheckRecord& record) override;
  absl::Status Flush() override;

 private:
  const std::vector<std::unique_ptr<RecordSink>> sinks_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_TEE_SINK_H_
