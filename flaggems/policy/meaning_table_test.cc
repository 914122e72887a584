#include "flaggems/policy/meaning_table.h"

#include <ostream>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

struct NameCase {
  const char* name;  // as torch's dispatcher has it
  Meaning meaning;
};

void PrintTo(const NameCase& c, std::ostream* os) { *os << c.name; }

constexpr NameCase kNames[] = {
    {"aten::max", Meaning::kNone},
    {"aten::max.dim", Meaning::kIndexOfValue},
    {"aten::max.dim_max", Meaning::kIndexOfValue},
    {"aten::max.other", Meaning::kNone},
    {"aten::max.unary_out", Meaning::kNone},
    {"aten::min", Meaning::kNone},
    {"aten::min.dim", Meaning::kIndexOfValue},
    {"aten::min.dim_min", Meaning::kIndexOfValue},
    {"aten::amax", Meaning::kNone},
    {"aten::median", Meaning::kNone},
    {"aten::median.dim", Meaning::kIndexOfValue},
    {"aten::median.dim_values", Meaning::kIndexOfValue},
    {"aten::nanmedian", Meaning::kNone},
    {"aten::nanmedian.dim", Meaning::kIndexOfValue},
    {"aten::nanmedian.dim_values", Meaning::kIndexOfValue},
    {"aten::kthvalue", Meaning::kIndexOfValue},
    {"aten::kthvalue.values", Meaning::kIndexOfValue},
    {"aten::cummax", Meaning::kIndexOfValue},
    {"aten::cummax.out", Meaning::kIndexOfValue},
    {"aten::cummin", Meaning::kIndexOfValue},
    {"aten::cummin.out", Meaning::kIndexOfValue},
    {"aten::cumsum", Meaning::kNone},
    {"aten::argmax", Meaning::kIndexOfExtreme},
    {"aten::argmax.out", Meaning::kIndexOfExtreme},
    {"aten::argmin", Meaning::kIndexOfExtreme},
    {"aten::argmin.out", Meaning::kIndexOfExtreme},
    {"aten::sort", Meaning::kPermutation},
    {"aten::sort.stable", Meaning::kPermutation},
    {"aten::sort.values", Meaning::kPermutation},
    {"aten::sort.values_stable", Meaning::kPermutation},
    {"aten::argsort", Meaning::kPermutation},
    {"aten::argsort.stable", Meaning::kPermutation},
    {"aten::topk", Meaning::kSelection},
    {"aten::topk.values", Meaning::kSelection},
    {"aten::mode", Meaning::kMostFrequent},
    {"aten::mode.values", Meaning::kMostFrequent},
    {"aten::max_pool2d_with_indices", Meaning::kIndexInPlane},
    {"aten::max_pool2d_with_indices.out", Meaning::kIndexInPlane},
    {"aten::max_pool2d_with_indices_backward", Meaning::kNone},
    {"aten::max_pool3d_with_indices", Meaning::kIndexInPlane},
    {"aten::adaptive_max_pool2d", Meaning::kIndexInPlane},
    {"aten::adaptive_max_pool3d", Meaning::kIndexInPlane},
    {"aten::fractional_max_pool2d", Meaning::kIndexInPlane},
    {"aten::fractional_max_pool2d.output", Meaning::kIndexInPlane},
    {"aten::fractional_max_pool3d", Meaning::kIndexInPlane},
    {"aten::scatter.src", Meaning::kAnyWinner},
    {"aten::scatter.src_out", Meaning::kAnyWinner},
    {"aten::scatter.value", Meaning::kAnyWinner},
    {"aten::scatter_.src", Meaning::kAnyWinner},
    {"aten::scatter_.value", Meaning::kAnyWinner},
    {"aten::scatter_add", Meaning::kNone},
    {"aten::scatter_add_", Meaning::kNone},
    {"aten::scatter_reduce.two", Meaning::kNone},
    {"aten::index_put", Meaning::kAnyWinner},
    {"aten::index_put.out", Meaning::kAnyWinner},
    {"aten::index_put_", Meaning::kAnyWinner},
    {"aten::_index_put_impl", Meaning::kAnyWinner},
    {"aten::_index_put_impl_", Meaning::kAnyWinner},
    {"aten::_unsafe_index_put", Meaning::kAnyWinner},
    {"aten::index_copy", Meaning::kAnyWinner},
    {"aten::index_copy_", Meaning::kAnyWinner},
    {"aten::index_copy.out", Meaning::kAnyWinner},
    {"aten::index_add", Meaning::kNone},
    {"aten::put", Meaning::kAnyWinner},
    {"aten::put_", Meaning::kAnyWinner},
    {"aten::_unique", Meaning::kDistinct},
    {"aten::_unique2", Meaning::kDistinct},
    {"aten::_unique2.out", Meaning::kDistinct},
    {"aten::unique_consecutive", Meaning::kNone},
    {"aten::_linalg_eigh", Meaning::kEigen},
    {"aten::_linalg_eigh.eigenvalues", Meaning::kEigen},
    {"aten::linalg_eigh", Meaning::kEigen},
    {"aten::linalg_eigvalsh", Meaning::kNone},
    {"aten::linalg_eig", Meaning::kGeneralEigen},
    {"aten::linalg_eig.out", Meaning::kGeneralEigen},
    {"aten::linalg_eigvals", Meaning::kUnordered},
    {"aten::linalg_eigvals.out", Meaning::kUnordered},
    {"aten::_linalg_eigvals", Meaning::kUnordered},
    {"aten::_linalg_svd", Meaning::kSingular},
    {"aten::_linalg_svd.U", Meaning::kSingular},
    {"aten::linalg_svd", Meaning::kSingular},
    {"aten::linalg_qr", Meaning::kOrthogonalTriangular},
    {"aten::linalg_qr.out", Meaning::kOrthogonalTriangular},
    {"aten::__and__.Tensor", Meaning::kNone},
    {"mine::topk", Meaning::kNone},
};

OpKey Key(absl::string_view name) {
  const absl::StatusOr<OpKey> key = OpKey::Parse(name);
  EXPECT_THAT(key, IsOk());
  return key.value_or(OpKey{});
}

class MeaningOfTest : public testing::TestWithParam<NameCase> {};

TEST_P(MeaningOfTest, IsThatOfItsRow) {
  EXPECT_EQ(MeaningOf(Key(GetParam().name)), GetParam().meaning);
}

INSTANTIATE_TEST_SUITE_P(Names, MeaningOfTest, testing::ValuesIn(kNames),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name) {
                             if (c == ':' || c == '.') c = '_';
                           }
                           return std::to_string(info.index) + name;
                         });

// Which of the names has that pattern.
bool IsReached(absl::string_view pattern) {
  for (const NameCase& c : kNames) {
    const OpKey key = Key(c.name);
    std::string name = key.name;
    if (name.back() == '_') name.pop_back();
    if (name == pattern || name + "." + key.overload == pattern) return true;
  }
  return false;
}

TEST(MeaningRowsTest, EveryRowIsReachedAndSaysWhy) {
  std::set<absl::string_view> patterns;
  for (const MeaningRow& row : MeaningRows()) {
    EXPECT_TRUE(IsReached(row.pattern)) << row.pattern;
    EXPECT_TRUE(patterns.insert(row.pattern).second) << row.pattern;
    EXPECT_NE(row.meaning, Meaning::kNone);
    EXPECT_FALSE(row.why.empty());
  }
}

}  // namespace
}  // namespace flaggems
