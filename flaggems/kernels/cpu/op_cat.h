// aten::cat(Tensor[] tensors, int dim=0) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_CAT_H_
#define FLAGGEMS_KERNELS_CPU_OP_CAT_H_

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// Tensors end to end along dim, in their promoted type.
at::Tensor cat(const at::ITensorListRef& tensors, int64_t dim);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_CAT_H_
