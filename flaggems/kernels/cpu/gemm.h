// Matrix products behind mm, addmm and bmm.
//
// float32, float64 and complex go to the BLAS that libtorch exports (MKL in the
// PyPI wheel), transposed operands and leading dimensions as they are. 16-bit
// types are widened, multiplied and accumulated in float32, and rounded once.
// Integers use a loop of our own and wrap.

#ifndef FLAGGEMS_KERNELS_CPU_GEMM_H_
#define FLAGGEMS_KERNELS_CPU_GEMM_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// out = beta * addend + alpha * (a @ b), all of one dtype.
//
//   a [m, k], b [k, n], out [m, n] contiguous; addend expands to [m, n] and may
//   be undefined if beta is 0. With beta 0 the addend is not read (its NaNs do
//   not count). k may be 0. With alpha 0, NaN and Inf of the product count for
//   16-bit types only, as in aten.
// Throws c10::NotImplementedError for other dtypes (bool, for instance).
void Gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& addend,
          const at::Scalar& beta, const at::Scalar& alpha,
          const at::Tensor& out);

// out[i] = a[i] @ b[i]; a [batch, m, k], b [batch, k, n], out contiguous.
void BatchedGemm(const at::Tensor& a, const at::Tensor& b,
                 const at::Tensor& out);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_GEMM_H_
