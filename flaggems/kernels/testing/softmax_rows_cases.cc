#include "flaggems/kernels/testing/softmax_rows_cases.h"

#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

struct Shape {
  std::vector<int64_t> sizes;
  int64_t dim;
};

std::string LabelOf(const Shape& s) {
  std::string name = "rows_dim_" + std::to_string(s.dim) + "_of";
  for (const int64_t size : s.sizes) name += "_" + std::to_string(size);
  return name;
}

int64_t TermsOf(const Shape& s) { return s.sizes.empty() ? 1 : s.sizes[s.dim]; }

// Around vectors of 16 bytes, parts of a warp, warps, blocks, clusters of
// blocks; rows in chunks and slices; the same for strided rows; more tiles of
// strided rows than a GPU has blocks at a time, of one warp and of many.
std::vector<Shape> Shapes() {
  std::vector<Shape> shapes = {
      {{}, 0},           {{0, 5}, 1},        {{3, 0}, 0},
      {{513, 1}, 1},     {{130, 2}, 1},      {{67, 3}, 1},
      {{65, 7}, 1},      {{64, 8}, 1},       {{33, 9}, 1},
      {{5, 4096}, 1},    {{3, 8191}, 1},     {{3, 8192}, 1},
      {{2, 8193}, 1},    {{2, 16384}, 1},    {{2, 16399}, 1},
      {{2, 32768}, 1},   {{1, 65537}, 1},    {{1, 262144}, 1},
      {{1, 300001}, 1},  {{7, 5, 1}, 1},     {{2, 17, 31}, 1},
      {{2, 16, 32}, 1},  {{2, 15, 33}, 1},   {{3, 129, 5}, 1},
      {{1, 513, 40}, 1}, {{2, 1025, 33}, 1}, {{1, 20000, 3}, 1},
      {{65, 3, 2}, 0},   {{4300, 5, 16}, 1}, {{300, 513, 16}, 1}};
  for (const int64_t n : {31, 32, 63, 64, 127, 128, 129, 255, 256, 511, 512,
                          1023, 1024, 2047, 2048}) {
    shapes.push_back({{5, n}, 1});
  }
  return shapes;
}

// One element into a storage: rows that no vector is aligned with.
at::Tensor Misaligned(Inputs& in, const std::vector<int64_t>& sizes) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return in.Random({numel + 1}).contiguous().slice(0, 1).view(sizes);
}

std::vector<Call> Calls() {
  std::vector<Call> calls;
  for (const Shape& s : Shapes()) {
    calls.push_back({LabelOf(s),
                     [s](Inputs& in) {
                       return Arguments{in.Random(s.sizes), s.dim, false};
                     },
                     false, TermsOf(s), /*contiguous_only=*/true});
  }
  for (const int64_t n : {9, 257, 1024, 5003, 16384}) {
    calls.push_back({"misaligned_" + std::to_string(n),
                     [n](Inputs& in) {
                       return Arguments{Misaligned(in, {3, n}), 1, false};
                     },
                     false, n, /*contiguous_only=*/true});
  }
  for (const int64_t n : {3, 300, 3000, 40000}) {
    // Whole threads, and at last a whole row, without a finite number.
    calls.push_back({"no_number_" + std::to_string(n),
                     [n](Inputs& in) {
                       const at::Tensor x = in.Random({4, n});
                       if (at::isFloatingType(in.dtype())) {
                         x.slice(1, 0, n / 2 + 1).fill_(-INFINITY);
                         x.select(0, 2).fill_(-INFINITY);
                         x.select(0, 3).select(0, n - 1).fill_(INFINITY);
                       }
                       return Arguments{x, 1, false};
                     },
                     false, n, /*contiguous_only=*/true});
  }
  return calls;
}

// half_to_float: for float16 only.
std::vector<Call> HalfToFloatCalls() {
  std::vector<Call> calls;
  for (const int64_t n : {1, 5, 33, 257, 1030, 9001}) {
    calls.push_back({"half_to_float_" + std::to_string(n),
                     [n](Inputs& in) {
                       return Arguments{in.Of(at::kHalf, {3, n}), 1, true};
                     },
                     false, n});
    calls.push_back({"half_to_float_column_" + std::to_string(n),
                     [n](Inputs& in) {
                       return Arguments{in.Of(at::kHalf, {2, n, 3}), 1, true};
                     },
                     false, n});
  }
  return calls;
}

std::vector<Call> OutCalls() {
  const auto call = [](const char* name, std::vector<int64_t> out_sizes,
                       bool refused = false) {
    return Call{
        name,
        [out_sizes](Inputs& in) {
          return Arguments{in.Random({5, 33}), 1, false, in.Mutable(out_sizes)};
        },
        refused, 33};
  };
  std::vector<Call> calls = {call("out", {5, 33}), call("out_empty", {0})};
  calls.push_back({"out_dtype",
                   [](Inputs& in) {
                     return Arguments{
                         in.Random({5, 33}), 1, false,
                         in.Of(at::kDouble, {5, 33}).to(at::kLong)};
                   },
                   /*refused=*/true});
  return calls;
}

// log: the result is a log softmax.
Arguments GradientArguments(Inputs& in, const Shape& s, bool log) {
  const at::Tensor grad = in.Random(s.sizes);
  at::Tensor result = in.Random(s.sizes);
  if (at::isFloatingType(in.dtype())) {
    result = log ? result.abs().neg() : result.abs();
  }
  return {grad, result, s.dim, static_cast<int64_t>(in.dtype())};
}

std::vector<Call> GradientCalls(bool log) {
  std::vector<Call> calls;
  for (const Shape& s : Shapes()) {
    if (s.sizes.size() == 2 && s.sizes[1] > 100000) continue;
    // All layouts for a few shapes.
    const bool contiguous_only = s.sizes.size() < 3 || s.sizes[1] > 20;
    calls.push_back(
        {LabelOf(s),
         [s, log](Inputs& in) { return GradientArguments(in, s, log); }, false,
         TermsOf(s), contiguous_only});
  }
  const auto bad = [&](const char* name, at::ScalarType dtype,
                       std::vector<int64_t> sizes) {
    calls.push_back({name,
                     [dtype, sizes](Inputs& in) {
                       return Arguments{in.Random({3, 4}), in.Random(sizes), 1,
                                        static_cast<int64_t>(dtype)};
                     },
                     /*refused=*/true});
  };
  bad("input_dtype", at::kBFloat16, {3, 4});
  // Native log softmax reads past the end.
  if (!log) bad("shape", at::kFloat, {2, 4});
  for (const int64_t n : {3, 65, 5000}) {
    calls.push_back({"half_to_float_" + std::to_string(n),
                     [n](Inputs& in) {
                       return Arguments{
                           in.Of(at::kHalf, {3, n}).to(at::kFloat),
                           in.Of(at::kHalf, {3, n}).to(at::kFloat).abs().neg(),
                           1, static_cast<int64_t>(at::kHalf)};
                     },
                     false, n});
  }
  return calls;
}

}  // namespace

std::vector<Operator> SoftmaxRowsOperators() {
  const Bound bound = {Condition::kSensitivity, 16, 0.5, ""};
  const Bound log_bound = {Condition::kSensitivity, 16, 0.5, "", 0x1p-51};
  // The oracle has no half_to_float.
  const auto wide = [](bool log) {
    return [log](const Arguments& a) {
      const at::Tensor x = a[0].toTensor();
      const int64_t dim = a[1].toInt();
      return std::vector<at::Tensor>{log ? at::log_softmax(x, dim)
                                         : at::softmax(x, dim)};
    };
  };
  // exp(result), about 1, and its product with the gradient's sum are rounded
  // before the gradient, about as large, is taken from it.
  Bound log_gradient_bound = bound;
  log_gradient_bound.least_condition = 1;
  // aten's CPU kernels fill an out argument of other strides as if it were
  // contiguous.
  const auto gradient = [](bool log) {
    return [log](const Arguments& a) {
      const at::Tensor grad = a[0].toTensor();
      const at::Tensor result = a[1].toTensor();
      const int64_t dim = a[2].toInt();
      const auto dtype = static_cast<at::ScalarType>(a[3].toInt());
      return std::vector<at::Tensor>{
          log ? at::_log_softmax_backward_data(grad, result, dim, dtype)
              : at::_softmax_backward_data(grad, result, dim, dtype)};
    };
  };
  return {
      {"aten::_softmax", bound, Calls()},
      {"aten::_softmax", bound, HalfToFloatCalls(), false, wide(false)},
      {"aten::_log_softmax", log_bound, Calls()},
      {"aten::_log_softmax", log_bound, HalfToFloatCalls(), false, wide(true)},
      {"aten::_softmax.out", bound, OutCalls(), false, wide(false)},
      {"aten::_log_softmax.out", log_bound, OutCalls(), false, wide(true)},
      {"aten::_softmax_backward_data", bound, GradientCalls(false)},
      {"aten::_log_softmax_backward_data", log_gradient_bound,
       GradientCalls(true)},
      {"aten::_softmax_backward_data.out",
       bound,
       {{"out",
         [](Inputs& in) {
           Arguments a = GradientArguments(in, {{5, 33}, 1}, false);
           a.push_back(in.Mutable({5, 33}));
           return a;
         },
         false, 33}},
       false,
       gradient(false)},
      {"aten::_log_softmax_backward_data.out",
       log_gradient_bound,
       {{"out",
         [](Inputs& in) {
           Arguments a = GradientArguments(in, {{5, 33}, 1}, true);
           a.push_back(in.Mutable({5, 33}));
           return a;
         },
         false, 33}},
       false,
       gradient(true)},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
