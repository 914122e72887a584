#ifndef FLAGGEMS_PRECISION_H_
#define FLAGGEMS_PRECISION_H_

// The precision check: every call of an enabled operator is run by its kernel,
// computed again by torch's native CPU kernel (profile strict: in float64), and
// compared; operators that disagree are logged.
//
//   flaggems::PrecisionOptions options;             // FlagGems' defaults
//   options.path = "precision.log";
//   absl::Status status = flaggems::EnablePrecisionCheck(options);  // step 1
//   flaggems::EnableOptions enable;
//   enable.registrar = flaggems::RegistrarKind::kPrecisionCheck;
//   absl::StatusOr<flaggems::Registration> kernels =
//       flaggems::Enable(enable);                                   // step 2
//   model.forward(input);                           // runs as usual
//
// Cost: a checked call takes the kernel's time, a copy of its inputs if the
// kernel writes them or they are on a device, and the native CPU kernel's time:
// for development, not for production. A call that is not checked costs a few
// nanoseconds. Checks of device tensors wait for the device.
//
// A child of fork() goes on checking: it counts its own calls, and writes its
// failures to the same log.
//
// Only calls that go through torch's dispatcher are seen. A torch.export
// package that libtorch's own runner loads makes many that do not, unless
// dispatch_exported_models.h says otherwise first.
//
// A process has one copy of this library: two of them (a program that links it
// and loads libflaggems.so) would check each other's wrappers, and the second
// refuses to (kFailedPrecondition, of all that enables or observes).
//
// Nothing here throws or exits, or aborts unless on_failure says so. All
// functions are thread-safe, with the restriction on Registration below.
// Kernels are found by linking them
// (//flaggems:all_kernels, or FLAGGEMS_REGISTER_KERNEL in a library of yours).

#if defined(__cplusplus) && __cplusplus < 201703L
#error "flaggems needs C++17: build with -std=c++17 (--cxxopt=-std=c++17)"
#endif

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/config/precision_options.h"
#include "flaggems/policy/op_summary.h"

namespace flaggems {

// Configures the check and opens its log. Called again, it reconfigures: the
// old log is closed, all counts and reports start anew. Kernels that are
// enabled already are checked from now on. An option that was set and has no
// effect is told by one warning of torch's, docs/flags.md has which.
//
// kInvalidArgument  an option is out of range, or two do not go together; names
//                   fields and values
// other codes       the log cannot be written; names path and cause. The
//                   former configuration stays in force then.
absl::Status EnablePrecisionCheck(const PrecisionOptions& options = {});

// No more checks: wrapped kernels forward at once, the log is flushed and
// closed when the checks under way are done. Counts stay for
// PrecisionSummary(). Without an enabled check it does nothing.
void DisablePrecisionCheck();

// Whether a check is enabled.
bool PrecisionCheckEnabled();

enum class RegistrarKind {
  kPlain,           // kernels as they are
  kPrecisionCheck,  // kernels behind the check
};

struct EnableOptions {
  RegistrarKind registrar = RegistrarKind::kPlain;
  // Operators to leave out; names as in OnlyEnable().
  std::vector<std::string> exclude;
};

struct ObserveOptions {
  // Operators to observe: names as in OnlyEnable() ("mm", "aten::add.out",
  // "my::op"), or patterns with "*" for any text, matched against the full name
  // ("aten::*", "aten::_foreach_*"). A pattern leaves out what cannot be
  // observed; a name that cannot is an error.
  std::vector<std::string> include = {"aten::*"};
  std::vector<std::string> exclude;  // names and patterns, as include
  // Whose kernels: a device type ("cpu", "cuda", "xpu", a renamed
  // "privateuseone"), or a backend's dispatch key ("SparseCPU").
  std::string device = "cpu";
};

// Kernels that are installed. Destroying it restores what was registered
// before. That is safe at any time for Observe(). For Enable() and OnlyEnable()
// it is not while another thread may be calling one of the operators: torch's
// dispatcher swaps kernels without a lock (DisablePrecisionCheck() is safe).
class Registration {
 public:
  Registration();
  ~Registration();
  Registration(Registration&&) noexcept;
  Registration& operator=(Registration&&) noexcept;

  // The installed operators, "aten::add.Tensor", sorted; once each, however
  // many backends they have kernels for.
  const std::vector<std::string>& ops() const;

  // Of Enable() and OnlyEnable(): "aten::mm CUDA" -> why it is not installed
  // (the process has no such device). A warning names the first such backend.
  const std::map<std::string, std::string>& not_enabled() const;

  // Of Observe(): what its patterns match and cannot be observed, and why.
  const std::map<std::string, std::string>& not_observed() const;

 private:
  friend absl::StatusOr<Registration> OnlyEnable(
      const std::vector<std::string>& include, const EnableOptions& options);
  friend absl::StatusOr<Registration> Observe(const ObserveOptions& options);
  struct State;
  std::unique_ptr<State> state_;
};

// Installs every linked kernel of the devices that the process has. A kernel
// that does not have some dtype leaves such calls to the native one.
//
// kAlreadyExists       a kernel is enabled already by a Registration that is
//                      alive; or two linked kernels are for the same operator
//                      and backend
// kFailedPrecondition  no kernel is linked, or none for a device of this
// process kNotFound            a name in `exclude` that no kernel has; lists
// the
//                      nearest names
// kInvalidArgument     torch refuses a kernel (its signature); names the place
// On an error nothing stays installed.
absl::StatusOr<Registration> Enable(const EnableOptions& options = {});

// Installs the linked kernels that `include` names: operators without
// namespace; "add" means every overload there is a kernel for, "add.Tensor"
// one, "softmax" the operator that softmax reaches in the dispatcher. Errors
// as Enable(); an empty `include` is kInvalidArgument, an unknown name
// kNotFound.
absl::StatusOr<Registration> OnlyEnable(const std::vector<std::string>& include,
                                        const EnableOptions& options = {});

// Checks the kernels of a device that are registered now, whoever wrote them
// and in whatever language; each goes on computing what it computes. CPU
// kernels that were there when this library was loaded are the reference, also
// for kernels of other devices, whose arguments are copied to the host. Kernels
// of torch's own are judged with an allowance for their 16-bit roundings, which
// those that were registered over them are not given.
//
// What is observed already is observed once, until the last Registration of it
// is destroyed. A kernel that is registered later hides the observer: observe
// again after registering.
//
// kInvalidArgument     nothing to observe: `include` is empty, or matches only
//                      what has no kernel for the device; no such device type
// kNotFound            a name or pattern that no operator has, with the nearest
//                      names; a name of what cannot be observed, with the
//                      reason
// kFailedPrecondition  this process has no such device
// kAlreadyExists       a kernel of Enable() or OnlyEnable() is alive there
//                      (patterns leave those out)
absl::StatusOr<Registration> Observe(const ObserveOptions& options = {});

// One linked kernel and how its calls are treated.
struct KernelInfo {
  std::string op;           // "aten::add.Tensor"
  std::string backend;      // "CPU", "CUDA"
  std::string place;        // file:line of its registration
  std::string skip_reason;  // why its calls are never checked; empty: they are
  std::string reference;    // who computes them again, if they are checked
  std::string op_class;     // of its error budget, "sum": policy/budget_table.h
};

// The linked kernels that `include` (empty: all) and `exclude` select, as a
// check with these options would treat them. Installs nothing. Errors as
// OnlyEnable().
absl::StatusOr<std::vector<KernelInfo>> ListKernels(
    const std::vector<std::string>& include,
    const std::vector<std::string>& exclude, const PrecisionOptions& options);

// What became of every call since the check was enabled last: one entry for
// each wrapped operator that was called.
std::vector<OpSummary> PrecisionSummary();

// Host time that screened calls took since the check was enabled, by part
// ("snapshot", "contract", "reference", "compare", "record"; ns), and how many
// calls there were ("screened"), were accepted by their screen ("accepted"),
// and judged in full after all ("in_full").
std::map<std::string, int64_t> PrecisionCosts();

// The summary as a table for people, with write errors of the log, the first
// error of each operator whose check failed, and what could not be checked for
// want of a reference.
std::string PrecisionSummaryTable();

}  // namespace flaggems

#endif  // FLAGGEMS_PRECISION_H_
