// precision list

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "flaggems/core/python_float.h"
#include "flaggems/precision.h"
#include "tools/precision/command.h"
#include "tools/precision/kernel_flags.h"

namespace flaggems {
namespace {

int List(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    std::fprintf(stderr, "precision list: takes no arguments, got \"%s\"\n",
                 arguments[0].c_str());
    return kExitUsage;
  }
  const absl::StatusOr<PrecisionOptions> options = CommandLineOptions();
  if (!options.ok()) {
    std::fprintf(stderr, "precision list: %s\n",
                 std::string(options.status().message()).c_str());
    return kExitUsage;
  }
  const absl::StatusOr<std::vector<KernelInfo>> kernels = ListKernels(
      absl::GetFlag(FLAGS_include), absl::GetFlag(FLAGS_exclude), *options);
  if (!kernels.ok()) {
    std::fprintf(stderr, "precision list: %s\n",
                 std::string(kernels.status().message()).c_str());
    return kExitUsage;
  }
  size_t width = 0;
  for (const KernelInfo& kernel : *kernels) {
    width = std::max(width, kernel.op.size());
  }
  const std::string tolerance =
      options->tolerance == ToleranceModel::kBudget
          ? "budget"
          : absl::StrCat("fixed, rtol=", FormatPythonFloat(options->rtol),
                         " atol=", FormatPythonFloat(options->atol));
  for (const KernelInfo& kernel : *kernels) {
    std::string treatment;
    if (!kernel.skip_reason.empty()) {
      treatment = absl::StrCat("skipped: ", kernel.skip_reason);
    } else {
      treatment = absl::StrCat("checked: ", tolerance, ", reference ",
                               kernel.reference);
    }
    std::printf("%-*s  %-4s  %-6s  %s\n", static_cast<int>(width),
                kernel.op.c_str(), kernel.backend.c_str(),
                kernel.op_class.c_str(), treatment.c_str());
  }
  return kExitClean;
}

}  // namespace

const Command& ListCommand() {
  static const Command& command = *new Command{
      "list",
      "",
      "list the kernels and how each is checked",
      "Lists every kernel of this program: operator, backend, class (what its "
      "rounding\nerrors may depend on, docs/tolerance.md), and whether its "
      "calls\nare checked, by which tolerance and "
      "reference, or why not.",
      {"include", "exclude"},
      &List};
  return command;
}

}  // namespace flaggems
