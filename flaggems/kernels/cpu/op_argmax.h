// aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_ARGMAX_H_
#define FLAGGEMS_KERNELS_CPU_OP_ARGMAX_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace flaggems {
namespace kernels {
namespace cpu {

// Index of the first maximum along dim (of the flattened tensor if none); of
// the first NaN if there is one.
at::Tensor argmax(const at::Tensor& self, std::optional<int64_t> dim,
                  bool keepdim);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_ARGMAX_H_
