// aten::cat(Tensor[] tensors, int dim=0) -> Tensor, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_CAT_H_
#define FLAGGEMS_KERNELS_CUDA_OP_CAT_H_

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// Inputs of one dtype that are contiguous in the result's memory format go in
// one launch for every 80 of them; the others are copied one by one.
at::Tensor cat(const at::ITensorListRef& tensors, int64_t dim);
at::Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dim,
                    at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_CAT_H_
