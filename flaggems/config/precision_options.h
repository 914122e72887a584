#ifndef FLAGGEMS_CONFIG_PRECISION_OPTIONS_H_
#define FLAGGEMS_CONFIG_PRECISION_OPTIONS_H_

// Every knob of the precision check, with its default and unit. docs/flags.md
// has the same list with flag and environment names.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace flaggems {

enum class LogFormat { kAuto, kText, kJsonLines };

struct PrecisionOptions {
  // A named set of defaults. "original": FlagGems' check.
  std::string profile = "original";

  // Relative tolerance (a ratio) and absolute tolerance (in value units) of
  // |got - want| <= atol + rtol * |want|. Finite, not negative. Calls with
  // float16 or bfloat16 inputs use at least 1e-2 for each.
  double rtol = 1e-4;
  double atol = 1e-5;

  // At most this many calls of each operator are checked. 0: none.
  int64_t max_checks = 10;

  // Calls with a tensor of more elements are skipped (inputs in lists and
  // keywords, and outputs). 0: no limit.
  int64_t max_numel = 1'000'000;

  // Each operator logs one failure and is then no longer checked. false: it
  // goes on being checked and every failure is logged.
  bool log_once = true;

  // The log file. Empty: $HOME/.flaggems/precision.log. Its directory is made
  // (0700), an existing file is kept as <path>.1. In a job of several ranks
  // (torchrun, MPI, Slurm) "precision.log" becomes "precision.rank3.log".
  std::string path;

  // kAuto: JSON lines if the path ends in ".jsonl", else text.
  LogFormat format = LogFormat::kAuto;

  // Also write every logged line to stderr, through glog; sets glog's own
  // logtostderr for the whole program.
  bool log_to_stderr = false;

  // Print a table of all verdicts to stderr when the program ends.
  bool summary_at_exit = true;

  // Further operators never to check, or to check although the skip list has
  // them: names as in `include` ("mm", "add.Tensor", "aten::add.out").
  std::vector<std::string> skip;
  std::vector<std::string> no_skip;

  static PrecisionOptions Original();

  // kInvalidArgument, naming the field, its value and what is allowed.
  absl::Status Validate() const;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CONFIG_PRECISION_OPTIONS_H_
