#include "flaggems/comparator/compare_budget.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/chunked.h"
#include "flaggems/comparator/code_path.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/parallel_for.h"
#include "flaggems/comparator/testutil.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/core/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using Condition = Budget::Condition;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-24;

Budget RoundingOnly() { return {}; }

Budget Pointwise(double a) {
  Budget budget;
  budget.a = a;
  budget.condition = Condition::kReference;
  return budget;
}

template <typename Stored>
Comparison MustCompare(DType dtype, std::vector<Stored> got,
                       std::vector<double> want, const Budget& budget) {
  const auto g = Vector(dtype, std::move(got));
  const auto w = Vector(DType::kFloat64, std::move(want));
  const auto result = CompareBudget(g.view(), w.view(), budget);
  EXPECT_THAT(result, IsOk());
  return result.value_or(Comparison{});
}

// ---- float32, one element a row: on both sides of the limit.

struct Case {
  std::string name;
  float got;
  double want;
  Budget budget;
  Verdict verdict;
  double score;  // -1: not looked at
  int64_t flushed = 0;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class CompareBudgetTest : public testing::TestWithParam<Case> {};

TEST_P(CompareBudgetTest, GivesTheVerdict) {
  const Case& c = GetParam();
  const Comparison result =
      MustCompare<float>(DType::kFloat32, {c.got}, {c.want}, c.budget);
  EXPECT_EQ(result.verdict, c.verdict);
  if (c.score >= 0) {
    EXPECT_EQ(result.score, c.score);
  }
  EXPECT_EQ(result.flushed, c.flushed);
}

float Up(float value, int steps = 1) {
  for (int i = 0; i < steps; ++i) value = std::nextafter(value, HUGE_VALF);
  return value;
}
float Down(float value) { return std::nextafter(value, -HUGE_VALF); }

Budget Terms(double a, double b, double l, double n) {
  Budget budget = Pointwise(a);
  budget.b = b;
  budget.l = l;
  budget.n = n;
  return budget;
}

Budget Constant(double a, double constant) {
  Budget budget = Pointwise(a);
  budget.condition = Condition::kConstant;
  budget.constant = constant;
  return budget;
}

Budget WithoutFlush() {
  Budget budget = RoundingOnly();
  budget.flush_subnormals = false;
  return budget;
}

Budget Exact() {
  Budget budget = WithoutFlush();
  budget.h = 0;
  return budget;
}

constexpr Verdict kPass = Verdict::kPass;
constexpr Verdict kValue = Verdict::kFailValue;
constexpr Verdict kSpecial = Verdict::kFailSpecial;

// Inf from a part of the largest number on.
Budget EarlyOverflow(double margin) {
  Budget budget = RoundingOnly();
  budget.overflow_margin = margin;
  return budget;
}

// The smallest number that rounds to Inf.
constexpr double kOverflow = double{FLT_MAX} + 0x1p103;

INSTANTIATE_TEST_SUITE_P(
    OverflowMargin, CompareBudgetTest,
    testing::Values(Case{"inf_at_the_margin", HUGE_VALF, kOverflow / 2,
                         EarlyOverflow(2), kPass, 0},
                    Case{"inf_below_the_margin", HUGE_VALF,
                         std::nextafter(kOverflow / 2, 0), EarlyOverflow(2),
                         kSpecial, kInf},
                    Case{"minus_inf_at_the_margin", -HUGE_VALF, -kOverflow / 2,
                         EarlyOverflow(2), kPass, 0},
                    Case{"inf_of_the_other_sign", -HUGE_VALF, kOverflow / 2,
                         EarlyOverflow(2), kSpecial, kInf},
                    Case{"nan_at_the_margin", NAN, kOverflow / 2,
                         EarlyOverflow(2), kSpecial, kInf},
                    Case{"without_a_margin", HUGE_VALF,
                         std::nextafter(kOverflow, 0), EarlyOverflow(1),
                         kSpecial, kInf},
                    Case{"a_right_number_within_the_margin", FLT_MAX, FLT_MAX,
                         EarlyOverflow(32), kPass, 0},
                    Case{"a_wrong_number_within_the_margin", FLT_MAX,
                         FLT_MAX / 2, EarlyOverflow(32), kValue, -1},
                    Case{"far_below_a_large_margin", HUGE_VALF, 1,
                         EarlyOverflow(32), kSpecial, kInf}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Specials, CompareBudgetTest,
    testing::Values(
        Case{"nan_for_nan", NAN, kNan, RoundingOnly(),
             Verdict::kUntrustedAllNan, 0},
        Case{"nan_for_number", NAN, 1, Pointwise(1e9), kSpecial, kInf},
        Case{"number_for_nan", 1, kNan, Pointwise(1e9), kSpecial, kInf},
        Case{"nan_for_inf", NAN, kInf, Pointwise(1e9), kSpecial, kInf},
        Case{"inf_for_inf", HUGE_VALF, kInf, RoundingOnly(), kPass, 0},
        Case{"other_inf", -HUGE_VALF, kInf, Pointwise(1e9), kSpecial, kInf},
        Case{"largest_for_inf", FLT_MAX, kInf, Pointwise(1e9), kSpecial, kInf},
        Case{"inf_where_want_rounds_to_inf", HUGE_VALF, FLT_MAX + 0x1p103,
             RoundingOnly(), kPass, 0},
        Case{"inf_where_want_rounds_to_the_largest", HUGE_VALF,
             std::nextafter(FLT_MAX + 0x1p103, 0), RoundingOnly(), kSpecial,
             kInf},
        Case{"inf_far_above_the_largest", -HUGE_VALF, -1e200, RoundingOnly(),
             kPass, 0},
        Case{"inf_of_the_other_sign", HUGE_VALF, -1e200, RoundingOnly(),
             kSpecial, kInf},
        Case{"nan_for_overflow", NAN, 1e200, RoundingOnly(), kSpecial, kInf},
        Case{"inf_where_a_neighbour_rounds_to_inf", HUGE_VALF, FLT_MAX,
             Pointwise(2), kPass, 0},
        Case{"inf_where_no_neighbour_does", HUGE_VALF, FLT_MAX / 2,
             Pointwise(2), kSpecial, kInf},
        Case{"largest_where_want_rounds_to_inf_by_a_hair", FLT_MAX,
             FLT_MAX + 0x1p103, RoundingOnly(), kPass, 1},
        Case{"largest_far_below_want", FLT_MAX, 1e39, RoundingOnly(), kValue,
             -1}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Limits, CompareBudgetTest,
    testing::Values(
        Case{"equal", 1, 1, RoundingOnly(), kPass, 0},
        Case{"zero_of_the_other_sign", -0.0f, 0, WithoutFlush(), kPass, 0},
        Case{"half_way_up", Up(1), 1 + 0x1p-24, RoundingOnly(), kPass, 1},
        Case{"more_than_half_way_off", Up(1), std::nextafter(1 + 0x1p-24, 0),
             RoundingOnly(), kValue, -1},
        Case{"one_step_above_a_power_of_two", Up(1), 1, RoundingOnly(), kValue,
             2},
        // Half the spacing above 1, but all of the spacing below it.
        Case{"one_step_below_a_power_of_two", Down(1), 1, RoundingOnly(),
             kValue, 2},
        Case{"rounds_up_to_a_power_of_two", 1, 1 - 0x1p-25, RoundingOnly(),
             kPass, 1},
        Case{"rounds_down_to_a_power_of_two", 1, 1 + 0x1p-24, RoundingOnly(),
             kPass, 1},
        Case{"no_h_no_error", 1, 1 + 0x1p-40, Exact(), kValue, kInf},
        // 0.5 ulp of 1 is u: (0.5 ulp + A u) / (0.5 ulp) = 1 + A.
        Case{"pointwise_at_the_limit", Up(1, 2), 1, Pointwise(3), kPass, 1},
        Case{"pointwise_a_step_above", Up(1, 2), 1, Pointwise(2.9999), kValue,
             -1},
        Case{"sqrt_n_at_the_limit", Up(1, 4), 1, Terms(1, 3, 0, 4), kPass, 1},
        Case{"sqrt_n_a_step_above", Up(1, 5), 1, Terms(1, 3, 0, 4), kValue,
             10. / 8},
        Case{"n_at_the_limit", Up(1, 4), 1, Terms(1, 0, 1.5, 4), kPass, 1},
        Case{"n_a_step_above", Up(1, 5), 1, Terms(1, 0, 1.5, 4), kValue,
             10. / 8},
        Case{"constant_at_want_zero", 0x1p-20f, 0, Constant(16, 1), kPass, -1},
        Case{"constant_exceeded", 0x1.00002p-20f, 0, Constant(16, 1), kValue,
             -1},
        Case{"wrong_sign", -1, 1, Pointwise(1000), kValue, -1}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Subnormals, CompareBudgetTest,
    testing::Values(
        Case{"flushed", 0, 0x1p-127, RoundingOnly(), kPass, 0.5, 1},
        Case{"flushed_just_below_normal", 0, std::nextafter(FLT_MIN, 0),
             RoundingOnly(), kPass, -1, 1},
        Case{"flushed_a_normal_number", 0, FLT_MIN, RoundingOnly(), kValue, -1},
        Case{"rounded_needs_no_flush", 0x1p-149f, 0x1.8p-149, RoundingOnly(),
             kPass, 1, 0},
        Case{"one_subnormal_step_off", 0x1p-148f, 0x1p-149, WithoutFlush(),
             kValue, 2},
        Case{"flush_not_allowed", 0, 0x1p-127, WithoutFlush(), kValue, -1},
        Case{"normal_for_subnormal", 1.5f * FLT_MIN, 0x1p-128, RoundingOnly(),
             kValue, -1},
        Case{"tiny_rounds_to_zero", 0, 1e-300, WithoutFlush(), kPass, -1}),
    [](const auto& info) { return info.param.name; });

// ---- Every dtype: the nearest value passes, its neighbours do not.

struct TypeCase {
  std::string name;
  DType dtype;
  // Doubles of every exponent of the type are tried.
  int lowest_exponent;
  int highest_exponent;
};

void PrintTo(const TypeCase& c, std::ostream* os) { *os << c.name; }

class SmallTypesTest : public testing::TestWithParam<TypeCase> {
 protected:
  // The pattern of the value nearest to a `value` >= 0 that does not overflow,
  // ties to even.
  size_t Nearest(double value) const {
    const auto above = std::upper_bound(values_.begin(), values_.end(), value);
    if (above == values_.begin()) return 0;  // below the smallest: E8M0
    const size_t low = static_cast<size_t>(above - values_.begin()) - 1;
    if (low + 1 == values_.size()) return low;
    const double down = value - values_[low];
    const double up = values_[low + 1] - value;
    if (down == up) return low + (low & 1);
    return down < up ? low : low + 1;
  }

  Comparison CompareOne(size_t pattern, double want,
                        const Budget& budget) const {
    if (sizeof_ == 1) {
      return MustCompare<uint8_t>(
          GetParam().dtype, {static_cast<uint8_t>(pattern)}, {want}, budget);
    }
    return MustCompare<uint16_t>(
        GetParam().dtype, {static_cast<uint16_t>(pattern)}, {want}, budget);
  }

  const std::vector<double> values_ = FiniteValues(GetParam().dtype);
  const size_t sizeof_ = ElementSize(GetParam().dtype);
};

TEST_P(SmallTypesTest, NearestPassesAndItsNeighboursFail) {
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> fraction(1, 2);
  const FloatFormat format = *FloatFormatOf(GetParam().dtype);
  const Budget budget = WithoutFlush();
  int judged = 0;
  for (int e = GetParam().lowest_exponent; e <= GetParam().highest_exponent;
       ++e) {
    for (int i = 0; i < 40; ++i) {
      const double want = std::ldexp(i == 0 ? 1 : fraction(random), e);
      if (want >= format.overflow) continue;
      const size_t nearest = Nearest(want);
      EXPECT_EQ(CompareOne(nearest, want, budget).verdict, Verdict::kPass)
          << want;
      for (const size_t pattern : {nearest - 1, nearest + 1}) {
        if (pattern >= values_.size()) continue;  // includes -1
        // A tie: which way it goes is the conversion's choice.
        if (std::fabs(values_[pattern] - want) ==
            std::fabs(values_[nearest] - want)) {
          continue;
        }
        EXPECT_EQ(CompareOne(pattern, want, budget).verdict,
                  Verdict::kFailValue)
            << want << " as " << values_[pattern];
        ++judged;
      }
    }
  }
  EXPECT_GT(judged, 400);
}

TEST_P(SmallTypesTest, EveryValueIsItsOwnNearest) {
  for (size_t i = 0; i < values_.size(); i += sizeof_ == 1 ? 1 : 37) {
    const Comparison same = CompareOne(i, values_[i], WithoutFlush());
    EXPECT_EQ(same.verdict, Verdict::kPass);
    EXPECT_EQ(same.score, 0);
    if (i == 0) continue;
    EXPECT_EQ(CompareOne(i - 1, values_[i], WithoutFlush()).verdict,
              Verdict::kFailValue)
        << values_[i];
    EXPECT_EQ(CompareOne(i, values_[i - 1], WithoutFlush()).verdict,
              Verdict::kFailValue)
        << values_[i];
  }
}

TEST_P(SmallTypesTest, OverflowIsInfinityOrTheNanInItsPlace) {
  const FloatFormat format = *FloatFormatOf(GetParam().dtype);
  const std::vector<double> all = DecodedPatterns(GetParam().dtype);
  int found = 0;
  for (size_t pattern = 0; pattern < all.size(); ++pattern) {
    if (std::isfinite(all[pattern])) continue;
    const bool stands_for_overflow =
        format.has_infinity ? all[pattern] == kInf : std::isnan(all[pattern]);
    found += stands_for_overflow;
    for (const double want : {format.overflow, 3 * format.overflow}) {
      EXPECT_EQ(CompareOne(pattern, want, RoundingOnly()).verdict,
                stands_for_overflow ? Verdict::kPass : Verdict::kFailSpecial)
          << pattern;
    }
    EXPECT_EQ(
        CompareOne(pattern, std::nextafter(format.overflow, 0), RoundingOnly())
            .verdict,
        Verdict::kFailSpecial);
  }
  EXPECT_GE(found, 1);
}

INSTANTIATE_TEST_SUITE_P(
    DTypes, SmallTypesTest,
    testing::Values(
        TypeCase{"float8_e8m0fnu", DType::kFloat8E8M0FNU, -126, 127},
        TypeCase{"float8_e4m3fnuz", DType::kFloat8E4M3FNUZ, -12, 7},
        TypeCase{"float8_e5m2fnuz", DType::kFloat8E5M2FNUZ, -19, 15},
        TypeCase{"float8_e4m3fn", DType::kFloat8E4M3FN, -11, 8},
        TypeCase{"float8_e5m2", DType::kFloat8E5M2, -18, 15},
        TypeCase{"bfloat16", DType::kBFloat16, -135, 127},
        TypeCase{"float16", DType::kFloat16, -26, 15}),
    [](const auto& info) { return info.param.name; });

TEST(CompareBudgetFloat32Test, NearestPassesAndItsNeighboursFail) {
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> fraction(1, 2);
  for (int e = -149; e < 128; ++e) {
    for (int i = 0; i < 20; ++i) {
      const double sign = i % 2 == 0 ? 1 : -1;
      const double want = sign * std::ldexp(i == 0 ? 1 : fraction(random), e);
      const float nearest = static_cast<float>(want);
      if (std::isinf(nearest)) continue;
      const Comparison passed = MustCompare<float>(DType::kFloat32, {nearest},
                                                   {want}, WithoutFlush());
      EXPECT_EQ(passed.verdict, Verdict::kPass) << want;
      EXPECT_LE(passed.score, 1);
      for (const float other : {Up(nearest), Down(nearest)}) {
        if (std::isinf(other)) continue;
        const Comparison failed = MustCompare<float>(DType::kFloat32, {other},
                                                     {want}, WithoutFlush());
        EXPECT_EQ(failed.verdict, Verdict::kFailValue) << want;
        EXPECT_GT(failed.score, 1);
      }
    }
  }
}

TEST(CompareBudgetFloat64Test, IsJudgedInItsOwnSpacingAndRoundoff) {
  Budget budget = Pointwise(2);
  budget.unit_roundoff = 0x1p-53;
  const double two_up = 1 + 2 * DBL_EPSILON;  // the limit is 3 u = 1.5 eps
  EXPECT_EQ(MustCompare<double>(DType::kFloat64, {1 + DBL_EPSILON}, {1}, budget)
                .score,
            1 / 1.5);
  EXPECT_EQ(MustCompare<double>(DType::kFloat64, {two_up}, {1}, budget).verdict,
            Verdict::kFailValue);
  // Half the smallest spacing is no double: the limit is 0, and errors are 0
  // or more than it.
  EXPECT_EQ(MustCompare<double>(DType::kFloat64, {5e-324}, {0}, WithoutFlush())
                .verdict,
            Verdict::kFailValue);
  EXPECT_EQ(MustCompare<double>(DType::kFloat64, {5e-324}, {0}, RoundingOnly())
                .flushed,
            1);
}

// ---- Complex, by modulus.

struct C64 {
  float re, im;
};
struct C128 {
  double re, im;
};

Comparison CompareComplex(C64 got, C128 want, const Budget& budget) {
  const auto g = Vector<C64>(DType::kComplex64, {got});
  const auto w = Vector<C128>(DType::kComplex128, {want});
  const auto result = CompareBudget(g.view(), w.view(), budget);
  EXPECT_THAT(result, IsOk());
  return result.value_or(Comparison{});
}

TEST(CompareBudgetComplexTest, ModulusOfErrorAgainstSpacingOfModulus) {
  Budget budget;
  budget.h = 0.75;
  // |want| = 5: a spacing of 2^-21. Both parts round to nearest.
  const C128 want{3 + 0x1p-23, 4 + 0x1p-22};
  EXPECT_EQ(CompareComplex({3, 4}, want, budget).verdict, Verdict::kPass);
  EXPECT_EQ(CompareComplex({3, 4}, want, budget).score,
            std::sqrt(0x1p-46 + 0x1p-44) / (0.75 * 0x1p-21));
  // A whole spacing in one part.
  EXPECT_EQ(CompareComplex({3, Up(4)}, {3, 4}, budget).verdict,
            Verdict::kFailValue);
  // The small part may have a large error of its own, as Compare() has it.
  EXPECT_EQ(CompareComplex({1e6f, 0.01f}, {1e6, 0}, budget).verdict,
            Verdict::kPass);
}

TEST(CompareBudgetComplexTest, SpecialPartsPartByPart) {
  const Budget budget = Pointwise(2);
  const float inf = HUGE_VALF;
  EXPECT_EQ(CompareComplex({inf, 1}, {1e39, 1}, budget).verdict,
            Verdict::kPass);
  EXPECT_EQ(CompareComplex({inf, 2}, {1e39, 1}, budget).verdict,
            Verdict::kFailValue);
  EXPECT_EQ(CompareComplex({inf, 1}, {1e30, 1}, budget).verdict,
            Verdict::kFailSpecial);
  EXPECT_EQ(CompareComplex({NAN, 1}, {kNan, 1}, budget).verdict,
            Verdict::kUntrustedAllNan);
  EXPECT_EQ(CompareComplex({NAN, 1}, {kInf, 1}, budget).verdict,
            Verdict::kFailSpecial);
}

// ---- Conditions per element.

TEST(CompareBudgetConditionsTest, EachElementHasItsOwn) {
  const auto got = Vector<float>(DType::kFloat32, {Up(1, 4), Up(1, 5), 1, 1});
  const auto want = Vector<double>(DType::kFloat64, {1, 1, 1, 1});
  const auto conditions =
      Vector<double>(DType::kFloat64, {7 / 8.0, 7 / 8.0, 0, kInf});
  Budget budget;
  budget.a = 8;
  budget.condition = Condition::kArray;
  budget.conditions = conditions.view();
  const auto result = CompareBudget(got.view(), want.view(), budget);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->value_mismatches, 1);
  EXPECT_EQ(result->worst, 1);
  EXPECT_EQ(result->score, 10. / 8);
}

TEST(CompareBudgetConditionsTest, WhatCannotBeAMagnitudeExcusesNothing) {
  for (const double condition : {-1.0, -kInf, kNan, 0.0}) {
    const auto got = Vector<float>(DType::kFloat32, {Up(1)});
    const auto want = Vector<double>(DType::kFloat64, {1});
    const auto conditions = Vector<double>(DType::kFloat64, {condition});
    Budget budget;
    budget.a = 1e6;
    budget.condition = Condition::kArray;
    budget.conditions = conditions.view();
    const auto result = CompareBudget(got.view(), want.view(), budget);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->verdict, Verdict::kFailValue) << condition;
    EXPECT_EQ(result->score, 2) << condition;
  }
}

TEST(CompareBudgetConditionsTest, InfiniteExcusesAllButSpecials) {
  const auto got = Vector<float>(DType::kFloat32, {1e30f, NAN});
  const auto want = Vector<double>(DType::kFloat64, {1, 1});
  const auto conditions = Vector<double>(DType::kFloat64, {kInf, kInf});
  Budget budget;
  budget.a = 1;
  budget.condition = Condition::kArray;
  budget.conditions = conditions.view();
  auto result = CompareBudget(got.view(), want.view(), budget);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->value_mismatches, 0);
  EXPECT_EQ(result->special_mismatches, 1);
  budget.a = 0;  // nothing times infinity is nothing
  result = CompareBudget(got.view(), want.view(), budget);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->value_mismatches, 1);
}

// ---- However the work is divided, the result is the same, and it is that of
// the definition.

class Threads : public ParallelFor {
 public:
  void ForEach(int64_t tasks, void (*task)(void*, int64_t),
               void* context) override {
    const auto odd_or_even = [&](int64_t first) {
      for (int64_t i = tasks - 1 - first; i >= 0; i -= 2) task(context, i);
    };
    std::thread other(odd_or_even, 1);
    odd_or_even(0);
    other.join();
  }
};

bool SameNumber(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

bool SameComparison(const Comparison& a, const Comparison& b) {
  return a.verdict == b.verdict && a.numel == b.numel &&
         a.value_mismatches == b.value_mismatches &&
         a.special_mismatches == b.special_mismatches &&
         a.want_nans == b.want_nans && a.flushed == b.flushed &&
         a.worst == b.worst && SameNumber(a.max_abs_diff, b.max_abs_diff) &&
         SameNumber(a.max_rel_diff, b.max_rel_diff) &&
         SameNumber(a.score, b.score);
}

// float32 elements off by up to a few ulps, with zeros, subnormals, special
// values and overflows among them.
struct Data {
  std::vector<float> got;
  std::vector<double> want;
  std::vector<double> conditions;

  explicit Data(int64_t n, uint64_t seed, bool with_specials) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < n; ++i) {
      double w = normal(random);
      double scale = 1;
      switch (random() % 64) {
        case 0:
          w = 0;
          break;
        case 1:
          scale = 0x1p-130;
          break;
        case 2:
          scale = 0x1p-100;
          break;
      }
      w *= scale;
      double g = w * (1 + 0x1p-25 * normal(random));
      if (with_specials && random() % 512 == 0) {
        w = random() % 2 == 0 ? kNan : 1e39;
        g = w;
      }
      got.push_back(static_cast<float>(g));
      want.push_back(w);
      conditions.push_back(std::isfinite(w) ? std::fabs(w) + scale : scale);
    }
  }
};

// The definition, without blocks, bounds or bit tricks; of pairs that are
// finite or equal specials.
Comparison Oracle(const Data& data, const Budget& budget) {
  Comparison result;
  result.numel = static_cast<int64_t>(data.want.size());
  result.worst = 0;
  for (size_t i = 0; i < data.want.size(); ++i) {
    const double got = data.got[i], want = data.want[i];
    result.want_nans += std::isnan(want);
    if (!std::isfinite(got) || !std::isfinite(want)) continue;
    const double diff = std::fabs(got - want);
    float low = static_cast<float>(std::fmin(std::fabs(got), std::fabs(want)));
    // The conversion may have rounded up, across a power of two.
    if (low > std::fmin(std::fabs(got), std::fabs(want))) low = Down(low);
    const double ulp = static_cast<double>(Up(low)) - low;
    double c = 0;
    if (budget.condition == Condition::kReference) c = std::fabs(want);
    if (budget.condition == Condition::kConstant) c = budget.constant;
    if (budget.condition == Condition::kArray) c = data.conditions[i];
    double limit = budget.h * ulp + budget.Factor() * c;
    if (diff > limit && std::fabs(want) < FLT_MIN && diff <= FLT_MIN) {
      limit = FLT_MIN;
      ++result.flushed;
    }
    result.value_mismatches += diff > limit;
    result.max_abs_diff = std::fmax(result.max_abs_diff, diff);
    result.max_rel_diff =
        std::fmax(result.max_rel_diff, diff / (std::fabs(want) + 1e-12));
    const double score = diff == 0 ? 0 : diff / limit;
    if (score > result.score) {
      result.score = score;
      result.worst = static_cast<int64_t>(i);
    }
  }
  if (result.value_mismatches > 0) result.verdict = Verdict::kFailValue;
  return result;
}

class DividedTest : public testing::TestWithParam<Condition> {
 protected:
  Budget MakeBudget(const ArrayView& conditions) const {
    Budget budget;
    budget.a = GetParam() == Condition::kNone ? 0 : 1;
    budget.condition = GetParam();
    budget.constant = 0.25;
    budget.conditions = conditions;
    return budget;
  }
};

TEST_P(DividedTest, ThreadsPathsAndOracleAgree) {
  const int64_t n = 2 * kParallelNumel + 17;
  for (const bool with_specials : {false, true}) {
    const Data data(n, 7, with_specials);
    const auto got = Vector(DType::kFloat32, data.got);
    const auto want = Vector(DType::kFloat64, data.want);
    const auto conditions = Vector(DType::kFloat64, data.conditions);
    const Budget budget = MakeBudget(conditions.view());
    const auto serial = CompareBudget(got.view(), want.view(), budget);
    ASSERT_THAT(serial, IsOk());
    EXPECT_TRUE(SameComparison(*serial, Oracle(data, budget)));
    EXPECT_GT(serial->flushed + serial->value_mismatches, 0);
    Threads threads;
    const auto parallel =
        CompareBudget(got.view(), want.view(), budget, &threads);
    ASSERT_THAT(parallel, IsOk());
    EXPECT_TRUE(SameComparison(*serial, *parallel));
    const Comparison baseline = Finish(CompareBudgetRange(
        got.view(), want.view(), budget, 0, n, CodePath::kBaseline));
    EXPECT_TRUE(SameComparison(*serial, baseline));
    // Cut where no block ends.
    const Comparison cut = Finish(
        Merge(CompareBudgetRange(got.view(), want.view(), budget, 1001, n),
              CompareBudgetRange(got.view(), want.view(), budget, 0, 1001)));
    EXPECT_TRUE(SameComparison(*serial, cut));
  }
}

TEST_P(DividedTest, StridedArraysAreWalkedInRowMajorOrder) {
  const int64_t rows = 67, columns = 130;
  const Data data(rows * columns, 11, true);
  auto got = Vector(DType::kFloat32, data.got);
  auto want = Vector(DType::kFloat64, data.want);
  auto conditions = Vector(DType::kFloat64, data.conditions);
  const std::vector<int64_t> sizes = {rows, columns};
  for (auto* array_sizes : {&got.sizes, &want.sizes, &conditions.sizes}) {
    *array_sizes = sizes;
  }
  got.strides = want.strides = conditions.strides = {columns, 1};
  const Budget budget = MakeBudget(conditions.view());
  const auto plain = CompareBudget(got.view(), want.view(), budget);
  ASSERT_THAT(plain, IsOk());

  auto transposed = want;
  transposed.strides = {1, rows};
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      transposed.data[j * rows + i] = want.data[i * columns + j];
    }
  }
  auto padded = got;
  padded.data.assign(2 * data.got.size(), NAN);
  padded.strides = {2 * columns, 2};
  for (size_t i = 0; i < data.got.size(); ++i) {
    padded.data[2 * i] = data.got[i];
  }
  for (const ArrayView& g : {got.view(), padded.view()}) {
    for (const ArrayView& w : {want.view(), transposed.view()}) {
      const auto strided = CompareBudget(g, w, budget);
      ASSERT_THAT(strided, IsOk());
      EXPECT_TRUE(SameComparison(*plain, *strided));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Conditions, DividedTest,
                         testing::Values(Condition::kNone,
                                         Condition::kReference,
                                         Condition::kConstant,
                                         Condition::kArray),
                         [](const auto& info) -> std::string {
                           switch (info.param) {
                             case Condition::kNone:
                               return "none";
                             case Condition::kReference:
                               return "reference";
                             case Condition::kConstant:
                               return "constant";
                             case Condition::kArray:
                               return "array";
                           }
                           return "unknown";
                         });

// ---- Shapes, dtypes, errors.

TEST(CompareBudgetShapeTest, OtherShapesAreAVerdict) {
  const auto got = Vector<float>(DType::kFloat32, {1, 2});
  const auto want = Vector<double>(DType::kFloat64, {1, 2, 3});
  const auto result = CompareBudget(got.view(), want.view(), {});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->verdict, Verdict::kFailShape);
  EXPECT_EQ(result->numel, 3);
}

TEST(CompareBudgetShapeTest, EmptyProvesNothing) {
  EXPECT_EQ(MustCompare<float>(DType::kFloat32, {}, {}, Pointwise(2)).verdict,
            Verdict::kUntrustedEmpty);
}

TEST(CompareBudgetErrorsTest, OtherDtypes) {
  const auto f32 = Vector<float>(DType::kFloat32, {1});
  const auto f64 = Vector<double>(DType::kFloat64, {1});
  const auto i64 = Vector<int64_t>(DType::kInt64, {1});
  const auto c64 = Vector<C64>(DType::kComplex64, {{1, 0}});
  const auto status = [](const ArrayView& got, const ArrayView& want) {
    return CompareBudget(got, want, {}).status();
  };
  EXPECT_THAT(status(f32.view(), f32.view()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("give want as torch.float64")));
  EXPECT_THAT(status(i64.view(), i64.view()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("exactly with Compare()")));
  EXPECT_THAT(status(i64.view(), f64.view()),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(status(c64.view(), f64.view()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("torch.complex128")));
}

TEST(CompareBudgetErrorsTest, BadMembers) {
  const auto f64 = Vector<double>(DType::kFloat64, {1});
  const std::vector<std::pair<std::string, double Budget::*>> members = {
      {"h is", &Budget::h},
      {"unit_roundoff is", &Budget::unit_roundoff},
      {"a is", &Budget::a},
      {"b is", &Budget::b},
      {"l is", &Budget::l},
      {"n is", &Budget::n},
      {"constant is", &Budget::constant},
      {"overflow_margin is", &Budget::overflow_margin}};
  for (const auto& [name, member] : members) {
    for (const double bad : {-1.0, kInf, kNan}) {
      Budget budget;
      budget.*member = bad;
      EXPECT_THAT(CompareBudget(f64.view(), f64.view(), budget),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("budget: " + name)));
    }
  }
}

TEST(CompareBudgetErrorsTest, AnOverflowMarginBelowOne) {
  const auto f64 = Vector<double>(DType::kFloat64, {1});
  for (const double bad : {0.0, 0.5, 1 - 0x1p-53}) {
    EXPECT_THAT(
        CompareBudget(f64.view(), f64.view(), EarlyOverflow(bad)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 1")));
  }
}

TEST(CompareBudgetErrorsTest, BadConditions) {
  const auto want = Vector<double>(DType::kFloat64, {1, 2});
  Budget budget;
  budget.condition = Condition::kArray;
  const auto with = [&](const ArrayView& conditions) {
    budget.conditions = conditions;
    return CompareBudget(want.view(), want.view(), budget).status();
  };
  const auto f32 = Vector<float>(DType::kFloat32, {1, 2});
  EXPECT_THAT(with(f32.view()), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("torch.float64")));
  const auto three = Vector<double>(DType::kFloat64, {1, 2, 3});
  EXPECT_THAT(with(three.view()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sizes")));
  auto expanded = Vector<double>(DType::kFloat64, {1, 2});
  expanded.strides = {0};
  EXPECT_THAT(
      with(expanded.view()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("contiguous")));
  const int64_t two = 2, one = 1;
  EXPECT_THAT(with({nullptr, DType::kFloat64, {&two, 1}, {&one, 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(BudgetTest, FactorGrowsWithTheTerms) {
  EXPECT_EQ(Terms(1, 2, 3, 16).Factor(), kU * (1 + 2 * 4 + 3 * 16));
  EXPECT_EQ(RoundingOnly().Factor(), 0);
}

}  // namespace
}  // namespace flaggems
