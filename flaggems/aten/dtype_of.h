#ifndef FLAGGEMS_ATEN_DTYPE_OF_H_
#define FLAGGEMS_ATEN_DTYPE_OF_H_

// at::ScalarType to the checker's own element type.

#include <c10/core/ScalarType.h>

#include "flaggems/core/dtype.h"

namespace flaggems {

// kOther for a type that the checker does not know (sub-byte and bit types).
DType DTypeOf(c10::ScalarType type);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_DTYPE_OF_H_
