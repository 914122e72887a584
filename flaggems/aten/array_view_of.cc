#include "flaggems/aten/array_view_of.h"

#include "flaggems/aten/dtype_of.h"

namespace flaggems {

ArrayView ArrayViewOf(const at::Tensor& tensor) {
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  ArrayView view;
  view.data = tensor.numel() == 0 ? nullptr : tensor.const_data_ptr();
  view.dtype = DTypeOf(tensor.scalar_type());
  view.sizes = absl::MakeConstSpan(sizes.data(), sizes.size());
  view.strides = absl::MakeConstSpan(strides.data(), strides.size());
  return view;
}

}  // namespace flaggems
