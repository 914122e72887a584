// aten::index_select(Tensor self, int dim, Tensor index) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_INDEX_SELECT_H_
#define FLAGGEMS_KERNELS_CPU_OP_INDEX_SELECT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// Slices of self along dim.
at::Tensor index_select(const at::Tensor& self, int64_t dim,
                        const at::Tensor& index);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_INDEX_SELECT_H_
