#ifndef FLAGGEMS_ATEN_ARRAY_VIEW_OF_H_
#define FLAGGEMS_ATEN_ARRAY_VIEW_OF_H_

// at::Tensor as the torch-free ArrayView.

#include <ATen/core/Tensor.h>

#include "flaggems/core/array_view.h"

namespace flaggems {

// `tensor` is a defined, strided CPU tensor without conjugate or negative bit
// and must outlive the view. No copy.
ArrayView ArrayViewOf(const at::Tensor& tensor);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_ARRAY_VIEW_OF_H_
