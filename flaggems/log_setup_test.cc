#include "flaggems/log_setup.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

struct RankCase {
  std::string name;
  std::map<std::string, std::string> environment;
  std::optional<int> rank;
};

void PrintTo(const RankCase& c, std::ostream* os) { *os << c.name; }

class JobRankTest : public testing::TestWithParam<RankCase> {};

TEST_P(JobRankTest, ComesFromTheLauncher) {
  for (const auto& [name, value] : GetParam().environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  EXPECT_EQ(JobRank(), GetParam().rank);
  for (const auto& [name, value] : GetParam().environment) {
    unsetenv(name.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, JobRankTest,
    testing::ValuesIn(std::vector<RankCase>{
        {"None", {}, std::nullopt},
        {"Torchrun", {{"RANK", "2"}, {"WORLD_SIZE", "4"}}, 2},
        {"RankAlone", {{"RANK", "2"}}, 2},
        {"WorldOfOne", {{"RANK", "0"}, {"WORLD_SIZE", "1"}}, std::nullopt},
        {"OpenMpi",
         {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
         1},
        {"Mpich", {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}, 5},
        {"Slurm", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}, 0},
        {"NoNumber", {{"RANK", "first"}, {"WORLD_SIZE", "4"}}, std::nullopt},
        {"Negative", {{"RANK", "-1"}, {"WORLD_SIZE", "4"}}, std::nullopt},
    }),
    [](const auto& info) { return info.param.name; });

TEST(LogPath, IsTheOptionOrInTheHomeDirectory) {
  PrecisionOptions options;
  setenv("HOME", "/home/me", 1);
  EXPECT_THAT(LogPath(options, std::nullopt),
              IsOkAndHolds(std::string("/home/me/.flaggems/precision.log")));
  options.path = "logs/x.jsonl";
  EXPECT_THAT(LogPath(options, 3),
              IsOkAndHolds(std::string("logs/x.rank3.jsonl")));
}

}  // namespace
}  // namespace flaggems
