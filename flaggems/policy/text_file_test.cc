#include "flaggems/policy/text_file.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/status_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string Write(absl::string_view name, absl::string_view content) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(ReadTextFileTest, ReadsAllBytes) {
  std::string content(10'000, 'x');
  content += std::string("\0\r\n\xff", 4);
  EXPECT_THAT(ReadTextFile("f", Write("bytes", content)),
              IsOkAndHolds(content));
  EXPECT_THAT(ReadTextFile("f", Write("empty", "")), IsOkAndHolds(""));
}

TEST(ReadTextFileTest, AFileThatCannotBeReadIsOneErrorWithPathAndCause) {
  const std::string missing = testing::TempDir() + "/no/such/file";
  EXPECT_THAT(ReadTextFile("policy_file", missing),
              StatusIs(absl::StatusCode::kNotFound,
                       "policy_file: cannot read \"" + missing +
                           "\": No such file or directory; name a readable "
                           "file, or none"));
  EXPECT_THAT(ReadTextFile("suppressions", testing::TempDir()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(StartsWith("suppressions: cannot read \""),
                             HasSubstr("Is a directory"))));
  EXPECT_THAT(ReadTextFile("f", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"\"")));
}

TEST(ReadTextFileTest, EndlessFilesAreRefused) {
  EXPECT_THAT(
      ReadTextFile("f", "/dev/zero"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16 MiB")));
}

std::vector<std::string> Lines(absl::string_view text) {
  std::vector<std::string> lines;
  EXPECT_THAT(
      ForEachLine(text, "f",
                  [&](int number, absl::string_view line) {
                    lines.push_back(absl::StrCat(number, "[", line, "]"));
                    return absl::OkStatus();
                  }),
      IsOk());
  return lines;
}

TEST(ForEachLineTest, LinesAreCountedAndCommentsLeftOut) {
  EXPECT_THAT(Lines(""), IsEmpty());
  EXPECT_THAT(Lines("\n \t\n#a\n  # b\n\r\n"), IsEmpty());
  EXPECT_THAT(Lines("a\n#\n\n\tb\t\r\nc # d"),
              ElementsAre("1[a]", "4[\tb\t]", "5[c # d]"));
}

TEST(ForEachLineTest, StopsAtTheFirstErrorAndSaysWhere) {
  int calls = 0;
  EXPECT_THAT(ForEachLine("a\n\nb\nc\n", "dir/f.txt",
                          [&](int, absl::string_view line) {
                            ++calls;
                            return line == "b" ? absl::OutOfRangeError("too b")
                                               : absl::OkStatus();
                          }),
              StatusIs(absl::StatusCode::kOutOfRange, "dir/f.txt:3: too b"));
  EXPECT_EQ(calls, 2);
}

TEST(QuotedTest, IsOneShortLine) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("a b"), "\"a b\"");
  EXPECT_EQ(Quoted(absl::string_view("\0\n\"", 3)), "\"\\x00\\n\\\"\"");
  EXPECT_EQ(Quoted(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(61, 'x')),
            "\"" + std::string(60, 'x') + "...\"");
}

}  // namespace
}  // namespace flaggems
