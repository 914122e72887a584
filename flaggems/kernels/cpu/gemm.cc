#include "flaggems/kernels/cpu/gemm.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

extern "C" {
// BLAS level 3, column-major, 32-bit integers.
void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
            const int* k, const float* alpha, const float* a, const int* lda,
            const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n,
            const int* k, const double* alpha, const double* a, const int* lda,
            const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);
void cgemm_(const char* transa, const char* transb, const int* m, const int* n,
            const int* k, const void* alpha, const void* a, const int* lda,
            const void* b, const int* ldb, const void* beta, void* c,
            const int* ldc);
void zgemm_(const char* transa, const char* transb, const int* m, const int* n,
            const int* k, const void* alpha, const void* a, const int* lda,
            const void* b, const int* ldb, const void* beta, void* c,
            const int* ldc);
}

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int>::max();

void Blas(char ta, char tb, int m, int n, int k, float alpha, const float* a,
          int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  sgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}
void Blas(char ta, char tb, int m, int n, int k, double alpha, const double* a,
          int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  dgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}
void Blas(char ta, char tb, int m, int n, int k, c10::complex<float> alpha,
          const c10::complex<float>* a, int lda, const c10::complex<float>* b,
          int ldb, c10::complex<float> beta, c10::complex<float>* c, int ldc) {
  cgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}
void Blas(char ta, char tb, int m, int n, int k, c10::complex<double> alpha,
          const c10::complex<double>* a, int lda, const c10::complex<double>* b,
          int ldb, c10::complex<double> beta, c10::complex<double>* c,
          int ldc) {
  zgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}

// A matrix in place: element (i, j) is data[i * row + j * column].
template <typename T>
struct Matrix {
  const T* data;
  int64_t row;
  int64_t column;
};

// How BLAS, which is column-major, is told to read the transpose of a matrix.
struct BlasView {
  bool fits;
  char transpose;
  int leading;
};

BlasView ViewTransposed(int64_t rows, int64_t columns, int64_t row_stride,
                        int64_t column_stride) {
  // The stride of a dimension of size one is arbitrary.
  const bool row_major =
      (column_stride == 1 || columns == 1) &&
      (rows == 1 || (row_stride >= columns && row_stride <= kMaxInt));
  if (row_major) {
    const int64_t leading = rows == 1 ? columns : row_stride;
    return {true, 'N', static_cast<int>(std::max<int64_t>(leading, 1))};
  }
  const bool column_major =
      (row_stride == 1 || rows == 1) &&
      (columns == 1 || (column_stride >= rows && column_stride <= kMaxInt));
  if (column_major) {
    const int64_t leading = columns == 1 ? rows : column_stride;
    return {true, 'T', static_cast<int>(std::max<int64_t>(leading, 1))};
  }
  return {false, 'N', 0};
}

bool FitsBlas(const at::Tensor& t) {
  const int64_t d = t.dim();
  return ViewTransposed(t.size(d - 2), t.size(d - 1), t.stride(d - 2),
                        t.stride(d - 1))
      .fits;
}

template <typename T>
void MultiplyBlas(int64_t m, int64_t n, int64_t k, T alpha, const Matrix<T>& a,
                  const Matrix<T>& b, T beta, T* out) {
  const BlasView va = ViewTransposed(m, k, a.row, a.column);
  const BlasView vb = ViewTransposed(k, n, b.row, b.column);
  TORCH_INTERNAL_ASSERT(va.fits && vb.fits);
  // Row-major out is column-major out^T = b^T @ a^T.
  Blas(vb.transpose, va.transpose, static_cast<int>(n), static_cast<int>(m),
       static_cast<int>(k), alpha, b.data, vb.leading, a.data, va.leading, beta,
       out, static_cast<int>(n));
}

// Integers: any strides. Products and sums wrap, so they are formed unsigned.
template <typename T>
void MultiplyIntegers(int64_t m, int64_t n, int64_t k, T alpha,
                      const Matrix<T>& a, const Matrix<T>& b, T beta, T* out) {
  constexpr int64_t kColumns = 512;
  for (int64_t start = 0; start < n; start += kColumns) {
    const int64_t width = std::min(kColumns, n - start);
    for (int64_t i = 0; i < m; ++i) {
      uint64_t sum[kColumns] = {};
      for (int64_t p = 0; p < k; ++p) {
        const uint64_t v =
            static_cast<uint64_t>(a.data[i * a.row + p * a.column]);
        const T* const r = b.data + p * b.row + start * b.column;
        for (int64_t j = 0; j < width; ++j) {
          sum[j] += v * static_cast<uint64_t>(r[j * b.column]);
        }
      }
      T* const y = out + i * n + start;
      for (int64_t j = 0; j < width; ++j) {
        const uint64_t old = beta == T(0) ? 0
                                          : static_cast<uint64_t>(beta) *
                                                static_cast<uint64_t>(y[j]);
        y[j] = static_cast<T>(old + static_cast<uint64_t>(alpha) * sum[j]);
      }
    }
  }
}

// out (row-major, dense) = beta * out + alpha * a @ b.
template <typename T>
void Multiply(int64_t m, int64_t n, int64_t k, T alpha, const Matrix<T>& a,
              const Matrix<T>& b, T beta, T* out) {
  if constexpr (std::is_integral<T>::value) {
    MultiplyIntegers(m, n, k, alpha, a, b, beta, out);
  } else {
    MultiplyBlas(m, n, k, alpha, a, b, beta, out);
  }
}

// out = beta * out + 0 * (a @ b). BLAS skips the product where alpha is 0;
// aten's product of 16-bit types does not, and NaN and Inf in it give NaN.
template <typename T>
void MultiplyByZero(int64_t m, int64_t n, int64_t k, const Matrix<T>& a,
                    const Matrix<T>& b, T beta, T* out) {
  const std::unique_ptr<T[]> product(new T[m * n]);
  Multiply(m, n, k, T(1), a, b, T(0), product.get());
  for (int64_t i = 0; i < m * n; ++i) {
    const T old = beta == T(0) ? T(0) : beta * out[i];
    out[i] = old + T(0) * product[i];
  }
}

template <typename T>
Matrix<T> MatrixOf(const at::Tensor& t) {
  const int64_t d = t.dim();
  return {t.const_data_ptr<T>(), t.stride(d - 2), t.stride(d - 1)};
}

at::Tensor Prepared(const at::Tensor& t, at::ScalarType compute) {
  at::Tensor result = t.resolve_conj().resolve_neg().to(compute);
  const bool needs_blas = !at::isIntegralType(compute, /*includeBool=*/false);
  return needs_blas && !FitsBlas(result) ? result.contiguous() : result;
}

at::ScalarType ComputeType(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : dtype;
}

void CheckSizes(int64_t m, int64_t n, int64_t k) {
  TORCH_CHECK(m <= kMaxInt && n <= kMaxInt && k <= kMaxInt,
              "matrix product: a dimension of more than 2^31 - 1 is not "
              "supported, got ",
              m, ", ", n, ", ", k);
}

void CheckDtype(at::ScalarType dtype) {
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(at::kBFloat16, at::kHalf, dtype,
                                         "matrix_product_cpu", [] {});
}

}  // namespace

void Gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& addend,
          const at::Scalar& beta, const at::Scalar& alpha,
          const at::Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const bool adds = beta.toComplexDouble() != 0.0;
  if (k == 0) {
    if (adds) {
      out.copy_(addend.expand({m, n})).mul_(beta);
    } else {
      out.zero_();
    }
    return;
  }
  const at::ScalarType dtype = out.scalar_type();
  CheckDtype(dtype);
  CheckSizes(m, n, k);
  const at::ScalarType compute = ComputeType(dtype);
  const at::Tensor pa = Prepared(a, compute);
  const at::Tensor pb = Prepared(b, compute);
  const at::Tensor result =
      compute == dtype ? out : at::empty({m, n}, out.options().dtype(compute));
  if (adds) result.copy_(addend.expand({m, n}));
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX(compute, "matrix_product_cpu", [&] {
    using T = scalar_t;
    const T factor = alpha.to<T>();
    const T old = adds ? beta.to<T>() : T(0);
    const Matrix<T> ma = MatrixOf<T>(pa);
    const Matrix<T> mb = MatrixOf<T>(pb);
    T* const y = result.mutable_data_ptr<T>();
    if (compute != dtype && factor == T(0)) {
      MultiplyByZero(m, n, k, ma, mb, old, y);
      return;
    }
    if (!std::is_integral<T>::value) {
      Multiply(m, n, k, factor, ma, mb, old, y);
      return;
    }
    const int64_t grain = std::max<int64_t>(1, 32768 / (n * k));
    at::parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
      const Matrix<T> rows = {ma.data + begin * ma.row, ma.row, ma.column};
      Multiply(end - begin, n, k, factor, rows, mb, old, y + begin * n);
    });
  });
  if (compute != dtype) out.copy_(result);
}

void BatchedGemm(const at::Tensor& a, const at::Tensor& b,
                 const at::Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t batch = a.size(0), m = a.size(1), k = a.size(2), n = b.size(2);
  if (k == 0) {
    out.zero_();
    return;
  }
  const at::ScalarType dtype = out.scalar_type();
  CheckDtype(dtype);
  CheckSizes(m, n, k);
  const at::ScalarType compute = ComputeType(dtype);
  const at::Tensor pa = Prepared(a, compute);
  const at::Tensor pb = Prepared(b, compute);
  const at::Tensor result =
      compute == dtype ? out
                       : at::empty({batch, m, n}, out.options().dtype(compute));
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX(compute, "matrix_product_cpu", [&] {
    using T = scalar_t;
    const Matrix<T> ma = MatrixOf<T>(pa);
    const Matrix<T> mb = MatrixOf<T>(pb);
    T* const y = result.mutable_data_ptr<T>();
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Matrix<T> xa = {ma.data + i * pa.stride(0), ma.row, ma.column};
        const Matrix<T> xb = {mb.data + i * pb.stride(0), mb.row, mb.column};
        Multiply(m, n, k, T(1), xa, xb, T(0), y + i * m * n);
      }
    };
    // Threads share the batch where there is one; a few large products are
    // left to the threads of BLAS.
    if (batch < at::get_num_threads() && !std::is_integral<T>::value) {
      run(0, batch);
    } else {
      const int64_t grain = std::max<int64_t>(1, 32768 / (m * n * k));
      at::parallel_for(0, batch, grain, run);
    }
  });
  if (compute != dtype) out.copy_(result);
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
