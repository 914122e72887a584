#include "flaggems/kernels/testing/norm_cases.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sum.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

struct Rows {
  int64_t rows;
  int64_t n;
};

// Around vectors, parts of a warp, warps, blocks, clusters, chunks and slices.
constexpr Rows kRows[] = {
    {7, 1},     {5, 2},     {67, 3},    {65, 7},     {130, 8},   {33, 9},
    {5, 31},    {5, 32},    {5, 33},    {4, 127},    {4, 128},   {4, 129},
    {3, 248},   {3, 249},   {3, 256},   {3, 1023},   {3, 1024},  {3, 1025},
    {300, 40},  {3, 4096},  {3, 8191},  {2, 8192},   {2, 8200},  {2, 16384},
    {1, 16393}, {1, 32768}, {1, 65537}, {1, 262144}, {1, 300001}};

std::string LabelOf(const Rows& r) {
  return std::to_string(r.rows) + "_" + std::to_string(r.n);
}

at::ScalarType StatisticsOf(const Inputs& in) {
  return in.dtype() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor Misaligned(Inputs& in, const std::vector<int64_t>& sizes) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return in.Random({numel + 1}).contiguous().slice(0, 1).view(sizes);
}

std::vector<Call> LayerNormCalls() {
  std::vector<Call> calls;
  for (const Rows& r : kRows) {
    calls.push_back({"rows_" + LabelOf(r),
                     [r](Inputs& in) {
                       return Arguments{
                           in.Random({r.rows, r.n}), std::vector<int64_t>{r.n},
                           in.Random({r.n}), in.Random({r.n}), 1e-5};
                     },
                     false, r.n, /*contiguous_only=*/true});
  }
  for (const int64_t n : {9, 257, 4096}) {
    calls.push_back({"misaligned_" + std::to_string(n),
                     [n](Inputs& in) {
                       return Arguments{Misaligned(in, {3, n}),
                                        std::vector<int64_t>{n}, in.Random({n}),
                                        Misaligned(in, {n}), 1e-5};
                     },
                     false, n, /*contiguous_only=*/true});
  }
  return calls;
}

std::vector<Call> RmsNormCalls() {
  std::vector<Call> calls;
  for (const Rows& r : kRows) {
    calls.push_back({"rows_" + LabelOf(r),
                     [r](Inputs& in) {
                       return Arguments{in.Random({r.rows, r.n}),
                                        std::vector<int64_t>{r.n},
                                        in.Random({r.n}), 1e-5};
                     },
                     false, r.n, /*contiguous_only=*/true});
  }
  calls.push_back({"no_weight_no_eps",
                   [](Inputs& in) {
                     return Arguments{in.Random({5, 33}),
                                      std::vector<int64_t>{33}, c10::IValue(),
                                      c10::IValue()};
                   },
                   false, 33});
  calls.push_back({"two_dims",
                   [](Inputs& in) {
                     return Arguments{in.Random({3, 4, 5}),
                                      std::vector<int64_t>{4, 5},
                                      in.Random({4, 5}), 1e-6};
                   },
                   false, 20});
  calls.push_back({"no_rows",
                   [](Inputs& in) {
                     return Arguments{in.Random({0, 5}),
                                      std::vector<int64_t>{5}, in.Random({5}),
                                      1e-6};
                   },
                   false, 5});
  calls.push_back({"misaligned",
                   [](Inputs& in) {
                     return Arguments{Misaligned(in, {3, 1000}),
                                      std::vector<int64_t>{1000},
                                      Misaligned(in, {1000}), 1e-6};
                   },
                   false, 1000, /*contiguous_only=*/true});
  calls.push_back({"shape_mismatch",
                   [](Inputs& in) {
                     return Arguments{in.Random({5, 33}),
                                      std::vector<int64_t>{32}, c10::IValue(),
                                      1e-5};
                   },
                   /*refused=*/true});
  calls.push_back({"weight_dtype",
                   [](Inputs& in) {
                     return Arguments{in.Random({5, 33}),
                                      std::vector<int64_t>{33},
                                      in.Of(at::kHalf, {33}), 1e-5};
                   },
                   /*refused=*/true});
  return calls;
}

// Means and inverse deviations as a forward leaves them, roughly.
std::vector<Call> LayerNormGradientCalls() {
  std::vector<Call> calls;
  const auto add = [&](const std::string& name, Rows r, bool weight, bool bias,
                       c10::List<bool> mask, bool contiguous_only) {
    calls.push_back({name,
                     [=](Inputs& in) {
                       const at::ScalarType statistics = StatisticsOf(in);
                       return Arguments{
                           in.Random({r.rows, r.n}),
                           in.Random({r.rows, r.n}),
                           std::vector<int64_t>{r.n},
                           in.Of(statistics, {r.rows, 1}),
                           in.Of(statistics, {r.rows, 1}).abs(),
                           weight ? c10::IValue(in.Random({r.n}))
                                  : c10::IValue(),
                           bias ? c10::IValue(in.Random({r.n})) : c10::IValue(),
                           mask};
                     },
                     false, r.n > r.rows ? r.n : r.rows, contiguous_only});
  };
  const c10::List<bool> all({true, true, true});
  for (const Rows& r : kRows) {
    if (r.n > 100000) continue;
    add("rows_" + LabelOf(r), r, true, true, all, /*contiguous_only=*/true);
  }
  // Up to 1024 rows and elements are a kernel of their own.
  for (const Rows& r :
       {Rows{33, 64}, Rows{257, 5}, Rows{4099, 9}, Rows{1000, 256},
        Rows{70, 513}, Rows{1024, 1024}, Rows{1025, 7}, Rows{1025, 8},
        Rows{1025, 33}, Rows{1025, 40}, Rows{1025, 256}, Rows{1025, 1000}}) {
    add("sums_" + LabelOf(r), r, true, true, all, /*contiguous_only=*/true);
  }
  add("layouts", {9, 33}, true, true, all, false);
  add("no_rows", {0, 33}, true, true, all, false);
  add("input_only", {9, 33}, false, false,
      c10::List<bool>({true, false, false}), false);
  add("weight_only", {9, 33}, true, false,
      c10::List<bool>({false, true, false}), false);
  add("none", {9, 33}, true, true, c10::List<bool>({false, false, false}),
      false);
  return calls;
}

std::vector<Call> RmsNormGradientCalls() {
  std::vector<Call> calls;
  const auto add = [&](const std::string& name, Rows r, bool weight,
                       c10::List<bool> mask, bool contiguous_only) {
    calls.push_back({name,
                     [=](Inputs& in) {
                       return Arguments{
                           in.Random({r.rows, r.n}),
                           in.Random({r.rows, r.n}),
                           std::vector<int64_t>{r.n},
                           in.Of(StatisticsOf(in), {r.rows, 1}).abs(),
                           weight ? c10::IValue(in.Random({r.n}))
                                  : c10::IValue(),
                           mask};
                     },
                     false, r.n > r.rows ? r.n : r.rows, contiguous_only});
  };
  const c10::List<bool> all({true, true});
  for (const Rows& r : {Rows{65, 7}, Rows{130, 8}, Rows{33, 64}, Rows{3, 1025},
                        Rows{2, 8192}, Rows{1, 65537}, Rows{4099, 9},
                        Rows{1000, 256}, Rows{1025, 40}, Rows{1025, 1000}}) {
    add("rows_" + LabelOf(r), r, true, all, /*contiguous_only=*/true);
  }
  add("layouts", {9, 33}, true, all, false);
  add("input_only", {9, 33}, false, c10::List<bool>({true, false}), false);
  return calls;
}

// The formula, in float64.
std::vector<at::Tensor> RmsNormGradient(const Arguments& a) {
  const at::Tensor grad = a[0].toTensor();
  const at::Tensor rstd = a[3].toTensor();
  const at::Tensor x = a[1].toTensor() * rstd;
  const bool weight = a[4].isTensor() && a[4].toTensor().defined();
  const at::Tensor h = weight ? grad * a[4].toTensor() : grad;
  const c10::List<bool> mask = a[5].toBoolList();
  std::vector<at::Tensor> result(2);
  if (mask[0]) result[0] = rstd * (h - x * (h * x).mean(-1, true));
  if (mask[1]) result[1] = (grad * x).sum(0);
  return result;
}

std::vector<Call> GroupNormCalls() {
  struct Shape {
    std::vector<int64_t> sizes;  // N, C and the rest
    int64_t groups;
  };
  const Shape shapes[] = {
      {{2, 4, 5}, 2},     {{3, 6}, 3},         {{1, 6, 1}, 6},
      {{2, 8, 3, 3}, 4},  {{3, 4, 8}, 1},      {{2, 4, 16}, 4},
      {{2, 12, 33}, 2},   {{1, 8, 32, 32}, 2}, {{2, 64, 128}, 32},
      {{65, 32, 8}, 8},   {{1, 8, 4096}, 2},   {{1, 4, 8191}, 1},
      {{1, 8, 65536}, 1}, {{1, 2, 300001}, 2}, {{0, 4, 5}, 2},
      {{2, 4, 0}, 2}};
  std::vector<Call> calls;
  const auto add = [&](const std::string& name, const Shape& s, bool weight,
                       bool bias, bool misaligned, double offset) {
    int64_t inner = 1;
    for (size_t d = 2; d < s.sizes.size(); ++d) inner *= s.sizes[d];
    const int64_t channels = s.sizes[1];
    calls.push_back(
        {name,
         [=](Inputs& in) {
           at::Tensor x =
               misaligned ? Misaligned(in, s.sizes) : in.Random(s.sizes);
           if (offset != 0 && at::isFloatingType(in.dtype())) x = x + offset;
           return Arguments{
               x,
               weight ? c10::IValue(in.Random({channels})) : c10::IValue(),
               bias ? c10::IValue(in.Random({channels})) : c10::IValue(),
               s.sizes[0],
               channels,
               inner,
               s.groups,
               1e-5};
         },
         false, channels / s.groups * inner, /*contiguous_only=*/true});
  };
  for (const Shape& s : shapes) {
    std::string label;
    for (const int64_t size : s.sizes) label += std::to_string(size) + "_";
    label += "in_" + std::to_string(s.groups);
    add(label, s, true, true, false, 0);
    if (s.sizes[0] == 2) {
      add(label + "_plain", s, false, false, false, 0);
      add(label + "_weight", s, true, false, false, 0);
      add(label + "_bias", s, false, true, false, 0);
      add(label + "_misaligned", s, true, true, true, 0);
      add(label + "_far_from_zero", s, true, true, false, 20);
    }
  }
  const auto bad = [&](const char* name, int64_t weight, at::ScalarType dtype,
                       int64_t inner, int64_t groups) {
    calls.push_back({name,
                     [=](Inputs& in) {
                       return Arguments{in.Random({2, 4, 3}),
                                        in.Of(dtype, {weight}),
                                        c10::IValue(),
                                        int64_t{2},
                                        int64_t{4},
                                        inner,
                                        groups,
                                        1e-5};
                     },
                     /*refused=*/true});
  };
  bad("weight_size", 3, at::kFloat, 3, 2);
  bad("weight_dtype", 4, at::kHalf, 3, 2);
  bad("elements", 4, at::kFloat, 2, 2);
  bad("groups", 4, at::kFloat, 3, 3);
  calls.push_back({"not_contiguous",
                   [](Inputs& in) {
                     return Arguments{in.Random({2, 3, 4}).transpose(1, 2),
                                      c10::IValue(),
                                      c10::IValue(),
                                      int64_t{2},
                                      int64_t{4},
                                      int64_t{3},
                                      int64_t{2},
                                      1e-5};
                   },
                   /*refused=*/true});
  return calls;
}

}  // namespace

std::vector<Operator> NormOperators() {
  const Bound bound = {Condition::kSensitivity, 16, 0.5, ""};
  // aten computes x scale + (beta - mean scale): of a group of one element the
  // terms are up to 316 times as large as its result, beta.
  Bound group_bound = bound;
  group_bound.oracle_error = 0x1p-41;
  return {
      {"aten::native_layer_norm", bound, LayerNormCalls()},
      {"aten::native_layer_norm_backward", bound, LayerNormGradientCalls()},
      {"aten::_fused_rms_norm", bound, RmsNormCalls()},
      {"aten::_fused_rms_norm_backward", bound, RmsNormGradientCalls(), false,
       RmsNormGradient},
      {"aten::native_group_norm", group_bound, GroupNormCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
