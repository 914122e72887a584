#ifndef FLAGGEMS_OPTION_WARNINGS_H_
#define FLAGGEMS_OPTION_WARNINGS_H_

#include <string>
#include <vector>

#include "flaggems/config/precision_options.h"

namespace flaggems {

// What a process can do, of what options ask for.
struct Abilities {
  bool device_checks = false;  // //flaggems:device_checks is linked
  bool cuda_device = false;    // torch sees one
};

// One text for each option that was set and has no effect, because of the
// others or of this process: what happens instead, and what to do. An option is
// taken for set if its value is not that of the profile. Requires valid
// options.
std::vector<std::string> OptionWarnings(const PrecisionOptions& options,
                                        const Abilities& abilities);

// Gives each text to torch's warning handler, once a process (after
// torch.set_warn_always(True) each time). Thread-safe.
void WarnOnce(const std::vector<std::string>& texts);

}  // namespace flaggems

#endif  // FLAGGEMS_OPTION_WARNINGS_H_
