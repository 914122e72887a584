#include "flaggems/core/op_key.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "flaggems/core/status_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

struct GoodCase {
  std::string name;
  std::string text;
  OpKey key;
  std::string full;         // ToString()
  std::string short_name;   // ShortName()
  std::string unqualified;  // Unqualified()
};

void PrintTo(const GoodCase& c, std::ostream* os) { *os << c.text; }

class OpKeyParseTest : public TestWithParam<GoodCase> {};

TEST_P(OpKeyParseTest, GivesKeyThatPrintsInThreeForms) {
  const GoodCase& c = GetParam();
  ASSERT_THAT(OpKey::Parse(c.text), IsOkAndHolds(c.key));
  EXPECT_EQ(c.key.ToString(), c.full);
  EXPECT_EQ(c.key.ShortName(), c.short_name);
  EXPECT_EQ(c.key.Unqualified(), c.unqualified);
  EXPECT_THAT(OpKey::Parse(c.full), IsOkAndHolds(c.key));
}

INSTANTIATE_TEST_SUITE_P(
    Names, OpKeyParseTest,
    ValuesIn(std::vector<GoodCase>{
        {"PrivateName",
         "_softmax",
         {"aten", "_softmax", ""},
         "aten::_softmax",
         "_softmax",
         "_softmax"},
        {"Bare", "mm", {"aten", "mm", ""}, "aten::mm", "mm", "mm"},
        {"BareOverload",
         "add.Tensor",
         {"aten", "add", "Tensor"},
         "aten::add.Tensor",
         "add.Tensor",
         "add.Tensor"},
        {"Qualified",
         "aten::relu_",
         {"aten", "relu_", ""},
         "aten::relu_",
         "relu_",
         "relu_"},
        {"QualifiedOverload",
         "aten::add.out",
         {"aten", "add", "out"},
         "aten::add.out",
         "add.out",
         "add.out"},
        {"OtherNamespace",
         "my::op.x",
         {"my", "op", "x"},
         "my::op.x",
         "my::op.x",
         "op.x"},
        {"SpacesAround",
         " \taten::mm\n",
         {"aten", "mm", ""},
         "aten::mm",
         "mm",
         "mm"},
    }),
    [](const TestParamInfo<GoodCase>& info) { return info.param.name; });

struct BadCase {
  std::string name;
  std::string text;
  std::string message;
};

void PrintTo(const BadCase& c, std::ostream* os) { *os << c.text; }

class OpKeyParseErrorTest : public TestWithParam<BadCase> {};

TEST_P(OpKeyParseErrorTest, NamesTextAndReason) {
  EXPECT_THAT(OpKey::Parse(GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"" + GetParam().text + "\""),
                             HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(Names, OpKeyParseErrorTest,
                         ValuesIn(std::vector<BadCase>{
                             {"Empty", "", "the name is empty"},
                             {"OnlyNamespace", "aten::", "the name is empty"},
                             {"OnlyOverload", ".Tensor", "the name is empty"},
                             {"NoNamespace", "::add", "nothing stands before"},
                             {"NoOverload", "add.", "nothing follows"},
                             {"Space", "add Tensor", "a space"},
                             {"Newline", "add\nmm", "a space"},
                         }),
                         [](const TestParamInfo<BadCase>& info) {
                           return info.param.name;
                         });

TEST(OpKeyTest, OrderIsByNamespaceNameOverload) {
  const OpKey a{"aten", "add", "Scalar"}, b{"aten", "add", "Tensor"},
      c{"aten", "mm", ""}, d{"my", "add", ""};
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  EXPECT_LT(c, d);
  EXPECT_FALSE(d < a);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, (OpKey{"aten", "add", "Scalar"}));
}

TEST(OpKeyTest, HashTellsWhereNameEnds) {
  // The same letters, cut in other places.
  const absl::flat_hash_set<OpKey> keys = {
      {"aten", "add", "T"}, {"aten", "addT", ""}, {"atenadd", "", "T"}};
  EXPECT_EQ(keys.size(), 3u);
  EXPECT_TRUE(keys.contains(OpKey{"aten", "addT", ""}));
  EXPECT_FALSE(keys.contains(OpKey{"aten", "", "addT"}));
}

}  // namespace
}  // namespace flaggems
