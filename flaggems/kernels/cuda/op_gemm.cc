#include "flaggems/kernels/cuda/op_gemm.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "flaggems/kernels/cuda/blas_lt.h"
#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// Fills the view of a matrix, or a batch of them, whose rows or columns lie
// side by side; false for other strides.
bool ViewOf(const at::Tensor& t, MatrixView& view) {
  const int64_t first = t.dim() - 2;
  const int64_t rows = t.size(first);
  const int64_t columns = t.size(first + 1);
  const int64_t between_rows = t.stride(first);
  const int64_t between_columns = t.stride(first + 1);
  view.data = t.const_data_ptr();
  view.batch_stride = first == 1 ? t.stride(0) : 0;
  if ((columns == 1 || between_columns == 1) &&
      (rows == 1 || between_rows >= columns)) {
    view.transposed = false;
    view.stride = rows == 1 ? std::max(between_rows, columns) : between_rows;
    return true;
  }
  if ((rows == 1 || between_rows == 1) &&
      (columns == 1 || between_columns >= rows)) {
    view.transposed = true;
    view.stride =
        columns == 1 ? std::max(between_columns, rows) : between_columns;
    return true;
  }
  return false;
}

// One matrix for the whole batch stays one; batches that overlap in part do
// not occur as results, and a copy is right for them as inputs.
MatrixView InputView(const at::Tensor& t, at::Tensor& copy) {
  MatrixView view;
  if (!ViewOf(t, view)) {
    copy = t.contiguous();
    ViewOf(copy, view);
  }
  return view;
}

struct Factors {
  double beta = 0;
  double alpha = 1;
};

void SetPrecision(at::ScalarType dtype, MatrixProduct& product) {
  using Reduction = at::CuBLASReductionOption;
  const at::Context& context = at::globalContext();
  if (dtype == at::kFloat) {
    product.allow_tf32 = context.allowTF32CuBLAS();
    return;
  }
  Reduction reduction = Reduction::AllowReducedPrecisionWithSplitK;
  if (dtype == at::kHalf) {
    reduction = context.allowFP16ReductionCuBLAS();
    product.allow_half_accumulation = context.allowFP16AccumulationCuBLAS();
  } else if (dtype == at::kBFloat16) {
    reduction = context.allowBF16ReductionCuBLAS();
  }
  product.allow_reduced_reduction =
      reduction == Reduction::AllowReducedPrecisionWithSplitK;
  product.allow_split_k =
      reduction != Reduction::DisallowReducedPrecisionDisallowSplitK;
}

// n values side by side that are the addend's every row.
bool IsOneRow(const at::Tensor& addend) {
  const int64_t last = addend.dim() - 1;
  for (int64_t d = 0; d < last; ++d) {
    if (addend.size(d) != 1 && addend.stride(d) != 0) return false;
  }
  return addend.size(last) == 1 || addend.stride(last) == 1;
}

bool IsAligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}

// Rows that start at multiples of 16 bytes. For others cuBLASLt has kernels
// that round a 16-bit product before they add a bias to it.
bool HasAlignedRows(const MatrixView& view, int64_t element_size) {
  return IsAligned(view.data) && view.stride * element_size % 16 == 0 &&
         view.batch_stride * element_size % 16 == 0;
}

// out = beta * addend + alpha * (a @ b); addend, of out's shape, is not read
// with beta 0 and may be out itself. All are of one dtype and device, out is
// not empty, k is not 0.
void Multiply(const at::Tensor& a, const at::Tensor& b,
              const at::Tensor& addend, const Factors& factors, at::Tensor& out,
              const char* op) {
  MatrixProduct product;
  if (!ViewOf(out, product.d)) {
    at::Tensor dense = Empty(out.sizes(), out.scalar_type(), out);
    Multiply(a, b, addend, factors, dense, op);
    out.copy_(dense);
    return;
  }
  if (product.d.transposed) {
    at::Tensor columns = out.transpose(-1, -2);
    Multiply(b.transpose(-1, -2), a.transpose(-1, -2),
             factors.beta == 0     ? addend
             : addend.is_same(out) ? columns
                                   : addend.transpose(-1, -2),
             factors, columns, op);
    return;
  }
  const int64_t first = out.dim() - 2;
  product.element = ElementOf(out.scalar_type(), op);
  product.batch = first == 1 ? out.size(0) : 1;
  product.m = out.size(first);
  product.n = out.size(first + 1);
  product.k = a.size(first + 1);
  product.alpha = factors.alpha;
  SetPrecision(out.scalar_type(), product);
  at::Tensor a_copy, b_copy;
  product.a = InputView(a, a_copy);
  product.b = InputView(b, b_copy);

  const DeviceStream on(out);
  const auto enqueue = [&] { return EnqueueProduct(product, on.stream(), op); };
  const bool in_place = addend.is_same(out);
  const int64_t size = out.element_size();
  if (factors.beta == 1 && !in_place && IsOneRow(addend) &&
      IsAligned(addend.const_data_ptr()) && HasAlignedRows(product.a, size) &&
      HasAlignedRows(product.b, size) && HasAlignedRows(product.d, size)) {
    product.bias = addend.const_data_ptr();
    if (enqueue()) return;
    product.bias = nullptr;
  }
  product.beta = factors.beta;
  product.c = product.d;
  at::Tensor copy;
  if (factors.beta != 0) {
    MatrixView view = product.d;
    // A batch stride of 0, or a row stride of 0, is none of cuBLASLt's.
    const bool usable =
        in_place || (ViewOf(addend, view) && !view.transposed &&
                     (product.batch == 1 || view.batch_stride >= view.stride));
    // What is added to d itself with beta 1 would be rounded before.
    const bool apart = factors.beta == 1 && size == 2;
    if (usable && !(apart && view.data == product.d.data)) {
      product.c = view;
    } else if (apart) {
      copy = addend.clone(at::MemoryFormat::Contiguous);
      ViewOf(copy, product.c);
    } else {
      out.copy_(addend);
    }
  }
  TORCH_CHECK(enqueue(), op, ": cuBLASLt has no algorithm for ",
              out.scalar_type(), " matrices of ", a.sizes(), " and ",
              b.sizes());
}

// Whether NaN in a or b reaches the result although alpha is 0: as in aten,
// where it depends on which of NVIDIA's kernels the case takes.
bool ProductCounts(at::ScalarType dtype, double beta, double alpha) {
  return alpha != 0 || (beta != 0 && beta != 1 &&
                        (dtype == at::kHalf || dtype == at::kBFloat16));
}

// What does not need a product, and what does.
void Product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& addend,
             const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out,
             const char* op) {
  if (out.numel() == 0) return;
  const bool reads_addend = beta.toComplexDouble() != 0.0;
  const auto scale_addend = [&] {
    if (!reads_addend) {
      out.zero_();
    } else {
      if (!addend.is_same(out)) out.copy_(addend);
      out.mul_(beta);
    }
  };
  if (a.size(-1) == 0) return scale_addend();
  const Factors factors = {beta.to<double>(), alpha.to<double>()};
  if (!ProductCounts(out.scalar_type(), factors.beta, factors.alpha)) {
    return scale_addend();
  }
  Multiply(a, b, addend, factors, out, op);
}

// Before any other check: other dtypes have rules and errors of their own.
void RequireServed(const at::Tensor& factor, const char* op) {
  const at::ScalarType dtype = factor.scalar_type();
  if (dtype != at::kFloat && dtype != at::kHalf && dtype != at::kBFloat16 &&
      dtype != at::kDouble) {
    ThrowNotImplemented(dtype, op);
  }
}

void CheckMatrices(const at::Tensor& a, const at::Tensor& b, const char* first,
                   const char* second) {
  TORCH_CHECK(a.dim() == 2, first, " must be a matrix, got ", a.dim(),
              "-D tensor");
  TORCH_CHECK(b.dim() == 2, second, " must be a matrix, got ", b.dim(),
              "-D tensor");
  TORCH_CHECK(a.size(1) == b.size(0), first, " and ", second,
              " shapes cannot be multiplied (", a.size(0), "x", a.size(1),
              " and ", b.size(0), "x", b.size(1), ")");
}

void CheckSameType(const at::Tensor& a, const at::Tensor& b, const char* op) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), op,
              ": expected both matrices to have the same dtype, but got ",
              a.scalar_type(), " and ", b.scalar_type());
}

void CheckBatches(const at::Tensor& a, const at::Tensor& b, const char* op) {
  TORCH_CHECK(a.dim() == 3 && b.dim() == 3, op,
              ": both batches must have 3 dimensions, got shapes ", a.sizes(),
              " and ", b.sizes());
  TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), op, ": shapes ",
              a.sizes(), " and ", b.sizes(), " cannot be multiplied");
  CheckSameType(a, b, op);
}

void PrepareOut(at::Tensor& out, at::IntArrayRef sizes, const at::Tensor& like,
                const char* op) {
  TORCH_CHECK(out.scalar_type() == like.scalar_type(), op,
              ": expected out tensor to have dtype ", like.scalar_type(),
              ", but got ", out.scalar_type(), " instead");
  at::native::resize_output(out, sizes);
}

using Shape2 = std::array<int64_t, 2>;
using Shape3 = std::array<int64_t, 3>;

Shape2 MatrixShape(const at::Tensor& a, const at::Tensor& b) {
  return {a.size(0), b.size(1)};
}

Shape3 BatchShape(const at::Tensor& a, const at::Tensor& b) {
  return {a.size(0), a.size(1), b.size(2)};
}

constexpr char kMm[] = "mm_cuda";
constexpr char kAddmm[] = "addmm_cuda";
constexpr char kBmm[] = "bmm_cuda";
constexpr char kBaddbmm[] = "baddbmm_cuda";

void CheckMm(const at::Tensor& self, const at::Tensor& mat2) {
  RequireServed(self, kMm);
  CheckMatrices(self, mat2, "self", "mat2");
  CheckSameDevice("mm", {{self, "self"}, {mat2, "mat2"}});
  CheckSameType(self, mat2, "mm");
}

void CheckAddmm(const at::Tensor& self, const at::Tensor& mat1,
                const at::Tensor& mat2) {
  RequireServed(mat1, kAddmm);
  CheckMatrices(mat1, mat2, "mat1", "mat2");
  CheckSameDevice("addmm", {{self, "self"}, {mat1, "mat1"}, {mat2, "mat2"}});
  CheckSameType(self, mat2, "addmm");
  CheckSameType(mat1, mat2, "addmm");
}

void CheckBmm(const at::Tensor& self, const at::Tensor& mat2) {
  RequireServed(self, kBmm);
  CheckSameDevice("bmm", {{self, "self"}, {mat2, "mat2"}});
  CheckBatches(self, mat2, "bmm");
}

void CheckBaddbmm(const at::Tensor& self, const at::Tensor& batch1,
                  const at::Tensor& batch2) {
  RequireServed(batch1, kBaddbmm);
  CheckSameDevice("baddbmm",
                  {{self, "self"}, {batch1, "batch1"}, {batch2, "batch2"}});
  CheckBatches(batch1, batch2, "baddbmm");
  CheckSameType(self, batch1, "baddbmm");
}

void CheckInPlace(const at::Tensor& self, at::IntArrayRef sizes,
                  const char* op) {
  TORCH_CHECK(self.sizes() == sizes, op,
              ": Bad in-place call: input tensor size ", self.sizes(),
              " and output tensor size ", sizes, " should match");
}

}  // namespace

at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
  CheckMm(self, mat2);
  at::Tensor out = Empty(MatrixShape(self, mat2), self.scalar_type(), self);
  Product(self, mat2, out, 0, 1, out, kMm);
  return out;
}

at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& mat2,
                   at::Tensor& out) {
  CheckMm(self, mat2);
  CheckSameDevice("mm", {{out, "out"}, {self, "self"}});
  PrepareOut(out, MatrixShape(self, mat2), self, "mm");
  Product(self, mat2, out, 0, 1, out, kMm);
  return out;
}

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1,
                 const at::Tensor& mat2, const at::Scalar& beta,
                 const at::Scalar& alpha) {
  CheckAddmm(self, mat1, mat2);
  const Shape2 shape = MatrixShape(mat1, mat2);
  const at::Tensor addend = self.expand(shape);
  at::Tensor out = Empty(shape, mat1.scalar_type(), mat1);
  Product(mat1, mat2, addend, beta, alpha, out, kAddmm);
  return out;
}

at::Tensor& addmm_(at::Tensor& self, const at::Tensor& mat1,
                   const at::Tensor& mat2, const at::Scalar& beta,
                   const at::Scalar& alpha) {
  CheckAddmm(self, mat1, mat2);
  CheckInPlace(self, MatrixShape(mat1, mat2), "addmm_");
  Product(mat1, mat2, self, beta, alpha, self, kAddmm);
  return self;
}

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& mat1,
                      const at::Tensor& mat2, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out) {
  CheckAddmm(self, mat1, mat2);
  CheckSameDevice("addmm", {{out, "out"}, {self, "self"}});
  const Shape2 shape = MatrixShape(mat1, mat2);
  if (out.is_same(self)) {
    CheckInPlace(self, shape, "addmm");
    Product(mat1, mat2, out, beta, alpha, out, kAddmm);
    return out;
  }
  const at::Tensor addend = self.expand(shape);
  PrepareOut(out, shape, mat1, "addmm");
  Product(mat1, mat2, addend, beta, alpha, out, kAddmm);
  return out;
}

at::Tensor bmm(const at::Tensor& self, const at::Tensor& mat2) {
  CheckBmm(self, mat2);
  at::Tensor out = Empty(BatchShape(self, mat2), self.scalar_type(), self);
  Product(self, mat2, out, 0, 1, out, kBmm);
  return out;
}

at::Tensor& bmm_out(const at::Tensor& self, const at::Tensor& mat2,
                    at::Tensor& out) {
  CheckBmm(self, mat2);
  CheckSameDevice("bmm", {{out, "out"}, {self, "self"}});
  PrepareOut(out, BatchShape(self, mat2), self, "bmm");
  Product(self, mat2, out, 0, 1, out, kBmm);
  return out;
}

at::Tensor baddbmm(const at::Tensor& self, const at::Tensor& batch1,
                   const at::Tensor& batch2, const at::Scalar& beta,
                   const at::Scalar& alpha) {
  CheckBaddbmm(self, batch1, batch2);
  const Shape3 shape = BatchShape(batch1, batch2);
  const at::Tensor addend = self.expand(shape);
  at::Tensor out = Empty(shape, batch1.scalar_type(), batch1);
  Product(batch1, batch2, addend, beta, alpha, out, kBaddbmm);
  return out;
}

at::Tensor& baddbmm_(at::Tensor& self, const at::Tensor& batch1,
                     const at::Tensor& batch2, const at::Scalar& beta,
                     const at::Scalar& alpha) {
  CheckBaddbmm(self, batch1, batch2);
  CheckInPlace(self, BatchShape(batch1, batch2), "baddbmm_");
  Product(batch1, batch2, self, beta, alpha, self, kBaddbmm);
  return self;
}

at::Tensor& baddbmm_out(const at::Tensor& self, const at::Tensor& batch1,
                        const at::Tensor& batch2, const at::Scalar& beta,
                        const at::Scalar& alpha, at::Tensor& out) {
  CheckBaddbmm(self, batch1, batch2);
  CheckSameDevice("baddbmm", {{out, "out"}, {self, "self"}});
  const Shape3 shape = BatchShape(batch1, batch2);
  if (out.is_same(self)) {
    CheckInPlace(self, shape, "baddbmm");
    Product(batch1, batch2, out, beta, alpha, out, kBaddbmm);
    return out;
  }
  const at::Tensor addend = self.expand(shape);
  PrepareOut(out, shape, batch1, "baddbmm");
  Product(batch1, batch2, addend, beta, alpha, out, kBaddbmm);
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
