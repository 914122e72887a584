// Compare() and CompareBudget() allocate nothing: the test replaces operator
// new and counts.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "absl/status/statusor.h"
#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/comparator/compare_budget.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/parallel_for.h"
#include "flaggems/comparator/testutil.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/verdict.h"
#include "gtest/gtest.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Not inlined, or g++ takes new and delete for a mismatched pair.
#define FG_NOINLINE_ __attribute__((noinline))

FG_NOINLINE_ void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
FG_NOINLINE_ void operator delete(void* memory) noexcept { std::free(memory); }
FG_NOINLINE_ void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace flaggems {
namespace {

class Inline : public ParallelFor {
 public:
  void ForEach(int64_t tasks, void (*task)(void*, int64_t),
               void* context) override {
    for (int64_t i = 0; i < tasks; ++i) task(context, i);
  }
};

template <typename Body>
int64_t AllocationsOf(const Body& body) {
  const int64_t before = allocations;
  body();
  return allocations - before;
}

TEST(NoAllocationTest, TheCounterCounts) {
  std::vector<int> grown;
  EXPECT_EQ(AllocationsOf([&] { grown.resize(1000); }), 1);
}

TEST(NoAllocationTest, Contiguous) {
  const auto a = Vector<float>(DType::kFloat32, std::vector<float>(100000, 1));
  auto b = a;
  b.data[77777] = 2;
  absl::StatusOr<Comparison> result = Comparison{};
  EXPECT_EQ(AllocationsOf([&] { result = Compare(b.view(), a.view(), {}); }),
            0);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->worst, 77777);
}

TEST(NoAllocationTest, StridedMixedAndComplex) {
  TestArray<uint16_t> half{
      DType::kFloat16, std::vector<uint16_t>(10000), {100, 100}, {1, 100}};
  TestArray<double> wide{
      DType::kFloat64, std::vector<double>(10000), {100, 100}, {100, 1}};
  absl::StatusOr<Comparison> result = Comparison{};
  EXPECT_EQ(
      AllocationsOf([&] { result = Compare(half.view(), wide.view(), {}); }),
      0);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, Verdict::kPass);

  struct C128 {
    double re, im;
  };
  const auto complex =
      Vector<C128>(DType::kComplex128, std::vector<C128>(1000, {1, 2}));
  EXPECT_EQ(AllocationsOf(
                [&] { result = Compare(complex.view(), complex.view(), {}); }),
            0);
}

TEST(NoAllocationTest, WithABudget) {
  const int64_t n = 2 * kParallelNumel;
  const auto got = Vector<float>(DType::kFloat32, std::vector<float>(n, 3));
  const auto want = Vector<double>(DType::kFloat64, std::vector<double>(n, 3));
  Budget budget;
  budget.a = 2;
  budget.condition = Budget::Condition::kArray;
  budget.conditions = want.view();
  Inline parallel;
  absl::StatusOr<Comparison> result = Comparison{};
  EXPECT_EQ(AllocationsOf([&] {
              result =
                  CompareBudget(got.view(), want.view(), budget, &parallel);
            }),
            0);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, Verdict::kPass);
}

TEST(NoAllocationTest, CutIntoTasks) {
  const auto a = Vector<int64_t>(DType::kInt64,
                                 std::vector<int64_t>(2 * kParallelNumel, 3));
  Inline parallel;
  absl::StatusOr<Comparison> result = Comparison{};
  EXPECT_EQ(AllocationsOf(
                [&] { result = Compare(a.view(), a.view(), {}, &parallel); }),
            0);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, Verdict::kPass);
}

}  // namespace
}  // namespace flaggems
