// aten::clamp, clamp_min, clamp_max, maximum, minimum, relu, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_CLAMP_H_
#define FLAGGEMS_KERNELS_CUDA_OP_CLAMP_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor maximum(const at::Tensor& self, const at::Tensor& other);
at::Tensor& maximum_out(const at::Tensor& self, const at::Tensor& other,
                        at::Tensor& out);
at::Tensor minimum(const at::Tensor& self, const at::Tensor& other);
at::Tensor& minimum_out(const at::Tensor& self, const at::Tensor& other,
                        at::Tensor& out);

at::Tensor relu(const at::Tensor& self);
at::Tensor& relu_(at::Tensor& self);

at::Tensor clamp(const at::Tensor& self, const std::optional<at::Scalar>& min,
                 const std::optional<at::Scalar>& max);
at::Tensor& clamp_(at::Tensor& self, const std::optional<at::Scalar>& min,
                   const std::optional<at::Scalar>& max);
at::Tensor& clamp_out(const at::Tensor& self,
                      const std::optional<at::Scalar>& min,
                      const std::optional<at::Scalar>& max, at::Tensor& out);
at::Tensor clamp_min(const at::Tensor& self, const at::Scalar& min);
at::Tensor& clamp_min_(at::Tensor& self, const at::Scalar& min);
at::Tensor& clamp_min_out(const at::Tensor& self, const at::Scalar& min,
                          at::Tensor& out);
at::Tensor clamp_max(const at::Tensor& self, const at::Scalar& max);
at::Tensor& clamp_max_(at::Tensor& self, const at::Scalar& max);
at::Tensor& clamp_max_out(const at::Tensor& self, const at::Scalar& max,
                          at::Tensor& out);

at::Tensor clamp_tensor(const at::Tensor& self,
                        const std::optional<at::Tensor>& min,
                        const std::optional<at::Tensor>& max);
at::Tensor& clamp_tensor_(at::Tensor& self,
                          const std::optional<at::Tensor>& min,
                          const std::optional<at::Tensor>& max);
at::Tensor& clamp_tensor_out(const at::Tensor& self,
                             const std::optional<at::Tensor>& min,
                             const std::optional<at::Tensor>& max,
                             at::Tensor& out);
at::Tensor clamp_min_tensor(const at::Tensor& self, const at::Tensor& min);
at::Tensor& clamp_min_tensor_(at::Tensor& self, const at::Tensor& min);
at::Tensor& clamp_min_tensor_out(const at::Tensor& self, const at::Tensor& min,
                                 at::Tensor& out);
at::Tensor clamp_max_tensor(const at::Tensor& self, const at::Tensor& max);
at::Tensor& clamp_max_tensor_(at::Tensor& self, const at::Tensor& max);
at::Tensor& clamp_max_tensor_out(const at::Tensor& self, const at::Tensor& max,
                                 at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_CLAMP_H_
