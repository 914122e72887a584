// aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_CUMSUM_H_
#define FLAGGEMS_KERNELS_CPU_OP_CUMSUM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace flaggems {
namespace kernels {
namespace cpu {

// Running sums along dim. Every floating type accumulates in double.
at::Tensor cumsum(const at::Tensor& self, int64_t dim,
                  std::optional<at::ScalarType> dtype);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_CUMSUM_H_
