#ifndef FLAGGEMS_REFERENCE_GOLDENS_RNN_H_
#define FLAGGEMS_REFERENCE_GOLDENS_RNN_H_

// Fused cells of recurrent networks.

#include <vector>

#include "flaggems/reference/goldens/golden_row.h"

namespace flaggems {

std::vector<GoldenRow> RnnGoldens();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_RNN_H_
