#include "flaggems/aten/status_of_exception.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

struct Case {
  std::string name;
  void (*fail)();
  absl::StatusCode code;
  std::string text;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

}  // namespace
}  // namespace flaggems

// As libtorch_python has them.
namespace pybind11 {
struct error_already_set : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
}  // namespace pybind11

struct python_error : public std::exception {
  explicit python_error(std::string what) : text(std::move(what)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

namespace flaggems {
namespace {

class StatusOfExceptionTest : public testing::TestWithParam<Case> {};

TEST_P(StatusOfExceptionTest, HasCodeAndFirstLine) {
  const absl::Status status = StatusOrOf([&] {
    GetParam().fail();
    return absl::OkStatus();
  });
  EXPECT_THAT(status, StatusIs(GetParam().code));
  EXPECT_EQ(status.message(), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Exceptions, StatusOfExceptionTest,
    testing::ValuesIn(std::vector<Case>{
        {"BadAlloc", [] { throw std::bad_alloc(); },
         absl::StatusCode::kResourceExhausted, "out of host memory"},
        {"DeviceMemory",
         [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory\nmore"); },
         absl::StatusCode::kResourceExhausted, "no memory"},
        {"HostAllocator",
         [] { TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate"); },
         absl::StatusCode::kResourceExhausted,
         "DefaultCPUAllocator: can't allocate"},
        {"NotImplemented",
         [] { TORCH_CHECK_NOT_IMPLEMENTED(false, "no such dtype"); },
         absl::StatusCode::kUnimplemented, "no such dtype"},
        {"Torch", [] { TORCH_CHECK(false, "bad size\nbacktrace"); },
         absl::StatusCode::kInternal, "bad size"},
        {"Standard", [] { throw std::runtime_error("first\nsecond"); },
         absl::StatusCode::kInternal, "first"},
        {"PythonInterrupt",
         [] { throw python_error("KeyboardInterrupt: \n\nAt:\n  f.py(3)"); },
         absl::StatusCode::kCancelled, "KeyboardInterrupt: "},
        {"InterruptOfPybind",
         [] { throw pybind11::error_already_set("KeyboardInterrupt: at\nx"); },
         absl::StatusCode::kCancelled, "KeyboardInterrupt: at"},
        {"PythonExit", [] { throw python_error("SystemExit: 3"); },
         absl::StatusCode::kCancelled, "SystemExit: 3"},
        {"PythonError",
         [] { throw python_error("ValueError: KeyboardInterrupt"); },
         absl::StatusCode::kInternal, "ValueError: KeyboardInterrupt"},
        {"TextOfAnInterrupt",
         [] { throw std::runtime_error("KeyboardInterrupt: "); },
         absl::StatusCode::kInternal, "KeyboardInterrupt: "},
        {"Other", [] { throw 3; }, absl::StatusCode::kInternal,
         "an exception that is no std::exception"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(StatusOrOf, PassesResultsThrough) {
  EXPECT_TRUE(StatusOrOf([] { return absl::OkStatus(); }).ok());
}

}  // namespace
}  // namespace flaggems
