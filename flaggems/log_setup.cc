#include "flaggems/log_setup.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flaggems/core/env.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/sink/file_sink.h"
#include "flaggems/sink/format.h"
#include "flaggems/sink/glog_sink.h"
#include "flaggems/sink/tee_sink.h"

namespace flaggems {
namespace {

// Launchers and the variables that hold a process's number and how many there
// are. Slurm sets its pair in jobs of one process too; a world of one is none.
constexpr struct {
  const char* rank;
  const char* world_size;
} kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},                            // torchrun
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI
    {"PMI_RANK", "PMI_SIZE"},                          // MPICH, Intel MPI
    {"SLURM_PROCID", "SLURM_NTASKS"},                  // srun
};

std::optional<int> IntFromEnv(const char* name) {
  const std::optional<std::string> text = GetEnv(name);
  int value = 0;
  if (!text || !absl::SimpleAtoi(*text, &value) || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<int> JobRank() {
  for (const auto& launcher : kLaunchers) {
    const std::optional<int> rank = IntFromEnv(launcher.rank);
    const std::optional<int> world_size = IntFromEnv(launcher.world_size);
    if (rank && world_size.value_or(2) > 1) return rank;
  }
  return std::nullopt;
}

absl::StatusOr<std::string> LogPath(const PrecisionOptions& options,
                                    std::optional<int> rank) {
  std::string path = options.path;
  if (path.empty()) {
    const std::optional<std::string> home = GetEnv("HOME");
    if (!home || home->empty()) {
      return absl::FailedPreconditionError(
          "no log path is given and HOME is not set; set the option path");
    }
    path = absl::StrCat(*home, "/.flaggems/precision.log");
  }
  return rank ? PathOfRank(path, *rank) : path;
}

absl::StatusOr<std::unique_ptr<RecordSink>> OpenLog(
    const PrecisionOptions& options, std::optional<int> rank) {
  FG_ASSIGN_OR_RETURN(const std::string path, LogPath(options, rank));
  const bool json =
      options.format == LogFormat::kJsonLines ||
      (options.format == LogFormat::kAuto && absl::EndsWith(path, ".jsonl"));
  FG_ASSIGN_OR_RETURN(
      std::unique_ptr<RecordSink> file,
      OpenFileSink(path, json ? FormatJsonLine : FormatTextLine));
  if (!options.log_to_stderr) return file;
  std::vector<std::unique_ptr<RecordSink>> sinks;
  sinks.push_back(std::move(file));
  sinks.push_back(std::make_unique<GlogSink>());
  return std::make_unique<TeeSink>(std::move(sinks));
}

}  // namespace flaggems
