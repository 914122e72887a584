#include "flaggems/kernels/testing/softmax_cases.h"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

std::vector<Call> Calls() {
  struct Shape {
    std::vector<int64_t> sizes;
    int64_t dim;
  };
  const Shape shapes[] = {
      {{}, 0},           {{}, -1},          {{0}, 0},         {{3, 0}, 0},
      {{3, 0}, 1},       {{1}, 0},          {{7}, 0},         {{33, 31}, 1},
      {{33, 31}, -2},    {{5, 257}, 1},     {{5, 257}, 0},    {{3, 1025}, -1},
      {{2, 3, 4, 5}, 1}, {{2, 3, 4, 5}, 2}, {{3, 700, 2}, 1}, {{2, 2049}, 1}};
  std::vector<Call> calls;
  for (const Shape& s : shapes) {
    int64_t terms = 1;
    if (!s.sizes.empty()) {
      terms = s.sizes[s.dim < 0 ? s.dim + static_cast<int64_t>(s.sizes.size())
                                : s.dim];
    }
    std::string name = "dim_" + std::to_string(s.dim) + "_of";
    for (const int64_t size : s.sizes) name += "_" + std::to_string(size);
    calls.push_back({name,
                     [s](Inputs& in) {
                       return Arguments{in.Random(s.sizes), s.dim, false};
                     },
                     false, terms});
  }
  for (const int64_t dim : {0, 1}) {
    const std::string suffix = "_" + std::to_string(dim);
    calls.push_back({"special" + suffix,
                     [dim](Inputs& in) {
                       return Arguments{in.Special({5, 3}), dim, false};
                     },
                     false, 5});
    calls.push_back({"minus_infinity" + suffix,
                     [dim](Inputs& in) {
                       const at::Tensor x = in.Random({9, 11});
                       if (!at::isFloatingType(in.dtype())) {
                         return Arguments{x, dim, false};
                       }
                       return Arguments{
                           x.masked_fill(in.Mask({9, 11}), -INFINITY), dim,
                           false};
                     },
                     false, 11, /*contiguous_only=*/true});
    calls.push_back({"large" + suffix,
                     [dim](Inputs& in) {
                       return Arguments{in.Random({9, 65}).mul(12), dim, false};
                     },
                     false, 65, /*contiguous_only=*/true});
    calls.push_back({"threads" + suffix,
                     [dim](Inputs& in) {
                       return Arguments{in.Random({301, 333}), dim, false};
                     },
                     false, 1, false, /*threads=*/true});
  }
  calls.push_back({"dim_out_of_range",
                   [](Inputs& in) {
                     return Arguments{in.Random({3, 4}), 2, false};
                   },
                   /*refused=*/true});
  return calls;
}

// For float16 on a GPU only: the oracle has no half_to_float.
Operator HalfToFloat(const std::string& schema, const Bound& bound, bool log) {
  return {schema,
          bound,
          {{"half_to_float",
            [](Inputs& in) {
              return Arguments{in.Random({3, 4}), 1, true};
            },
            /*refused=*/true}},
          false,
          [log](const Arguments& a) {
            const at::Tensor x = a[0].toTensor();
            const int64_t dim = a[1].toInt();
            return std::vector<at::Tensor>{log ? at::log_softmax(x, dim)
                                               : at::softmax(x, dim)};
          }};
}

}  // namespace

std::vector<Operator> SoftmaxOperators() {
  const Bound bound = {Condition::kSensitivity, 16, 0.5, ""};
  // aten rounds the sum of the exponentials, which is at least 1.
  const Bound log_bound = {Condition::kSensitivity, 16, 0.5, "", 0x1p-51};
  return {
      {"aten::_softmax", bound, Calls()},
      {"aten::_log_softmax", log_bound, Calls()},
      HalfToFloat("aten::_softmax", bound, false),
      HalfToFloat("aten::_log_softmax", log_bound, true),
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
