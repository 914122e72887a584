// Products on CUDA: aten::prod and aten::prod.dim_int.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_PROD_H_
#define FLAGGEMS_KERNELS_CUDA_OP_PROD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

// Floating types multiply in double and are rounded once. Integers and bools
// give int64, which wraps.
at::Tensor prod(const at::Tensor& self, std::optional<at::ScalarType> dtype);
at::Tensor prod_dim(const at::Tensor& self, int64_t dim, bool keepdim,
                    std::optional<at::ScalarType> dtype);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_PROD_H_
