// The sums of errors in spacings: what a plain loop over the elements finds,
// however these are divided.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/code_path.h"
#include "flaggems/comparator/compare_budget.h"
#include "flaggems/comparator/compare_range.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/testutil.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void ExpectSums(const PartialComparison& found, const PartialComparison& want) {
  EXPECT_EQ(found.finite_numbers, want.finite_numbers);
  EXPECT_EQ(static_cast<int64_t>(found.ulp_errors),
            static_cast<int64_t>(want.ulp_errors));
  EXPECT_EQ(static_cast<int64_t>(found.ulp_error_squares),
            static_cast<int64_t>(want.ulp_error_squares));
}

void AddPair(double got, double want, const UlpErrorFunction& ulp_error,
             PartialComparison* sums) {
  if (!std::isfinite(got) || !std::isfinite(want)) return;
  ++sums->finite_numbers;
  const int64_t units = ulp_error(got, want);
  sums->ulp_errors += units;
  sums->ulp_error_squares += units * units;
}

enum class Contents { kRounded, kEqual, kMasked, kWild };

struct SumsCase {
  DType dtype;
  Contents contents;
};

std::string NameOf(const SumsCase& c) {
  const char* const names[] = {"Rounded", "Equal", "Masked", "Wild"};
  return std::string(TorchName(c.dtype).substr(sizeof("torch.") - 1)) + "_" +
         names[static_cast<int>(c.contents)];
}

class ErrorSumsTest : public testing::TestWithParam<SumsCase> {};

// Whole and in pieces that cut blocks, by both kinds of instructions.
template <typename CompareFn>
void ExpectInPieces(int64_t n, const PartialComparison& expected,
                    const CompareFn& compare) {
  for (const CodePath path : {CodePath::kBest, CodePath::kBaseline}) {
    ExpectSums(compare(0, n, path), expected);
    PartialComparison joined;
    int64_t size = 1;
    for (int64_t begin = 0; begin < n;) {
      const int64_t end = std::min(n, begin + size);
      joined = Merge(compare(begin, end, path), joined);
      begin = end;
      size = 3 * size + 5;
    }
    ExpectSums(joined, expected);
  }
}

TEST_P(ErrorSumsTest, AreThoseOfAPlainLoop) {
  constexpr int64_t kNumel = 3000;
  std::mt19937_64 random(11);
  VisitElementType(GetParam().dtype, [&](auto tag) {
    constexpr DType kDType = tag.value;
    using E = Element<kDType>;
    using Stored = typename E::Stored;
    if constexpr (std::is_same_v<typename E::Value, double>) {
      std::vector<Stored> got_data;
      std::vector<Stored> same_data;  // for Compare()
      std::vector<double> want_data;
      while (static_cast<int64_t>(got_data.size()) < kNumel) {
        const uint64_t bits = random();
        Stored stored;
        std::memcpy(&stored, &bits, sizeof(stored));
        double x = E::Load(stored);
        double want = x;
        Stored same = stored;
        switch (GetParam().contents) {
          case Contents::kRounded:
            if (!(std::fabs(x) > 0x1p-6 && std::fabs(x) < 0x1p6)) continue;
            want = x * (1 + static_cast<double>(random() % 9) * 0x1p-12);
            break;
          case Contents::kEqual:
            if (!std::isfinite(x)) continue;
            break;
          case Contents::kMasked:
            if (!(std::fabs(x) > 0x1p-6 && std::fabs(x) < 0x1p6) &&
                !std::isinf(x)) {
              continue;
            }
            if (!std::isinf(x)) want = x * (1 + 0x1p-12);
            break;
          case Contents::kWild: {
            const double others[] = {kNan, kInf, 0.0, 1e300, -x, 2 * x};
            want = others[random() % std::size(others)];
            const uint64_t other = random();
            std::memcpy(&same, &other, sizeof(same));
            break;
          }
        }
        got_data.push_back(stored);
        same_data.push_back(same);
        want_data.push_back(want);
      }
      const UlpErrorFunction ulp_error = UlpErrorOf(kDType);
      const auto got = Vector(kDType, got_data);
      {
        const auto want = Vector(DType::kFloat64, want_data);
        PartialComparison expected;
        for (size_t i = 0; i < got_data.size(); ++i) {
          AddPair(E::Load(got_data[i]), want_data[i], ulp_error, &expected);
        }
        Budget budget;
        budget.h = 1e6;
        ExpectInPieces(kNumel, expected, [&](int64_t b, int64_t e, CodePath p) {
          return CompareBudgetRange(got.view(), want.view(), budget, b, e, p);
        });
        ExpectInPieces(kNumel, expected, [&](int64_t b, int64_t e, CodePath p) {
          return CompareRange(got.view(), want.view(), {1, 1}, b, e, p);
        });
      }
      const auto want = Vector(kDType, same_data);
      PartialComparison expected;
      for (size_t i = 0; i < got_data.size(); ++i) {
        AddPair(E::Load(got_data[i]), E::Load(same_data[i]), ulp_error,
                &expected);
      }
      ExpectInPieces(kNumel, expected, [&](int64_t b, int64_t e, CodePath p) {
        return CompareRange(got.view(), want.view(), {0.1, 0}, b, e, p);
      });
    }
  });
}

std::vector<SumsCase> SumsCases() {
  std::vector<SumsCase> cases;
  for (const DType dtype :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
        DType::kFloat8E4M3FN, DType::kFloat8E5M2}) {
    for (const Contents contents : {Contents::kRounded, Contents::kEqual,
                                    Contents::kMasked, Contents::kWild}) {
      // Infinities must turn up among random patterns.
      if (contents == Contents::kMasked && ElementSize(dtype) > 2) continue;
      cases.push_back({dtype, contents});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, ErrorSumsTest, testing::ValuesIn(SumsCases()),
                         [](const auto& info) { return NameOf(info.param); });

// A mask: blocks with infinities that are otherwise quiet.
TEST(ErrorSumsMaskTest, EqualInfinitiesAreNoNumbers) {
  std::vector<float> got(1000, 1.0f + 0x1p-23f);
  std::vector<double> want(1000, 1.0);
  for (size_t i = 0; i < 1000; i += 3) got[i] = want[i] = -kInf;
  const auto g = Vector(DType::kFloat32, got);
  const auto w = Vector(DType::kFloat64, want);
  Budget budget;
  budget.h = 4;
  for (const CodePath path : {CodePath::kBest, CodePath::kBaseline}) {
    const Comparison found =
        Finish(CompareBudgetRange(g.view(), w.view(), budget, 0, 1000, path));
    EXPECT_EQ(found.finite_numbers, 666);
    EXPECT_EQ(found.mean_error_ulps, 1);
    EXPECT_EQ(found.rms_error_ulps, 1);
  }
}

TEST(ErrorSumsComplexTest, EachPartIsANumber) {
  using Complex = StoredOf<DType::kComplex64>;
  const auto got = Vector<Complex>(DType::kComplex64,
                                   {{1.0f + 0x1p-23f, 2.0f}, {1.0f, INFINITY}});
  const auto want = Vector<ComplexValue>(DType::kComplex128,
                                         {{1.0, 2.0 + 0x3p-22}, {1.0, kInf}});
  const Comparison found =
      Finish(CompareBudgetRange(got.view(), want.view(), Budget(), 0, 2));
  EXPECT_EQ(found.finite_numbers, 3);
  EXPECT_EQ(found.mean_error_ulps,
            static_cast<double>((1 - 3) * 1024) / 3 / 1024);
  EXPECT_EQ(found.rms_error_ulps, std::sqrt((1.0 + 9.0) * 0x1p20 / 3) / 1024);
}

TEST(ErrorSumsIntegerTest, HaveNone) {
  const auto got = Vector<int32_t>(DType::kInt32, {1, 2, 3});
  const auto want = Vector<int32_t>(DType::kInt32, {1, 5, 3});
  const Comparison found =
      Finish(CompareRange(got.view(), want.view(), {0, 0}, 0, 3));
  EXPECT_EQ(found.finite_numbers, 0);
  EXPECT_EQ(found.mean_error_ulps, 0);
  EXPECT_EQ(found.rms_error_ulps, 0);
}

}  // namespace
}  // namespace flaggems
