#ifndef FLAGGEMS_REFERENCE_GOLDENS_SHIPPED_H_
#define FLAGGEMS_REFERENCE_GOLDENS_SHIPPED_H_

// All golden functions that come with the library.

#include <vector>

#include "flaggems/reference/goldens/golden_row.h"

namespace flaggems {

std::vector<GoldenRow> ShippedGoldens();

// Puts them into the table of golden functions; once in a process. Rows for
// operators that this torch does not have, or has with another schema, are left
// out. Thread-safe.
void InstallShippedGoldens();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_SHIPPED_H_
