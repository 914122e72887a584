#include "flaggems/core/status_testutil.h"

#include <memory>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::Not;
using ::testing::Pointee;
using ::testing::StringMatchResultListener;

template <typename T, typename M>
std::string Explain(const T& value, const M& matcher) {
  StringMatchResultListener listener;
  testing::SafeMatcherCast<const T&>(matcher).MatchAndExplain(value, &listener);
  return listener.str();
}

const absl::Status kBad = absl::NotFoundError("no such file");

TEST(IsOkTest, MatchesStatusAndStatusOr) {
  EXPECT_THAT(kBad, Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(kBad), Not(IsOk()));
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(1), IsOk());
  EXPECT_THAT(Explain(kBad, IsOk()), HasSubstr("no such file"));
}

TEST(IsOkAndHoldsTest, MatchesTheValue) {
  EXPECT_THAT(absl::StatusOr<int>(kBad), Not(IsOkAndHolds(1)));
  EXPECT_THAT(absl::StatusOr<int>(2), Not(IsOkAndHolds(1)));
  EXPECT_THAT(absl::StatusOr<int>(1), IsOkAndHolds(1));
  EXPECT_THAT(absl::StatusOr<int>(2), IsOkAndHolds(Gt(1)));
  EXPECT_THAT(absl::StatusOr<std::string>("a"), IsOkAndHolds("a"));
  EXPECT_THAT(absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(5)),
              IsOkAndHolds(Pointee(5)));
  EXPECT_THAT(Explain(absl::StatusOr<int>(kBad), IsOkAndHolds(1)),
              HasSubstr("no such file"));
}

TEST(StatusIsTest, MatchesCodeAndMessage) {
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(absl::OkStatus(), Not(StatusIs(kNotFound)));
  EXPECT_THAT(kBad, Not(StatusIs(absl::StatusCode::kInternal)));
  EXPECT_THAT(kBad, Not(StatusIs(kNotFound, "other")));
  EXPECT_THAT(kBad, StatusIs(kNotFound));
  EXPECT_THAT(kBad, StatusIs(kNotFound, "no such file"));
  EXPECT_THAT(absl::StatusOr<int>(kBad),
              StatusIs(kNotFound, HasSubstr("such")));
  EXPECT_THAT(absl::StatusOr<int>(7), Not(StatusIs(kNotFound)));
  EXPECT_THAT(Explain(kBad, StatusIs(absl::StatusCode::kInternal)),
              HasSubstr("NOT_FOUND"));
}

TEST(StatusMatchersTest, DescribeThemselves) {
  std::ostringstream os;
  Matcher<absl::StatusOr<int>>(IsOkAndHolds(1)).DescribeTo(&os);
  os << "; ";
  Matcher<absl::Status>(StatusIs(absl::StatusCode::kInternal, "m"))
      .DescribeTo(&os);
  EXPECT_EQ(os.str(),
            "is OK and holds a value that is equal to 1; has the code INTERNAL "
            "and a message that is equal to \"m\"");
}

}  // namespace
}  // namespace flaggems
