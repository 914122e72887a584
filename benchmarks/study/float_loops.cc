#include "benchmarks/study/float_loops.h"

#include <ATen/ops/bitwise_and.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace flaggems::study {

float SequentialSum(const float* x, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

float ReversedSum(const float* x, int64_t n) {
  float sum = 0;
  for (int64_t i = n; i-- > 0;) sum += x[i];
  return sum;
}

float PairwiseSum(const float* x, int64_t n) {
  if (n == 0) return 0;
  if (n == 1) return x[0];
  const int64_t half = n / 2;
  return PairwiseSum(x, half) + PairwiseSum(x + half, n - half);
}

float BlockedSum(const float* x, int64_t n) {
  constexpr int64_t kBlock = 128;
  float sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    sum += SequentialSum(x + i, std::min(kBlock, n - i));
  }
  return sum;
}

float StridedSum(const float* x, int64_t n) {
  constexpr int64_t kLanes = 32;
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i % kLanes] += x[i];
  return PairwiseSum(lanes, kLanes);
}

float KahanSum(const float* x, int64_t n) {
  float sum = 0;
  float lost = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float term = x[i] - lost;
    const float next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

namespace {

float SquaresBy(SumOrder order, const float* x, int64_t n, float mean) {
  std::vector<float> squares(n);
  for (int64_t i = 0; i < n; ++i) squares[i] = (x[i] - mean) * (x[i] - mean);
  return order(squares.data(), n);
}

struct Moments {
  float n = 0;
  float mean = 0;
  float m2 = 0;
};

Moments Welford(const float* x, int64_t n) {
  Moments moments;
  for (int64_t i = 0; i < n; ++i) {
    moments.n += 1;
    const float delta = x[i] - moments.mean;
    moments.mean += delta / moments.n;
    moments.m2 += delta * (x[i] - moments.mean);
  }
  return moments;
}

}  // namespace

float TwoPassM2(const float* x, int64_t n) {
  const float mean = PairwiseSum(x, n) / static_cast<float>(n);
  return SquaresBy(PairwiseSum, x, n, mean);
}

float SequentialM2(const float* x, int64_t n) {
  const float mean = SequentialSum(x, n) / static_cast<float>(n);
  return SquaresBy(SequentialSum, x, n, mean);
}

float WelfordM2(const float* x, int64_t n) { return Welford(x, n).m2; }

float ChanM2(const float* x, int64_t n) {
  constexpr int64_t kBlock = 256;
  Moments all;
  for (int64_t i = 0; i < n; i += kBlock) {
    const Moments block = Welford(x + i, std::min(kBlock, n - i));
    const float sum = all.n + block.n;
    const float delta = block.mean - all.mean;
    all.mean += delta * (block.n / sum);
    all.m2 += block.m2 + delta * delta * (all.n * block.n / sum);
    all.n = sum;
  }
  return all.m2;
}

float ShiftedM2(const float* x, int64_t n) {
  float sum = 0;
  float squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float d = x[i] - x[0];
    sum += d;
    squares += d * d;
  }
  return squares - sum * sum / static_cast<float>(n);
}

float RawMomentM2(const float* x, int64_t n) {
  const float mean = PairwiseSum(x, n) / static_cast<float>(n);
  return SquaresBy(PairwiseSum, x, n, 0) - static_cast<float>(n) * mean * mean;
}

at::Tensor ProductBy(SumOrder order, const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor rows = a.contiguous();
  const at::Tensor columns = b.t().contiguous();
  const int64_t m = rows.size(0), k = rows.size(1), n = columns.size(0);
  const at::Tensor out = at::empty({m, n}, at::kFloat);
  const float* x = rows.const_data_ptr<float>();
  const float* y = columns.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  std::vector<float> products(k);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) products[l] = x[i * k + l] * y[j * k + l];
      to[i * n + j] = order(products.data(), k);
    }
  }
  return out;
}

at::Tensor FmaProduct(const at::Tensor& a, const at::Tensor& b, int64_t parts) {
  const at::Tensor rows = a.contiguous();
  const at::Tensor columns = b.t().contiguous();
  const int64_t m = rows.size(0), k = rows.size(1), n = columns.size(0);
  const at::Tensor out = at::empty({m, n}, at::kFloat);
  const float* x = rows.const_data_ptr<float>();
  const float* y = columns.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  const int64_t part = (k + parts - 1) / parts;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t begin = 0; begin < k; begin += part) {
        float partial = 0;
        for (int64_t l = begin; l < std::min(k, begin + part); ++l) {
          partial = std::fma(x[i * k + l], y[j * k + l], partial);
        }
        sum += partial;
      }
      to[i * n + j] = sum;
    }
  }
  return out;
}

at::Tensor CutTo(int bits, const at::Tensor& x) {
  const int64_t mask = ~((int64_t{1} << (23 - bits)) - 1);
  return at::bitwise_and(x.contiguous().view(at::kInt), mask).view(at::kFloat);
}

}  // namespace flaggems::study
