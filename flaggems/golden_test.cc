// From the dispatcher to the verdict: operators of this test, observed, with
// golden functions.

#include "flaggems/golden.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/registrar/observer.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/sink/memory_sink.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Stack = torch::jit::Stack;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// What the kernels of this test add to what is right.
double wrong_by = 0;

at::Tensor Twice(const at::Tensor& x) { return x * 2 + wrong_by; }
at::Tensor& TwiceInPlace(at::Tensor& x) { return x.mul_(2).add_(wrong_by); }
at::Tensor& TwiceOut(const at::Tensor& x, at::Tensor& out) {
  return out.copy_(x * 2 + wrong_by);
}

// On the fake device the same, through its memory.
at::Tensor TwiceOnDevice(const at::Tensor& x) {
  TORCH_CHECK(x.numel() != 13, "the kernel takes no 13 elements");
  at::Tensor y = at::empty_like(x);
  CpuAliasOf(y).copy_(Twice(CpuAliasOf(x)));
  return y;
}
at::Tensor& TwiceInPlaceOnDevice(at::Tensor& x) {
  at::Tensor alias = CpuAliasOf(x);
  TwiceInPlace(alias);
  return x;
}

TORCH_LIBRARY(golden_test, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.def("twice_(Tensor(a!) x) -> Tensor(a!)");
  m.def("twice_of.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("split(Tensor x, SymInt n) -> (Tensor, Tensor)");
  m.def("twice_golden(Tensor y) -> Tensor");
  m.def("dropped(Tensor x, float dropout_p) -> Tensor");
}
TORCH_LIBRARY_IMPL(golden_test, CPU, m) {
  m.impl("twice", &Twice);
  m.impl("twice_", &TwiceInPlace);
  m.impl("twice_of.out", &TwiceOut);
  m.impl("twice_golden", [](const at::Tensor& y) { return y + y; });
}
TORCH_LIBRARY_IMPL(golden_test, PrivateUse1, m) {
  m.impl("twice_", &TwiceInPlaceOnDevice);
  m.impl("dropped", [](const at::Tensor& x, double) { return x.clone(); });
}

at::Tensor F32(std::vector<double> values) {
  return at::tensor(values).to(at::kFloat);
}

at::Tensor Doubled(const at::Tensor& x) { return x * 2; }

class GoldenTest : public testing::TestWithParam<ToleranceModel> {
 protected:
  GoldenTest() {
    wrong_by = 0;
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    CheckSessionOptions options;
    options.tolerance_model = GetParam();
    options.policy.log_once = false;
    options.policy.max_checks = 1000;
    options.policy.skip_rules = StrictSkipRules();
    session_ = std::make_shared<CheckSession>(
        std::move(options), std::move(sink), &Clock::System());
    runtime_.Start(session_);
  }
  ~GoldenTest() override {
    for (const char* op : {"twice", "twice_", "twice_of.out", "dropped"}) {
      UnregisterGolden(std::string("golden_test::") + op).IgnoreError();
    }
  }

  void Observe(const std::string& op,
               c10::DispatchKey key = c10::DispatchKey::CPU) {
    auto installed =
        InstallObserver(*FindOperator(*OpKey::Parse(op)), key, &runtime_);
    ASSERT_THAT(installed, IsOk());
    installed_.push_back(*std::move(installed));
    op_ = op;
  }

  // Of the operator that was observed last.
  int64_t Count(Verdict verdict) {
    return runtime_.ledgers().Get(*OpKey::Parse(op_))->count(verdict);
  }
  std::string Error() { return session_->first_errors()[op_]; }

  template <typename... Args>
  at::Tensor Call(Args... args) {
    Stack stack = {args...};
    FindOperator(*OpKey::Parse(op_))->callBoxed(&stack);
    return stack.at(0).toTensor();
  }

  CheckRuntime runtime_;
  std::shared_ptr<CheckSession> session_;
  MemorySink* sink_ = nullptr;
  std::vector<std::unique_ptr<InstalledKernel>> installed_;
  std::string op_;
};

INSTANTIATE_TEST_SUITE_P(Models, GoldenTest,
                         testing::Values(ToleranceModel::kFixed,
                                         ToleranceModel::kBudget),
                         [](const auto& info) {
                           return info.param == ToleranceModel::kFixed
                                      ? "Fixed"
                                      : "Budget";
                         });

TEST_P(GoldenTest, AKernelIsNotJudgedByItself) {
  wrong_by = 1;
  Observe("golden_test::twice");
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kSkipUnsupported), 1);

  // From the next call on.
  ASSERT_THAT(RegisterGolden("golden_test::twice", &Doubled), IsOk());
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  ASSERT_EQ(sink_->records().size(), 1u);
  EXPECT_EQ(sink_->records()[0].reference, "golden");
  wrong_by = 0;
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kPass), 1);

  ASSERT_THAT(UnregisterGolden("golden_test::twice"), IsOk());
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kSkipUnsupported), 2);
}

TEST_P(GoldenTest, AnotherKernelThanTheCapturedOneIsJudgedByIt) {
  // Captures the CPU kernel.
  Observe("golden_test::twice");
  installed_.clear();
  torch::Library library(torch::Library::IMPL, "golden_test",
                         c10::DispatchKey::CPU, "another_file.cc", 7);
  library.impl("twice", [](const at::Tensor& x) { return x * 3; });
  Observe("golden_test::twice");
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  installed_.clear();
}

TEST_P(GoldenTest, AKernelOfADeviceIsJudgedByTheGoldenFunction) {
  torch::Library library(torch::Library::IMPL, "golden_test",
                         c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library.impl("twice", &TwiceOnDevice);
  int called = 0;
  at::ScalarType type = at::kFloat;
  ASSERT_THAT(RegisterGolden("golden_test::twice",
                             [&](const at::Tensor& x) {
                               ++called;
                               type = x.scalar_type();
                               EXPECT_TRUE(x.device().is_cpu());
                               EXPECT_TRUE(CheckScope::active());
                               return x * 2;
                             }),
              IsOk());
  Observe("golden_test::twice", c10::DispatchKey::PrivateUse1);
  Call(ToFakeDevice(F32({1, 2, -0., 1e-40})));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_GT(called, 0);
  EXPECT_EQ(type,
            GetParam() == ToleranceModel::kBudget ? at::kDouble : at::kFloat);
  wrong_by = 0.5;
  Call(ToFakeDevice(F32({1, 2})));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);

  // A kernel that refuses says nothing of itself.
  EXPECT_THROW(Call(ToFakeDevice(at::ones({13}))), c10::Error);
  EXPECT_EQ(Count(Verdict::kUntrustedReference), 1);
  installed_.clear();
}

TEST_P(GoldenTest, WithoutWideningItGetsTheArgumentsAsTheyAre) {
  GoldenOptions options;
  options.widen = false;
  ASSERT_THAT(RegisterGolden(
                  "golden_test::twice",
                  [](const at::Tensor& x) {
                    EXPECT_EQ(x.scalar_type(), at::kHalf);
                    return x * 2;
                  },
                  options),
              IsOk());
  Observe("golden_test::twice");
  const at::Tensor x = F32({1, 2, 0.1}).to(at::kHalf);
  Call(x);
  EXPECT_EQ(Count(Verdict::kPass), 1);
  wrong_by = 0.25;
  Call(x);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

struct WrongGolden {
  std::string name;
  GoldenFunction function;
  std::string error;
};

TEST_P(GoldenTest, WhatAGoldenFunctionDoesWrongIsNoFailure) {
  const at::Tensor ones = at::ones({2});
  const std::vector<WrongGolden> wrong = {
      {"throws", [](Stack*) { TORCH_CHECK(false, "no such table\nmore"); },
       "no such table"},
      {"not implemented",
       [](Stack*) { TORCH_CHECK_NOT_IMPLEMENTED(false, "not for me"); },
       "not for me"},
      {"nothing", [](Stack* stack) { stack->clear(); },
       "it returned 0 results, the schema has 1"},
      {"too many", [](Stack* stack) { stack->push_back(stack->back()); },
       "it returned 2 results, the schema has 1"},
      {"another type", [](Stack* stack) { stack->back() = 3; },
       "result 0 is a int, the schema has a Tensor"},
      {"a list",
       [&](Stack* stack) {
         stack->back() = c10::List<at::Tensor>({ones, ones});
       },
       "the schema has a Tensor"},
      {"no tensor", [](Stack* stack) { stack->back() = c10::IValue(); },
       "where the reference has none"},
      {"other sizes",
       [](Stack* stack) {
         stack->back() = at::ones({2, 1});
       },
       "(2, 1)"},
      {"another dtype",
       [](Stack* stack) { stack->back() = at::ones({2}, at::kLong); }, ""},
  };
  wrong_by = 1;
  for (const WrongGolden& golden : wrong) {
    SCOPED_TRACE(golden.name);
    session_ = std::make_shared<CheckSession>(
        CheckSessionOptions{{}, "original", std::nullopt, GetParam()},
        std::make_unique<MemorySink>(), &Clock::System());
    runtime_.Start(session_);
    ASSERT_THAT(RegisterGolden("golden_test::twice", golden.function), IsOk());
    Observe("golden_test::twice");
    Call(F32({1, 2}));
    EXPECT_EQ(Count(Verdict::kErrorReference), 1);
    EXPECT_THAT(Error(), HasSubstr(golden.error));
    installed_.clear();
  }
}

TEST_P(GoldenTest, AGoldenFunctionThatTakesNoFloat64SaysSo) {
  ASSERT_THAT(RegisterGolden("golden_test::twice",
                             [](const at::Tensor& x) {
                               TORCH_CHECK(x.scalar_type() == at::kFloat,
                                           "float32 only");
                               return x * 2;
                             }),
              IsOk());
  Observe("golden_test::twice");
  wrong_by = 1;
  Call(F32({1, 2}));
  if (GetParam() == ToleranceModel::kFixed) {
    EXPECT_EQ(Count(Verdict::kFailValue), 1);
  } else {
    EXPECT_EQ(Count(Verdict::kErrorReference), 1);
    EXPECT_THAT(Error(), AllOf(HasSubstr("float32 only"), HasSubstr("widen")));
  }
}

TEST_P(GoldenTest, InPlaceAndOutOperatorsWriteCopies) {
  ASSERT_THAT(RegisterGolden("golden_test::twice_",
                             [](at::Tensor& x) -> at::Tensor& {
                               return x.add_(x.clone());
                             }),
              IsOk());
  ASSERT_THAT(
      RegisterGolden("golden_test::twice_of.out",
                     [](const at::Tensor& x, at::Tensor& out) -> at::Tensor& {
                       return at::add_out(out, x, x);
                     }),
      IsOk());
  const at::Tensor out = at::zeros({2});
  Observe("golden_test::twice_of.out");
  Call(F32({1, 2}), out);
  EXPECT_TRUE(out.equal(F32({2, 4})));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  Observe("golden_test::twice_");
  at::Tensor x = F32({1, 2});
  Call(x);
  EXPECT_TRUE(x.equal(F32({2, 4})));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  // A negative bit: the view of a complex number's conjugate.
  const at::Tensor z = at::tensor({c10::complex<float>(1, 2)}).conj();
  at::Tensor imaginary = at::imag(z);
  ASSERT_TRUE(imaginary.is_neg());
  Call(imaginary);
  EXPECT_EQ(imaginary.item<float>(), -4);
  EXPECT_EQ(Count(Verdict::kPass), 2);

  wrong_by = 1;
  x = F32({1, 2});
  Call(x);
  EXPECT_EQ(Count(Verdict::kFailValue) + Count(Verdict::kFailArgument), 1);
}

TEST_P(GoldenTest, WhatAGoldenFunctionWritesStaysItsOwn) {
  ASSERT_THAT(RegisterGolden("golden_test::twice",
                             [](at::Tensor x) { return x.mul_(2); }),
              IsOk());
  Observe("golden_test::twice");
  const at::Tensor x = F32({1, 2});
  Call(x);
  EXPECT_TRUE(x.equal(F32({1, 2})));
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_P(GoldenTest, AnOperatorOfTheDispatcherServes) {
  Observe("golden_test::twice");
  ASSERT_THAT(
      RegisterGoldenOperator("golden_test::twice", "golden_test::twice_golden"),
      IsOk());
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  wrong_by = 1;
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

TEST_P(GoldenTest, WhatDropsElementsIsNotCompared) {
  ASSERT_THAT(RegisterGolden("golden_test::dropped",
                             [](const at::Tensor& x, double) { return x + 1; }),
              IsOk());
  Observe("golden_test::dropped", c10::DispatchKey::PrivateUse1);
  const at::Tensor x = ToFakeDevice(F32({1, 2}));
  Call(x, 0.5);
  EXPECT_EQ(Count(Verdict::kUntrustedReference), 1);
  Call(x, 0.);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

TEST_P(GoldenTest, AGoldenFunctionMayDifferentiate) {
  ASSERT_THAT(RegisterGolden("golden_test::twice",
                             [](const at::Tensor& x) {
                               const at::AutoGradMode grad(true);
                               const at::Tensor leaf =
                                   x.detach().requires_grad_();
                               at::Tensor sum = leaf.square().sum();
                               sum.backward();
                               return leaf.grad().detach();
                             }),
              IsOk());
  Observe("golden_test::twice");
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kPass), 1) << Error();
}

// A kernel of a device for an operator of torch that has none on the CPU.
using FlashResults =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, int64_t, int64_t,
               at::Tensor, at::Tensor, at::Tensor>;

FlashResults FlashOnDevice(const at::Tensor& query, const at::Tensor& key,
                           const at::Tensor& value, double, bool is_causal,
                           bool, std::optional<double> scale) {
  const at::Tensor q = CpuAliasOf(query).to(at::kFloat);
  const at::Tensor k = CpuAliasOf(key).to(at::kFloat);
  const at::Tensor v = CpuAliasOf(value).to(at::kFloat);
  at::Tensor scores = at::matmul(q, k.transpose(-2, -1)) *
                      (scale.value_or(1 / std::sqrt(q.size(-1))) + wrong_by);
  if (is_causal) {
    scores.masked_fill_(
        at::ones({q.size(2), k.size(2)}, at::kBool).tril().logical_not(),
        -INFINITY);
  }
  const at::Tensor seed = at::full({2}, 42, at::kLong);
  return {
      ToFakeDevice(at::matmul(scores.softmax(-1), v).to(query.scalar_type())),
      ToFakeDevice(at::logsumexp(scores, {-1})),
      at::Tensor(),
      at::Tensor(),
      q.size(2),
      k.size(2),
      ToFakeDevice(seed),
      ToFakeDevice(seed),
      ToFakeDevice(at::ones({3}))};
}

void BoxedFlashOnDevice(const c10::OperatorHandle&, c10::DispatchKeySet,
                        Stack* stack) {
  const Stack& s = *stack;
  FlashResults results = FlashOnDevice(
      s[0].toTensor(), s[1].toTensor(), s[2].toTensor(), s[3].toDouble(),
      s[4].toBool(), s[5].toBool(), s[6].toOptional<double>());
  stack->clear();
  std::apply([&](auto&&... result) { (stack->emplace_back(result), ...); },
             results);
}

TEST_P(GoldenTest, AShippedGoldenFunctionJudgesAKernelOfADevice) {
  torch::Library library(torch::Library::IMPL, "aten",
                         c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library.impl(
      "_scaled_dot_product_flash_attention",
      torch::CppFunction::makeFromBoxedFunction<&BoxedFlashOnDevice>());
  Observe("aten::_scaled_dot_product_flash_attention",
          c10::DispatchKey::PrivateUse1);
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::string(c10::toString(type)) +
                   (causal ? " causal" : ""));
      const at::Tensor x = ToFakeDevice(at::randn({2, 2, 9, 16}).to(type));
      wrong_by = 0;
      const int64_t passed = Count(Verdict::kPass);
      Call(x, x, x, 0., causal, false, c10::IValue());
      EXPECT_EQ(Count(Verdict::kPass), passed + 1) << Error();
      wrong_by = 0.1;
      const int64_t failed = Count(Verdict::kFailValue);
      Call(x, x, x, 0., causal, false, 0.3);
      EXPECT_EQ(Count(Verdict::kFailValue), failed + 1) << Error();
    }
  }
  wrong_by = 0;
  const at::Tensor x = ToFakeDevice(at::randn({1, 1, 4, 8}));
  Call(x, x, x, 0.5, false, false, c10::IValue());
  EXPECT_EQ(Count(Verdict::kUntrustedReference), 1);
  installed_.clear();
}

TEST(RegisterGoldenTest, RefusesWhatIsNoOperatorOrNoSuchFunction) {
  EXPECT_THAT(
      RegisterGolden("golden_test::twise", &Doubled),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("golden_test::twice")));
  EXPECT_THAT(RegisterGolden("", &Doubled), StatusIs(kInvalid));
  EXPECT_THAT(RegisterGolden("aten::add", &Doubled),
              StatusIs(kInvalid, AllOf(HasSubstr("aten::add.Tensor"),
                                       HasSubstr("aten::add.out"))));
  EXPECT_THAT(RegisterGolden("aten::add.Tenser", &Doubled),
              StatusIs(kInvalid, HasSubstr("aten::add.Tensor")));
  EXPECT_THAT(RegisterGolden("golden_test::twice", GoldenFunction()),
              StatusIs(kInvalid, HasSubstr("empty")));
  EXPECT_THAT(RegisterGolden("golden_test::twice",
                             [](const at::Tensor& x, double) { return x; }),
              StatusIs(kInvalid, AllOf(HasSubstr("golden_test::twice"),
                                       HasSubstr("number of arguments"))));
  EXPECT_THAT(
      RegisterGolden("golden_test::twice",
                     [](const at::Tensor& x) { return std::make_tuple(x, x); }),
      StatusIs(kInvalid, HasSubstr("returns")));
  EXPECT_THAT(RegisterGoldenOperator("golden_test::twice", "golden_test::no"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(
      RegisterGoldenOperator("golden_test::twice", "golden_test::twice"),
      StatusIs(kInvalid));
  EXPECT_THAT(
      RegisterGoldenOperator("golden_test::split", "golden_test::twice_golden"),
      StatusIs(kInvalid, HasSubstr("it has 1 arguments, the operator 2")));
  EXPECT_THAT(UnregisterGolden("golden_test::twice"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(RegisterGoldenTest, NamesAnOverloadInSeveralWays) {
  for (const char* name :
       {"golden_test::twice_of", "golden_test::twice_of.out"}) {
    EXPECT_THAT(RegisterGolden(name, &TwiceOut), IsOk()) << name;
    EXPECT_THAT(UnregisterGolden("golden_test::twice_of.out"), IsOk());
  }
  for (const char* name : {"relu", "aten::relu", "aten::relu.default"}) {
    EXPECT_THAT(RegisterGolden(name, &Doubled), IsOk()) << name;
    EXPECT_THAT(UnregisterGolden("aten::relu"), IsOk());
  }
  // int64_t for a SymInt.
  EXPECT_THAT(RegisterGolden("golden_test::split",
                             [](const at::Tensor& x, int64_t) {
                               return std::make_tuple(x, x);
                             }),
              IsOk());
  EXPECT_THAT(UnregisterGolden("golden_test::split"), IsOk());
}

}  // namespace
}  // namespace flaggems
