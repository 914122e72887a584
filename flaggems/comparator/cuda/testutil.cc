#include "flaggems/comparator/cuda/testutil.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "flaggems/comparator/element.h"
#include "flaggems/comparator/testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<PairLayout> SmallLayouts() {
  return {
      {"NoElements", {0}, {}, {}},
      {"NoElementsOfThreeDims", {3, 0, 2}, {}, {}},
      {"NoDims", {}, {}, {}},
      {"One", {1}, {}, {}},
      {"Odd", {2051}, {}, {}},
      {"FullTiles", {3, 4096}, {}, {}},
      {"NotAligned", {5000}, {}, {}, 1},
      {"GotStrided", {50, 41}, {97, 2}, {}},
      {"WantStrided", {50, 41}, {}, {97, 2}},
      {"GotExpanded", {30, 70}, {0, 1}, {}},
      {"WantExpanded", {30, 70}, {}, {1, 0}},
      {"Transposed", {65, 33}, {1, 65}, {1, 65}},
      {"BothPermuted", {7, 1, 65, 12}, {12, 5, 84, 1}, {12, 3, 84, 1}},
      {"BothPermutedWithGaps", {7, 65, 12}, {13, 91, 1}, {13, 91, 1}},
      {"TransposedAgainstRows", {65, 33}, {1, 65}, {}},
      {"Reversed", {2100}, {-1}, {}, 2099},
      {"FiveDims",
       {3, 4, 5, 6, 7},
       {1, 3 * 7, 3 * 7 * 4, 3 * 7 * 4 * 5, 3},
       {840, 210, 42, 7, 1}},
      {"EightDims",
       {2, 3, 2, 3, 2, 3, 2, 3},
       {1, 2, 6, 12, 36, 72, 216, 432},
       {648, 216, 108, 36, 18, 6, 3, 1}},
      {"OnesBetween", {40, 1, 60, 1}, {120, 7, 2, 9}, {60, 3, 1, 5}},
  };
}

// 1e6 + 3 elements, and more tiles than a device has warps at a time.
PairLayout Large() { return {"Large", {1000003}, {}, {}}; }
PairLayout LargeNotAligned() {
  return {"LargeNotAligned", {1000003}, {}, {}, 2};
}
PairLayout LargeStrided() {
  return {"LargeStrided", {1009, 997}, {1, 1009}, {}};
}

PairLayout LargeTransposed() {
  return {"LargeTransposed", {1009, 997}, {1, 1009}, {1, 1009}};
}

const DType kReals[] = {
    DType::kFloat16,        DType::kBFloat16,       DType::kFloat32,
    DType::kFloat64,        DType::kFloat8E4M3FN,   DType::kFloat8E5M2,
    DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0FNU};
const DType kIntegers[] = {DType::kBool,   DType::kUInt8,  DType::kInt8,
                           DType::kInt16,  DType::kInt32,  DType::kInt64,
                           DType::kUInt16, DType::kUInt32, DType::kUInt64};

std::vector<int64_t> StridesOf(const std::vector<int64_t>& strides,
                               const std::vector<int64_t>& sizes) {
  return strides.empty() ? RowMajorStrides(sizes) : strides;
}

int64_t Numel(const PairLayout& layout) {
  int64_t n = 1;
  for (const int64_t size : layout.sizes) n *= size;
  return n;
}

// Elements from the first of the memory to the last of the array.
int64_t Extent(const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& strides, int64_t first) {
  int64_t last = first;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] > 0) last += strides[d] * std::max<int64_t>(sizes[d] - 1, 0);
  }
  return last + 1;
}

int64_t OffsetAt(const std::vector<int64_t>& sizes,
                 const std::vector<int64_t>& strides, int64_t position) {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    offset += position % sizes[d] * strides[d];
    position /= sizes[d];
  }
  return offset;
}

// What a pair holds where got is `x`.
double WantFor(double x, Contents contents, std::mt19937_64& random) {
  const auto close = [&] {
    return x * (1 + static_cast<double>(random() % 5) * 0x1p-13 - 0x1p-12);
  };
  switch (contents) {
    case Contents::kEqual:
    case Contents::kAllNan:
      return x;
    case Contents::kClose:
      return close();
    case Contents::kMismatches:
      return random() % 100 == 0 ? x * 1.25 + 1 : close();
    case Contents::kSpecial:
      break;
  }
  const double specials[] = {kNan,   kInf,      -kInf,      0.0,       -0.0,
                             5e-324, 0x1p-1022, -0x1p-130,  0x1.8p-15, 65519,
                             65520,  -70000,    0x1.ffp127, 0x1p127,   4e38,
                             -1e300, 1.7e308,   0x1p-200,   448,       480};
  switch (random() % 8) {
    case 0:
      return specials[random() % std::size(specials)];
    case 1:
      return -x;
    case 2:
      return close();
    case 3:
      return x * 2;
    default:
      return x;
  }
}

// A stored real whose value suits the contents.
template <typename E>
typename E::Stored RealFor(Contents contents, std::mt19937_64& random) {
  using Stored = typename E::Stored;
  if constexpr (sizeof(Stored) >= 4) {
    if (contents != Contents::kSpecial) {
      if (contents == Contents::kAllNan) return static_cast<Stored>(kNan);
      return static_cast<Stored>(
          std::ldexp(static_cast<double>(random() >> 11), -50) - 4);
    }
  }
  for (int tries = 0;; ++tries) {
    const uint64_t bits = random();
    Stored stored;
    std::memcpy(&stored, &bits, sizeof(stored));
    const double x = E::Load(stored);
    if (contents == Contents::kSpecial) return stored;
    if (contents == Contents::kAllNan) {
      if (std::isnan(x)) return stored;
    } else if (std::fabs(x) > 0x1p-6 && std::fabs(x) < 0x1p6) {
      return stored;
    }
    if (tries == 1000000) return stored;
  }
}

}  // namespace

std::string NameOf(const PairCase& c) {
  std::string name(TorchName(c.got).substr(sizeof("torch.") - 1));
  return name + "_" + c.layout.name;
}

void PrintTo(const PairCase& c, std::ostream* os) { *os << NameOf(c); }

std::vector<PairCase> BudgetCases() {
  std::vector<PairCase> cases;
  for (const DType dtype : kReals) {
    for (const PairLayout& layout : SmallLayouts()) {
      cases.push_back({dtype, DType::kFloat64, layout});
    }
  }
  for (const DType dtype :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    cases.push_back({dtype, DType::kFloat64, Large()});
  }
  cases.push_back({DType::kBFloat16, DType::kFloat64, LargeNotAligned()});
  cases.push_back({DType::kFloat16, DType::kFloat64, LargeStrided()});
  cases.push_back({DType::kFloat32, DType::kFloat64, LargeTransposed()});
  cases.push_back({DType::kBFloat16, DType::kFloat64, LargeTransposed()});
  return cases;
}

std::vector<PairCase> ExactCases() {
  std::vector<PairCase> cases;
  for (const DType dtype : kReals) {
    for (const PairLayout& layout : SmallLayouts()) {
      cases.push_back({dtype, dtype, layout});
    }
  }
  for (const DType dtype : kIntegers) {
    for (const PairLayout& layout : SmallLayouts()) {
      cases.push_back({dtype, dtype, layout});
    }
  }
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool}) {
    cases.push_back({dtype, dtype, Large()});
  }
  cases.push_back({DType::kInt32, DType::kInt32, LargeStrided()});
  return cases;
}

std::vector<Contents> ContentsFor(const PairCase& c) {
  if (!IsFloating(c.got)) {
    return {Contents::kEqual, Contents::kMismatches, Contents::kClose};
  }
  if (Numel(c.layout) > 100000) return {Contents::kClose, Contents::kSpecial};
  return {Contents::kEqual, Contents::kClose, Contents::kMismatches,
          Contents::kSpecial, Contents::kAllNan};
}

ArrayPair::ArrayPair(const PairCase& c, Contents contents) : case_(c) {
  PairLayout& layout = case_.layout;
  layout.got_strides = StridesOf(layout.got_strides, layout.sizes);
  layout.want_strides = StridesOf(layout.want_strides, layout.sizes);
  std::mt19937_64 random(static_cast<uint64_t>(contents) + 10);
  const int64_t got_size =
      Extent(layout.sizes, layout.got_strides, layout.first);
  const int64_t want_size =
      Extent(layout.sizes, layout.want_strides, layout.first);
  got_bytes.resize(static_cast<size_t>(got_size) * ElementSize(c.got));
  want_bytes.resize(static_cast<size_t>(want_size) * ElementSize(c.want));
  const int64_t numel = Numel(layout);
  VisitElementType(c.got, [&](auto tag) {
    using E = Element<tag.value>;
    using Stored = typename E::Stored;
    if constexpr (std::is_same_v<typename E::Value, ComplexValue>) {
      ADD_FAILURE() << "no complex case";
    } else {
      auto* got = reinterpret_cast<Stored*>(got_bytes.data());
      for (int64_t i = 0; i < got_size; ++i) {
        if constexpr (std::is_same_v<typename E::Value, double>) {
          got[i] = RealFor<E>(contents, random);
        } else {
          got[i] = static_cast<Stored>(random() % 3 == 0 ? 0 : random());
        }
      }
      for (int64_t i = 0; i < numel; ++i) {
        const Stored g =
            got[layout.first + OffsetAt(layout.sizes, layout.got_strides, i)];
        const int64_t at =
            layout.first + OffsetAt(layout.sizes, layout.want_strides, i);
        if (c.want == DType::kFloat64) {
          reinterpret_cast<double*>(want_bytes.data())[at] =
              WantFor(static_cast<double>(E::Load(g)), contents, random);
          continue;
        }
        Stored w = g;
        const uint64_t one_in = contents == Contents::kClose ? 1 : 50;
        if (contents != Contents::kEqual && random() % one_in == 0) {
          const uint64_t bits = random();
          std::memcpy(&w, &bits, sizeof(w));
        }
        reinterpret_cast<Stored*>(want_bytes.data())[at] = w;
      }
    }
  });
}

ArrayView ArrayPair::GotAt(const void* bytes) const {
  return {static_cast<const char*>(bytes) +
              case_.layout.first * static_cast<int64_t>(ElementSize(case_.got)),
          case_.got, case_.layout.sizes, case_.layout.got_strides};
}

ArrayView ArrayPair::WantAt(const void* bytes) const {
  return {
      static_cast<const char*>(bytes) +
          case_.layout.first * static_cast<int64_t>(ElementSize(case_.want)),
      case_.want, case_.layout.sizes, case_.layout.want_strides};
}

bool ArrayPair::got_nonzero() const {
  bool nonzero = false;
  VisitElementType(case_.got, [&](auto tag) {
    using E = Element<tag.value>;
    if constexpr (!std::is_same_v<typename E::Value, ComplexValue>) {
      const auto* data = static_cast<const typename E::Stored*>(got().data);
      for (int64_t i = 0; i < Numel(case_.layout); ++i) {
        nonzero |= E::Load(data[OffsetAt(case_.layout.sizes,
                                         case_.layout.got_strides, i)]) != 0;
      }
    }
  });
  return nonzero;
}

std::vector<NamedBudget> BudgetsFor(const PairCase& c,
                                    ConditionArray* conditions) {
  std::mt19937_64 random(7);
  conditions->data.clear();
  for (int64_t i = 0; i < Numel(c.layout); ++i) {
    switch (random() % 64) {
      case 0:
        conditions->data.push_back(kNan);
        break;
      case 1:
        conditions->data.push_back(kInf);
        break;
      case 2:
        conditions->data.push_back(-1);
        break;
      default:
        conditions->data.push_back(static_cast<double>(random() % 8));
    }
  }
  Budget base;
  base.unit_roundoff = 0x1p-14;
  base.a = 3;
  base.b = 1;
  base.n = 100;
  std::vector<NamedBudget> budgets = {{"none", Budget()}};
  budgets.push_back({"reference", base});
  budgets.back().budget.condition = Budget::Condition::kReference;
  budgets.back().budget.overflow_margin = 2;
  budgets.push_back({"constant", base});
  budgets.back().budget.condition = Budget::Condition::kConstant;
  budgets.back().budget.constant = 0.7;
  budgets.back().budget.flush_subnormals = false;
  budgets.push_back({"array", base});
  budgets.back().budget.condition = Budget::Condition::kArray;
  conditions->strides = RowMajorStrides(c.layout.sizes);
  budgets.back().budget.conditions = {conditions->data.data(), DType::kFloat64,
                                      c.layout.sizes, conditions->strides};
  return budgets;
}

void ExpectSame(const DeviceComparison& got, const PartialComparison& want,
                bool want_nonzero) {
  const PartialComparison& partial = got.partial;
  EXPECT_EQ(partial.numel, want.numel);
  EXPECT_EQ(partial.value_mismatches, want.value_mismatches);
  EXPECT_EQ(partial.special_mismatches, want.special_mismatches);
  EXPECT_EQ(partial.want_nans, want.want_nans);
  EXPECT_EQ(partial.nan_mismatch, want.nan_mismatch);
  // Never NaN or -0: equal numbers are equal bits.
  EXPECT_EQ(partial.max_abs_diff, want.max_abs_diff);
  EXPECT_EQ(partial.max_rel_diff, want.max_rel_diff);
  EXPECT_EQ(partial.score, want.score);
  EXPECT_EQ(partial.worst_score, want.worst_score);
  EXPECT_EQ(partial.first_special, want.first_special);
  EXPECT_EQ(partial.flushed, want.flushed);
  EXPECT_EQ(partial.finite_numbers, want.finite_numbers);
  EXPECT_TRUE(partial.ulp_errors == want.ulp_errors);
  EXPECT_TRUE(partial.ulp_error_squares == want.ulp_error_squares);
  EXPECT_EQ(got.got_nonzero, want_nonzero ? 1 : 0);
}

}  // namespace flaggems
