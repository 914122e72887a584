#ifndef FLAGGEMS_REFERENCE_GOLDENS_MATMUL_H_
#define FLAGGEMS_REFERENCE_GOLDENS_MATMUL_H_

// Products that exist on devices only: of 8-bit floats with scales, and with
// results of a wider type.

#include <vector>

#include "flaggems/reference/goldens/golden_row.h"

namespace flaggems {

std::vector<GoldenRow> MatmulGoldens();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_MATMUL_H_
