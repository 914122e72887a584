// The cases keep what they promise, judged without the checker: a wrong kernel
// differs from libtorch's in what its verdict names, and only there; on hiding
// calls it agrees; a right one agrees as far as its reason allows.

#include "tools/precision/selftest/selftest_cases.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/verdict.h"
#include "tools/precision/selftest/selftest_case.h"

namespace flaggems::selftest {
namespace {

// Kinds of difference, named as verdicts are.
using Kinds = std::set<Verdict>;

// The kernel of a case in the dispatcher, on top of the native one.
class Planted : public c10::OperatorKernel {
 public:
  explicit Planted(const SelftestCase& selftest_case, NativeCall native)
      : case_(selftest_case), native_(std::move(native)) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                  Stack* stack) {
    ASSERT_FALSE(running_) << case_.id << " calls its own operator";
    running_ = true;
    try {
      RunKernel(case_, native_, stack);
    } catch (...) {
      running_ = false;
      throw;
    }
    running_ = false;
  }

 private:
  const SelftestCase& case_;
  const NativeCall native_;
  bool running_ = false;
};

class IgnoreWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

struct Outcome {
  bool threw = false;
  Stack results;
};

template <typename Call>
Outcome OutcomeOfCall(const Stack& arguments, Call call) {
  Outcome outcome{false, arguments};
  try {
    call(&outcome.results);
  } catch (const std::exception&) {
    outcome.threw = true;
    outcome.results.clear();
  }
  return outcome;
}

void AppendTensors(const c10::IValue& value, std::vector<at::Tensor>* tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors->push_back(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      AppendTensors(item, tensors);
    }
  }
}

std::vector<at::Tensor> TensorsOf(const Stack& stack) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : stack) AppendTensors(value, &tensors);
  return tensors;
}

// Relative to an element, what float formulas of one result may differ by.
double ToleranceOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 1e-12;
    case at::kFloat:
    case at::kComplexFloat:
      return 1e-6;
    case at::kHalf:
    case at::kBFloat16:
      return 1e-3;
    default:
      return 0;
  }
}

// Flat float64 numbers, the parts of complex ones side by side.
at::Tensor Numbers(const at::Tensor& x) {
  const at::Tensor plain = x.resolve_conj().resolve_neg();
  return (plain.is_complex() ? at::view_as_real(plain) : plain)
      .to(at::kDouble)
      .reshape({-1});
}

struct Tolerances {
  double factor = 1;        // on ToleranceOf()
  bool of_largest = false;  // relative to the largest element, not to each
};

Kinds ValueKinds(const at::Tensor& got, const at::Tensor& want,
                 Tolerances tolerances) {
  Kinds kinds;
  if (at::isIntegralType(want.scalar_type(), /*includeBool=*/true)) {
    if (!at::equal(got.contiguous(), want.contiguous())) {
      kinds.insert(Verdict::kFailValue);
    }
    return kinds;
  }
  const at::Tensor g = Numbers(got), w = Numbers(want);
  const double* a = g.const_data_ptr<double>();
  const double* b = w.const_data_ptr<double>();
  const double tolerance = tolerances.factor * ToleranceOf(want.scalar_type());
  double largest = 0;
  for (int64_t i = 0; i < w.numel(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::fabs(b[i]));
  }
  for (int64_t i = 0; i < w.numel(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      const double scale = tolerances.of_largest ? largest : std::fabs(b[i]);
      if (std::fabs(a[i] - b[i]) > tolerance * scale) {
        kinds.insert(Verdict::kFailValue);
      }
    } else if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) {
      kinds.insert(Verdict::kFailSpecial);
    }
  }
  return kinds;
}

std::string BytesOf(const at::Tensor& x) {
  return std::string(static_cast<const char*>(x.storage().data()),
                     x.storage().nbytes());
}

// The memory around the elements of `x`.
std::string SurroundingsOf(const at::Tensor& x) {
  std::string bytes = BytesOf(x);
  if (x.numel() > 0) {
    at::from_blob(bytes.data() + x.storage_offset() * x.itemsize(), x.sizes(),
                  x.strides(), x.options())
        .zero_();
  }
  return bytes;
}

// How a call of a kernel and the same call of the native one differ. `got_args`
// and `want_args` are the arguments after the call.
Kinds Differences(const c10::FunctionSchema& schema, const Outcome& got,
                  const Stack& got_args, const Outcome& want,
                  const Stack& want_args, Tolerances tolerances) {
  if (got.threw || want.threw) {
    return got.threw == want.threw ? Kinds{} : Kinds{Verdict::kFailThrow};
  }
  Kinds kinds;
  const std::vector<at::Tensor> results = TensorsOf(got.results);
  const std::vector<at::Tensor> wanted = TensorsOf(want.results);
  if (results.size() != wanted.size()) return {Verdict::kFailCount};
  const std::vector<at::Tensor> arguments = TensorsOf(got_args);
  const std::vector<at::Tensor> native_arguments = TensorsOf(want_args);
  for (size_t i = 0; i < results.size(); ++i) {
    const at::Tensor& r = results[i];
    const at::Tensor& w = wanted[i];
    for (size_t j = 0; j < arguments.size(); ++j) {
      if (r.is_alias_of(arguments[j]) != w.is_alias_of(native_arguments[j])) {
        kinds.insert(Verdict::kFailAlias);
      }
    }
    if (r.sizes() != w.sizes()) {
      kinds.insert(Verdict::kFailShape);
      continue;
    }
    if (r.scalar_type() != w.scalar_type()) {
      kinds.insert(Verdict::kFailDtype);
      continue;
    }
    if (r.numel() > 0 && r.strides() != w.strides()) {
      kinds.insert(Verdict::kFailLayout);
    }
    kinds.merge(ValueKinds(r, w, tolerances));
  }
  for (size_t i = 0; i < got_args.size(); ++i) {
    const bool written = schema.arguments()[i].alias_info() != nullptr &&
                         schema.arguments()[i].alias_info()->isWrite();
    const std::vector<at::Tensor> after = TensorsOf({got_args[i]});
    const std::vector<at::Tensor> native_after = TensorsOf({want_args[i]});
    for (size_t j = 0; j < after.size(); ++j) {
      const at::Tensor& a = after[j];
      const at::Tensor& n = native_after[j];
      if (SurroundingsOf(a) != SurroundingsOf(n)) {
        kinds.insert(Verdict::kFailArgument);
      }
      const bool same =
          a.sizes() == n.sizes() && ValueKinds(a, n, tolerances).empty();
      bool returned = false;
      for (const at::Tensor& r : wanted) returned |= r.is_alias_of(n);
      // What is written and returned was judged as a result.
      if (!same && !(written && returned)) {
        kinds.insert(Verdict::kFailArgument);
      }
    }
  }
  return kinds;
}

std::string NamesOf(const Kinds& kinds) {
  std::string names;
  for (const Verdict kind : kinds) {
    absl::StrAppend(&names, names.empty() ? "" : " ", ReasonName(kind));
  }
  return names;
}

// The differences of all calls of a list.
Kinds RunCalls(const SelftestCase& c, CallList (*calls)(),
               Tolerances tolerances = {}) {
  const absl::StatusOr<NativeCall> native = NativeCall::Of(c.op);
  EXPECT_TRUE(native.ok()) << native.status();
  if (!native.ok()) return {};
  const c10::FunctionSchema& schema = native->op().schema();
  const CallList wanted = calls();
  const CallList got = calls();
  std::vector<Outcome> native_outcomes, outcomes;
  for (const Stack& arguments : wanted) {
    native_outcomes.push_back(
        OutcomeOfCall(arguments, [&](Stack* stack) { (*native)(stack); }));
  }
  {
    IgnoreWarnings ignore;
    const c10::WarningUtils::WarningHandlerGuard guard(&ignore);
    const c10::RegistrationHandleRAII registration =
        c10::Dispatcher::singleton().registerImpl(
            native->op().operator_name(), c10::DispatchKey::CPU,
            c10::KernelFunction::makeFromBoxedFunctor(
                std::make_unique<Planted>(c, *native)),
            std::nullopt, nullptr, "selftest_cases_test");
    for (const Stack& arguments : got) {
      EXPECT_EQ(arguments.size(), schema.arguments().size());
      outcomes.push_back(OutcomeOfCall(arguments, [&](Stack* stack) {
        native->op().callBoxedForDispatchKey(c10::DispatchKey::CPU, *stack);
      }));
    }
  }
  Kinds kinds;
  for (size_t i = 0; i < got.size(); ++i) {
    kinds.merge(Differences(schema, outcomes[i], got[i], native_outcomes[i],
                            wanted[i], tolerances));
  }
  return kinds;
}

// Differences from libtorch's results beside the one that a case is about, and
// why they are as they should be.
struct Exemption {
  absl::string_view id;
  Kinds kinds;
  absl::string_view why;
};

const std::vector<Exemption>& Exemptions() {
  static const auto& exemptions = *new std::vector<Exemption>{
      {"W12", {Verdict::kFailAlias}, "the result is the argument"},
      {"X854", {Verdict::kFailValue}, "indices go with values"},
      {"X873", {Verdict::kFailValue}, "indices go with values"},
      {"X903", {Verdict::kFailArgument}, "neighbours are written"},
      {"X922", {Verdict::kFailArgument}, "`out` is an argument"},
      {"X926", {Verdict::kFailArgument}, "`out` is an input too"},
      {"X977", {Verdict::kFailValue, Verdict::kFailSpecial}, "uninitialised"},
      {"X978", {Verdict::kFailValue, Verdict::kFailSpecial}, "uninitialised"},
      {"R2", {Verdict::kFailValue}, "libtorch's sum stops at 256"},
      {"R3", {Verdict::kFailValue}, "libtorch's sum loses the noise"},
      {"R4", {Verdict::kFailValue}, "the winner is unspecified"},
      {"R5", {Verdict::kFailValue}, "any index of the value is legal"},
      {"R8a", {Verdict::kFailValue, Verdict::kFailSpecial}, "uninitialised"},
      {"R8b", {Verdict::kFailValue, Verdict::kFailSpecial}, "uninitialised"},
      {"R9a", {Verdict::kFailDtype}, "statistics in float32"},
      {"R9b", {Verdict::kFailDtype}, "statistics in float32"},
      {"R10a", {Verdict::kFailValue}, "at a step"},
      {"R10b", {Verdict::kFailValue}, "at a step"},
      {"R11", {Verdict::kFailValue}, "TF32 is allowed"},
      {"Q861", {Verdict::kFailValue}, "ties"},
      {"Q862", {Verdict::kFailValue}, "not sorted"},
      {"Q863", {Verdict::kFailValue}, "ties"},
      {"Q864", {Verdict::kFailValue}, "not sorted"},
      {"Q865", {Verdict::kFailValue}, "ties"},
      {"Q866", {Verdict::kFailValue}, "ties"},
      {"Q867", {Verdict::kFailValue}, "ties"},
  };
  return exemptions;
}

// Kinds without those that a row above exempts.
Kinds NotExempt(const SelftestCase& c, Kinds kinds) {
  for (const Exemption& exemption : Exemptions()) {
    if (exemption.id != c.id) continue;
    for (const Verdict kind : exemption.kinds) kinds.erase(kind);
  }
  return kinds;
}

bool IsRandom(const SelftestCase& c) {
  return absl::string_view(c.group) == "random";
}

class SelftestCasesTest : public testing::TestWithParam<const SelftestCase*> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
  const SelftestCase& Case() const { return *GetParam(); }
};

TEST_P(SelftestCasesTest, CallsAreEqualEachTime) {
  for (CallList (*calls)() : {Case().calls, Case().hiding_calls}) {
    if (calls == nullptr) continue;
    const CallList first = calls(), second = calls();
    ASSERT_FALSE(first.empty());
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); ++i) {
      const std::vector<at::Tensor> a = TensorsOf(first[i]);
      const std::vector<at::Tensor> b = TensorsOf(second[i]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t j = 0; j < a.size(); ++j) {
        EXPECT_FALSE(a[j].is_alias_of(b[j]));
        EXPECT_EQ(a[j].sizes(), b[j].sizes());
        EXPECT_EQ(BytesOf(a[j]), BytesOf(b[j]));
      }
    }
  }
}

TEST_P(SelftestCasesTest, WrongKernelsDifferAsExpected) {
  if (Case().expected == Verdict::kPass) return;
  const Kinds kinds = RunCalls(Case(), Case().calls);
  if (IsRandom(Case())) {
    EXPECT_EQ(Case().expected, Verdict::kFailRandom);
    return;
  }
  EXPECT_EQ(NotExempt(Case(), kinds), Kinds{Case().expected})
      << Case().op << ": " << Case().what << "; expected "
      << ReasonName(Case().expected) << ", differs in: " << NamesOf(kinds);
}

TEST_P(SelftestCasesTest, WrongKernelsAgreeOnHidingCalls) {
  if (Case().hiding_calls == nullptr) return;
  EXPECT_NE(Case().expected, Verdict::kPass);
  // Where a recipe computes anew, a few roundings of the largest element.
  const Kinds kinds = RunCalls(Case(), Case().hiding_calls, {1, true});
  if (IsRandom(Case())) return;
  EXPECT_EQ(NotExempt(Case(), kinds), Kinds{})
      << Case().op << ": " << Case().what
      << "; hiding calls differ in: " << NamesOf(kinds);
}

TEST_P(SelftestCasesTest, RightKernelsAgree) {
  if (Case().expected != Verdict::kPass) return;
  // Some 100 roundings of the largest element.
  const Kinds kinds = RunCalls(Case(), Case().calls, {10, true});
  if (IsRandom(Case())) return;
  EXPECT_EQ(NotExempt(Case(), kinds), Kinds{})
      << Case().op << ": " << Case().what << "; differs in: " << NamesOf(kinds);
}

// What "within 2 ulps" and "rounded once" promise, with room for a formula's
// second rounding.
TEST_P(SelftestCasesTest, RightFloatFormulasAreWithinFourUlps) {
  const absl::string_view group = Case().group;
  if (Case().expected != Verdict::kPass ||
      !(group == "elementwise" || group == "special")) {
    return;
  }
  const absl::StatusOr<NativeCall> native = NativeCall::Of(Case().op);
  ASSERT_TRUE(native.ok()) << native.status();
  for (const Stack& arguments : Case().calls()) {
    Stack wide = arguments;
    for (c10::IValue& argument : wide) {
      if (argument.isTensor()) argument = argument.toTensor().to(at::kDouble);
    }
    (*native)(&wide);
    Stack stack = arguments;
    Case().kernel(*native, &stack);
    if (stack[0].toTensor().scalar_type() != at::kFloat) continue;
    const at::Tensor got = stack[0].toTensor().to(at::kDouble);
    const at::Tensor want = wide[0].toTensor();
    const at::Tensor normal = at::gt(at::abs(want), 0x1p-126);
    const at::Tensor relative = at::div(at::sub(got, want), at::abs(want));
    const double worst =
        at::where(normal, at::abs(relative), at::zeros_like(relative))
            .nan_to_num(0)
            .max()
            .item<double>();
    EXPECT_LE(worst, 4 * 0x1p-23) << Case().op << ": " << Case().what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SelftestCasesTest, testing::ValuesIn(AllSelftestCases()),
    [](const testing::TestParamInfo<const SelftestCase*>& info) {
      return std::string(info.param->id);
    });

TEST(AllSelftestCasesTest, IdsAreUnique) {
  std::set<std::string> ids;
  for (const SelftestCase* c : AllSelftestCases()) {
    EXPECT_TRUE(ids.insert(c->id).second) << c->id << " stands twice";
  }
}

TEST(AllSelftestCasesTest, ThereAreEnough) {
  int wrong = 0, published_wrong = 0, right = 0, published_right = 0;
  for (const SelftestCase* c : AllSelftestCases()) {
    const bool is_right = c->expected == Verdict::kPass;
    (is_right ? right : wrong) += 1;
    if (c->id[0] == 'W') ++published_wrong;
    if (c->id[0] == 'R') ++published_right;
    EXPECT_EQ(is_right, c->id[0] == 'R' || c->id[0] == 'Q') << c->id;
    EXPECT_TRUE(is_right || OutcomeOf(c->expected) == flaggems::Outcome::kFail)
        << c->id;
  }
  EXPECT_EQ(published_wrong, 24);
  EXPECT_GE(published_right, 12);
  EXPECT_GE(wrong, 24 + 70);
  EXPECT_GE(right, 12 + 30);
}

TEST(AllSelftestCasesTest, EveryPublishedMutantIsThere) {
  std::set<std::string> ids;
  for (const SelftestCase* c : AllSelftestCases()) {
    std::string id = c->id;
    if (id[0] == 'R' && id.back() >= 'a') id.pop_back();
    ids.insert(id);
  }
  for (const char* id :
       {"W01", "W02", "W04", "W05", "W06", "W08", "W10", "W12", "W14",
        "W16", "W17", "W19", "W21", "W23", "W25", "W26", "W28", "W30",
        "W31", "W34", "W36", "W38", "W39", "W40", "R1",  "R2",  "R3",
        "R4",  "R5",  "R6",  "R7",  "R8",  "R9",  "R10", "R11", "R12"}) {
    EXPECT_EQ(ids.count(id), 1) << id;
  }
}

TEST(RunKernelTest, LeavesWhatLiesBelow) {
  const SelftestCase& first = *AllSelftestCases().front();
  const absl::StatusOr<NativeCall> native = NativeCall::Of(first.op);
  ASSERT_TRUE(native.ok()) << native.status();
  Stack stack = first.calls().front();
  stack.insert(stack.begin(), "below");
  RunKernel(first, *native, &stack);
  ASSERT_EQ(stack.size(), 2);
  EXPECT_EQ(stack[0].toStringRef(), "below");
  EXPECT_TRUE(stack[1].isTensor());
}

TEST(NativeCallTest, NamesAnUnknownOperator) {
  const absl::StatusOr<NativeCall> native = NativeCall::Of("aten::no_such_op");
  ASSERT_FALSE(native.ok());
  EXPECT_TRUE(absl::StrContains(native.status().message(), "aten::no_such_op"))
      << native.status();
}

}  // namespace
}  // namespace flaggems::selftest
