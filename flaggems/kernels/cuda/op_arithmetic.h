// aten::add, sub, rsub, mul, div, floor_divide, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ARITHMETIC_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ARITHMETIC_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor add(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha);
at::Tensor& add_(at::Tensor& self, const at::Tensor& other,
                 const at::Scalar& alpha);
at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out);

at::Tensor sub(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha);
at::Tensor& sub_(at::Tensor& self, const at::Tensor& other,
                 const at::Scalar& alpha);
at::Tensor& sub_out(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out);
at::Tensor rsub(const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha);

at::Tensor mul(const at::Tensor& self, const at::Tensor& other);
at::Tensor& mul_(at::Tensor& self, const at::Tensor& other);
at::Tensor& mul_out(const at::Tensor& self, const at::Tensor& other,
                    at::Tensor& out);

at::Tensor div(const at::Tensor& self, const at::Tensor& other);
at::Tensor& div_(at::Tensor& self, const at::Tensor& other);
at::Tensor& div_out(const at::Tensor& self, const at::Tensor& other,
                    at::Tensor& out);

// rounding_mode: none, "trunc" or "floor".
at::Tensor div_mode(const at::Tensor& self, const at::Tensor& other,
                    std::optional<c10::string_view> rounding_mode);
at::Tensor& div_mode_(at::Tensor& self, const at::Tensor& other,
                      std::optional<c10::string_view> rounding_mode);
at::Tensor& div_mode_out(const at::Tensor& self, const at::Tensor& other,
                         std::optional<c10::string_view> rounding_mode,
                         at::Tensor& out);

at::Tensor floor_divide(const at::Tensor& self, const at::Tensor& other);
at::Tensor& floor_divide_(at::Tensor& self, const at::Tensor& other);
at::Tensor& floor_divide_out(const at::Tensor& self, const at::Tensor& other,
                             at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ARITHMETIC_H_
