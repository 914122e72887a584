#include "flaggems/sink/file_sink.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/sink/format.h"
#include "flaggems/sink/record_sink.h"
#include "flaggems/sink/testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Of text that ends in a newline; an unfinished last line is the last entry.
std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

mode_t ModeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

CheckRecord RecordOfCall(int64_t call) {
  CheckRecord record = FailureRecord();
  record.call = call;
  return record;
}

std::string CallOnly(const CheckRecord& record) {
  return absl::StrCat("call ", record.call);
}

// Runs `body` in a child process; its exit code, or 128 + signal.
template <typename Body>
int ExitCodeOf(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() {
    SetFixedTimeZone();
    std::string pattern = testing::TempDir() + "/file_sink_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }

  std::string dir_;
};

TEST_F(FileSinkTest, MakesDirectoriesAndWritesLines) {
  const std::string path = dir_ + "/a//b/precision.log";
  const mode_t mask = umask(0);
  const auto sink = OpenFileSink(path, FormatTextLine);
  umask(mask);
  ASSERT_THAT(sink, IsOk());
  EXPECT_EQ(ModeOf(dir_ + "/a"), 0700u);
  EXPECT_EQ(ModeOf(dir_ + "/a/b"), 0700u);
  EXPECT_EQ(ModeOf(path), 0600u);
  EXPECT_EQ(Contents(path), "");
  EXPECT_THAT((*sink)->Send(FailureRecord()), IsOk());
  EXPECT_THAT((*sink)->Send(FailureRecord()), IsOk());
  EXPECT_THAT((*sink)->Flush(), IsOk());
  const std::string line = FormatTextLine(FailureRecord()) + "\n";
  EXPECT_EQ(Contents(path), line + line);
  EXPECT_FALSE(Exists(path + ".1"));
}

TEST_F(FileSinkTest, RelativePathIsInTheCurrentDirectory) {
  EXPECT_EQ(ExitCodeOf([this] {
              if (chdir(dir_.c_str()) != 0) return 1;
              return OpenFileSink("plain.log", CallOnly).ok() &&
                             OpenFileSink("sub/plain.log", CallOnly).ok()
                         ? 0
                         : 2;
            }),
            0);
  EXPECT_TRUE(Exists(dir_ + "/plain.log"));
  EXPECT_TRUE(Exists(dir_ + "/sub/plain.log"));
}

TEST_F(FileSinkTest, KeepsTheExistingFile) {
  const std::string path = dir_ + "/precision.log";
  for (const char* content : {"first", "second", "third"}) {
    ASSERT_THAT(OpenFileSink(path, CallOnly), IsOk());
    EXPECT_EQ(Contents(path), "");
    std::ofstream(path) << content;
  }
  ASSERT_THAT(OpenFileSink(path, CallOnly), IsOk());
  EXPECT_EQ(Contents(path), "");
  EXPECT_EQ(Contents(path + ".1"), "third");
}

TEST_F(FileSinkTest, OpenSinkGoesOnWritingAfterItsFileWasRenamed) {
  const std::string path = dir_ + "/precision.log";
  const auto old_sink = OpenFileSink(path, CallOnly);
  ASSERT_THAT(old_sink, IsOk());
  const auto new_sink = OpenFileSink(path, CallOnly);
  ASSERT_THAT(new_sink, IsOk());
  EXPECT_THAT((*old_sink)->Send(RecordOfCall(1)), IsOk());
  EXPECT_THAT((*new_sink)->Send(RecordOfCall(2)), IsOk());
  EXPECT_EQ(Contents(path + ".1"), "call 1\n");
  EXPECT_EQ(Contents(path), "call 2\n");
}

TEST_F(FileSinkTest, DescriptorIsNotInherited) {
  const auto sink = OpenFileSink(dir_ + "/precision.log", CallOnly);
  ASSERT_THAT(sink, IsOk());
  // A shell lists the descriptors that it inherited.
  const std::string out = dir_ + "/fds";
  ASSERT_EQ(std::system(("ls -l /proc/self/fd > " + out).c_str()), 0);
  EXPECT_FALSE(absl::StrContains(Contents(out), "precision.log"))
      << Contents(out);
}

struct BadPath {
  std::string name;
  std::string path;  // "@" stands for the test's folder
  absl::StatusCode code;
  std::string message;
};

void PrintTo(const BadPath& c, std::ostream* os) { *os << c.path; }

class BadPathTest : public FileSinkTest,
                    public testing::WithParamInterface<BadPath> {};

TEST_P(BadPathTest, IsAnErrorThatNamesThePath) {
  std::ofstream(dir_ + "/file") << "kept";
  ASSERT_EQ(mkdir((dir_ + "/old.1").c_str(), 0700), 0);
  std::ofstream(dir_ + "/old") << "kept";
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("loop", (dir_ + "/loop").c_str()), 0);
  std::string path = GetParam().path;
  if (absl::StartsWith(path, "@")) path = dir_ + path.substr(1);
  EXPECT_THAT(OpenFileSink(path, FormatTextLine),
              StatusIs(GetParam().code, AllOf(HasSubstr(GetParam().message),
                                              HasSubstr("give"))));
  EXPECT_EQ(Contents(dir_ + "/file"), "kept");
  EXPECT_EQ(Contents(dir_ + "/old"), "kept");
}

INSTANTIATE_TEST_SUITE_P(
    Paths, BadPathTest,
    ValuesIn(std::vector<BadPath>{
        {"Empty", "", absl::StatusCode::kInvalidArgument, "is empty"},
        {"Directory", "@", absl::StatusCode::kInvalidArgument, "a directory"},
        {"TrailingSlash", "@/new/", absl::StatusCode::kInvalidArgument,
         "a directory"},
        {"Nul", std::string("@/a\0b", 5), absl::StatusCode::kInvalidArgument,
         "NUL"},
        {"BelowFile", "@/file/a.log", absl::StatusCode::kNotFound,
         "Not a directory"},
        {"DeepBelowFile", "@/file/a/b.log", absl::StatusCode::kNotFound,
         "Not a directory"},
        {"Proc", "/proc/no/such.log", absl::StatusCode::kNotFound,
         "No such file"},
        {"NameTooLong", "@/" + std::string(300, 'x'),
         absl::StatusCode::kInvalidArgument, "too long"},
        {"LinkLoop", "@/loop", absl::StatusCode::kInvalidArgument,
         "symbolic links"},
        {"Pipe", "@/pipe", absl::StatusCode::kInvalidArgument,
         "character device"},
        {"CannotRename", "@/old", absl::StatusCode::kInvalidArgument, "rename"},
        {"FullDevice", "/dev/full", absl::StatusCode::kResourceExhausted,
         "No space left on device"},
    }),
    [](const TestParamInfo<BadPath>& info) { return info.param.name; });

TEST_F(FileSinkTest, UnwritableDirectory) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ASSERT_EQ(mkdir((dir_ + "/locked").c_str(), 0500), 0);
  EXPECT_THAT(OpenFileSink(dir_ + "/locked/a.log", CallOnly),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("/locked/a.log"),
                             HasSubstr("Permission denied"))));
  EXPECT_THAT(OpenFileSink(dir_ + "/locked/sub/a.log", CallOnly),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("Permission denied")));
}

TEST_F(FileSinkTest, NullDeviceIsNotRenamed) {
  const auto sink = OpenFileSink("/dev/null", FormatTextLine);
  ASSERT_THAT(sink, IsOk());
  EXPECT_THAT((*sink)->Send(FailureRecord()), IsOk());
  EXPECT_TRUE(Exists("/dev/null"));
  EXPECT_FALSE(Exists("/dev/null.1"));
}

TEST_F(FileSinkTest, LinesOfManyThreadsStayWhole) {
  const std::string path = dir_ + "/precision.jsonl";
  constexpr int kThreads = 8, kEach = 200;
  {
    const auto sink = OpenFileSink(path, FormatJsonLine);
    ASSERT_THAT(sink, IsOk());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&sink, t] {
        for (int i = 0; i < kEach; ++i) {
          CheckRecord record = RecordOfCall(t * kEach + i);
          record.message = std::string(i, 'x');  // lines of many lengths
          EXPECT_THAT((*sink)->Send(record), IsOk());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::set<int64_t> calls;
  for (const std::string& line : Lines(Contents(path))) {
    ASSERT_TRUE(nlohmann::json::accept(line)) << line;
    calls.insert(nlohmann::json::parse(line)["call"].get<int64_t>());
  }
  EXPECT_EQ(calls.size(), static_cast<size_t>(kThreads * kEach));
}

TEST_F(FileSinkTest, KilledProcessTearsAtMostTheLastLine) {
  const std::string path = dir_ + "/precision.jsonl";
  const pid_t child = fork();
  if (child == 0) {
    const auto sink = OpenFileSink(path, FormatJsonLine);
    if (!sink.ok()) _exit(1);
    for (int64_t call = 0;; ++call) {
      CheckRecord record = RecordOfCall(call);
      record.message = std::string(3000, 'x');
      if (!(*sink)->Send(record).ok()) _exit(2);
    }
  }
  // Kill it in the middle of its work, not before.
  struct stat info;
  while (stat(path.c_str(), &info) != 0 || info.st_size < 300000) {
    ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the child has ended";
    std::this_thread::yield();
  }
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::vector<std::string> lines = Lines(Contents(path));
  ASSERT_GE(lines.size(), 80u);
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    ASSERT_TRUE(nlohmann::json::accept(lines[i])) << i << ": " << lines[i];
  }
}

// What one open and a few Sends say while a file may not grow beyond `limit`.
TEST_F(FileSinkTest, ShortWriteIsReportedAndTheNextLineStartsAfresh) {
  const std::string path = dir_ + "/precision.log";
  const int code = ExitCodeOf([&path] {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    limit.rlim_cur = 10;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const auto sink = OpenFileSink(path, CallOnly);
    if (!sink.ok()) return 3;
    if (!(*sink)->Send(RecordOfCall(1)).ok()) return 4;  // 7 bytes
    // 3 of 7 bytes fit, then none.
    const absl::Status torn = (*sink)->Send(RecordOfCall(2));
    if (torn.code() != absl::StatusCode::kResourceExhausted) return 5;
    if (!absl::StrContains(torn.message(), path)) return 6;
    if (!absl::StrContains(torn.message(), "3 of 7 bytes")) return 7;
    const absl::Status full = (*sink)->Send(RecordOfCall(3));
    if (full.code() != absl::StatusCode::kResourceExhausted) return 8;
    if (!absl::StrContains(full.message(), "File too large")) return 9;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
    if (!(*sink)->Send(RecordOfCall(4)).ok()) return 11;
    if (!(*sink)->Send(RecordOfCall(5)).ok()) return 12;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_THAT(Lines(Contents(path)),
              ElementsAre("call 1", "cal", "call 4", "call 5"));
}

TEST_F(FileSinkTest, NewlineThatEndsATornLineIsWrittenOnce) {
  const std::string path = dir_ + "/precision.log";
  const int code = ExitCodeOf([&path] {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto set = [&limit](rlim_t size) {
      limit.rlim_cur = size;
      return setrlimit(RLIMIT_FSIZE, &limit) == 0;
    };
    if (!set(3)) return 2;
    const auto sink = OpenFileSink(path, CallOnly);
    if (!sink.ok() || (*sink)->Send(RecordOfCall(1)).ok()) return 3;
    if (!set(4)) return 4;  // room for the newline before call 2 alone
    if ((*sink)->Send(RecordOfCall(2)).ok()) return 5;
    if (!set(limit.rlim_max)) return 6;
    return (*sink)->Send(RecordOfCall(3)).ok() ? 0 : 7;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Contents(path), "cal\ncall 3\n");
}

TEST_F(FileSinkTest, FullDiskIsFoundWhenOpeningAndWhenSending) {
  constexpr int kCannotMount = 77;
  const int code = ExitCodeOf([this] {
    // A small disk of this process alone; needs user namespaces, or root.
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) !=
            0 ||
        mount("none", dir_.c_str(), "tmpfs", 0, "size=64k") != 0) {
      return kCannotMount;
    }
    const std::string path = dir_ + "/precision.log";
    const auto sink = OpenFileSink(path, FormatJsonLine);
    if (!sink.ok()) return 1;
    absl::Status status;
    int sent = 0;
    for (; status.ok() && sent < 1000; ++sent) {
      status = (*sink)->Send(FailureRecord());
    }
    if (status.code() != absl::StatusCode::kResourceExhausted) return 2;
    if (sent < 10) return 3;
    const auto second = OpenFileSink(dir_ + "/second.log", FormatJsonLine);
    if (second.status().code() != absl::StatusCode::kResourceExhausted) {
      return 4;
    }
    if (!absl::StrContains(second.status().message(), "No space left")) {
      return 5;
    }
    // An open that fails leaves the logs that are there as they are.
    const std::string before = Contents(path);
    if (OpenFileSink(path, FormatJsonLine).ok()) return 9;
    if (OpenFileSink(path, FormatJsonLine).ok()) return 10;
    if (before.empty() || Contents(path) != before) return 11;
    if (access((path + ".1").c_str(), F_OK) == 0) return 12;
    if (access((dir_ + "/second.log").c_str(), F_OK) == 0) return 13;
    // With room again, the log goes on after the torn line.
    if (truncate(path.c_str(), 20) != 0) return 6;
    if (!(*sink)->Send(FailureRecord()).ok()) return 7;
    const std::vector<std::string> lines = Lines(Contents(path));
    if (lines.size() != 2 || !nlohmann::json::accept(lines[1])) return 8;
    return 0;
  });
  if (code == kCannotMount) GTEST_SKIP() << "no right to mount a small disk";
  EXPECT_EQ(code, 0);
}

TEST_F(FileSinkTest, FormatterWithoutMemoryIsAnError) {
  const auto sink = OpenFileSink(
      dir_ + "/precision.log",
      [](const CheckRecord&) -> std::string { throw std::bad_alloc(); });
  ASSERT_THAT(sink, IsOk());
  EXPECT_THAT((*sink)->Send(FailureRecord()),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

struct RankCase {
  std::string name;
  std::string path;
  std::string want;
};

void PrintTo(const RankCase& c, std::ostream* os) { *os << c.path; }

class PathOfRankTest : public TestWithParam<RankCase> {};

TEST_P(PathOfRankTest, PutsTheRankBeforeTheExtension) {
  EXPECT_EQ(PathOfRank(GetParam().path, 3), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Paths, PathOfRankTest,
    ValuesIn(std::vector<RankCase>{
        {"Empty", "", ""},
        {"DotInFolder", "a.b/log", "a.b/log.rank3"},
        {"Hidden", "a/.log", "a/.log.rank3"},
        {"Parent", "../log", "../log.rank3"},
        {"TwoExtensions", "a/x.json.gz", "a/x.json.rank3.gz"},
        {"Folder", "a/precision.log", "a/precision.rank3.log"},
        {"NoFolder", "precision.log", "precision.rank3.log"},
        {"NoExtension", "precision", "precision.rank3"},
    }),
    [](const TestParamInfo<RankCase>& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
