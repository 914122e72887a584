#include "flaggems/sink/glog_sink.h"

#include <string>

#include "flaggems/core/check_record.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/sink/format.h"
#include "flaggems/sink/testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// As glog's own header declares it; the header stays in glog_sink.cc.
namespace fLB {
extern bool FLAGS_logtostderr;
}

namespace flaggems {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(GlogSinkTest, LeavesTheProgramsFlagsAloneUnlessAsked) {
  fLB::FLAGS_logtostderr = false;
  GlogSink as_configured(GlogSink::Destination::kAsConfigured);
  EXPECT_FALSE(fLB::FLAGS_logtostderr);
  GlogSink to_stderr(GlogSink::Destination::kStderr);
  EXPECT_TRUE(fLB::FLAGS_logtostderr);
}

TEST(GlogSinkTest, WritesTheTextLineAsWarningUninitialised) {
  SetFixedTimeZone();
  GlogSink sink;
  testing::internal::CaptureStderr();
  EXPECT_THAT(sink.Send(FailureRecord()), IsOk());
  EXPECT_THAT(sink.Flush(), IsOk());
  const std::string out = testing::internal::GetCapturedStderr();
  // "W20250519 ..." of glog, then our line.
  EXPECT_THAT(out, ContainsRegex("(^|\n)W[0-9]{8} [^\n]*glog_sink.cc"));
  EXPECT_THAT(out, HasSubstr(FormatTextLine(FailureRecord()) + "\n"));
}

}  // namespace
}  // namespace flaggems
