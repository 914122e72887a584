// Sums and means on CUDA: aten::sum, aten::sum.dim_IntList, aten::mean,
// aten::mean.dim and their out= forms.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SUM_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SUM_H_

#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

// One pass over the input. Terms add up in double from batches of 16 or 32 that
// are added pairwise in float32 and the result is rounded once: its error does
// not grow with the number of terms. Integers and bools give int64. The order
// of additions depends on shapes, strides and the device only.
at::Tensor sum(const at::Tensor& self, std::optional<at::ScalarType> dtype);
at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dim,
                   bool keepdim, std::optional<at::ScalarType> dtype);
at::Tensor& sum_out(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim, std::optional<at::ScalarType> dtype,
                    at::Tensor& out);

at::Tensor mean(const at::Tensor& self, std::optional<at::ScalarType> dtype);
at::Tensor mean_dim(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim, std::optional<at::ScalarType> dtype);
at::Tensor& mean_out(const at::Tensor& self, at::OptionalIntArrayRef dim,
                     bool keepdim, std::optional<at::ScalarType> dtype,
                     at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SUM_H_
