// Matrix products, CUDA: aten::mm, addmm, bmm, baddbmm with their out and
// in-place variants, by cuBLASLt.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_GEMM_H_
#define FLAGGEMS_KERNELS_CUDA_OP_GEMM_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cuda {

// float32, float16, bfloat16, float64. float32 is computed in float32 unless
// the context allows TF32; 16-bit types accumulate in float32 and obey the
// context's flags on reduced precision.
//
// Rows or columns may be strided, batches expanded; other layouts are copied.
// With beta 0, self is not read. A self that is one row is added by the
// product's kernel, other ones are its addend where they lie: no copy.
at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2);
at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& mat2,
                   at::Tensor& out);

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1,
                 const at::Tensor& mat2, const at::Scalar& beta,
                 const at::Scalar& alpha);
at::Tensor& addmm_(at::Tensor& self, const at::Tensor& mat1,
                   const at::Tensor& mat2, const at::Scalar& beta,
                   const at::Scalar& alpha);
at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& mat1,
                      const at::Tensor& mat2, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out);

at::Tensor bmm(const at::Tensor& self, const at::Tensor& mat2);
at::Tensor& bmm_out(const at::Tensor& self, const at::Tensor& mat2,
                    at::Tensor& out);

at::Tensor baddbmm(const at::Tensor& self, const at::Tensor& batch1,
                   const at::Tensor& batch2, const at::Scalar& beta,
                   const at::Scalar& alpha);
at::Tensor& baddbmm_(at::Tensor& self, const at::Tensor& batch1,
                     const at::Tensor& batch2, const at::Scalar& beta,
                     const at::Scalar& alpha);
at::Tensor& baddbmm_out(const at::Tensor& self, const at::Tensor& batch1,
                        const at::Tensor& batch2, const at::Scalar& beta,
                        const at::Scalar& alpha, at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_GEMM_H_
