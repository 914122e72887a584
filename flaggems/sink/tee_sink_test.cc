#include "flaggems/sink/tee_sink.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/sink/memory_sink.h"
#include "flaggems/sink/record_sink.h"
#include "flaggems/sink/testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

TEST(TeeSinkTest, WithoutSinksIsOk) {
  TeeSink tee({});
  EXPECT_THAT(tee.Send(FailureRecord()), IsOk());
  EXPECT_THAT(tee.Flush(), IsOk());
}

TEST(TeeSinkTest, TriesAllAndReturnsTheFirstError) {
  std::vector<std::unique_ptr<RecordSink>> sinks;
  std::vector<MemorySink*> parts;
  for (int i = 0; i < 4; ++i) {
    auto sink = std::make_unique<MemorySink>();
    parts.push_back(sink.get());
    sinks.push_back(std::move(sink));
  }
  TeeSink tee(std::move(sinks));
  EXPECT_THAT(tee.Send(FailureRecord()), IsOk());
  parts[1]->set_status(absl::DataLossError("first"));
  parts[2]->set_status(absl::InternalError("second"));
  CheckRecord record = FailureRecord();
  record.call = 8;
  EXPECT_THAT(tee.Send(record), StatusIs(absl::StatusCode::kDataLoss, "first"));
  EXPECT_THAT(tee.Flush(), StatusIs(absl::StatusCode::kDataLoss, "first"));
  const size_t kWant[] = {2, 1, 1, 2};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(parts[i]->records().size(), kWant[i]) << i;
    EXPECT_EQ(parts[i]->flushes(), 1) << i;
  }
  EXPECT_EQ(parts[3]->records()[1].call, 8);
}

}  // namespace
}  // namespace flaggems
