#include "flaggems/comparator/compare.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "flaggems/comparator/code_path.h"
#include "flaggems/comparator/compare_range.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/parallel_for.h"
#include "flaggems/comparator/testutil.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/core/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = DBL_MAX;

// Bit for bit, but any NaN equals any.
bool Same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

testing::AssertionResult SameComparison(const Comparison& a,
                                        const Comparison& b) {
  const auto text = [](const Comparison& c) {
    std::string out;
    for (double value :
         {static_cast<double>(c.verdict), static_cast<double>(c.numel),
          static_cast<double>(c.value_mismatches),
          static_cast<double>(c.special_mismatches),
          static_cast<double>(c.want_nans), c.max_abs_diff, c.max_rel_diff,
          c.score, static_cast<double>(c.worst)}) {
      char buffer[40];
      snprintf(buffer, sizeof(buffer), "%.17g ", value);
      out += buffer;
    }
    return out;
  };
  if (a.verdict == b.verdict && a.numel == b.numel &&
      a.value_mismatches == b.value_mismatches &&
      a.special_mismatches == b.special_mismatches &&
      a.want_nans == b.want_nans && Same(a.max_abs_diff, b.max_abs_diff) &&
      Same(a.max_rel_diff, b.max_rel_diff) && Same(a.score, b.score) &&
      a.worst == b.worst) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << text(a) << "is not " << text(b);
}

// ---- One row a rule, in float64, where every expected number is exact.

struct Case {
  std::string name;
  std::vector<double> got;
  std::vector<double> want;
  Tolerance tolerance;
  Comparison expected;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

Comparison Expect(Verdict verdict, int64_t values, int64_t specials,
                  int64_t nans, double abs, double rel, double score,
                  int64_t worst) {
  Comparison c;
  c.verdict = verdict;
  c.value_mismatches = values;
  c.special_mismatches = specials;
  c.want_nans = nans;
  c.max_abs_diff = abs;
  c.max_rel_diff = rel;
  c.score = score;
  c.worst = worst;
  return c;
}

class CompareTest : public testing::TestWithParam<Case> {};

TEST_P(CompareTest, GivesTheExpectedComparison) {
  const Case& c = GetParam();
  const auto got = Vector(DType::kFloat64, c.got);
  const auto want = Vector(DType::kFloat64, c.want);
  Comparison expected = c.expected;
  expected.numel = static_cast<int64_t>(c.want.size());
  const auto result = Compare(got.view(), want.view(), c.tolerance);
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(SameComparison(*result, expected));
}

// 1 + kRelFloor is not 1: the quotient by it, as the definition has it.
double Rel(double diff, double want) { return diff / (want + 1e-12); }

INSTANTIATE_TEST_SUITE_P(
    Rules, CompareTest,
    testing::Values(
        Case{"opposite_infinities",
             {1, kInf},
             {1, -kInf},
             {1, 1},
             Expect(Verdict::kFailSpecial, 0, 1, 0, kInf, kInf, kInf, 1)},
        Case{"nan_against_inf",
             {kNan},
             {kInf},
             {1, 1},
             Expect(Verdict::kFailSpecial, 0, 1, 0, kNan, kNan, kInf, 0)},
        Case{"number_against_inf",
             {0, 5},
             {0, kInf},
             {1, 1},
             Expect(Verdict::kFailSpecial, 0, 1, 0, kInf, kInf, kInf, 1)},
        Case{"inf_against_number",
             {-kInf},
             {-kMax},
             {1, 1},
             Expect(Verdict::kFailSpecial, 0, 1, 0, kInf, kInf, kInf, 0)},
        Case{"number_against_nan",
             {0, 0},
             {0, kNan},
             {1, 1},
             Expect(Verdict::kFailSpecial, 0, 1, 1, kNan, kNan, kInf, 1)},
        Case{"nan_beats_inf_in_max_abs",
             {kInf, kNan},
             {-kInf, 1},
             {1, 1},
             Expect(Verdict::kFailSpecial, 0, 2, 0, kNan, kNan, kInf, 0)},
        Case{"same_specials_agree",
             {kNan, kInf, -kInf, 2},
             {kNan, kInf, -kInf, 2},
             {0, 0},
             Expect(Verdict::kPass, 0, 0, 1, 0, 0, 0, 0)},
        Case{"special_wins_over_earlier_value",
             {9, kNan},
             {1, 1},
             {0, 1},
             Expect(Verdict::kFailSpecial, 1, 1, 0, kNan, kNan, kInf, 1)},
        Case{"reference_all_nan",
             {kNan, kNan},
             {kNan, kNan},
             {0, 0},
             Expect(Verdict::kUntrustedAllNan, 0, 0, 2, 0, 0, 0, 0)},
        Case{"reference_all_nan_but_kernel_not",
             {kNan, 1},
             {kNan, kNan},
             {0, 0},
             Expect(Verdict::kFailSpecial, 0, 1, 2, kNan, kNan, kInf, 1)},
        Case{"empty",
             {},
             {},
             {0, 0},
             Expect(Verdict::kUntrustedEmpty, 0, 0, 0, 0, 0, 0, -1)},
        Case{"zero_signs_do_not_matter",
             {-0.0, 0.0},
             {0.0, -0.0},
             {0, 0},
             Expect(Verdict::kPass, 0, 0, 0, 0, 0, 0, 0)},
        Case{"error_at_the_limit_agrees",
             {1.5},
             {1},
             {0.25, 0.25},
             Expect(Verdict::kPass, 0, 0, 0, 0.5, Rel(0.5, 1), 1, 0)},
        Case{"error_just_above_the_limit",
             {std::nextafter(1.5, 2)},
             {1},
             {0.25, 0.25},
             Expect(Verdict::kFailValue, 1, 0, 0, 0.5 + DBL_EPSILON,
                    Rel(0.5 + DBL_EPSILON, 1), 1 + 2 * DBL_EPSILON, 0)},
        Case{"tolerance_scales_with_want_not_got",
             {2},
             {1},
             {0.75, 0},
             Expect(Verdict::kFailValue, 1, 0, 0, 1, Rel(1, 1), 1 / 0.75, 0)},
        Case{"zero_tolerance_and_error",
             {1, 2},
             {1, 1},
             {0, 0},
             Expect(Verdict::kFailValue, 1, 0, 0, 1, Rel(1, 1), kInf, 1)},
        Case{"rtol_alone_fails_at_want_zero",
             {1e-300},
             {0},
             {0.5, 0},
             Expect(Verdict::kFailValue, 1, 0, 0, 1e-300, 1e-300 / 1e-12, kInf,
                    0)},
        Case{"subnormals_are_numbers",
             {5e-324},
             {1e-323},
             {0, 0},
             Expect(Verdict::kFailValue, 1, 0, 0, 5e-324, 5e-324 / 1e-12, kInf,
                    0)},
        Case{"overflowing_difference_is_a_value_mismatch",
             {-1.7e308},
             {1.7e308},
             {1e300, 0},
             Expect(Verdict::kFailValue, 1, 0, 0, kInf, kInf, kInf, 0)},
        Case{"overflowing_limit",
             {1},
             {kMax},
             {2, kMax},
             Expect(Verdict::kPass, 0, 0, 0, kMax, 1, 0, 0)},
        Case{"first_of_equal_scores",
             {1, 3, 3, 3},
             {1, 1, 5, 1},
             {0, 4},
             Expect(Verdict::kPass, 0, 0, 0, 2, Rel(2, 1), 0.5, 1)},
        Case{"worst_by_score_not_by_error",
             {110, 1.5},
             {100, 1},
             {1, 0},
             Expect(Verdict::kPass, 0, 0, 0, 10, Rel(0.5, 1), 0.5, 1)}),
    [](const auto& info) { return info.param.name; });

// ---- No rounding to float32 decides.

TEST(CompareFloat32Test, DifferenceIsTakenInDouble) {
  // 2^24 + 2 against 1 - 2^-24: the difference rounds up in float32 to
  // 2^24 + 2, more than the limit, which lies between the two.
  const auto got = Vector<float>(DType::kFloat32, {16777218.0f});
  const auto want = Vector<float>(DType::kFloat32, {0.99999994f});
  const auto pass = Compare(got.view(), want.view(), {0, 16777217.00000006});
  ASSERT_THAT(pass, IsOk());
  EXPECT_EQ(pass->verdict, Verdict::kPass);
  EXPECT_EQ(pass->max_abs_diff, 16777218.0 - 0.99999994039535522461);
  const auto fail = Compare(got.view(), want.view(), {0, 16777217.0});
  ASSERT_THAT(fail, IsOk());
  EXPECT_EQ(fail->verdict, Verdict::kFailValue);
}

TEST(CompareFloat32Test, DifferenceMayExceedFloat32) {
  const auto got = Vector<float>(DType::kFloat32, {-FLT_MAX});
  const auto want = Vector<float>(DType::kFloat32, {FLT_MAX});
  const auto result = Compare(got.view(), want.view(), {2, 0});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->verdict, Verdict::kPass);
  EXPECT_EQ(result->max_abs_diff, 2.0 * FLT_MAX);
}

// ---- Integers and bools.

template <typename Stored>
Comparison MustCompare(DType dtype, std::vector<Stored> got,
                       std::vector<Stored> want, Tolerance tolerance = {}) {
  const auto g = Vector(dtype, got);
  const auto w = Vector(dtype, want);
  const auto result = Compare(g.view(), w.view(), tolerance);
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *result : Comparison{};
}

TEST(CompareIntegerTest, BeyondDoublePrecision) {
  const int64_t big = (int64_t{1} << 53) + 1;
  const Comparison c = MustCompare<int64_t>(DType::kInt64, {0, big},
                                            {0, big - 1}, {1e300, 1e300});
  EXPECT_EQ(c.verdict, Verdict::kFailValue);
  EXPECT_EQ(c.value_mismatches, 1);
  EXPECT_EQ(c.max_abs_diff, 1);
  EXPECT_EQ(c.score, kInf);
  EXPECT_EQ(c.worst, 1);
}

TEST(CompareIntegerTest, FarthestInt64s) {
  const Comparison c =
      MustCompare<int64_t>(DType::kInt64, {INT64_MIN}, {INT64_MAX});
  EXPECT_EQ(c.verdict, Verdict::kFailValue);
  EXPECT_EQ(c.max_abs_diff, 18446744073709551615.0);
  EXPECT_EQ(c.max_rel_diff, 18446744073709551615.0 / 9223372036854775807.0);
  const Comparison back =
      MustCompare<int64_t>(DType::kInt64, {INT64_MAX}, {INT64_MIN});
  EXPECT_EQ(back.max_abs_diff, 18446744073709551615.0);
}

TEST(CompareIntegerTest, UInt64AboveInt64) {
  const Comparison c =
      MustCompare<uint64_t>(DType::kUInt64, {UINT64_MAX, 7}, {UINT64_MAX, 5});
  EXPECT_EQ(c.verdict, Verdict::kFailValue);
  EXPECT_EQ(c.max_abs_diff, 2);
  EXPECT_EQ(c.worst, 1);
  EXPECT_EQ(
      MustCompare<uint64_t>(DType::kUInt64, {0}, {UINT64_MAX}).max_abs_diff,
      18446744073709551615.0);
}

TEST(CompareIntegerTest, ToleranceDoesNotApply) {
  EXPECT_EQ(MustCompare<int8_t>(DType::kInt8, {-128}, {-127}, {10, 10}).verdict,
            Verdict::kFailValue);
}

TEST(CompareIntegerTest, FirstOfSeveralMismatchesIsTheWorst) {
  std::vector<int32_t> want(1000, 5), got = want;
  got[777] = 6;
  got[900] = -2000000000;
  const Comparison c = MustCompare<int32_t>(DType::kInt32, got, want);
  EXPECT_EQ(c.value_mismatches, 2);
  EXPECT_EQ(c.worst, 777);
  EXPECT_EQ(c.max_abs_diff, 2000000005.0);
}

TEST(CompareIntegerTest, WiderReferenceIsExact) {
  const auto got = Vector<int32_t>(DType::kInt32, {INT32_MIN, 16777217});
  const auto want = Vector<int64_t>(DType::kInt64, {INT32_MIN, 16777216});
  const auto c = Compare(got.view(), want.view(), {});
  ASSERT_THAT(c, IsOk());
  EXPECT_EQ(c->verdict, Verdict::kFailValue);
  EXPECT_EQ(c->worst, 1);
}

TEST(CompareBoolTest, EveryTrueByteIsTrue) {
  EXPECT_EQ(MustCompare<uint8_t>(DType::kBool, {0, 1, 255}, {0, 1, 1}).verdict,
            Verdict::kPass);
  const Comparison c = MustCompare<uint8_t>(DType::kBool, {0, 255}, {0, 0});
  EXPECT_EQ(c.verdict, Verdict::kFailValue);
  EXPECT_EQ(c.max_abs_diff, 1);
}

// ---- Complex numbers.

struct Complex64 {
  float re, im;
};
struct Complex128 {
  double re, im;
};

TEST(CompareComplexTest, FinitePairsByModulus) {
  // Each part is off by more than atol + rtol * |part|, the modulus is not.
  const Comparison c =
      MustCompare<Complex64>(DType::kComplex64, {{3, 1}}, {{3, 0}}, {0.5, 0});
  EXPECT_EQ(c.verdict, Verdict::kPass);
  EXPECT_EQ(c.max_abs_diff, 1);
  EXPECT_EQ(c.score, 1 / 1.5);
  const Comparison d =
      MustCompare<Complex64>(DType::kComplex64, {{4, 6}}, {{1, 2}}, {0, 4.5});
  EXPECT_EQ(d.verdict, Verdict::kFailValue);
  EXPECT_EQ(d.max_abs_diff, 5);
}

TEST(CompareComplexTest, WrongImaginaryPart) {
  EXPECT_EQ(
      MustCompare<Complex64>(DType::kComplex64, {{1, 2}}, {{1, -2}}).verdict,
      Verdict::kFailValue);
}

TEST(CompareComplexTest, SpecialPartsOneByOne) {
  const auto verdict = [](Complex128 got, Complex128 want) {
    return MustCompare<Complex128>(DType::kComplex128, {got, {0, 0}},
                                   {want, {0, 0}}, {0.1, 0})
        .verdict;
  };
  EXPECT_EQ(verdict({kInf, 1}, {kInf, 1.05}), Verdict::kPass);
  EXPECT_EQ(verdict({kInf, 1}, {kInf, 2}), Verdict::kFailValue);
  EXPECT_EQ(verdict({kInf, 1}, {-kInf, 1}), Verdict::kFailSpecial);
  EXPECT_EQ(verdict({kNan, -kInf}, {kNan, -kInf}), Verdict::kPass);
  EXPECT_EQ(verdict({kNan, 1}, {1, kNan}), Verdict::kFailSpecial);
  EXPECT_EQ(verdict({1, kInf}, {1, 5}), Verdict::kFailSpecial);
}

TEST(CompareComplexTest, OneSpecialElementCountsOnce) {
  const Comparison c = MustCompare<Complex128>(DType::kComplex128,
                                               {{kNan, kInf}}, {{kInf, kNan}});
  EXPECT_EQ(c.special_mismatches, 1);
  EXPECT_EQ(c.want_nans, 1);
  EXPECT_TRUE(std::isnan(c.max_abs_diff));
}

TEST(CompareComplexTest, ModulusDoesNotOverflowOrUnderflowOnTheWay) {
  for (const double scale : {1e200, 1e-200, 1e-310}) {
    const Comparison c = MustCompare<Complex128>(
        DType::kComplex128, {{3 * scale, 4 * scale}}, {{0, 0}}, {0, 0});
    EXPECT_NEAR(c.max_abs_diff / scale, 5, 1e-12);
  }
  // |want| overflows: the limit stays finite, so an infinite error is found.
  const Comparison c =
      MustCompare<Complex128>(DType::kComplex128, {{-1.7e308, -1.7e308}},
                              {{1.7e308, 1.7e308}}, {0.5, 0});
  EXPECT_EQ(c.verdict, Verdict::kFailValue);
  EXPECT_EQ(c.max_abs_diff, kInf);
}

// ---- Pairs of dtypes.

TEST(CompareDTypesTest, SameOrWiderOfTheSameKindOnly) {
  const std::vector<DType> real = {
      DType::kFloat8E4M3FN,   DType::kFloat8E5M2,    DType::kFloat8E4M3FNUZ,
      DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0FNU, DType::kFloat16,
      DType::kBFloat16,       DType::kFloat32,       DType::kFloat64};
  const std::vector<DType> complex = {DType::kComplex32, DType::kComplex64,
                                      DType::kComplex128};
  const std::vector<DType> is_signed = {DType::kInt8, DType::kInt16,
                                        DType::kInt32, DType::kInt64};
  const std::vector<DType> is_unsigned = {DType::kUInt8, DType::kUInt16,
                                          DType::kUInt32, DType::kUInt64};
  const auto in = [](const std::vector<DType>& set, DType dtype) {
    return std::find(set.begin(), set.end(), dtype) != set.end();
  };
  alignas(16) const std::array<char, 16> zeros{};
  for (int g = 0; g < kNumDTypes; ++g) {
    for (int w = 0; w < kNumDTypes; ++w) {
      const DType got = static_cast<DType>(g), want = static_cast<DType>(w);
      const bool wider = ElementSize(want) > ElementSize(got);
      const bool quantised_or_unknown = g >= static_cast<int>(DType::kQInt8);
      const bool comparable =
          (got == want && !quantised_or_unknown) ||
          (wider && ((in(real, got) && in(real, want)) ||
                     (in(complex, got) && in(complex, want)) ||
                     (in(is_signed, got) && in(is_signed, want)) ||
                     (in(is_unsigned, got) &&
                      (in(is_signed, want) || in(is_unsigned, want)))));
      const auto result = Compare({zeros.data(), got, {}, {}},
                                  {zeros.data(), want, {}, {}}, {});
      SCOPED_TRACE(std::string(TorchName(got)) + " with " +
                   std::string(TorchName(want)));
      if (comparable) {
        ASSERT_THAT(result, IsOk());
        // An all-zero E8M0 is 2^-127, less than the default atol.
        EXPECT_EQ(result->verdict, Verdict::kPass);
      } else {
        EXPECT_EQ(result.status().code(), absl::StatusCode::kUnimplemented);
      }
    }
  }
}

TEST(CompareDTypesTest, HalfWithItsWiderReference) {
  // 1 + 2^-10, 65504, the smallest subnormal, NaN, Inf, -Inf.
  const auto got = Vector<uint16_t>(
      DType::kFloat16, {0x3c01, 0x7bff, 0x0001, 0x7e01, 0x7c00, 0xfc00});
  const auto want = Vector<double>(
      DType::kFloat64, {1 + 0x1p-10, 65504, 0x1p-24, kNan, kInf, -kInf});
  const auto same = Compare(got.view(), want.view(), {0, 0});
  ASSERT_THAT(same, IsOk());
  EXPECT_EQ(same->verdict, Verdict::kPass);

  // A half kernel overflows where the reference does not.
  const auto wide =
      Vector<double>(DType::kFloat64, {1, 65504, 0, kNan, 65536, -kInf});
  const auto overflow = Compare(got.view(), wide.view(), {1, 1});
  ASSERT_THAT(overflow, IsOk());
  EXPECT_EQ(overflow->verdict, Verdict::kFailSpecial);
  EXPECT_EQ(overflow->worst, 4);
}

// ---- Errors.

TEST(CompareErrorTest, BadTolerance) {
  const auto a = Vector<float>(DType::kFloat32, {1});
  for (const Tolerance& bad :
       {Tolerance{-1e-9, 0}, Tolerance{0, -1}, Tolerance{kNan, 0},
        Tolerance{0, kNan}, Tolerance{kInf, 0}, Tolerance{0, kInf}}) {
    EXPECT_EQ(Compare(a.view(), a.view(), bad).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(CompareErrorTest, MalformedViews) {
  const float data[4] = {};
  const int64_t two[] = {2}, one[] = {1}, pair[] = {2, 2}, minus[] = {-1},
                huge[] = {int64_t{1} << 40, int64_t{1} << 40},
                zero_strides[] = {0, 0};
  const ArrayView good{data, DType::kFloat32, two, one};
  for (const ArrayView& bad :
       {ArrayView{data, DType::kFloat32, pair, one},
        ArrayView{data, DType::kFloat32, minus, one},
        ArrayView{data, DType::kFloat32, huge, zero_strides},
        ArrayView{nullptr, DType::kFloat32, two, one}}) {
    EXPECT_EQ(Compare(bad, good, {}).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Compare(good, bad, {}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(CompareShapeTest, DifferentShapesAreAVerdict) {
  const float data[6] = {};
  const int64_t a[] = {2, 3}, b[] = {3, 2}, c[] = {6}, s2[] = {1, 1},
                s1[] = {1};
  const ArrayView got{data, DType::kFloat32, a, s2};
  for (const ArrayView& want : {ArrayView{data, DType::kFloat32, b, s2},
                                ArrayView{data, DType::kFloat32, c, s1},
                                ArrayView{data, DType::kFloat32, {}, {}}}) {
    const auto result = Compare(got, want, {});
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->verdict, Verdict::kFailShape);
    EXPECT_EQ(result->worst, -1);
    EXPECT_TRUE(std::isnan(result->max_abs_diff));
    EXPECT_TRUE(std::isnan(result->max_rel_diff));
  }
}

TEST(CompareShapeTest, EmptyShapesMustMatchToo) {
  const int64_t a[] = {0, 3}, b[] = {3, 0}, s[] = {3, 1};
  const ArrayView got{nullptr, DType::kFloat32, a, s};
  EXPECT_EQ(Compare(got, got, {})->verdict, Verdict::kUntrustedEmpty);
  EXPECT_EQ(Compare(got, {nullptr, DType::kFloat32, b, s}, {})->verdict,
            Verdict::kFailShape);
}

// ---- Against the definition, evaluated element by element with no shortcut.

Comparison Oracle(const std::vector<double>& got,
                  const std::vector<double>& want, const Tolerance& tolerance) {
  Comparison c;
  c.numel = static_cast<int64_t>(want.size());
  bool nan_mismatch = false;
  int64_t first_special = -1;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = got[i], w = want[i];
    if (c.worst < 0) c.worst = 0;
    if (std::isnan(w)) ++c.want_nans;
    if (!std::isfinite(g) || !std::isfinite(w)) {
      if ((std::isnan(g) && std::isnan(w)) || g == w) continue;
      ++c.special_mismatches;
      nan_mismatch |= std::isnan(g) || std::isnan(w);
      if (first_special < 0) first_special = static_cast<int64_t>(i);
      continue;
    }
    const double diff = std::abs(g - w);
    const double limit = tolerance.atol + tolerance.rtol * std::abs(w);
    const bool agrees = diff <= limit && !std::isinf(diff);
    if (!agrees) ++c.value_mismatches;
    c.max_abs_diff = std::max(c.max_abs_diff, diff);
    c.max_rel_diff = std::max(c.max_rel_diff, diff / (std::abs(w) + 1e-12));
    const double score = diff == 0 ? 0 : std::isinf(diff) ? kInf : diff / limit;
    if (score > c.score) {
      c.score = score;
      c.worst = static_cast<int64_t>(i);
    }
  }
  if (c.special_mismatches > 0) {
    c.max_abs_diff = c.max_rel_diff = nan_mismatch ? kNan : kInf;
    c.score = kInf;
    c.worst = first_special;
    c.verdict = Verdict::kFailSpecial;
  } else if (c.value_mismatches > 0) {
    c.verdict = Verdict::kFailValue;
  } else if (c.numel == 0) {
    c.verdict = Verdict::kUntrustedEmpty;
  } else if (c.want_nans == c.numel) {
    c.verdict = Verdict::kUntrustedAllNan;
  }
  return c;
}

// Awkward data of several kinds, as float32 values.
class Awkward {
 public:
  explicit Awkward(uint32_t seed) : random_(seed) {}

  uint32_t Next(uint32_t n) { return random_() % n; }

  // kind 0: any bit pattern; 1: small errors; 2: many ties; 3: errors that
  // grow, so that every block raises a maximum; 4: equal with masks; 5: tiny.
  void Fill(int kind, size_t n, std::vector<float>* got,
            std::vector<float>* want) {
    got->resize(n);
    want->resize(n);
    for (size_t i = 0; i < n; ++i) {
      const float unit = static_cast<float>(Next(1 << 20)) * 0x1p-20f;
      float w = (unit - 0.5f) * 8;
      float g = w;
      switch (kind) {
        case 0:
          w = Bits(random_());
          g = Next(2) == 0 ? w : Bits(random_());
          break;
        case 1:
          g = w + w * (static_cast<float>(Next(200)) - 100) * 1e-7f;
          break;
        case 2:
          w = static_cast<float>(Next(3)) - 1;
          g = w + static_cast<float>(Next(3)) * 0.25f;
          break;
        case 3:
          g = w + static_cast<float>(i) * 1e-6f;
          break;
        case 4:
          if (Next(3) == 0) g = w = -std::numeric_limits<float>::infinity();
          if (Next(500) == 0) g = w = std::numeric_limits<float>::quiet_NaN();
          if (Next(2000) == 0) g = std::numeric_limits<float>::quiet_NaN();
          break;
        case 5:
          w = Bits(Next(1 << 24));
          g = Bits(Next(1 << 24));
          break;
      }
      (*got)[i] = g;
      (*want)[i] = w;
    }
  }

  static constexpr int kKinds = 6;

 private:
  static float Bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  std::mt19937 random_;
};

constexpr Tolerance kTolerances[] = {
    {1e-4, 1e-5}, {0, 0}, {1e-6, 0}, {0, 1e-3}, {1e-300, 1e-310}, {3, 1e300}};

template <typename Stored>
std::vector<double> Widen(const std::vector<Stored>& values) {
  return {values.begin(), values.end()};
}

TEST(CompareOracleTest, EveryPathGivesTheDefinition) {
  Awkward awkward(20261129);
  std::vector<float> got, want;
  for (int round = 0; round < 40; ++round) {
    for (int kind = 0; kind < Awkward::kKinds; ++kind) {
      awkward.Fill(kind, awkward.Next(1500), &got, &want);
      const auto g = Vector(DType::kFloat32, got);
      const auto w = Vector(DType::kFloat32, want);
      const auto g64 = Vector(DType::kFloat64, Widen(got));
      const auto w64 = Vector(DType::kFloat64, Widen(want));
      const int64_t n = static_cast<int64_t>(want.size());
      for (const Tolerance& tolerance : kTolerances) {
        SCOPED_TRACE("kind " + std::to_string(kind) + " rtol " +
                     std::to_string(tolerance.rtol));
        const Comparison expected = Oracle(g64.data, w64.data, tolerance);
        const std::pair<ArrayView, ArrayView> pairs[] = {
            {g.view(), w.view()},
            {g.view(), w64.view()},
            {g64.view(), w64.view()}};
        for (const auto& [gv, wv] : pairs) {
          const auto result = Compare(gv, wv, tolerance);
          ASSERT_THAT(result, IsOk());
          ASSERT_TRUE(SameComparison(*result, expected));
          ASSERT_TRUE(
              SameComparison(Finish(CompareRange(gv, wv, tolerance, 0, n,
                                                 CodePath::kBaseline)),
                             expected));
          // Cut somewhere, joined in the other order.
          const int64_t cut = awkward.Next(n + 1);
          ASSERT_TRUE(SameComparison(
              Finish(Merge(CompareRange(gv, wv, tolerance, cut, n),
                           CompareRange(gv, wv, tolerance, 0, cut))),
              expected));
        }
      }
    }
  }
}

TEST(CompareOracleTest, DoublesBeyondFloat32) {
  std::mt19937_64 random(20261129);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> got(300), want(300);
    for (size_t i = 0; i < want.size(); ++i) {
      const uint64_t w = random(), g = random();
      std::memcpy(&want[i], &w, 8);
      std::memcpy(&got[i], &g, 8);
      if (random() % 4 != 0) got[i] = std::nextafter(want[i], got[i]);
    }
    const auto g = Vector(DType::kFloat64, got);
    const auto w = Vector(DType::kFloat64, want);
    for (const Tolerance& tolerance : kTolerances) {
      const auto result = Compare(g.view(), w.view(), tolerance);
      ASSERT_THAT(result, IsOk());
      ASSERT_TRUE(SameComparison(*result, Oracle(got, want, tolerance)));
    }
  }
}

// Each element's ratios exceed the ones before by one or two ulps only, while
// the first element holds the largest absolute error.
TEST(CompareOracleTest, MaximaThatRiseByAnUlp) {
  std::vector<double> got(640), want(640, 1.0);
  want[0] = 1e6;
  got[0] = 1e6 + 1;
  double value = 1.5;
  for (size_t i = 1; i < got.size(); ++i) {
    got[i] = value;
    value = std::nextafter(value, 2.0);
  }
  const Comparison c = MustCompare<double>(DType::kFloat64, got, want, {1, 0});
  EXPECT_TRUE(SameComparison(c, Oracle(got, want, {1, 0})));
  EXPECT_EQ(c.worst, 639);
  EXPECT_EQ(c.max_abs_diff, 1);
}

// Limits of subnormal values round up; the highest score is among them.
TEST(CompareOracleTest, LimitsThatRoundUpToASubnormal) {
  std::vector<double> got(640, 1.0), want(640, 1.0);
  got[0] = 1.675;
  want[500] = 5e-324;
  got[500] = 1e-323;
  const Comparison c =
      MustCompare<double>(DType::kFloat64, got, want, {0.75, 0});
  EXPECT_TRUE(SameComparison(c, Oracle(got, want, {0.75, 0})));
  EXPECT_EQ(c.worst, 500);
  EXPECT_EQ(c.score, 1);
}

// ---- Layouts.

// The elements of `row_major` in memory with another stride order, gaps,
// negative and zero strides; want stays contiguous.
TEST(CompareLayoutTest, StridesDoNotMatter) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 200; ++round) {
    const int rank = static_cast<int>(random() % 6);
    std::vector<int64_t> sizes, order;
    int64_t numel = 1;
    for (int d = 0; d < rank; ++d) {
      sizes.push_back(1 + random() % 5);
      numel *= sizes.back();
      order.push_back(d);
    }
    TestArray<float> want{DType::kFloat32, std::vector<float>(numel), sizes,
                          RowMajorStrides(sizes)};
    for (float& value : want.data) value = static_cast<float>(random() % 100);

    std::shuffle(order.begin(), order.end(), random);
    TestArray<float> got{
        DType::kFloat32, {}, sizes, std::vector<int64_t>(rank)};
    int64_t extent = 1;
    for (int64_t d : order) {
      got.strides[d] = extent * (1 + random() % 2);
      extent = got.strides[d] * sizes[d];
      if (random() % 3 == 0) {
        got.first += got.strides[d] * (sizes[d] - 1);
        got.strides[d] = -got.strides[d];
      }
    }
    got.data.assign(extent + 1, kNan);  // gaps must not be read
    for (int64_t p = 0; p < numel; ++p) {
      int64_t offset = got.first, rest = p;
      for (int d = rank - 1; d >= 0; --d) {
        offset += rest % sizes[d] * got.strides[d];
        rest /= sizes[d];
      }
      got.data[offset] = want.data[p];
    }
    const int64_t wrong = random() % numel;
    want.data[wrong] += 1000;

    for (bool swapped : {false, true}) {
      const auto result = swapped ? Compare(want.view(), got.view(), {})
                                  : Compare(got.view(), want.view(), {});
      ASSERT_THAT(result, IsOk());
      ASSERT_EQ(result->verdict, Verdict::kFailValue);
      ASSERT_EQ(result->value_mismatches, 1);
      ASSERT_EQ(result->worst, wrong);
      ASSERT_EQ(result->max_abs_diff, 1000);
    }
  }
}

TEST(CompareLayoutTest, ExpandedAgainstContiguous) {
  const TestArray<int64_t> got{DType::kInt64, {7, 8}, {2, 700}, {1, 0}};
  TestArray<int64_t> want{DType::kInt64, {}, {2, 700}, {700, 1}};
  want.data.assign(700, 7);
  want.data.insert(want.data.end(), 700, 8);
  EXPECT_EQ(Compare(got.view(), want.view(), {})->verdict, Verdict::kPass);
  want.data[1399] = 9;
  EXPECT_EQ(Compare(got.view(), want.view(), {})->worst, 1399);
}

TEST(CompareLayoutTest, SixtyDimensions) {
  std::vector<int64_t> sizes(60, 1), strides(60, 5);
  sizes[3] = 2;
  strides[3] = -1;
  sizes[57] = 3;
  strides[57] = 2;
  const TestArray<uint8_t> got{
      DType::kUInt8, {1, 0, 3, 2, 5, 4}, sizes, strides, 1};
  const TestArray<uint8_t> want{
      DType::kUInt8, {0, 2, 4, 1, 3, 5}, sizes, RowMajorStrides(sizes)};
  EXPECT_EQ(Compare(got.view(), want.view(), {})->verdict, Verdict::kPass);
}

// ---- Threads.

// Hands tasks to `threads` threads as they ask for them.
class Threads : public ParallelFor {
 public:
  explicit Threads(int threads) : threads_(threads) {}

  void ForEach(int64_t tasks, void (*task)(void*, int64_t),
               void* context) override {
    std::atomic<int64_t> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < threads_; ++t) {
      threads.emplace_back([&] {
        for (int64_t i; (i = next.fetch_add(1)) < tasks;) task(context, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    tasks_ += tasks;
  }

  int64_t tasks() const { return tasks_; }

 private:
  const int threads_;
  int64_t tasks_ = 0;
};

TEST(CompareParallelTest, SameAsSerialToTheBit) {
  Awkward awkward(20261129);
  Threads threads(4);
  std::vector<float> got, want;
  for (int kind = 0; kind < Awkward::kKinds; ++kind) {
    awkward.Fill(kind, kParallelNumel + 12345, &got, &want);
    const auto g = Vector(DType::kFloat32, got);
    const auto w = Vector(DType::kFloat32, want);
    for (const Tolerance& tolerance : kTolerances) {
      const auto serial = Compare(g.view(), w.view(), tolerance);
      const auto parallel = Compare(g.view(), w.view(), tolerance, &threads);
      ASSERT_THAT(serial, IsOk());
      ASSERT_THAT(parallel, IsOk());
      EXPECT_TRUE(SameComparison(*parallel, *serial)) << "kind " << kind;
    }
  }
  EXPECT_GT(threads.tasks(), Awkward::kKinds);
}

TEST(CompareParallelTest, TransposedAndInAnyOrder) {
  class Backwards : public ParallelFor {
   public:
    void ForEach(int64_t tasks, void (*task)(void*, int64_t),
                 void* context) override {
      for (int64_t i = tasks; i-- > 0;) task(context, i);
    }
  };
  const int64_t side = 700;
  TestArray<int32_t> got{DType::kInt32, {}, {side, side}, {1, side}};
  TestArray<int32_t> want{DType::kInt32, {}, {side, side}, {side, 1}};
  for (int64_t i = 0; i < side * side; ++i) {
    want.data.push_back(static_cast<int32_t>(i));
    got.data.push_back(static_cast<int32_t>(i % side * side + i / side));
  }
  Backwards backwards;
  EXPECT_EQ(Compare(got.view(), want.view(), {}, &backwards)->verdict,
            Verdict::kPass);
  want.data[300000] = want.data[400000] = -1;
  const auto result = Compare(got.view(), want.view(), {}, &backwards);
  EXPECT_EQ(result->worst, 300000);
  EXPECT_TRUE(SameComparison(*result, *Compare(got.view(), want.view(), {})));
}

TEST(CompareParallelTest, SmallArraysStayOnTheCaller) {
  Threads threads(2);
  const auto a = Vector<float>(DType::kFloat32, std::vector<float>(1000, 1));
  EXPECT_EQ(Compare(a.view(), a.view(), {}, &threads)->verdict, Verdict::kPass);
  EXPECT_EQ(threads.tasks(), 0);
}

}  // namespace
}  // namespace flaggems
