#include "flaggems/kernels/testing/layer_norm_cases.h"

#include <ATen/ops/where.h>

#include <cmath>
#include <cstdint>
#include <optional>
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
    int64_t dims;  // how many of the last ones are normalised
  };
  const Shape shapes[] = {{{7}, 1},          {{1}, 1},       {{5, 31}, 1},
                          {{33, 33}, 1},     {{3, 257}, 1},  {{3, 1025}, 1},
                          {{2, 3, 4, 5}, 2}, {{4, 6, 9}, 3}, {{0, 5}, 1},
                          {{3, 0}, 1}};
  std::vector<Call> calls;
  for (const Shape& s : shapes) {
    const std::vector<int64_t> normalized(s.sizes.end() - s.dims,
                                          s.sizes.end());
    int64_t terms = 1;
    for (const int64_t size : normalized) terms *= size;
    std::string name = "last_" + std::to_string(s.dims) + "_of";
    for (const int64_t size : s.sizes) name += "_" + std::to_string(size);
    for (const bool weight : {false, true}) {
      for (const bool bias : {false, true}) {
        calls.push_back(
            {name + (weight ? "_weight" : "") + (bias ? "_bias" : ""),
             [s, normalized, weight, bias](Inputs& in) {
               const at::Tensor x = in.Random(s.sizes);
               return Arguments{
                   x, normalized,
                   weight ? c10::IValue(in.Random(normalized)) : c10::IValue(),
                   bias ? c10::IValue(in.Random(normalized)) : c10::IValue(),
                   1e-5};
             },
             false, terms});
      }
    }
  }
  const auto mixed = [](at::ScalarType weight, at::ScalarType bias) {
    return [weight, bias](Inputs& in) {
      const at::Tensor x = in.Random({5, 33});
      return Arguments{x, std::vector<int64_t>{33}, in.Of(weight, {33}),
                       in.Of(bias, {33}), 1e-5};
    };
  };
  calls.push_back(
      {"float_parameters", mixed(at::kFloat, at::kFloat), false, 33});
  calls.push_back({"half_parameters", mixed(at::kHalf, at::kHalf),
                   /*refused=*/true});
  calls.push_back({"parameters_differ", mixed(at::kFloat, at::kHalf),
                   /*refused=*/true});
  calls.push_back({"far_from_zero",
                   [](Inputs& in) {
                     const at::Tensor x = in.Random({5, 300});
                     return Arguments{
                         at::isFloatingType(in.dtype()) ? x.add(100) : x,
                         std::vector<int64_t>{300}, c10::IValue(),
                         c10::IValue(), 1e-5};
                   },
                   false, 300, /*contiguous_only=*/true});
  // Clamped: the square of the largest number overflows, also in the oracle.
  calls.push_back({"special",
                   [](Inputs& in) {
                     return Arguments{at::isFloatingType(in.dtype())
                                          ? in.Special({40, 2}).clamp(-1e4, 1e4)
                                          : in.Random({40, 2}),
                                      std::vector<int64_t>{2}, c10::IValue(),
                                      c10::IValue(), 1e-5};
                   },
                   false, 2});
  for (const int64_t n : {1, 2, 7, 41, 600}) {
    calls.push_back({"infinities_in_rows_of_" + std::to_string(n),
                     [n](Inputs& in) {
                       const at::Tensor x = in.Special({60, n});
                       if (!at::isFloatingType(in.dtype())) {
                         return Arguments{x, std::vector<int64_t>{n},
                                          c10::IValue(), c10::IValue(), 1e-5};
                       }
                       return Arguments{
                           at::where(x.isinf(), x, x.clamp(-1e4, 1e4)),
                           std::vector<int64_t>{n}, c10::IValue(),
                           c10::IValue(), 1e-5};
                     },
                     false, n});
  }
  calls.push_back({"threads",
                   [](Inputs& in) {
                     return Arguments{in.Random({301, 333}),
                                      std::vector<int64_t>{333}, c10::IValue(),
                                      c10::IValue(), 1e-5};
                   },
                   false, 1, false, /*threads=*/true});
  const auto bad = [](const std::vector<int64_t>& normalized) {
    return [normalized](Inputs& in) {
      return Arguments{in.Random({5, 33}), normalized, c10::IValue(),
                       c10::IValue(), 1e-5};
    };
  };
  calls.push_back({"shape_mismatch", bad({32}), /*refused=*/true});
  calls.push_back({"shape_empty", bad({}), /*refused=*/true});
  calls.push_back({"shape_too_long", bad({2, 5, 33}), /*refused=*/true});
  calls.push_back({"weight_mismatch",
                   [](Inputs& in) {
                     const at::Tensor x = in.Random({5, 33});
                     return Arguments{x, std::vector<int64_t>{33},
                                      in.Random({32}), c10::IValue(), 1e-5};
                   },
                   /*refused=*/true});
  return calls;
}

}  // namespace

std::vector<Operator> LayerNormOperators() {
  return {{"aten::native_layer_norm",
           {Condition::kSensitivity, 16, 0.5, ""},
           Calls()}};
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
