#ifndef FLAGGEMS_CONFIG_PRECISION_OPTIONS_H_
#define FLAGGEMS_CONFIG_PRECISION_OPTIONS_H_

// Every knob of the precision check, with its default and unit. docs/flags.md
// has the same list with flag and environment names.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/core/throttle.h"

namespace flaggems {

enum class LogFormat { kAuto, kText, kJsonLines };

// How an element is judged.
enum class ToleranceModel {
  kFixed,   // |got - want| <= atol + rtol * |want|
  kBudget,  // by what rounding can explain; docs/tolerance.md
};

// What the reference is computed in.
enum class ReferenceDtype {
  kSame,    // the types of the call
  kDouble,  // float64, where that keeps the meaning of the operator
};

// Where the reference is computed.
enum class ReferencePlace {
  kCpu,     // on the CPU, every call
  kDevice,  // on the call's CUDA device first, see PrecisionOptions::reference
  kAuto,    // where it costs less
};

// What a failure does besides being logged.
enum class OnFailure {
  kLog,         // nothing: the caller gets what the kernel computed
  kSubstitute,  // the caller gets what the reference computed
  kAbort,  // ends the process by std::abort(), for a debugger or a core dump
};

struct PrecisionOptions {
  // A named set of defaults. "original": FlagGems' check. "strict": every call
  // is judged by an error budget against a float64 reference.
  std::string profile = "original";

  // kBudget needs reference_dtype kDouble, kFixed needs kSame.
  ToleranceModel tolerance = ToleranceModel::kFixed;

  // Of the tolerance model kFixed; kBudget does not use them. Relative
  // tolerance (a ratio) and absolute tolerance (in value units) of |got - want|
  // <= atol + rtol * |want|. Finite, not negative. Calls with float16 or
  // bfloat16 inputs use at least 1e-2 for each.
  double rtol = 1e-4;
  double atol = 1e-5;

  ReferenceDtype reference_dtype = ReferenceDtype::kSame;

  // kCpu: every call is computed again on the CPU. kDevice: calls whose tensors
  // are all on one CUDA device are screened there in float64 by the native
  // kernel, and only what the screen does not accept is judged on the CPU.
  // kAuto: the device where a native kernel for it exists and the call is large
  // enough to win, else the CPU. Both need tolerance kBudget.
  ReferencePlace reference = ReferencePlace::kCpu;

  // kFirst: at most max_checks calls of each operator are checked. kSpread: so
  // many of each signature (dtypes, shape class, strides), then ever rarer ones
  // over the whole run. A call that is skipped or proves nothing is not one of
  // them.
  Throttle throttle = Throttle::kFirst;

  // Calls, see throttle. 0: none is checked.
  int64_t max_checks = 10;

  // Calls with a tensor of more elements are skipped (inputs in lists and
  // keywords, and outputs). 0: no limit.
  int64_t max_numel = 1'000'000;

  // MiB that one check may take for copies of arguments and for references. 0:
  // no limit. At most 2^43 - 1, so that the bytes fit an int64_t.
  int64_t memory_mb = 0;

  // Checks may add at most this share to the run time, over the long run; calls
  // beyond it are SKIP(throttle), and every signature has its turn. 0: no
  // limit. At most 1. Operators that on_failure insists on are checked all the
  // same, and the others pay for it.
  double time_fraction = 0;

  // Fill the memory that a kernel under test allocates with a pattern and guard
  // its ends, so that elements it does not write and writes beyond them show.
  bool poison = false;

  // Each operator logs one failure and is then no longer checked. false: it
  // goes on being checked and every failure is logged.
  bool log_once = true;

  // Log every call that was looked at and is no PASS, with the reason: beside
  // failures what ends in ERROR, UNTRUSTED or SKIP for something in the call
  // itself. Calls that the throttle or the skip list leaves out are not.
  bool log_all = false;

  // kSubstitute: an operator that failed is checked on every later call,
  // whatever throttle and log_once say, so that no wrong result of it is used
  // any more. (A wrong call before the first that is checked is.) What a kernel
  // wrote to arguments that the schema does not mark stays written. kAbort: the
  // log is flushed and the summary written first.
  OnFailure on_failure = OnFailure::kLog;

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

  // A file of rows that come before those of the table of error budgets (of
  // tolerance kBudget alone), and a file of accepted failures. Empty: none.
  // Their forms are in docs/flags.md.
  std::string policy_file;
  std::string suppressions;

  static PrecisionOptions Original();
  static PrecisionOptions Strict();

  // kInvalidArgument, naming the field, its value and what is allowed, or two
  // fields that do not go together. Files are not looked at.
  absl::Status Validate() const;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CONFIG_PRECISION_OPTIONS_H_
