#ifndef BENCHMARKS_STUDY_DRAWS_H_
#define BENCHMARKS_STUDY_DRAWS_H_

// Arguments of the operators of the study, of ordinary sizes and values.

#include <cstdint>
#include <vector>

#include "benchmarks/study/study_case.h"

namespace flaggems::study {

inline const c10::IValue kNone;

inline std::vector<int64_t> Ints(std::initializer_list<int64_t> values) {
  return values;
}

// Element-wise operators, 4,096 elements.
inline Arguments OneNormal(Draw& d) { return {{d.Normal({4096})}}; }
inline Arguments OnePositive(Draw& d) { return {{d.Uniform({4096}, 0.1, 10)}}; }
inline Arguments OneWide(Draw& d) { return {{d.Normal({4096}, 4)}}; }
inline Arguments TwoNormal(Draw& d) {
  return {{d.Normal({4096}), d.Normal({4096})}};
}
inline Arguments TwoPositive(Draw& d) {
  return {{d.Uniform({4096}, 0.1, 10), d.Uniform({4096}, 0.1, 10)}};
}
inline Arguments ThreeNormal(Draw& d) {
  return {{d.Normal({4096}), d.Normal({4096}), d.Normal({4096})}};
}
inline Arguments Gelu(Draw& d) { return {{d.Normal({4096}), "none"}}; }
inline Arguments GeluTanh(Draw& d) { return {{d.Normal({4096}), "tanh"}}; }

// Products.
inline Arguments Mm512(Draw& d) {
  return {{d.Normal({32, 512}), d.Normal({512, 48})}};
}
inline Arguments Mm4096(Draw& d) {
  return {{d.Normal({16, 4096}), d.Normal({4096, 24})}};
}
inline Arguments MmPositive(Draw& d) {
  return {{d.Uniform({16, 4096}), d.Uniform({4096, 24})}};
}
inline Arguments Addmm(Draw& d) {
  return {{d.Normal({48}), d.Normal({32, 512}), d.Normal({512, 48})}};
}
inline Arguments Bmm(Draw& d) {
  return {{d.Normal({4, 16, 256}), d.Normal({4, 256, 24})}};
}
inline Arguments Dot(Draw& d) { return {{d.Normal({4096}), d.Normal({4096})}}; }
// 3 x 3 over 16 channels, no padding.
inline Arguments Conv(Draw& d) {
  return {{d.Normal({2, 16, 12, 12}), d.Normal({24, 16, 3, 3}), d.Normal({24}),
           Ints({1, 1}), Ints({0, 0}), Ints({1, 1}), false, Ints({0, 0}), 1}};
}

// Reductions of the last dimension, and scans along it.
inline Arguments SumRows(Draw& d) {
  return {{d.Normal({16, 4096}), Ints({1})}};
}
inline Arguments SumPositive(Draw& d) {
  return {{d.Uniform({16, 4096}), Ints({1})}};
}
inline Arguments SumLong(Draw& d) {
  return {{d.Normal({4, 100000}), Ints({1})}};
}
inline Arguments SumLongPositive(Draw& d) {
  return {{d.Uniform({4, 100000}), Ints({1})}};
}
inline Arguments VarRows(Draw& d) {
  return {{d.Normal({16, 4096}), Ints({1}), 1}};
}
inline Arguments VarShort(Draw& d) {
  return {{d.Normal({64, 512}), Ints({1}), 1}};
}
inline Arguments VarShifted(Draw& d) {
  return {{d.Normal({16, 4096}, 1, 10), Ints({1}), 1}};
}
inline Arguments VarFar(Draw& d) {
  return {{d.Normal({16, 4096}, 1, 100), Ints({1}), 1}};
}
inline Arguments VarLong(Draw& d) {
  return {{d.Normal({4, 100000}, 1, 1), Ints({1}), 1}};
}
inline Arguments VarOf1e4(Draw& d) {
  return {{d.Normal({4, 10000}, 1, 1), Ints({1}), 1}};
}
inline Arguments NormRows(Draw& d) {
  return {{d.Normal({16, 4096}), 2, Ints({1})}};
}
inline Arguments ProdRows(Draw& d) {
  return {{d.Uniform({64, 64}, 0.5, 1.5), 1}};
}
inline Arguments MseLoss(Draw& d) {
  return {{d.Normal({4096}), d.Normal({4096})}};
}
inline Arguments ScanRows(Draw& d) { return {{d.Normal({8, 4096}), 1}}; }
inline Arguments ScanPositive(Draw& d) { return {{d.Uniform({8, 4096}), 1}}; }

// Softmax and norms over rows.
inline Arguments Softmax(Draw& d) { return {{d.Normal({64, 256}), 1, false}}; }
inline Arguments SoftmaxWide(Draw& d) {
  return {{d.Normal({64, 1024}, 4), 1, false}};
}
inline Arguments SoftmaxBackward(Draw& d) {
  const at::Tensor y = d.Normal({64, 256}).to(at::kFloat).softmax(1);
  return {{d.Normal({64, 256}), y.to(d.dtype()), 1,
           static_cast<int64_t>(d.dtype())}};
}
inline Arguments SoftmaxBackwardSmall(Draw& d) {
  const at::Tensor y = d.Normal({64, 256}).to(at::kFloat).softmax(1);
  return {{d.Normal({64, 256}, 0.025), y.to(d.dtype()), 1,
           static_cast<int64_t>(d.dtype())}};
}
inline Arguments LogSumExp(Draw& d) {
  return {{d.Normal({64, 256}), Ints({1})}};
}
inline Arguments LayerNorm(Draw& d) {
  return {{d.Normal({64, 512}), Ints({512}), d.Normal({512}, 0.1, 1),
           d.Normal({512}, 0.1), 1e-5}};
}
// Rows of standard deviation 0.05.
inline Arguments LayerNormSmall(Draw& d) {
  return {{d.Normal({64, 512}, 0.05), Ints({512}), d.Normal({512}, 0.1, 1),
           d.Normal({512}, 0.1), 1e-5}};
}

// Four heads of 128 queries and keys, 64 wide.
inline Arguments Attention(Draw& d) {
  return {{d.Normal({1, 4, 128, 64}), d.Normal({1, 4, 128, 64}),
           d.Normal({1, 4, 128, 64})}};
}
inline Arguments CausalAttention(Draw& d) {
  return {{d.Normal({1, 4, 128, 64}), d.Normal({1, 4, 128, 64}),
           d.Normal({1, 4, 128, 64}), kNone, 0.0, true}};
}

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_DRAWS_H_
