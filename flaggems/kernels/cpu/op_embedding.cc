#include "flaggems/kernels/cpu/op_embedding.h"

#include <ATen/ops/empty.h>

#include <cstdint>

#include "flaggems/kernels/cpu/index_util.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices,
                     int64_t /*padding_idx*/, bool /*scale_grad_by_freq*/,
                     bool /*sparse*/) {
  TORCH_CHECK(weight.dim() == 2,
              "embedding: weight must have 2 dimensions, got shape ",
              weight.sizes());
  TORCH_CHECK(
      indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
      "embedding: indices must be int32 or int64, not ", indices.scalar_type());
  const at::Tensor rows = weight.contiguous();
  at::DimVector sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  at::Tensor out = at::empty(sizes, weight.options());
  CopySlices(static_cast<const char*>(rows.const_data_ptr()), /*outer=*/1,
             rows.size(0), rows.size(1) * rows.element_size(),
             indices.contiguous(), static_cast<char*>(out.mutable_data_ptr()));
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
