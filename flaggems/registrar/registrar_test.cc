// Installing kernels over native ones of torch's dispatcher.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <memory>
#include <string>
#include <utility>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/registrar/checking_registrar.h"
#include "flaggems/registrar/plain_registrar.h"
#include "flaggems/registry/register_kernel.h"
#include "flaggems/sink/memory_sink.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::AllOf;
using testing::HasSubstr;

int own_calls = 0;

// Wrong on purpose, to tell it from the native kernel.
at::Tensor OwnSqrt(const at::Tensor& self) {
  ++own_calls;
  return at::full_like(self, 42.);
}

// Has no double.
at::Tensor PartialSqrt(const at::Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kDouble,
                              "\"sqrt_own\" not implemented for 'Double'");
  return OwnSqrt(self);
}

at::Tensor OwnIndex(const at::Tensor& self,
                    const c10::List<std::optional<at::Tensor>>& indices) {
  return self.index_select(0, *indices.get(0));
}

at::Tensor WrongSignature(const at::Tensor& self, int64_t) { return self; }

// Right; through operators of other names.
at::Tensor OwnMean(const at::Tensor& self, at::OptionalIntArrayRef dim,
                   bool keepdim, std::optional<at::ScalarType> dtype) {
  return at::sum(self, dim, keepdim, dtype) / self.numel();
}

at::Tensor FakeDeviceSqrt(const at::Tensor& self) {
  at::Tensor out = at::empty_like(self);
  CpuAliasOf(out).copy_(CpuAliasOf(self).to(at::kDouble).sqrt());
  return out;
}

KernelRegistry::Kernel KernelOf(const KernelEntry* entry) {
  return {*OpKey::Parse(entry->op), entry};
}

template <auto* kFn, bool kPartial = false>
constexpr KernelEntry Entry(const char* op, Backend backend = Backend::kCpu) {
  using Maker = internal_registry::MakerOf<kFn, kPartial>;
  return {op,       backend,           "kernels.cc",     7,
          kPartial, &Maker::MakePlain, &Maker::MakeGated};
}

constexpr KernelEntry kSqrt = Entry<&OwnSqrt>("aten::sqrt");
constexpr KernelEntry kBadSqrt = Entry<&WrongSignature>("aten::sqrt");
constexpr KernelEntry kIndex = Entry<&OwnIndex>("aten::index.Tensor");
constexpr KernelEntry kPartialSqrt =
    Entry<&PartialSqrt, /*kPartial=*/true>("aten::sqrt");
constexpr KernelEntry kNotPartialSqrt = Entry<&PartialSqrt>("aten::sqrt");
constexpr KernelEntry kUnknown = Entry<&OwnSqrt>("aten::no_such_op");
constexpr KernelEntry kMean = Entry<&OwnMean>("aten::mean.dim");
constexpr KernelEntry kFakeDeviceSqrt =
    Entry<&FakeDeviceSqrt>("aten::sqrt", Backend::kPrivateUse1);

bool SqrtIsNative() {
  return at::sqrt(at::full({2}, 9.f))[0].item<float>() == 3;
}

size_t DanglingImpls() {
  return c10::Dispatcher::singleton().findDanglingImpls().size();
}

std::shared_ptr<CheckSession> MakeSession(MemorySink** sink) {
  auto owned = std::make_unique<MemorySink>();
  *sink = owned.get();
  return std::make_shared<CheckSession>(CheckSessionOptions(), std::move(owned),
                                        &Clock::System());
}

struct RegistrarCase {
  std::string name;
  std::unique_ptr<Registrar> (*make)(CheckRuntime*);
};

void PrintTo(const RegistrarCase& c, std::ostream* os) { *os << c.name; }

// What every registrar does.
class EveryRegistrarTest : public testing::TestWithParam<RegistrarCase> {
 protected:
  CheckRuntime runtime_;
  const std::unique_ptr<Registrar> registrar_ = GetParam().make(&runtime_);
};

TEST_P(EveryRegistrarTest, InstallsAndRestores) {
  ASSERT_TRUE(SqrtIsNative());
  const size_t dangling = DanglingImpls();
  {
    const auto installed = registrar_->Install(KernelOf(&kSqrt));
    ASSERT_THAT(installed, IsOk());
    EXPECT_FALSE(SqrtIsNative());
  }
  EXPECT_TRUE(SqrtIsNative());
  EXPECT_EQ(DanglingImpls(), dangling);
}

TEST_P(EveryRegistrarTest, RefusesASecondKernelUntilTheFirstIsGone) {
  auto installed = registrar_->Install(KernelOf(&kSqrt));
  ASSERT_THAT(installed, IsOk());
  EXPECT_THAT(registrar_->Install(KernelOf(&kSqrt)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("aten::sqrt"), HasSubstr("CPU"))));
  PlainRegistrar other;
  EXPECT_THAT(other.Install(KernelOf(&kSqrt)),
              StatusIs(absl::StatusCode::kAlreadyExists));
  installed->reset();
  EXPECT_THAT(registrar_->Install(KernelOf(&kSqrt)), IsOk());
}

TEST_P(EveryRegistrarTest, RefusesAnUnknownOperator) {
  const size_t dangling = DanglingImpls();
  EXPECT_THAT(
      registrar_->Install(KernelOf(&kUnknown)),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("aten::no_such_op"),
                                                  HasSubstr("kernels.cc:7"))));
  EXPECT_EQ(DanglingImpls(), dangling);
}

TEST_P(EveryRegistrarTest, RefusesAWrongSignatureAndRestores) {
  EXPECT_THAT(
      registrar_->Install(KernelOf(&kBadSqrt)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("aten::sqrt"), HasSubstr("kernels.cc:7"))));
  EXPECT_TRUE(SqrtIsNative());
  EXPECT_THAT(registrar_->Install(KernelOf(&kSqrt)), IsOk());
}

TEST_P(EveryRegistrarTest, APartialKernelLeavesWhatItRefusesToTheNativeOne) {
  const at::Tensor nine = at::full({2}, 9., at::kDouble);
  {
    const auto installed = registrar_->Install(KernelOf(&kPartialSqrt));
    ASSERT_THAT(installed, IsOk());
    EXPECT_EQ(at::sqrt(nine)[0].item<double>(), 3);
    EXPECT_FALSE(SqrtIsNative());
  }
  const auto installed = registrar_->Install(KernelOf(&kNotPartialSqrt));
  ASSERT_THAT(installed, IsOk());
  EXPECT_THROW(at::sqrt(nine), c10::NotImplementedError);
}

INSTANTIATE_TEST_SUITE_P(
    Registrars, EveryRegistrarTest,
    testing::ValuesIn(std::vector<RegistrarCase>{
        {"Plain",
         [](CheckRuntime*) -> std::unique_ptr<Registrar> {
           return std::make_unique<PlainRegistrar>();
         }},
        {"Checking",
         [](CheckRuntime* runtime) -> std::unique_ptr<Registrar> {
           return std::make_unique<CheckingRegistrar>(runtime);
         }},
    }),
    [](const auto& info) { return info.param.name; });

TEST(CheckingRegistrar, ReportsAWrongKernelThroughTheDispatcher) {
  CheckRuntime runtime;
  MemorySink* sink = nullptr;
  runtime.Start(MakeSession(&sink));
  CheckingRegistrar registrar(&runtime);
  const auto installed = registrar.Install(KernelOf(&kSqrt));
  ASSERT_THAT(installed, IsOk());
  EXPECT_EQ(at::sqrt(at::full({2}, 9.f))[0].item<float>(), 42);
  ASSERT_EQ(sink->records().size(), 1u);
  EXPECT_EQ(sink->records()[0].op.ToString(), "aten::sqrt");
  EXPECT_EQ(sink->records()[0].want, "3");
}

TEST(CheckingRegistrar, APlainKernelOfOursIsNeverTakenForTheNativeOne) {
  // The plain kernel comes and goes first; what was native stays known.
  PlainRegistrar plain;
  { ASSERT_THAT(plain.Install(KernelOf(&kSqrt)), IsOk()); }
  CheckRuntime runtime;
  MemorySink* sink = nullptr;
  runtime.Start(MakeSession(&sink));
  CheckingRegistrar registrar(&runtime);
  const auto installed = registrar.Install(KernelOf(&kSqrt));
  ASSERT_THAT(installed, IsOk());
  at::sqrt(at::full({2}, 9.f));
  EXPECT_EQ(sink->records().size(), 1u);
}

// Torch takes a List[Tensor] for a List[Optional[Tensor]] only while nobody
// else holds it; boxed callers pass such lists.
TEST(CheckingRegistrar, ChecksAKernelThatTakesAListOfOptionalTensors) {
  CheckRuntime runtime;
  MemorySink* sink = nullptr;
  runtime.Start(MakeSession(&sink));
  CheckingRegistrar registrar(&runtime);
  const auto installed = registrar.Install(KernelOf(&kIndex));
  ASSERT_THAT(installed, IsOk());
  const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::index", "Tensor");
  torch::jit::Stack stack = {at::arange(4.),
                             c10::List<at::Tensor>({at::tensor({2, 0})})};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_TRUE(at::equal(stack[0].toTensor(), at::tensor({2., 0.})));
  EXPECT_TRUE(sink->records().empty());
  const OpKey key{"aten", "index", "Tensor"};
  EXPECT_EQ(runtime.ledgers().Get(key)->count(Verdict::kPass), 1);
}

TEST(CheckingRegistrar, AReferenceNeverRunsAKernelUnderTest) {
  CheckRuntime runtime;
  MemorySink* sink = nullptr;
  runtime.Start(MakeSession(&sink));
  // A reference for mean that calls sqrt through the dispatcher.
  CheckingRegistrar registrar(
      &runtime,
      [](const c10::OperatorHandle& op)
          -> absl::StatusOr<std::shared_ptr<const Reference>> {
        class SqrtTwice : public Reference {
         public:
          explicit SqrtTwice(c10::OperatorHandle op) : op_(std::move(op)) {}
          absl::StatusOr<std::vector<c10::IValue>> Compute(
              std::vector<c10::IValue> arguments) const override {
            const at::Tensor x = arguments[0].toTensor();
            arguments = {at::sqrt(at::square(x)).mean({0})};
            return arguments;
          }
          std::string name() const override { return "sqrt"; }

         private:
          const c10::OperatorHandle op_;
        };
        return std::make_shared<const SqrtTwice>(op);
      });
  const auto sqrt = registrar.Install(KernelOf(&kSqrt));
  const auto mean = registrar.Install(KernelOf(&kMean));
  ASSERT_THAT(sqrt, IsOk());
  ASSERT_THAT(mean, IsOk());
  own_calls = 0;
  at::mean(at::full({4}, 9.f), {0});
  EXPECT_EQ(own_calls, 0);
  EXPECT_TRUE(sink->records().empty());
}

TEST(CheckingRegistrar, ChecksAKernelOfAnotherDevice) {
  CheckRuntime runtime;
  MemorySink* sink = nullptr;
  runtime.Start(MakeSession(&sink));
  CheckingRegistrar registrar(&runtime);
  const auto installed = registrar.Install(KernelOf(&kFakeDeviceSqrt));
  ASSERT_THAT(installed, IsOk());
  const at::Tensor x = ToFakeDevice(at::arange(6.).reshape({2, 3}));
  const at::Tensor y = at::sqrt(x);
  EXPECT_FALSE(y.device().is_cpu());
  const OpLedger& ledger =
      *runtime.ledgers().Get(OpKeyOf(*FindOperator({"aten", "sqrt", ""})));
  EXPECT_EQ(ledger.count(Verdict::kPass), 1);
  EXPECT_TRUE(sink->records().empty());
}

}  // namespace
}  // namespace flaggems
