// The facade, end to end: kernels of this test, torch's dispatcher, log files.

#include "flaggems/precision.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/registry/register_kernel.h"
#include "flaggems/testutil.h"

namespace flaggems {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

// Whether the kernels below are wrong.
std::atomic<bool> wrong{false};

at::Tensor Abs(const at::Tensor& self) {
  at::Tensor out = at::where(self < 0, self.neg(), self);
  return wrong ? out.add_(1) : out;
}

at::Tensor& AbsInPlace(at::Tensor& self) {
  // Idempotent, so a reference that runs on changed inputs agrees with it.
  return wrong ? self.fill_(1) : self.copy_(Abs(self));
}

at::Tensor& AbsOut(const at::Tensor& self, at::Tensor& out) {
  return out.copy_(Abs(self));
}

std::tuple<at::Tensor, at::Tensor> MaxDim(const at::Tensor& self, int64_t dim,
                                          bool keepdim) {
  at::Tensor index = self.argmax(dim, keepdim);
  at::Tensor values = self.amax(dim, keepdim);
  if (wrong) values = values + 1;
  return {values, index};
}

FLAGGEMS_REGISTER_KERNEL(abs, "aten::abs", Backend::kCpu, &Abs);
FLAGGEMS_REGISTER_KERNEL(abs_in_place, "aten::abs_", Backend::kCpu,
                         &AbsInPlace);
FLAGGEMS_REGISTER_KERNEL(abs_out, "aten::abs.out", Backend::kCpu, &AbsOut);
FLAGGEMS_REGISTER_KERNEL(max, "aten::max.dim", Backend::kCpu, &MaxDim);

constexpr char kTime[] =
    "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} ";

class PrecisionTest : public testing::Test {
 protected:
  PrecisionTest() {
    wrong = false;
    options_.path = Path("precision.log");
    options_.summary_at_exit = false;
    enable_.registrar = RegistrarKind::kPrecisionCheck;
  }
  ~PrecisionTest() override { DisablePrecisionCheck(); }

  static std::string Path(const std::string& name) {
    return testing::TempDir() + "/" +
           testing::UnitTest::GetInstance()->current_test_info()->name() + "/" +
           name;
  }

  static std::vector<std::string> Lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  PrecisionOptions options_;
  EnableOptions enable_;
};

TEST_F(PrecisionTest, RightKernelsLeaveTheLogEmpty) {
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  EXPECT_THAT(kernels->ops(), ElementsAre("aten::abs", "aten::abs.out",
                                          "aten::abs_", "aten::max.dim"));
  at::abs(at::randn({5}));
  at::randn({5}).abs_();
  at::max(at::randn({5, 2}), 1);
  DisablePrecisionCheck();
  EXPECT_THAT(Lines(options_.path), IsEmpty());
  EXPECT_EQ(SummaryOf("abs").passed, 1);
  EXPECT_EQ(SummaryOf("abs_").passed, 1);
  EXPECT_EQ(SummaryOf("max.dim").passed, 1);
}

TEST_F(PrecisionTest, AFailureIsOneLineOfTheOriginalsForm) {
  wrong = true;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::abs(at::full({2, 3}, -3.f));
  at::abs(at::full({2, 3}, -3.f));
  at::max(at::arange(6.).reshape({2, 3}), 1);
  at::full({}, 0.5, at::kHalf).abs_();
  EXPECT_THAT(
      Lines(options_.path),
      ElementsAre(
          MatchesRegex(std::string(kTime) +
                       "\\[WARNING\\] Op: abs \\| FAIL \\| in: \\[\\(2, "
                       "3\\):torch\\.float32\\] \\| out: \\(2, "
                       "3\\):torch\\.float32 \\| max_abs: 1\\.000000e\\+00 \\| "
                       "max_rel: 3\\.333333e-01 \\| rtol=0\\.0001, "
                       "atol=1e-05"),
          MatchesRegex(
              std::string(kTime) +
              "\\[WARNING\\] Op: max\\.dim \\| FAIL \\| in: \\[\\(2, "
              "3\\):torch\\.float32\\] \\| out: \\[\\(2,\\):torch\\.float32, "
              "\\(2,\\):torch\\.int64\\] \\| max_abs: 1\\.000000e\\+00 \\| "
              "max_rel: 5\\.000000e-01 \\| rtol=0\\.0001, atol=1e-05"),
          MatchesRegex(
              std::string(kTime) +
              "\\[WARNING\\] Op: abs_ \\| FAIL \\| in: "
              "\\[\\(\\):torch\\.float16\\] \\| out: \\(\\):torch\\.float16 "
              "\\| max_abs: 5\\.000000e-01 \\| max_rel: 1\\.000000e\\+00 \\| "
              "rtol=0\\.01, atol=0\\.01")));
  const OpSummary abs = SummaryOf("abs");
  EXPECT_EQ(abs.calls, 2);
  EXPECT_EQ(abs.failed, 1);
  EXPECT_EQ(abs.skipped.at("reported"), 1);
}

TEST_F(PrecisionTest, OutVariantsAreSkipped) {
  wrong = true;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::Tensor out = at::empty({2});
  at::abs_out(out, at::ones({2}));
  EXPECT_THAT(Lines(options_.path), IsEmpty());
  EXPECT_EQ(SummaryOf("abs.out").skipped.at("policy"), 1);
}

TEST_F(PrecisionTest, NoSkipChecksThemAllTheSame) {
  wrong = true;
  options_.no_skip = {"abs.out"};
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::Tensor out = at::empty({2});
  at::abs_out(out, at::ones({2}));
  EXPECT_THAT(Lines(options_.path), ElementsAre(HasSubstr("Op: abs.out |")));
}

TEST_F(PrecisionTest, IncludeSelectsOverloads) {
  const auto kernels = OnlyEnable({"abs"}, enable_);
  ASSERT_THAT(kernels, IsOk());
  EXPECT_THAT(kernels->ops(), ElementsAre("aten::abs", "aten::abs.out"));
  const auto max = OnlyEnable({"max.dim"}, enable_);
  ASSERT_THAT(max, IsOk());
  EXPECT_THAT(max->ops(), ElementsAre("aten::max.dim"));
}

TEST_F(PrecisionTest, UnknownAndEmptyIncludeAreErrors) {
  EXPECT_THAT(OnlyEnable({"abss"}, enable_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("abs")));
  EXPECT_THAT(OnlyEnable({}, enable_),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(PrecisionTest, EnablingKernelsTwiceIsAnErrorAndLosesNothing) {
  const auto first = OnlyEnable({"max"}, enable_);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Enable(enable_), StatusIs(absl::StatusCode::kAlreadyExists,
                                        HasSubstr("aten::max.dim")));
  // The failed call left nothing installed: abs can be enabled.
  EXPECT_THAT(OnlyEnable({"abs"}, enable_), IsOk());
}

TEST_F(PrecisionTest, ADestroyedRegistrationRestoresTheNativeKernels) {
  wrong = true;
  {
    const auto kernels = Enable(enable_);
    ASSERT_THAT(kernels, IsOk());
    EXPECT_EQ(at::abs(at::ones({1})).item<float>(), 2);
  }
  EXPECT_EQ(at::abs(at::ones({1})).item<float>(), 1);
}

TEST_F(PrecisionTest, APlainRegistrarChecksNothing) {
  wrong = true;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable();
  ASSERT_THAT(kernels, IsOk());
  EXPECT_EQ(at::abs(at::ones({1})).item<float>(), 2);
  EXPECT_THAT(PrecisionSummary(), IsEmpty());
}

TEST_F(PrecisionTest, DisablingStopsChecksAndKeepsTheSummary) {
  wrong = true;
  options_.log_once = false;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  EXPECT_TRUE(PrecisionCheckEnabled());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::abs(at::ones({1}));
  DisablePrecisionCheck();
  EXPECT_FALSE(PrecisionCheckEnabled());
  at::abs(at::ones({1}));
  EXPECT_THAT(Lines(options_.path), SizeIs(1));
  EXPECT_EQ(SummaryOf("abs").failed, 1);
  EXPECT_EQ(SummaryOf("abs").skipped.at("disabled"), 1);
  DisablePrecisionCheck();
}

TEST_F(PrecisionTest, EnablingAgainReconfiguresAndStartsAnew) {
  wrong = true;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::abs(at::ones({1}));
  options_.rtol = 10;
  const std::string old_log = options_.path;
  options_.path = Path("second.jsonl");
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  at::abs(at::ones({1}));
  EXPECT_EQ(SummaryOf("abs").passed, 1);
  EXPECT_EQ(SummaryOf("abs").failed, 0);
  options_.rtol = 0;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  at::abs(at::ones({1}));
  EXPECT_THAT(Lines(old_log), SizeIs(1));
  EXPECT_THAT(Lines(options_.path),
              ElementsAre(AllOf(HasSubstr("\"op\":\"abs\""),
                                HasSubstr("\"status\":\"FAIL\""))));
  EXPECT_THAT(Lines(options_.path + ".1"), IsEmpty());
}

TEST_F(PrecisionTest, AFailedReconfigurationKeepsTheFormerOne) {
  wrong = true;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  PrecisionOptions bad = options_;
  bad.rtol = -1;
  EXPECT_THAT(EnablePrecisionCheck(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rtol")));
  bad = options_;
  bad.path = testing::TempDir();
  EXPECT_FALSE(EnablePrecisionCheck(bad).ok());
  bad.path = "/proc/none/precision.log";
  EXPECT_THAT(EnablePrecisionCheck(bad).message(), HasSubstr("/proc/none"));
  EXPECT_TRUE(PrecisionCheckEnabled());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::abs(at::ones({1}));
  EXPECT_THAT(Lines(options_.path), SizeIs(1));
}

TEST_F(PrecisionTest, OptionsOutOfRangeAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (double value : {-1e-9, nan, inf}) {
    PrecisionOptions options = options_;
    options.atol = value;
    EXPECT_THAT(
        EnablePrecisionCheck(options),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("atol")));
  }
  options_.max_checks = -1;
  EXPECT_THAT(
      EnablePrecisionCheck(options_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_checks")));
}

TEST_F(PrecisionTest, UnknownOperatorsInSkipAreNamed) {
  options_.skip = {"abs", "no_such_operator_at_all"};
  EXPECT_THAT(
      EnablePrecisionCheck(options_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("skip"), HasSubstr("no_such_operator_at_all"))));
  options_.skip = {"abs", "aten::max.dim"};
  EXPECT_THAT(EnablePrecisionCheck(options_), IsOk());
}

TEST_F(PrecisionTest, TheDefaultLogIsInTheHomeDirectory) {
  const std::string home = Path("home");
  ASSERT_EQ(setenv("HOME", home.c_str(), 1), 0);
  options_.path.clear();
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  EXPECT_TRUE(std::ifstream(home + "/.flaggems/precision.log").good());
  ASSERT_EQ(unsetenv("HOME"), 0);
  EXPECT_THAT(
      EnablePrecisionCheck(options_),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("HOME")));
}

TEST_F(PrecisionTest, EachRankOfAJobWritesItsOwnLog) {
  ASSERT_EQ(setenv("RANK", "3", 1), 0);
  ASSERT_EQ(setenv("WORLD_SIZE", "4", 1), 0);
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  EXPECT_TRUE(std::ifstream(Path("precision.rank3.log")).good());
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

TEST_F(PrecisionTest, AFullDiskIsReportedAndTheProgramGoesOn) {
  wrong = true;
  options_.path = "/dev/full";
  const absl::Status status = EnablePrecisionCheck(options_);
  if (!status.ok()) {
    EXPECT_THAT(status.message(), HasSubstr("/dev/full"));
    return;
  }
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  EXPECT_EQ(at::abs(at::ones({1})).item<float>(), 2);
  EXPECT_EQ(SummaryOf("abs").failed, 1);
  EXPECT_THAT(PrecisionSummaryTable(), HasSubstr("could not be written"));
}

TEST_F(PrecisionTest, GradientsAreThoseOfTheProgram) {
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  const at::Tensor x = at::tensor({-2.f, 3.f}).requires_grad_();
  at::abs(x).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::tensor({-1.f, 1.f})));
  EXPECT_EQ(SummaryOf("abs").passed, 1);
}

TEST_F(PrecisionTest, ReconfiguringWhileThreadsRunLosesNoCall) {
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const at::Tensor x = at::full({3}, -1.f);
      while (!stop) {
        if (at::abs(x)[0].item<float>() != 1) std::abort();
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
    if (i % 3 == 0) DisablePrecisionCheck();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Lines(options_.path), IsEmpty());
}

TEST_F(PrecisionTest, ListSaysHowCallsAreTreated) {
  const auto infos = ListKernels({}, {}, options_);
  ASSERT_THAT(infos, IsOk());
  ASSERT_THAT(*infos, SizeIs(4));
  EXPECT_EQ((*infos)[0].op, "aten::abs");
  EXPECT_EQ((*infos)[0].backend, "CPU");
  EXPECT_EQ((*infos)[0].skip_reason, "");
  EXPECT_EQ((*infos)[0].reference, "cpu");
  EXPECT_NE((*infos)[1].skip_reason, "");
  EXPECT_THAT((*infos)[0].place, HasSubstr("precision_test.cc:"));
}

// --- Observe() and profile strict. ---

at::Tensor WrongErf(const at::Tensor& x) { return at::full_like(x, 0.25); }

// erf(x) * factor, without torch's erf.
at::Tensor ErfTimes(const at::Tensor& x, double factor) {
  const at::Tensor wide = x.to(at::kDouble).clone();
  auto* const y = wide.mutable_data_ptr<double>();
  for (int64_t i = 0; i < wide.numel(); ++i) y[i] = std::erf(y[i]) * factor;
  return wide.to(x.scalar_type());
}
at::Tensor RightErf(const at::Tensor& x) { return ErfTimes(x, 1); }
at::Tensor CoarseErf(const at::Tensor& x) { return ErfTimes(x, 1.001); }

// A library's kernel over torch's own, as torch::Library registers it.
class OtherErf {
 public:
  explicit OtherErf(at::Tensor (*fn)(const at::Tensor&))
      : library_(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__,
                 __LINE__) {
    library_.impl("erf", fn);
  }

 private:
  torch::Library library_;
};

class StrictTest : public PrecisionTest {
 protected:
  StrictTest() {
    const std::string path = options_.path;
    options_ = PrecisionOptions::Strict();
    options_.path = path;
    options_.summary_at_exit = false;
    observe_.include = {"erf"};
  }

  // A file of the test's own with that text.
  static std::string FileWith(const std::string& name,
                              const std::string& text) {
    const std::string path =
        testing::TempDir() + "/" +
        testing::UnitTest::GetInstance()->current_test_info()->name() + name;
    std::ofstream(path) << text;
    return path;
  }

  const at::Tensor x_ = at::tensor({0.5f, -1.f, 2.f});
  ObserveOptions observe_;
};

TEST_F(StrictTest, APlantedWrongKernelIsReported) {
  const OtherErf wrong_erf(&WrongErf);
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto observed = Observe(observe_);
  ASSERT_THAT(observed, IsOk());
  EXPECT_THAT(observed->ops(), ElementsAre("aten::erf", "aten::erf.out"));
  EXPECT_EQ(at::erf(x_)[0].item<float>(), 0.25f);
  EXPECT_THAT(Lines(options_.path),
              ElementsAre(AllOf(HasSubstr("Op: erf |"), HasSubstr("FAIL"),
                                HasSubstr("(3,):torch.float32"))));
  EXPECT_EQ(SummaryOf("erf").failed, 1);
}

TEST_F(StrictTest, ARightKernelIsSilent) {
  const OtherErf right_erf(&RightErf);
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto observed = Observe(observe_);
  ASSERT_THAT(observed, IsOk());
  at::erf(x_);
  at::erf(x_.to(at::kHalf));
  at::erf(at::empty({0}));
  EXPECT_THAT(Lines(options_.path), IsEmpty());
  EXPECT_EQ(SummaryOf("erf").passed, 2);
}

TEST_F(StrictTest, AllOfTorchObservedWithDefaults) {
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto observed = Observe();
  ASSERT_THAT(observed, IsOk());
  EXPECT_GT(observed->ops().size(), 1000u);
  at::manual_seed(3);
  const at::Tensor a = at::randn({4, 8, 8});
  const at::Tensor w = at::randn({8, 8});
  at::softmax(at::matmul(a, w).relu() + 1, -1).sum().item<float>();
  at::layer_norm(a, {8}).argmax(-1).sum();
  std::get<0>(a.to(at::kHalf).sort(-1)).cumsum(-1);
  at::linalg_qr(a);
  EXPECT_THAT(Lines(options_.path), IsEmpty());
  EXPECT_GT(SummaryOf("mm").passed + SummaryOf("bmm").passed, 0);
  EXPECT_EQ(SummaryOf("_softmax").passed, 1);
  EXPECT_EQ(SummaryOf("linalg_qr").passed, 1);
}

TEST_F(StrictTest, ObservedTwiceIsCheckedOnce) {
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto first = Observe(observe_);
  const auto second = Observe(observe_);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->ops(), second->ops());
  at::erf(x_);
  EXPECT_EQ(SummaryOf("erf").calls, 1);
}

TEST_F(StrictTest, ObservedAndInstalledExcludeEachOther) {
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  observe_.include = {"abs"};
  EXPECT_THAT(Observe(observe_), StatusIs(absl::StatusCode::kAlreadyExists,
                                          HasSubstr("aten::abs")));
  // A pattern leaves them out and says so.
  observe_.include = {"aten::abs", "aten::erfc*"};
  observe_.exclude = {"aten::abs"};
  EXPECT_THAT(Observe(observe_), IsOk());
  observe_ = {};
  const auto rest = Observe(observe_);
  ASSERT_THAT(rest, IsOk());
  EXPECT_THAT(rest->not_observed().at("aten::abs"),
              HasSubstr("enabled already"));
  EXPECT_THAT(rest->not_observed().at("aten::matmul"),
              HasSubstr("only calls other operators"));
}

TEST_F(StrictTest, ObserveRefuses) {
  observe_.include = {"no_such_operator"};
  EXPECT_THAT(Observe(observe_), StatusIs(absl::StatusCode::kNotFound));
  observe_ = {};
  observe_.device = "gpu";
  EXPECT_THAT(Observe(observe_), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("\"gpu\"")));
  observe_.device = "xpu";
  EXPECT_THAT(Observe(observe_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("device is \"xpu\", of which torch sees "
                                 "none")));
}

TEST_F(StrictTest, AKernelOfOursIsJudgedByItsBudgetToo) {
  wrong = true;
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto kernels = Enable(enable_);
  ASSERT_THAT(kernels, IsOk());
  at::abs(x_);
  at::Tensor out = at::empty({3});
  at::abs_out(out, x_);  // strict has no skip of out variants
  EXPECT_EQ(SummaryOf("abs").failed, 1);
  EXPECT_EQ(SummaryOf("abs.out").failed, 1);
}

TEST_F(StrictTest, AnAcceptedFailureIsSuppressed) {
  const OtherErf wrong_erf(&WrongErf);
  options_.suppressions = FileWith(
      ".txt", "erf  torch.float32  value  2999-12-31  planted by a test\n");
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  const auto observed = Observe(observe_);
  ASSERT_THAT(observed, IsOk());
  at::erf(x_);
  EXPECT_THAT(Lines(options_.path), IsEmpty());
  EXPECT_EQ(SummaryOf("erf").skipped.at("suppressed"), 1);
  EXPECT_EQ(SummaryOf("erf").failed, 0);
  // Of that dtype alone.
  at::erf(x_.to(at::kDouble));
  EXPECT_EQ(SummaryOf("erf").failed, 1);
}

TEST_F(StrictTest, ARowOfThePolicyFileComesFirst) {
  // 1e-3 off: ten thousand times what the table allows.
  const OtherErf coarse_erf(&CoarseErf);
  options_.policy_file = FileWith(
      ".tsv",
      "op\tclass\th\tA\tB\tL\twhy\nerf\tcond\t0.5\t100000\t0\t0\ta coarse "
      "table\n");
  const auto observed = Observe(observe_);
  ASSERT_THAT(observed, IsOk());
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  at::erf(x_);
  EXPECT_EQ(SummaryOf("erf").passed, 1);
  options_.policy_file.clear();
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  at::erf(x_);
  EXPECT_EQ(SummaryOf("erf").failed, 1);
}

TEST_F(StrictTest, ErrorsInFilesNameFileAndLine) {
  options_.suppressions =
      FileWith(".txt", "# accepted\n\nerff * * 2999-12-31 typo\n");
  EXPECT_THAT(EnablePrecisionCheck(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(options_.suppressions + ":3:"),
                             HasSubstr("erff"))));
  options_.suppressions = FileWith(".txt", "erf * * 2001-01-01 long ago\n");
  EXPECT_THAT(EnablePrecisionCheck(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(":1:"), HasSubstr("expired"))));
  options_.suppressions.clear();
  options_.policy_file = FileWith(
      ".tsv", "op\tclass\th\tA\tB\tL\twhy\nerf\tcond\t0.5\t-1\t0\t0\tw\n");
  EXPECT_THAT(EnablePrecisionCheck(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(options_.policy_file + ":2:")));
  options_.policy_file = Path("there_is_none");
  EXPECT_THAT(EnablePrecisionCheck(options_).message(),
              AllOf(HasSubstr("policy_file"), HasSubstr("there_is_none")));
  EXPECT_FALSE(PrecisionCheckEnabled());
}

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    texts.push_back(warning.msg());
  }
  std::vector<std::string> texts;
};

// This program does not link //flaggems:device_checks.
TEST_F(StrictTest, AReferenceOnADeviceThatCannotBeIsSaidOnce) {
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  EXPECT_THAT(warnings.texts, IsEmpty());
  options_.reference = ReferencePlace::kDevice;
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(EnablePrecisionCheck(options_), IsOk());
  }
  EXPECT_THAT(warnings.texts,
              ElementsAre(AllOf(HasSubstr("reference is device"),
                                HasSubstr("are checked on the CPU"),
                                HasSubstr("//flaggems:device_checks"))));
  const auto observed = Observe(observe_);
  ASSERT_THAT(observed, IsOk());
  at::erf(x_);
  EXPECT_EQ(SummaryOf("erf").passed, 1);
}

}  // namespace
}  // namespace flaggems
