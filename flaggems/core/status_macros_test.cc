#include "flaggems/core/status_macros.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/core/status_testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

absl::Status ReturnIfError(const absl::Status& first, int* reached) {
  FG_RETURN_IF_ERROR(first);
  ++*reached;
  return absl::OkStatus();
}

TEST(ReturnIfErrorTest, ReturnsTheError) {
  int reached = 0;
  EXPECT_THAT(ReturnIfError(absl::DataLossError("disk"), &reached),
              StatusIs(absl::StatusCode::kDataLoss, "disk"));
  EXPECT_EQ(reached, 0);
}

TEST(ReturnIfErrorTest, GoesOnWhenOk) {
  int reached = 0;
  EXPECT_THAT(ReturnIfError(absl::OkStatus(), &reached), IsOk());
  EXPECT_EQ(reached, 1);
}

TEST(ReturnIfErrorTest, EvaluatesOnceAndIsOneStatement) {
  int calls = 0;
  const auto count = [&calls] {
    ++calls;
    return absl::OkStatus();
  };
  const auto body = [&](bool go) -> absl::Status {
    if (go)
      FG_RETURN_IF_ERROR(count());
    else
      return absl::InternalError("else");
    return absl::OkStatus();
  };
  EXPECT_THAT(body(true), IsOk());
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(body(false), StatusIs(absl::StatusCode::kInternal));
}

TEST(ReturnIfErrorTest, WorksWhereAStatusOrIsReturned) {
  const auto body = []() -> absl::StatusOr<int> {
    FG_RETURN_IF_ERROR(absl::NotFoundError("x"));
    return 1;
  };
  EXPECT_THAT(body(), StatusIs(absl::StatusCode::kNotFound));
}

// Two in one scope, and a type that can only be moved.
absl::StatusOr<int> Sum(absl::StatusOr<std::unique_ptr<int>> a,
                        absl::StatusOr<int> b) {
  FG_ASSIGN_OR_RETURN(std::unique_ptr<int> pointer, std::move(a));
  int value = 0;
  FG_ASSIGN_OR_RETURN(value, b);
  return *pointer + value;
}

TEST(AssignOrReturnTest, AssignsOrReturns) {
  EXPECT_THAT(Sum(std::make_unique<int>(3), 4), IsOkAndHolds(7));
  EXPECT_THAT(Sum(absl::AbortedError("a"), 4),
              StatusIs(absl::StatusCode::kAborted, "a"));
  EXPECT_THAT(Sum(std::make_unique<int>(3), absl::UnknownError("b")),
              StatusIs(absl::StatusCode::kUnknown, "b"));
}

}  // namespace
}  // namespace flaggems
