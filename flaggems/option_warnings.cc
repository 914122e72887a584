#include "flaggems/option_warnings.h"

#include <c10/util/Exception.h>

#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/mutex.h"

namespace flaggems {
namespace {

// "memory_mb is 512", where that is not the profile's value; else empty.
std::string IfSet(absl::string_view name, const PrecisionOptions& options) {
  const absl::StatusOr<PrecisionOptions> profile =
      OptionsOfProfile(options.profile);
  for (const OptionField& field : OptionFields()) {
    if (field.name != name || !profile.ok()) continue;
    const std::string value = field.get(options);
    if (value != field.get(*profile)) return absl::StrCat(name, " is ", value);
  }
  return "";
}

}  // namespace

std::vector<std::string> OptionWarnings(const PrecisionOptions& options,
                                        const Abilities& abilities) {
  std::vector<std::string> warnings;
  if (options.reference != ReferencePlace::kCpu &&
      (!abilities.device_checks || !abilities.cuda_device)) {
    warnings.push_back(absl::StrCat(
        IfSet("reference", options), ", and all calls are checked on the CPU: ",
        abilities.device_checks
            ? "torch sees no CUDA device in this process"
            : "checks on devices are not in this program; link "
              "//flaggems:device_checks, in a build with CUDA"));
  }
  if (options.tolerance == ToleranceModel::kBudget) {
    for (const absl::string_view name : {"rtol", "atol"}) {
      const std::string set = IfSet(name, options);
      if (set.empty()) continue;
      warnings.push_back(absl::StrCat(
          set,
          " and has no effect: tolerance is budget, which allows what rounding "
          "explains; a policy_file changes what that is"));
    }
  }
  if (options.tolerance == ToleranceModel::kFixed && options.memory_mb > 0) {
    const std::string set = IfSet("memory_mb", options);
    if (!set.empty()) {
      warnings.push_back(absl::StrCat(
          set,
          " and has no effect: tolerance is fixed, where max_numel alone "
          "limits the memory of a check"));
    }
  }
  return warnings;
}

void WarnOnce(const std::vector<std::string>& texts) {
  static Mutex& mutex = *new Mutex();
  static std::set<std::string>& said = *new std::set<std::string>();
  for (const std::string& text : texts) {
    {
      const MutexLock lock(&mutex);
      const bool is_new = said.insert(text).second;
      if (!is_new && !c10::WarningUtils::get_warnAlways()) continue;
    }
    TORCH_WARN("flaggems: ", text);
  }
}

}  // namespace flaggems
