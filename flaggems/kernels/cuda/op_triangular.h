// aten::triu(Tensor self, SymInt diagonal=0) -> Tensor, CUDA.
// aten::tril(Tensor self, SymInt diagonal=0) -> Tensor, CUDA.
// In place, only the zeros are written.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_TRIANGULAR_H_
#define FLAGGEMS_KERNELS_CUDA_OP_TRIANGULAR_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor triu(const at::Tensor& self, int64_t diagonal);
at::Tensor& triu_(at::Tensor& self, int64_t diagonal);
at::Tensor& triu_out(const at::Tensor& self, int64_t diagonal, at::Tensor& out);
at::Tensor tril(const at::Tensor& self, int64_t diagonal);
at::Tensor& tril_(at::Tensor& self, int64_t diagonal);
at::Tensor& tril_out(const at::Tensor& self, int64_t diagonal, at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_TRIANGULAR_H_
