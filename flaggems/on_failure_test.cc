// What happens on a failure: PrecisionOptions::on_failure.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <fstream>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "flaggems/core/status_testutil.h"
#include "flaggems/precision.h"

namespace flaggems {
namespace {

using testing::HasSubstr;

at::Tensor X() { return at::tensor({0.5f, -1.f, 2.f}); }

// Wrong kernels over torch's own.
at::Tensor WrongErf(const at::Tensor& x) { return at::full_like(x, 0.25); }
at::Tensor& WrongErfInPlace(at::Tensor& x) { return x.fill_(0.25); }
at::Tensor& WrongErfOut(const at::Tensor& x, at::Tensor& out) {
  out.resize_(x.sizes());
  return out.fill_(0.25);
}
at::Tensor Refusing(const at::Tensor&) { throw std::runtime_error("no"); }
at::Tensor Copying(const at::Tensor& x) { return x.clone(); }
std::tuple<at::Tensor, at::Tensor> WrongMax(const at::Tensor& x, int64_t dim,
                                            bool) {
  return {at::zeros({x.size(1 - dim)}),
          at::zeros({x.size(1 - dim)}, at::kLong)};
}
std::vector<at::Tensor> WrongExps(at::TensorList list) {
  std::vector<at::Tensor> results;
  for (const at::Tensor& x : list) results.push_back(at::zeros_like(x));
  return results;
}

struct Case {
  std::string name;
  std::function<void(torch::Library&)> plant;
  std::vector<std::string> include;
  // Whether what the caller sees is right.
  std::function<bool()> is_right;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

std::vector<Case> Cases() {
  return {
      {"NewResult",
       [](torch::Library& m) { m.impl("erf", &WrongErf); },
       {"aten::erf"},
       [] {
         return at::allclose(at::erf(X()), at::special_erf(X()) * 1) &&
                at::erf(X())[2].item<float>() > 0.99f;
       }},
      {"NotContiguous",
       [](torch::Library& m) { m.impl("erf", &WrongErf); },
       {"aten::erf"},
       [] {
         const at::Tensor x = at::ones({4, 6}).t().slice(0, 0, 6, 2);
         return at::erf(x).min().item<float>() > 0.8f;
       }},
      {"InPlace",
       [](torch::Library& m) { m.impl("erf_", &WrongErfInPlace); },
       {"aten::erf_"},
       [] {
         at::Tensor whole = at::ones({6});
         at::Tensor part = whole.slice(0, 0, 6, 2);
         const at::Tensor result = part.erf_();
         return result.is_same(part) && whole[1].item<float>() == 1 &&
                whole[2].item<float>() > 0.8f && whole[2].item<float>() < 0.9f;
       }},
      {"Out",
       [](torch::Library& m) { m.impl("erf.out", &WrongErfOut); },
       {"aten::erf.out"},
       [] {
         at::Tensor out = at::empty({0});
         at::erf_out(out, X());
         return out.numel() == 3 && out[2].item<float>() > 0.99f;
       }},
      {"Refused",
       [](torch::Library& m) { m.impl("erf", &Refusing); },
       {"aten::erf"},
       [] { return at::erf(X())[2].item<float>() > 0.99f; }},
      {"View",
       [](torch::Library& m) { m.impl("t", &Copying); },
       {"aten::t"},
       [] {
         const at::Tensor x = at::arange(12.).reshape({3, 4}).slice(1, 1, 3);
         const at::Tensor y = x.t();
         return y.is_alias_of(x) && y.sizes() == at::IntArrayRef({2, 3}) &&
                at::equal(y[1], x.select(1, 1));
       }},
      {"SeveralResults",
       [](torch::Library& m) { m.impl("max.dim", &WrongMax); },
       {"aten::max.dim"},
       [] {
         const auto [values, indices] =
             at::max(at::arange(6.).reshape({2, 3}), 1);
         return at::equal(values, at::tensor({2., 5.})) &&
                at::equal(indices, at::tensor({2, 2}, at::kLong));
       }},
      {"List",
       [](torch::Library& m) { m.impl("_foreach_exp", &WrongExps); },
       {"aten::_foreach_exp"},
       [] {
         const std::vector<at::Tensor> got =
             at::_foreach_exp({at::zeros({2}), at::zeros({3})});
         return got.size() == 2 && at::equal(got[0], at::ones({2})) &&
                at::equal(got[1], at::ones({3}));
       }},
  };
}

class SubstituteTest
    : public testing::TestWithParam<std::tuple<Case, std::string>> {
 protected:
  // Whether the caller sees the right result, with what a failure does.
  bool IsRight(OnFailure on_failure) {
    const auto& [c, profile] = GetParam();
    PrecisionOptions options = profile == "strict"
                                   ? PrecisionOptions::Strict()
                                   : PrecisionOptions::Original();
    options.path = testing::TempDir() + "on_failure.log";
    options.summary_at_exit = false;
    options.on_failure = on_failure;
    EXPECT_THAT(EnablePrecisionCheck(options), IsOk());
    torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU,
                           __FILE__, __LINE__);
    c.plant(library);
    ObserveOptions observe;
    observe.include = c.include;
    const auto observed = Observe(observe);
    EXPECT_THAT(observed, IsOk());
    bool right = false;
    try {
      right = c.is_right();
      // From then on every time, reported or not.
      for (int i = 0; i < 30; ++i) right &= c.is_right();
    } catch (const std::runtime_error&) {
    }
    failed_ = 0;
    for (const OpSummary& op : PrecisionSummary()) failed_ += op.failed;
    DisablePrecisionCheck();
    return right;
  }

  int64_t failed_ = 0;
};

TEST_P(SubstituteTest, TheCallerGetsTheReferences) {
  const auto& [c, profile] = GetParam();
  if (profile == "original" && (c.name == "Out" || c.name == "View")) {
    GTEST_SKIP() << "profile original does not check such operators";
  }
  EXPECT_FALSE(IsRight(OnFailure::kLog));
  EXPECT_GT(failed_, 0);
  EXPECT_TRUE(IsRight(OnFailure::kSubstitute));
  EXPECT_GT(failed_, 30);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SubstituteTest,
                         testing::Combine(testing::ValuesIn(Cases()),
                                          testing::Values("strict",
                                                          "original")),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::get<1>(info.param);
                         });

TEST(AbortDeathTest, SaysWhatIsWrongAndEnds) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const std::string path = testing::TempDir() + "abort.log";
  EXPECT_EXIT(
      {
        PrecisionOptions options = PrecisionOptions::Strict();
        options.path = path;
        options.on_failure = OnFailure::kAbort;
        if (!EnablePrecisionCheck(options).ok()) exit(3);
        torch::Library library(torch::Library::IMPL, "aten",
                               c10::DispatchKey::CPU, __FILE__, __LINE__);
        library.impl("erf", &WrongErf);
        ObserveOptions observe;
        observe.include = {"aten::erf"};
        const auto observed = Observe(observe);
        at::erf(X());
        exit(0);
      },
      testing::KilledBySignal(SIGABRT),
      "aten::erf is wrong in call 1 \\(value\\), and on_failure is abort");
  std::ifstream log(path);
  std::string line;
  EXPECT_TRUE(std::getline(log, line));
  EXPECT_THAT(line, HasSubstr("Op: erf | FAIL"));
}

}  // namespace
}  // namespace flaggems
