// aten::cumsum on CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_CUMSUM_H_
#define FLAGGEMS_KERNELS_CUDA_OP_CUMSUM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

// Running sums. Floating types add up in double and are rounded once; integers
// and bools give int64. One pass over memory where there are many rows, else a
// second reading.
at::Tensor cumsum(const at::Tensor& self, int64_t dim,
                  std::optional<at::ScalarType> dtype);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_CUMSUM_H_
