// aten::pow, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_POW_H_
#define FLAGGEMS_KERNELS_CUDA_OP_POW_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor pow(const at::Tensor& self, const at::Scalar& exponent);
at::Tensor& pow_(at::Tensor& self, const at::Scalar& exponent);
at::Tensor& pow_out(const at::Tensor& self, const at::Scalar& exponent,
                    at::Tensor& out);

at::Tensor pow_tensor(const at::Tensor& self, const at::Tensor& exponent);
at::Tensor& pow_tensor_(at::Tensor& self, const at::Tensor& exponent);
at::Tensor& pow_tensor_out(const at::Tensor& self, const at::Tensor& exponent,
                           at::Tensor& out);

at::Tensor pow_of_scalar(const at::Scalar& self, const at::Tensor& exponent);
at::Tensor& pow_of_scalar_out(const at::Scalar& self,
                              const at::Tensor& exponent, at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_POW_H_
