#include "flaggems/kernels/cpu/op_index_select.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>

#include <cstdint>

#include "flaggems/kernels/cpu/index_util.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor index_select(const at::Tensor& self, int64_t dim,
                        const at::Tensor& index) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(index.dim() <= 1,
                    "index_select: index must be a vector, got shape ",
                    index.sizes());
  TORCH_CHECK(!(self.dim() == 0 && index.numel() != 1),
              "index_select: a scalar can be selected once, not ",
              index.numel(), " times");
  TORCH_CHECK(
      index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
      "index_select: index must be int32 or int64, not ", index.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(
      self.dim() > 1 || !at::isBarebonesUnsignedType(self.scalar_type()),
      "index_select_cpu: vectors of ", self.scalar_type(),
      " are not supported, as in aten");
  const at::Tensor in = self.contiguous();
  at::DimVector sizes(self.sizes());
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= in.size(d);
  for (int64_t d = axis + 1; d < in.dim(); ++d) inner *= in.size(d);
  if (!sizes.empty()) sizes[axis] = index.numel();
  const int64_t slices = in.dim() == 0 ? 1 : in.size(axis);
  at::Tensor out = at::empty(sizes, self.options());
  CopySlices(static_cast<const char*>(in.const_data_ptr()), outer, slices,
             inner * in.element_size(), index.contiguous(),
             static_cast<char*>(out.mutable_data_ptr()));
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
