// precision run MODEL

#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flaggems/log_setup.h"
#include "flaggems/precision.h"
#include "tools/precision/command.h"
#include "tools/precision/kernel_flags.h"
#include "tools/precision/model.h"
#include "tools/precision/progress.h"

ABSL_FLAG(std::string, inputs, "",
          "a file that torch.save() wrote: a tuple of positional arguments, a "
          "dict of keyword arguments, or a pair of both; default: the sample "
          "inputs of a torch.export package");
ABSL_FLAG(
    std::string, device, "cpu",
    "where the model runs, and whose kernels --kernels=observed means: "
    "cpu, cuda, cuda:1; a torch.export package runs where it was exported "
    "for");
ABSL_FLAG(std::string, kernels, "own",
          "which kernels run and are checked: own (those of flaggems in place "
          "of torch's), observed (torch's own as they are), both (those of "
          "flaggems, and torch's where there is none)");
ABSL_FLAG(int32_t, repeat, 1, "how many times the model runs, 1 or more");
ABSL_FLAG(bool, quiet, false, "no progress bar, no summary table");

namespace flaggems {
namespace {

int Fail(ExitCode code, const std::string& message) {
  std::fprintf(stderr, "precision run: %s\n", message.c_str());
  return code;
}

int Fail(ExitCode code, const absl::Status& status) {
  return Fail(code, std::string(status.message()));
}

absl::StatusOr<c10::Device> RunDevice() {
  const std::string name = absl::GetFlag(FLAGS_device);
  std::optional<c10::Device> device;
  try {
    device = c10::Device(name);
  } catch (const std::exception&) {
    device.reset();
  }
  if (!device.has_value() || (!device->is_cpu() && !device->is_cuda())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device=", name,
                     ": it must be cpu, cuda, or one GPU as "
                     "in cuda:1"));
  }
  if (device->is_cpu()) return *device;
  const int count =
      c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)
          ? c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount()
          : 0;
  if (std::max<int>(device->index(), 0) >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device=", name, ": torch sees ", count,
        count == 1 ? " GPU" : " GPUs", " in this process; use --device=cpu",
        count == 0 ? "" : ", or a smaller number"));
  }
  return *device;
}

std::optional<std::string> FlagProblem() {
  const absl::StatusOr<c10::Device> device = RunDevice();
  if (!device.ok()) return std::string(device.status().message());
  const std::string kernels = absl::GetFlag(FLAGS_kernels);
  if (kernels != "own" && kernels != "observed" && kernels != "both") {
    return absl::StrCat("--kernels=", kernels,
                        ": it must be own, observed or both");
  }
  if (absl::GetFlag(FLAGS_repeat) < 1) {
    return absl::StrCat("--repeat=", absl::GetFlag(FLAGS_repeat),
                        ": must be 1 or more");
  }
  return std::nullopt;
}

absl::StatusOr<ModelInputs> InputsFor(const Model& model) {
  const std::string path = absl::GetFlag(FLAGS_inputs);
  if (!path.empty()) return LoadInputs(path);
  absl::StatusOr<std::optional<ModelInputs>> sample = model.SampleInputs();
  if (!sample.ok()) return sample.status();
  if (*sample) return **std::move(sample);
  return absl::InvalidArgumentError(absl::StrCat(
      "this ", model.kind(),
      " file holds no sample inputs; give them with --inputs=FILE (written by "
      "torch.save)"));
}

// Of `names` those that a kernel of flaggems goes by.
std::vector<std::string> WithOwnKernel(const std::vector<std::string>& names) {
  std::vector<std::string> own;
  for (const std::string& name : names) {
    if (ListKernels({name}, {}, PrecisionOptions()).ok()) own.push_back(name);
  }
  return own;
}

// Installs what --kernels, --include and --exclude select.
absl::StatusOr<std::vector<Registration>> Install() {
  const std::string kernels = absl::GetFlag(FLAGS_kernels);
  const bool both = kernels == "both";
  const std::vector<std::string> include = absl::GetFlag(FLAGS_include);
  const std::vector<std::string> exclude = absl::GetFlag(FLAGS_exclude);
  std::vector<Registration> registrations;
  const std::vector<std::string> own = both ? WithOwnKernel(include) : include;
  if (kernels != "observed" && (include.empty() || !own.empty())) {
    EnableOptions enable;
    enable.registrar = RegistrarKind::kPrecisionCheck;
    enable.exclude = both ? WithOwnKernel(exclude) : exclude;
    absl::StatusOr<Registration> enabled =
        include.empty() ? Enable(enable) : OnlyEnable(own, enable);
    if (!enabled.ok()) return enabled.status();
    registrations.push_back(*std::move(enabled));
  }
  ObserveOptions observe;
  observe.device =
      c10::DeviceTypeName(RunDevice()->type(), /*lower_case=*/true);
  observe.exclude = exclude;
  if (!include.empty()) observe.include.clear();
  for (const std::string& name : include) {
    if (!both || !absl::c_linear_search(own, name)) {
      observe.include.push_back(name);
    }
  }
  if (kernels != "own" && !observe.include.empty()) {
    absl::StatusOr<Registration> observed = Observe(observe);
    if (!observed.ok()) return observed.status();
    registrations.push_back(*std::move(observed));
  }
  return registrations;
}

struct Totals {
  int64_t calls = 0;
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t errors = 0;
  int64_t suppressed = 0;  // judged, wrong, and accepted
  std::vector<std::string> failed_ops;
};

Totals TotalsOf(const std::vector<OpSummary>& summary) {
  Totals totals;
  for (const OpSummary& op : summary) {
    totals.calls += op.calls;
    totals.passed += op.passed;
    totals.failed += op.failed;
    for (const auto& [reason, count] : op.errors) totals.errors += count;
    const auto suppressed = op.skipped.find("suppressed");
    if (suppressed != op.skipped.end()) totals.suppressed += suppressed->second;
    if (op.failed > 0) totals.failed_ops.push_back(op.op);
  }
  return totals;
}

absl::Status RunModel(Model& model, const ModelInputs& inputs) {
  const int repeat = absl::GetFlag(FLAGS_repeat);
  Progress progress("running", repeat, absl::GetFlag(FLAGS_quiet));
  for (int i = 0; i < repeat; ++i) {
    progress.Update(i, "");
    const absl::Status status = model.Run(inputs);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("the model failed in run ",
                                                     i + 1, " of ", repeat,
                                                     ": ", status.message()));
    }
    progress.Update(i + 1, "");
  }
  return absl::OkStatus();
}

int Conclude(const Totals& totals, const std::string& log_path) {
  std::printf("%lld calls checked: %lld right, %lld wrong",
              static_cast<long long>(totals.passed + totals.failed +
                                     totals.errors + totals.suppressed),
              static_cast<long long>(totals.passed),
              static_cast<long long>(totals.failed));
  if (totals.errors > 0) {
    std::printf(", %lld could not be checked",
                static_cast<long long>(totals.errors));
  }
  if (totals.suppressed > 0) {
    std::printf(", %lld %s accepted by the suppression file",
                static_cast<long long>(totals.suppressed),
                totals.suppressed == 1 ? "failure" : "failures");
  }
  std::printf("; log: %s\n", log_path.c_str());
  if (totals.failed > 0) {
    std::printf("wrong: %s\n", absl::StrJoin(totals.failed_ops, ", ").c_str());
    return kExitFailures;
  }
  if (totals.errors > 0) return kExitNotRun;
  if (totals.passed == 0 && totals.suppressed == 0) {
    std::printf(totals.calls == 0
                    ? "nothing was checked: none of the enabled kernels was "
                      "called\n"
                    : "nothing was checked: every call was skipped or "
                      "untrusted\n");
    return kExitNotRun;
  }
  return kExitClean;
}

int Run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    return Fail(kExitUsage, arguments.empty()
                                ? "which model? precision run MODEL"
                                : absl::StrCat("one MODEL expected, got ",
                                               absl::StrJoin(arguments, " ")));
  }
  if (const auto problem = FlagProblem()) return Fail(kExitUsage, *problem);
  absl::StatusOr<PrecisionOptions> options = CommandLineOptions();
  if (!options.ok()) return Fail(kExitUsage, options.status());
  // The table is printed here, after the last run.
  options->summary_at_exit = false;

  const c10::Device device = *RunDevice();
  if (options->reference == ReferencePlace::kDevice && device.is_cpu()) {
    return Fail(kExitUsage,
                "--precision_reference=device: the model runs on the CPU; add "
                "--device=cuda, or use --precision_reference=cpu or auto");
  }
  absl::StatusOr<std::unique_ptr<Model>> model =
      LoadModel(arguments[0], device);
  if (!model.ok()) return Fail(kExitNotRun, model.status());
  absl::StatusOr<ModelInputs> inputs = InputsFor(**model);
  if (inputs.ok()) inputs = OnDevice(*inputs, device);
  if (!inputs.ok()) return Fail(kExitNotRun, inputs.status());

  const absl::StatusOr<std::vector<Registration>> registrations = Install();
  if (!registrations.ok()) return Fail(kExitUsage, registrations.status());
  const absl::Status enabled = EnablePrecisionCheck(*options);
  if (!enabled.ok()) {
    return Fail(absl::IsInvalidArgument(enabled) ? kExitUsage : kExitNotRun,
                enabled);
  }

  const absl::Status run = RunModel(**model, *inputs);
  DisablePrecisionCheck();
  if (!absl::GetFlag(FLAGS_quiet)) {
    std::fputs(PrecisionSummaryTable().c_str(), stdout);
  }
  const absl::StatusOr<std::string> log_path = LogPath(*options, JobRank());
  const int code =
      Conclude(TotalsOf(PrecisionSummary()), log_path.value_or("(none)"));
  if (!run.ok() && code != kExitFailures) return Fail(kExitNotRun, run);
  if (!run.ok()) Fail(kExitNotRun, run);
  return code;
}

}  // namespace

const Command& RunCommand() {
  static const Command& command = *new Command{
      "run",
      "MODEL",
      "run a model with every kernel checked",
      "Runs a TorchScript file or a torch.export package (.pt2) with the "
      "kernels that --kernels\nselects, checks their calls, prints a summary "
      "and writes the log. Profile: strict,\nunless --precision_profile says "
      "otherwise.\n\nExit code: 0 everything checked is "
      "right, 1 an operator is wrong, 2 the command line\nis wrong, 3 the "
      "model "
      "could not be run or a check not be made.",
      {"inputs", "device", "kernels", "include", "exclude", "repeat", "quiet"},
      &Run};
  return command;
}

}  // namespace flaggems
