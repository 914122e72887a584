#ifndef BENCHMARKS_STUDY_FLOAT_LOOPS_H_
#define BENCHMARKS_STUDY_FLOAT_LOOPS_H_

// Plain float32 arithmetic in a given order, as kernels have it. Every tensor
// is float32.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cstdint>

namespace flaggems::study {

// --- Orders of summation of x[0], ..., x[n - 1]. ---

using SumOrder = float (*)(const float* x, int64_t n);

float SequentialSum(const float* x, int64_t n);
float ReversedSum(const float* x, int64_t n);
float PairwiseSum(const float* x, int64_t n);  // halves, down to one term
float BlockedSum(const float* x, int64_t n);   // blocks of 128, then those
float StridedSum(const float* x, int64_t n);   // 32 lanes, joined as a tree
float KahanSum(const float* x, int64_t n);

// The sums of squares of differences from the mean, m2 / n the variance.
float TwoPassM2(const float* x, int64_t n);
float WelfordM2(const float* x, int64_t n);
// Welford in blocks of 256 that are joined by Chan's formula.
float ChanM2(const float* x, int64_t n);
// Two passes, both sums sequential.
float SequentialM2(const float* x, int64_t n);
// Differences from the first element, one pass.
float ShiftedM2(const float* x, int64_t n);
// sum x^2 - n m^2: cancels where the mean is large.
float RawMomentM2(const float* x, int64_t n);

// --- Tensors. ---

// fn(row, n) of each row of the last dimension, which goes.
template <typename Fn>
at::Tensor ReduceRows(const at::Tensor& x, Fn fn) {
  const at::Tensor in = x.contiguous();
  const int64_t n = in.size(-1);
  const at::Tensor out =
      at::empty(in.sizes().slice(0, in.dim() - 1), at::kFloat);
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = fn(from + i * n, n);
  return out;
}

// fn(in, out, n) for each row.
template <typename Fn>
at::Tensor MapRows(const at::Tensor& x, Fn fn) {
  const at::Tensor in = x.contiguous();
  const int64_t n = in.size(-1);
  const at::Tensor out = at::empty_like(in);
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < in.numel(); i += n) fn(from + i, to + i, n);
  return out;
}

template <typename Fn>
at::Tensor Map(const at::Tensor& x, Fn fn) {
  return MapRows(x, [fn](const float* in, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = fn(in[i]);
  });
}

// a (m, k) times b (k, n): products rounded to float32, added by `order`.
at::Tensor ProductBy(SumOrder order, const at::Tensor& a, const at::Tensor& b);
// One fused multiply-add a term, in `parts` parts of k that are added at last.
at::Tensor FmaProduct(const at::Tensor& a, const at::Tensor& b,
                      int64_t parts = 1);

// Float32 with the significand cut to `bits` bits after the leading one.
at::Tensor CutTo(int bits, const at::Tensor& x);

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_FLOAT_LOOPS_H_
