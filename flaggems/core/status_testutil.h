#ifndef FLAGGEMS_CORE_STATUS_TESTUTIL_H_
#define FLAGGEMS_CORE_STATUS_TESTUTIL_H_

// gMock matchers for absl::Status and absl::StatusOr, which Debian's abseil
// lacks:
//
//   EXPECT_THAT(DoIt(), IsOk());
//   EXPECT_THAT(Parse("7"), IsOkAndHolds(7));
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument,
//                                    HasSubstr("\"x\"")));

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace flaggems {
namespace internal_status_testutil {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

class IsOkMatcher {
 public:
  using is_gtest_matcher = void;

  template <typename T>
  bool MatchAndExplain(const T& result,
                       testing::MatchResultListener* listener) const {
    const absl::Status& status = StatusOf(result);
    if (!status.ok()) *listener << "whose status is " << status;
    return status.ok();
  }
  void DescribeTo(std::ostream* os) const { *os << "is OK"; }
  void DescribeNegationTo(std::ostream* os) const { *os << "is not OK"; }
};

template <typename Inner>
class IsOkAndHoldsMatcher {
 public:
  explicit IsOkAndHoldsMatcher(Inner inner) : inner_(std::move(inner)) {}

  template <typename StatusOr>
  operator testing::Matcher<StatusOr>() const {  // NOLINT: as gMock's own
    return testing::Matcher<StatusOr>(new Impl<StatusOr>(inner_));
  }

 private:
  template <typename StatusOr>
  class Impl : public testing::MatcherInterface<StatusOr> {
   public:
    using Value = typename std::decay_t<StatusOr>::value_type;

    explicit Impl(const Inner& inner)
        : matcher_(testing::SafeMatcherCast<const Value&>(inner)) {}

    bool MatchAndExplain(
        StatusOr result,
        testing::MatchResultListener* listener) const override {
      if (!result.ok()) {
        *listener << "whose status is " << result.status();
        return false;
      }
      return matcher_.MatchAndExplain(*result, listener);
    }
    void DescribeTo(std::ostream* os) const override {
      *os << "is OK and holds a value that ";
      matcher_.DescribeTo(os);
    }
    void DescribeNegationTo(std::ostream* os) const override {
      *os << "is not OK or holds a value that ";
      matcher_.DescribeNegationTo(os);
    }

   private:
    const testing::Matcher<const Value&> matcher_;
  };

  const Inner inner_;
};

class StatusIsMatcher {
 public:
  using is_gtest_matcher = void;

  StatusIsMatcher(absl::StatusCode code, testing::Matcher<std::string> message)
      : code_(code), message_(std::move(message)) {}

  template <typename T>
  bool MatchAndExplain(const T& result,
                       testing::MatchResultListener* listener) const {
    const absl::Status& status = StatusOf(result);
    const bool matches = status.code() == code_ &&
                         message_.Matches(std::string(status.message()));
    if (!matches) *listener << "whose status is " << status;
    return matches;
  }
  void DescribeTo(std::ostream* os) const {
    *os << "has the code " << absl::StatusCodeToString(code_)
        << " and a message that ";
    message_.DescribeTo(os);
  }
  void DescribeNegationTo(std::ostream* os) const {
    *os << "has another code than " << absl::StatusCodeToString(code_)
        << " or a message that ";
    message_.DescribeNegationTo(os);
  }

 private:
  const absl::StatusCode code_;
  const testing::Matcher<std::string> message_;
};

}  // namespace internal_status_testutil

// A Status or StatusOr that is OK.
inline internal_status_testutil::IsOkMatcher IsOk() { return {}; }

// A StatusOr that is OK and whose value matches `inner`, a value or a matcher.
template <typename Inner>
internal_status_testutil::IsOkAndHoldsMatcher<std::decay_t<Inner>> IsOkAndHolds(
    Inner&& inner) {
  return internal_status_testutil::IsOkAndHoldsMatcher<std::decay_t<Inner>>(
      std::forward<Inner>(inner));
}

// A Status or StatusOr with this code and, if given, a message that matches.
inline internal_status_testutil::StatusIsMatcher StatusIs(
    absl::StatusCode code,
    testing::Matcher<std::string> message = testing::A<std::string>()) {
  return internal_status_testutil::StatusIsMatcher(code, std::move(message));
}

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_STATUS_TESTUTIL_H_
