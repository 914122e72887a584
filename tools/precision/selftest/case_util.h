#ifndef TOOLS_PRECISION_SELFTEST_CASE_UTIL_H_
#define TOOLS_PRECISION_SELFTEST_CASE_UTIL_H_

// What the self-test's kernels and calls are written with.
//
// Inputs are made without torch's random generator and without operators that
// a case may have replaced, so they are the same in every process.

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "tools/precision/selftest/selftest_case.h"

namespace flaggems::selftest {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline const c10::IValue kNone;

// --- Calls. ---

// Calls of `op`: what `calls` leave out at the end of the argument list gets
// the schema's default. An int is taken where the schema has a float. Throws
// c10::Error for an argument that has no default.
CallList Calls(const char* op, std::vector<std::vector<c10::IValue>> calls);

at::Tensor F64(const std::vector<double>& values);
at::Tensor F32(const std::vector<double>& values);
at::Tensor F16(const std::vector<double>& values);
at::Tensor BF16(const std::vector<double>& values);
at::Tensor I64(const std::vector<int64_t>& values);
at::Tensor I32(const std::vector<int64_t>& values);
at::Tensor Bools(const std::vector<int64_t>& values);
// re, im, re, im, ...
at::Tensor C64(const std::vector<double>& parts);

// Normal and uniform numbers of a generator of our own.
at::Tensor Randn(uint64_t seed, at::IntArrayRef sizes,
                 at::ScalarType dtype = at::kFloat);
at::Tensor Uniform(uint64_t seed, at::IntArrayRef sizes, double low,
                   double high, at::ScalarType dtype = at::kFloat);
// 0, 1, 2, ... ; `sizes` may be several.
at::Tensor Iota(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat);
at::Tensor Filled(at::IntArrayRef sizes, double value,
                  at::ScalarType dtype = at::kFloat);
// A permutation of 0 ... n - 1, int64.
at::Tensor Permutation(uint64_t seed, int64_t n);

inline std::vector<int64_t> Ints(std::initializer_list<int64_t> values) {
  return values;
}
// An argument of type Tensor?[]; an undefined tensor stands for None.
c10::IValue OptionalTensors(const std::vector<at::Tensor>& tensors);

// --- Kernels. ---

inline at::Tensor TensorAt(const Stack* stack, size_t i) {
  return stack->at(i).toTensor();
}

// Replaces what is on the stack.
void Return(Stack* stack, std::vector<c10::IValue> results);

// What the native kernel gives for these arguments, which stay.
std::vector<c10::IValue> NativeResults(const NativeCall& native,
                                       const Stack* stack);
at::Tensor NativeResult(const NativeCall& native, const Stack* stack);
// The same with argument `i` replaced.
at::Tensor NativeResultWith(const NativeCall& native, const Stack* stack,
                            size_t i, const c10::IValue& argument);

// `fn(element)` of a float32 tensor, in a new one of the same layout.
template <typename Fn>
at::Tensor MapFloat(const at::Tensor& x, Fn fn) {
  const at::Tensor in = x.contiguous();
  const at::Tensor result = at::empty_like(in);
  const float* from = in.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < in.numel(); ++i) to[i] = fn(from[i]);
  const at::Tensor out = at::empty_like(x);
  out.copy_(result);
  return out;
}

// `fn(a, b)` of two float32 tensors of equal sizes, contiguous.
template <typename Fn>
at::Tensor ZipFloat(const at::Tensor& a, const at::Tensor& b, Fn fn) {
  const at::Tensor in_a = a.contiguous(), in_b = b.contiguous();
  const at::Tensor out = at::empty_like(in_a);
  const float* x = in_a.const_data_ptr<float>();
  const float* y = in_b.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < in_a.numel(); ++i) to[i] = fn(x[i], y[i]);
  return out;
}

// The sizes of `x` read from its storage as if it were contiguous. `x` has to
// cover its storage from the start.
at::Tensor ReadLinearly(const at::Tensor& x);

// `values` written to the memory of `out` in order, its strides ignored.
void WriteLinearly(const at::Tensor& out, const at::Tensor& values);

// Float32 with the low `bits` bits of the significand cleared.
at::Tensor Truncated(const at::Tensor& x, int bits);

// Float32 with the significand rounded to `bits` bits after the leading one,
// ties away from zero.
at::Tensor RoundedTo(const at::Tensor& x, int bits);

// The last numel() mod `block` elements in memory, flat; contiguous `x`.
at::Tensor Tail(const at::Tensor& x, int64_t block);

// a (m, k) times b (k, n) by plain loops: products and sum in float64, rounded
// to float32 at the end.
at::Tensor ExactProduct(const at::Tensor& a, const at::Tensor& b);

}  // namespace flaggems::selftest

#endif  // TOOLS_PRECISION_SELFTEST_CASE_UTIL_H_
