// aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)
// -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_GATHER_H_
#define FLAGGEMS_KERNELS_CPU_OP_GATHER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// out[i][j][k] = self[index[i][j][k]][j][k] for dim 0, and so on. sparse_grad
// matters for the gradient only.
at::Tensor gather(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                  bool sparse_grad);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_GATHER_H_
