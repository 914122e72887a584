// Functions of whole arrays: conversions of 16-bit types, and transcendental
// functions through Sleef (which libtorch exports and aten uses as well) where
// the machine has AVX2, through the C++ library elsewhere.
//
// In every function n >= 0 and y may be x. An element's result does not depend
// on its position or on n: tails go through the same code as full vectors.

#ifndef FLAGGEMS_KERNELS_CPU_VEC_MATH_H_
#define FLAGGEMS_KERNELS_CPU_VEC_MATH_H_

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// Widening is exact; narrowing rounds to nearest even, NaN stays NaN.
void Widen(const c10::BFloat16* x, float* y, int64_t n);
void Widen(const c10::Half* x, float* y, int64_t n);
void Narrow(const float* x, c10::BFloat16* y, int64_t n);
void Narrow(const float* x, c10::Half* y, int64_t n);

// Errors in ulps of the type: at most 1.0, ErfcArray 1.5.
void ExpArray(const float* x, float* y, int64_t n);
void ExpArray(const double* x, double* y, int64_t n);
void LogArray(const float* x, float* y, int64_t n);
void LogArray(const double* x, double* y, int64_t n);
void TanhArray(const float* x, float* y, int64_t n);
void TanhArray(const double* x, double* y, int64_t n);
void ErfcArray(const float* x, float* y, int64_t n);
void ErfcArray(const double* x, double* y, int64_t n);
// x to the power of the one exponent.
void PowArray(const float* x, float exponent, float* y, int64_t n);
void PowArray(const double* x, double exponent, double* y, int64_t n);

// 1 / (1 + exp(-x)), without overflow or cancellation on either side.
void SigmoidArray(const float* x, float* y, int64_t n);
void SigmoidArray(const double* x, double* y, int64_t n);
// x * sigmoid(z); x, z and y may be the same array. The tail of negative z
// stays accurate down to the smallest normal number.
void MulSigmoidArray(const float* x, const float* z, float* y, int64_t n);
void MulSigmoidArray(const double* x, const double* z, double* y, int64_t n);

// Sums. Blocks of 512 elements add up in vector lanes of the type (at most 16
// terms a lane, then a tree), blocks of float in double, blocks of double
// pairwise: the rounding error is bounded by about 24 unit roundoffs of the sum
// of the absolute values, whatever n is. 0 for n = 0.
double SumArray(const float* x, int64_t n);
double SumArray(const double* x, int64_t n);
// Sums of x - center and of (x - center)^2, added up in the same way.
double SumAround(const float* x, float center, int64_t n);
double SumAround(const double* x, double center, int64_t n);
double SumSquaresAround(const float* x, float center, int64_t n);
double SumSquaresAround(const double* x, double center, int64_t n);
// Maximum; NaN if there is one. n > 0.
float MaxArray(const float* x, int64_t n);
double MaxArray(const double* x, int64_t n);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_VEC_MATH_H_
