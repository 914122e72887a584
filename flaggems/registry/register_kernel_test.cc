// Kernels behind gates, called unboxed and boxed as the dispatcher does.

#include "flaggems/registry/register_kernel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <tuple>
#include <vector>

#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

at::Tensor Plus(const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha) {
  return self + other * alpha;
}
at::Tensor& PlusInPlace(at::Tensor& self, const at::Tensor& other,
                        const at::Scalar& alpha) {
  return self.add_(other * alpha);
}
at::Tensor& PlusOut(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out) {
  return out.copy_(self + other * alpha);
}
at::Tensor Join(const at::ITensorListRef& tensors, int64_t dim) {
  return at::cat(tensors, dim);
}

FLAGGEMS_REGISTER_KERNEL(plus, "aten::add.Tensor", Backend::kCpu, &Plus);
FLAGGEMS_REGISTER_KERNEL(plus_in_place, "aten::add_.Tensor", Backend::kCpu,
                         &PlusInPlace);
FLAGGEMS_REGISTER_KERNEL(plus_out, "aten::add.out", Backend::kCpu, &PlusOut);
FLAGGEMS_REGISTER_KERNEL(join, "aten::cat", Backend::kCpu, &Join);

const KernelEntry& EntryOf(const char* op) {
  for (const KernelEntry* entry : KernelRegistrar::All()) {
    if (std::string(entry->op) == op) return *entry;
  }
  ADD_FAILURE() << op << " is not registered";
  static const KernelEntry none{};
  return none;
}

TEST(Registration, KeepsKeyAndPlace) {
  EXPECT_EQ(KernelRegistrar::All().size(), 4u);
  const KernelEntry& entry = EntryOf("aten::add.out");
  EXPECT_EQ(entry.backend, Backend::kCpu);
  EXPECT_NE(std::string(entry.file).find("register_kernel_test.cc"),
            std::string::npos);
  EXPECT_GT(entry.line, 0);
}

// A checked kernel that counts its calls and answers with the plain one.
class CountingKernel : public c10::OperatorKernel {
 public:
  CountingKernel(c10::KernelFunction plain, int* calls)
      : plain_(std::move(plain)), calls_(calls) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    ++*calls_;
    plain_.callBoxed(op, keys, stack);
  }

 private:
  const c10::KernelFunction plain_;
  int* const calls_;
};

class GateTest : public testing::Test {
 protected:
  c10::KernelFunction Gated(const char* op, const char* overload) {
    const std::string name =
        std::string("aten::") + op + (*overload ? "." : "") + overload;
    const KernelEntry& entry = EntryOf(name.c_str());
    handle_ = c10::Dispatcher::singleton().findSchemaOrThrow(
        (std::string("aten::") + op).c_str(), overload);
    gate_ = std::make_shared<Gate>(*handle_, &forwarded_);
    gate_->set_checked_kernel(
        c10::BoxedKernel::makeFromFunctor(std::make_unique<CountingKernel>(
            entry.make_plain(nullptr).function, &checked_)));
    return entry.make_gated(gate_, nullptr).function;
  }

  const c10::DispatchKeySet keys_{c10::DispatchKey::CPU};
  std::optional<c10::OperatorHandle> handle_;
  std::shared_ptr<Gate> gate_;
  std::atomic<int64_t> forwarded_{0};
  int checked_ = 0;
  const at::Tensor a_ = at::ones({3});
  const at::Tensor b_ = at::full({3}, 2.f);
};

TEST_F(GateTest, ForwardsAndCountsUntilItChecks) {
  const c10::KernelFunction kernel = Gated("add", "Tensor");
  const auto call = [&] {
    return kernel.call<at::Tensor, const at::Tensor&, const at::Tensor&,
                       const at::Scalar&>(*handle_, keys_, a_, b_, 3);
  };
  EXPECT_TRUE(at::equal(call(), at::full({3}, 7.f)));
  EXPECT_EQ(forwarded_, 1);
  EXPECT_EQ(checked_, 0);
  gate_->Check();
  EXPECT_TRUE(at::equal(call(), at::full({3}, 7.f)));
  EXPECT_EQ(forwarded_, 1);
  EXPECT_EQ(checked_, 1);
  std::atomic<int64_t> other{0};
  gate_->Forward(&other);
  call();
  EXPECT_EQ(other, 1);
  EXPECT_EQ(checked_, 1);
}

TEST_F(GateTest, InsideTheCheckerNothingIsForwarded) {
  const c10::KernelFunction kernel = Gated("add", "Tensor");
  const CheckScope scope;
  kernel.call<at::Tensor, const at::Tensor&, const at::Tensor&,
              const at::Scalar&>(*handle_, keys_, a_, b_, 1);
  EXPECT_EQ(forwarded_, 0);
  EXPECT_EQ(checked_, 1);
}

TEST_F(GateTest, BoxedCallsPassTheSameGate) {
  const c10::KernelFunction kernel = Gated("add", "Tensor");
  for (bool check : {false, true}) {
    if (check) gate_->Check();
    torch::jit::Stack stack = {a_, b_, 1};
    kernel.callBoxed(*handle_, keys_, &stack);
    ASSERT_EQ(stack.size(), 1u);
    EXPECT_TRUE(at::equal(stack[0].toTensor(), at::full({3}, 3.f)));
  }
  EXPECT_EQ(forwarded_, 1);
  EXPECT_EQ(checked_, 1);
}

TEST_F(GateTest, InPlaceReturnsItsArgument) {
  const c10::KernelFunction kernel = Gated("add_", "Tensor");
  gate_->Check();
  at::Tensor x = at::ones({3});
  at::Tensor& result =
      kernel
          .call<at::Tensor&, at::Tensor&, const at::Tensor&, const at::Scalar&>(
              *handle_, keys_, x, b_, 1);
  EXPECT_EQ(&result, &x);
  EXPECT_TRUE(at::equal(x, at::full({3}, 3.f)));
  EXPECT_EQ(checked_, 1);
}

TEST_F(GateTest, OutVariantReturnsOut) {
  const c10::KernelFunction kernel = Gated("add", "out");
  gate_->Check();
  at::Tensor out = at::empty({3});
  at::Tensor& result =
      kernel.call<at::Tensor&, const at::Tensor&, const at::Tensor&,
                  const at::Scalar&, at::Tensor&>(*handle_, keys_, a_, b_, 1,
                                                  out);
  EXPECT_EQ(&result, &out);
  EXPECT_TRUE(at::equal(out, at::full({3}, 3.f)));
}

TEST_F(GateTest, ListsGoThrough) {
  const c10::KernelFunction kernel = Gated("cat", "");
  gate_->Check();
  const std::vector<at::Tensor> tensors = {a_, b_};
  const at::Tensor result =
      kernel.call<at::Tensor, const at::ITensorListRef&, int64_t>(
          *handle_, keys_, at::ITensorListRef(tensors), 0);
  EXPECT_EQ(result.size(0), 6);
  EXPECT_EQ(checked_, 1);
}

}  // namespace
}  // namespace flaggems
