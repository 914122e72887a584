#include "flaggems/sink/memory_sink.h"

#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/sink/testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

TEST(MemorySinkTest, ErrorKeepsNothingUntilItIsTakenBack) {
  MemorySink sink;
  sink.set_status(absl::UnavailableError("x"));
  EXPECT_THAT(sink.Send(FailureRecord()),
              StatusIs(absl::StatusCode::kUnavailable, "x"));
  EXPECT_TRUE(sink.records().empty());
  sink.set_status(absl::OkStatus());
  EXPECT_THAT(sink.Send(FailureRecord()), IsOk());
  ASSERT_EQ(sink.records().size(), 1u);
  EXPECT_EQ(sink.records()[0].op, FailureRecord().op);
}

TEST(MemorySinkTest, KeepsTheRecordsOfAllThreads) {
  MemorySink sink;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&sink] {
      for (int i = 0; i < 100; ++i) sink.Send(FailureRecord()).IgnoreError();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sink.records().size(), 400u);
}

}  // namespace
}  // namespace flaggems
