#ifndef FLAGGEMS_REFERENCE_GOLDENS_ATTENTION_H_
#define FLAGGEMS_REFERENCE_GOLDENS_ATTENTION_H_

// Fused attention.

#include <vector>

#include "flaggems/reference/goldens/golden_row.h"

namespace flaggems {

std::vector<GoldenRow> AttentionGoldens();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_ATTENTION_H_
