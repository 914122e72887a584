#ifndef FLAGGEMS_REFERENCE_GOLDENS_NORM_H_
#define FLAGGEMS_REFERENCE_GOLDENS_NORM_H_

// Norms and what batch norm over several devices is made of.

#include <vector>

#include "flaggems/reference/goldens/golden_row.h"

namespace flaggems {

std::vector<GoldenRow> NormGoldens();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_NORM_H_
