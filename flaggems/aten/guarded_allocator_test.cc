#include "flaggems/aten/guarded_allocator.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace flaggems {
namespace {

struct PoisonCase {
  std::string name;
  at::ScalarType dtype;
};

void PrintTo(const PoisonCase& c, std::ostream* os) { *os << c.name; }

class PoisonTest : public testing::TestWithParam<PoisonCase> {};

TEST_P(PoisonTest, FillsWhatWasNotWrittenInEverySize) {
  const at::TensorOptions options(GetParam().dtype);
  for (const int64_t size : {0, 1, 2, 3, 7, 64, 1001}) {
    at::Tensor x;
    {
      const GuardedAllocation guarded;
      x = at::empty({size}, options);
    }
    EXPECT_EQ(IsGuarded(x.storage()), size > 0);
    EXPECT_EQ(DamagedGuard(x.storage()), std::nullopt);
    for (int64_t i = 0; i < size; ++i) ASSERT_TRUE(IsUnwritten(x, i)) << i;
    if (size == 0) continue;
    // All of the memory and not a byte beside it.
    std::memset(x.mutable_data_ptr(), 0, x.nbytes());
    for (int64_t i = 0; i < size; ++i) ASSERT_FALSE(IsUnwritten(x, i)) << i;
    EXPECT_EQ(DamagedGuard(x.storage()), std::nullopt) << size;
  }
}

TEST_P(PoisonTest, IsNanInFloatingTypesOfTwoToEightBytes) {
  const at::TensorOptions options(GetParam().dtype);
  const GuardedAllocation guarded;
  const at::Tensor x = at::empty({3}, options);
  if (x.is_complex() ? x.element_size() < 4
                     : !x.is_floating_point() || x.element_size() < 2) {
    GTEST_SKIP() << "no NaN there";
  }
  EXPECT_TRUE(x.to(x.is_complex() ? at::kComplexDouble : at::kDouble)
                  .isnan()
                  .all()
                  .item<bool>());
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, PoisonTest,
    testing::Values(PoisonCase{"Bool", at::kBool}, PoisonCase{"U8", at::kByte},
                    PoisonCase{"I8", at::kChar}, PoisonCase{"I16", at::kShort},
                    PoisonCase{"I32", at::kInt}, PoisonCase{"I64", at::kLong},
                    PoisonCase{"F16", at::kHalf},
                    PoisonCase{"Bf16", at::kBFloat16},
                    PoisonCase{"F32", at::kFloat},
                    PoisonCase{"F64", at::kDouble},
                    PoisonCase{"C32", at::kComplexHalf},
                    PoisonCase{"C64", at::kComplexFloat},
                    PoisonCase{"C128", at::kComplexDouble},
                    PoisonCase{"E4m3", at::kFloat8_e4m3fn},
                    PoisonCase{"E5m2", at::kFloat8_e5m2}),
    [](const auto& info) { return info.param.name; });

at::Tensor GuardedBytes(int64_t size) {
  const GuardedAllocation guarded;
  return at::empty({size}, at::kByte);
}

struct DamageCase {
  std::string name;
  int64_t size;
  int64_t at;  // byte, from the start of the memory
  const char* damage;
};

void PrintTo(const DamageCase& c, std::ostream* os) { *os << c.name; }

class DamageTest : public testing::TestWithParam<DamageCase> {};

TEST_P(DamageTest, NamesTheByte) {
  const at::Tensor x = GuardedBytes(GetParam().size);
  unsigned char* const byte =
      static_cast<unsigned char*>(x.mutable_data_ptr()) + GetParam().at;
  *byte ^= 0x10;
  EXPECT_EQ(DamagedGuard(x.storage()).value_or("none"), GetParam().damage);
  *byte ^= 0x10;
  EXPECT_EQ(DamagedGuard(x.storage()), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Damages, DamageTest,
    testing::Values(
        DamageCase{"Inside", 8, 7, "none"},
        DamageCase{"FirstAfter", 8, 8, "byte 0 after its end"},
        DamageCase{"FifthAfter", 8, 12, "byte 4 after its end"},
        DamageCase{"LastOfTheGuard", 8, 8 + 1023, "byte 1023 after its end"},
        DamageCase{"FirstAfterAnOddSize", 7, 7, "byte 0 after its end"},
        DamageCase{"SecondAfterAnOddSize", 7, 8, "byte 1 after its end"},
        DamageCase{"FirstAfterOne", 1, 1, "byte 0 after its end"},
        DamageCase{"LastBefore", 8, -1, "byte 1 before its start"},
        DamageCase{"FourthBefore", 8, -4, "byte 4 before its start"}),
    [](const auto& info) { return info.param.name; });

TEST(GuardedAllocatorTest, OnlyInsideAScope) {
  at::Tensor before = at::empty({16});
  at::Tensor inside;
  at::Tensor nested;
  at::Tensor still_inside;
  {
    const GuardedAllocation guarded;
    inside = at::empty({16});
    {
      const GuardedAllocation again;
      nested = at::empty({16});
    }
    still_inside = at::empty({16});
  }
  const at::Tensor after = at::empty({16});
  EXPECT_FALSE(IsGuarded(before.storage()));
  EXPECT_TRUE(IsGuarded(inside.storage()));
  EXPECT_TRUE(IsGuarded(nested.storage()));
  EXPECT_TRUE(IsGuarded(still_inside.storage()));
  EXPECT_FALSE(IsGuarded(after.storage()));
  EXPECT_FALSE(IsUnwritten(after, 0));
  EXPECT_EQ(DamagedGuard(after.storage()), std::nullopt);
}

TEST(GuardedAllocatorTest, OtherThreadsAreUnaffected) {
  const GuardedAllocation guarded;
  std::atomic<int> guarded_elsewhere{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i < 50; ++i) {
        if (IsGuarded(at::empty({i}).storage())) ++guarded_elsewhere;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guarded_elsewhere, 0);
  EXPECT_TRUE(IsGuarded(at::empty({3}).storage()));
}

TEST(GuardedAllocatorTest, ManyThreadsInScopesOfTheirOwn) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i < 100; ++i) {
        at::Tensor x;
        {
          const GuardedAllocation guarded;
          x = at::empty({i});
        }
        if (!IsGuarded(x.storage()) || !IsUnwritten(x, i - 1)) ++wrong;
        x.zero_();
        if (DamagedGuard(x.storage())) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(GuardedAllocatorTest, ATensorFreedOnAnotherThread) {
  at::Tensor x = GuardedBytes(100);
  std::thread([y = std::move(x)]() mutable { y.reset(); }).join();
  EXPECT_FALSE(x.defined());
}

TEST(GuardedAllocatorTest, ResizingKeepsWhatWasWritten) {
  at::Tensor outside_in = at::arange(4.);
  at::Tensor inside_out;
  {
    const GuardedAllocation guarded;
    outside_in.resize_({1000});
    inside_out = at::empty({4});
    inside_out.copy_(at::arange(4.));
  }
  EXPECT_TRUE(IsGuarded(outside_in.storage()));
  EXPECT_TRUE(at::equal(outside_in.slice(0, 0, 4), at::arange(4.)));
  EXPECT_TRUE(IsUnwritten(outside_in, 999));
  inside_out.resize_({1000});
  EXPECT_FALSE(IsGuarded(inside_out.storage()));
  EXPECT_TRUE(at::equal(inside_out.slice(0, 0, 4), at::arange(4.)));
  at::Tensor emptied = GuardedBytes(9);
  emptied.resize_({0}).resize_({3});
  EXPECT_EQ(DamagedGuard(emptied.storage()), std::nullopt);
}

TEST(GuardedAllocatorTest, RawMemoryIsFreedInsideAndOutside) {
  { const GuardedAllocation install; }
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  void* outside = allocator->raw_allocate(33);
  void* inside = nullptr;
  {
    const GuardedAllocation guarded;
    inside = allocator->raw_allocate(33);
    std::memset(inside, 1, 33);
    allocator->raw_deallocate(outside);
    void* both = allocator->raw_allocate(5);
    allocator->raw_deallocate(both);
  }
  EXPECT_EQ(static_cast<char*>(inside)[32], 1);
  allocator->raw_deallocate(inside);
  // What was freed is nobody's: a later block at that place is a plain one.
  outside = allocator->raw_allocate(33);
  std::memset(outside, 2, 33);
  allocator->raw_deallocate(outside);
}

TEST(GuardedAllocatorTest, AConvolutionOfOneDnnWorksAndIsGuarded) {
  at::manual_seed(1);
  const at::Tensor x = at::rand({2, 8, 16, 16});
  const at::Tensor w = at::rand({8, 8, 3, 3});
  const at::Tensor want = at::conv2d(x, w);
  at::Tensor got;
  {
    const GuardedAllocation guarded;
    got = at::conv2d(x, w);
  }
  EXPECT_TRUE(at::allclose(got, want));
  EXPECT_TRUE(IsGuarded(got.storage()));
  EXPECT_EQ(DamagedGuard(got.storage()), std::nullopt);
}

TEST(GuardedAllocatorTest, ClonesAndViewsOfGuardedMemory) {
  const at::Tensor x = GuardedBytes(12);
  const at::Tensor view = x.as_strided({2, 3}, {1, 4}, 1);
  for (int64_t i = 0; i < 6; ++i) EXPECT_TRUE(IsUnwritten(view, i));
  x[1 + 4].fill_(0);  // row 0, column 1
  EXPECT_TRUE(IsUnwritten(view, 0));
  EXPECT_FALSE(IsUnwritten(view, 1));
  EXPECT_FALSE(IsGuarded(x.clone().storage()));
}

struct BoolCase {
  std::string name;
  std::vector<uint8_t> bytes;
  std::optional<int64_t> first;
};

TEST(GuardedAllocatorTest, FirstInvalidBool) {
  for (const BoolCase& c :
       {BoolCase{"Empty", {}, std::nullopt},
        BoolCase{"Valid", {0, 1, 1, 0}, std::nullopt},
        BoolCase{"Two", {0, 1, 2}, 2}, BoolCase{"All", {255, 255}, 0}}) {
    const at::Tensor x =
        at::empty({static_cast<int64_t>(c.bytes.size())}, at::kBool);
    if (!c.bytes.empty()) {
      std::memcpy(x.mutable_data_ptr(), c.bytes.data(), c.bytes.size());
    }
    EXPECT_EQ(FirstInvalidBool(x), c.first) << c.name;
  }
  const at::Tensor poisoned = GuardedBytes(6).view(at::kBool);
  EXPECT_EQ(FirstInvalidBool(poisoned), 0);
  poisoned.fill_(true);
  EXPECT_EQ(FirstInvalidBool(poisoned.t()), std::nullopt);
}

}  // namespace
}  // namespace flaggems
