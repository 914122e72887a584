#include "flaggems/kernels/testing/scan_cases.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/var.h>
#include <ATen/ops/where.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "flaggems/kernels/testing/reduce_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;
using Dims = std::vector<int64_t>;

struct Line {
  std::string name;
  std::vector<int64_t> sizes;
  int64_t dim;
  bool refused = false;
};

// Along one dimension: lengths around vectors, warps, blocks and what a block
// holds; one line and many; the last, first and a middle dimension.
const std::vector<Line>& Lines() {
  static const auto* const lines = new std::vector<Line>{
      {"scalar", {}, 0},
      {"one", {1}, -1},
      {"rows_7", {5, 7}, 1},
      {"rows_16", {33, 16}, 1},
      {"rows_33", {9, 33}, -1},
      {"rows_129", {3, 129}, 1},
      {"rows_255", {6, 255}, 1},
      {"rows_1025", {3, 1025}, 1},
      {"rows_4096", {2, 4096}, 1},
      {"rows_16391", {1, 16391}, 1},
      {"line", {70001}, 0},
      {"columns_7", {31, 7}, 0},
      {"columns_257", {33, 257}, -2},
      {"tall_columns", {9001, 8}, 0},
      {"middle", {3, 37, 19}, 1},
      {"size_one_dim", {4, 1, 9}, 1},
      {"no_rows", {0, 5}, 1},
      {"dim_out_of_range", {3, 4}, 2, true},
      {"dim_negative_out_of_range", {3, 4}, -3, true},
  };
  return *lines;
}

int64_t LengthOf(const Line& line) {
  if (line.sizes.empty() || line.refused) return 1;
  return line.sizes[line.dim < 0 ? line.dim + line.sizes.size() : line.dim];
}

c10::IValue DtypeValue(std::optional<at::ScalarType> dtype) {
  return dtype.has_value() ? c10::IValue(static_cast<int64_t>(*dtype))
                           : c10::IValue();
}

// A list of one dimension, for amax and amin.
std::vector<Call> WithDimList(std::vector<Call> calls) {
  for (Call& call : calls) {
    call.arguments = [arguments = call.arguments](Inputs& in) {
      Arguments with = arguments(in);
      with[1] = Dims{with[1].toInt()};
      return with;
    };
  }
  return calls;
}

// Arguments (t, dim, keepdim) for each line, with and without keepdim.
std::vector<Call> DimCalls(bool nothing_refused) {
  std::vector<Call> calls;
  for (const Line& s : Lines()) {
    for (const bool keepdim : {false, true}) {
      calls.push_back({s.name + (keepdim ? "_keepdim" : ""),
                       [s, keepdim](Inputs& in) {
                         return Arguments{in.Random(s.sizes), s.dim, keepdim};
                       },
                       s.refused, LengthOf(s)});
    }
    calls.push_back({s.name + "_ties",
                     [s](Inputs& in) {
                       return Arguments{in.Ties(s.sizes), s.dim, false};
                     },
                     s.refused, LengthOf(s)});
  }
  for (const int64_t dim : {0, 1}) {
    calls.push_back({"special_" + std::to_string(dim), [dim](Inputs& in) {
                       return Arguments{in.Special({37, 41}), dim, false};
                     }});
  }
  calls.push_back({"nothing_dim",
                   [](Inputs& in) {
                     return Arguments{in.Random({0, 3}), int64_t{0}, false};
                   },
                   nothing_refused});
  return calls;
}

// Arguments (t) alone.
std::vector<Call> FullCalls(bool nothing_refused) {
  std::vector<Call> calls;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {}, {1}, {257}, {9, 33}, {3, 5, 7}, {300007}}) {
    int64_t numel = 1;
    std::string name = "all";
    for (const int64_t size : sizes) {
      numel *= size;
      name += "_" + std::to_string(size);
    }
    calls.push_back(
        {name, [sizes](Inputs& in) { return Arguments{in.Random(sizes)}; },
         false, numel});
  }
  calls.push_back({"special", [](Inputs& in) {
                     return Arguments{in.Special({37, 41})};
                   }});
  calls.push_back({"nothing",
                   [](Inputs& in) {
                     return Arguments{in.Random({0, 3})};
                   },
                   nothing_refused});
  return calls;
}

std::vector<Call> WithDtype(std::vector<Call> calls) {
  for (Call& call : calls) {
    call.arguments = [arguments = call.arguments](Inputs& in) {
      Arguments with = arguments(in);
      with.push_back(c10::IValue());
      return with;
    };
  }
  return calls;
}

// A result to write into, of a wrong shape on purpose, or strided.
std::vector<Call> WithOut(std::vector<Call> calls) {
  for (Call& call : calls) {
    call.arguments = [arguments = call.arguments](Inputs& in) {
      Arguments with = arguments(in);
      const at::Tensor t = with[0].toTensor();
      with.push_back(at::empty({0}, t.options()));
      return with;
    };
  }
  return calls;
}

// Arguments (t, dims, ...) of the operators that take a list.
std::vector<Call> DimListCalls(const std::vector<c10::IValue>& rest) {
  struct Shape {
    std::string name;
    std::vector<int64_t> sizes;
    std::optional<Dims> dims;
    bool refused = false;
  };
  const std::vector<Shape> shapes = {
      {"no_dims", {9, 33}, std::nullopt},
      {"empty_list", {9, 33}, Dims{}},
      {"rows", {5, 1025}, Dims{1}},
      {"columns", {33, 257}, Dims{0}},
      {"columns_vector", {130, 264}, Dims{0}},
      {"split", {3, 5, 19}, Dims{0, 2}},
      {"split_4", {3, 4, 5, 6}, Dims{1, -1}},
      {"outer", {3, 5, 19}, Dims{0, 1}},
      {"long", {2, 70001}, Dims{1}},
      {"no_rows", {0, 5}, Dims{1}},
      {"nothing", {3, 0}, Dims{1}},
      {"dim_twice", {3, 4}, Dims{1, -1}, true},
      {"dim_out_of_range", {3, 4}, Dims{2}, true},
  };
  std::vector<Call> calls;
  for (const Shape& s : shapes) {
    int64_t terms = 1;
    for (const int64_t size : s.sizes) terms *= size;
    calls.push_back({s.name,
                     [s, rest](Inputs& in) {
                       Arguments arguments{in.Random(s.sizes), s.dims};
                       arguments.insert(arguments.end(), rest.begin(),
                                        rest.end());
                       return arguments;
                     },
                     s.refused, terms});
  }
  return calls;
}

// Infinities, NaN and small numbers. The largest ones would leave nothing of
// the others in a sum, also in the oracle's.
at::Tensor SpecialButLarge(Inputs& in, at::IntArrayRef shape) {
  const at::Tensor t = in.Special(shape);
  if (!at::isFloatingType(in.dtype())) return t;
  const at::Tensor large = t.isfinite().logical_and(t.abs().gt(1e4));
  return at::where(large, at::ones_like(t), t);
}

// has_squares: the result is the variance itself, which overflows in the type
// of the elements where its squares do. A deviation or a mean does not: torch's
// CPU kernel gives its number, the CUDA kernel Inf or NaN, and of one infinity
// among the elements aten's var_mean makes NaN by where it stands. So those are
// not asked about the largest numbers, and the oracle is right about the rest.
std::vector<Call> VarCalls(bool has_squares) {
  std::vector<Call> calls;
  for (const double correction : {0.0, 1.0, 2.5}) {
    for (Call call : DimListCalls({c10::IValue(correction), false})) {
      call.name += "_less_" + std::to_string(static_cast<int>(correction));
      calls.push_back(std::move(call));
    }
  }
  for (Call call : DimListCalls({c10::IValue(), true})) {
    call.name += "_keepdim";
    calls.push_back(std::move(call));
  }
  Call special = {"special", [has_squares](Inputs& in) {
                    return Arguments{has_squares
                                         ? in.Special({37, 41})
                                         : SpecialButLarge(in, {37, 41}),
                                     Dims{1}, c10::IValue(), false};
                  }};
  special.native_specials = has_squares;
  calls.push_back(special);
  calls.push_back({"offset",
                   [](Inputs& in) {
                     return Arguments{in.Random({5, 4099}).add(1000), Dims{1},
                                      c10::IValue(), false};
                   },
                   false, 4099});
  return calls;
}

std::vector<Call> ProdCalls() {
  std::vector<Call> calls;
  for (const Line& s : Lines()) {
    if (LengthOf(s) > 5000) continue;  // beyond float32 before the end
    calls.push_back(
        {s.name,
         [s](Inputs& in) {
           return Arguments{in.Positive(s.sizes), s.dim, false, c10::IValue()};
         },
         s.refused, LengthOf(s)});
  }
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kInt}) {
    calls.push_back({std::string("dtype_") + c10::toString(dtype),
                     [dtype](Inputs& in) {
                       return Arguments{in.Positive({5, 17}), int64_t{1}, true,
                                        DtypeValue(dtype)};
                     },
                     false, 17, /*contiguous_only=*/true});
  }
  calls.push_back(
      {"nothing", [](Inputs& in) {
         return Arguments{in.Random({0, 3}), int64_t{0}, false, c10::IValue()};
       }});
  return calls;
}

std::vector<Call> ProdAllCalls() {
  std::vector<Call> calls;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{}, {1}, {5, 7}, {3, 5, 4}, {0, 3}}) {
    std::string name = "all";
    for (const int64_t size : sizes) name += "_" + std::to_string(size);
    calls.push_back({name,
                     [sizes](Inputs& in) {
                       return Arguments{in.Positive(sizes), c10::IValue()};
                     },
                     false, 60});
  }
  return calls;
}

// f(call name, t, dim, terms) for each line, with random, tied and special
// elements.
std::vector<Call> LineCalls(
    const std::function<Arguments(const at::Tensor&, int64_t dim)>& arguments) {
  std::vector<Call> calls;
  for (const Line& s : Lines()) {
    calls.push_back({s.name,
                     [s, arguments](Inputs& in) {
                       return arguments(in.Random(s.sizes), s.dim);
                     },
                     s.refused});
  }
  calls.push_back({"ties", [arguments](Inputs& in) {
                     return arguments(in.Ties({5, 2050}), 1);
                   }});
  for (const int64_t dim : {0, 1}) {
    calls.push_back(
        {"special_" + std::to_string(dim), [dim, arguments](Inputs& in) {
           return arguments(in.Special({37, 41}), dim);
         }});
  }
  return calls;
}

std::vector<Call> Named(const std::string& prefix, std::vector<Call> calls) {
  for (Call& call : calls) call.name = prefix + call.name;
  return calls;
}

std::vector<Call> SortCalls(bool stable_argument) {
  std::vector<Call> calls;
  for (const bool descending : {false, true}) {
    const auto arguments = [=](const at::Tensor& t, int64_t dim) {
      if (!stable_argument) return Arguments{t, dim, descending};
      // NaN without a sign: in bfloat16 aten's CUDA kernel takes one with a
      // sign for the smallest, against its own documentation.
      const bool sign = at::isFloatingType(t.scalar_type());
      return Arguments{sign ? at::where(t.isnan(), t.abs(), t) : t, true, dim,
                       descending};
    };
    calls = Concat(
        {calls, Named(descending ? "down_" : "up_", LineCalls(arguments))});
  }
  return calls;
}

// The stable order, which is what these kernels promise.
std::vector<at::Tensor> SortOracle(const at::Tensor& t, int64_t dim,
                                   bool descending) {
  auto [values, indices] = at::sort(t, /*stable=*/true, dim, descending);
  return {values, indices};
}

std::vector<Call> TopKCalls() {
  std::vector<Call> calls;
  for (const Line& s : Lines()) {
    for (const int64_t k : {1, 7, 64, 129, 1025}) {
      if (k > LengthOf(s) && !s.refused) continue;
      for (const bool largest : {true, false}) {
        calls.push_back(
            {s.name + "_" + std::to_string(k) +
                 (largest ? "_largest" : "_smallest"),
             [s, k, largest](Inputs& in) {
               return Arguments{in.Random(s.sizes), k, s.dim, largest, true};
             },
             s.refused});
      }
      if (s.refused) break;
    }
  }
  for (const bool largest : {true, false}) {
    const std::string name = largest ? "_largest" : "_smallest";
    calls.push_back({"ties" + name, [largest](Inputs& in) {
                       return Arguments{in.Ties({5, 4099}), int64_t{50},
                                        int64_t{1}, largest, true};
                     }});
    calls.push_back({"special" + name, [largest](Inputs& in) {
                       return Arguments{in.Special({37, 41}), int64_t{20},
                                        int64_t{1}, largest, true};
                     }});
  }
  calls.push_back({"none", [](Inputs& in) {
                     return Arguments{in.Random({5, 9}), int64_t{0}, int64_t{1},
                                      true, true};
                   }});
  calls.push_back({"too_many",
                   [](Inputs& in) {
                     return Arguments{in.Random({5, 9}), int64_t{10},
                                      int64_t{1}, true, true};
                   },
                   true});
  return calls;
}

}  // namespace

std::vector<Operator> ScanOperators() {
  const Bound exact = {Condition::kExact, 0, 0, ""};
  const Bound rounded = {Condition::kMagnitude, 0, 0, ""};
  const Bound sum = {Condition::kAbsolute, 16, 1, ""};
  const Bound variance = {Condition::kMagnitude, 64, 2, ""};
  const Bound product = {Condition::kMagnitude, 4, 2, ""};
  const std::vector<c10::IValue> keep = {true};
  Operator var_mean = {"aten::var_mean.correction", variance, VarCalls(false)};
  // A mean near 0 is as exact as the elements, of about 2, that cancel in it.
  var_mean.bound.oracle_error = 1e-14;
  // The mean by itself: aten's var_mean makes NaN of one infinity among the
  // elements, or not, depending on where it stands.
  var_mean.oracle = [](const Arguments& a) -> std::vector<at::Tensor> {
    const at::Tensor& t = a[0].toTensor();
    const Dims dims = a[1].isNone() ? Dims() : a[1].toIntVector();
    const std::optional<at::Scalar> correction =
        a[2].isNone() ? std::nullopt : std::make_optional(a[2].toScalar());
    const bool keepdim = a[3].toBool();
    return {at::var(t, dims, correction, keepdim), at::mean(t, dims, keepdim)};
  };
  Operator sort = {"aten::sort", rounded, SortCalls(false)};
  sort.indices = Operator::Indices{/*dim=*/1};
  sort.oracle = [](const Arguments& a) {
    return SortOracle(a[0].toTensor(), a[1].toInt(), a[2].toBool());
  };
  Operator sort_stable = {"aten::sort.stable", rounded, SortCalls(true)};
  sort_stable.oracle = [](const Arguments& a) {
    return SortOracle(a[0].toTensor(), a[2].toInt(), a[3].toBool());
  };
  Operator topk = {"aten::topk", rounded, TopKCalls()};
  topk.indices = Operator::Indices{/*dim=*/2};
  topk.oracle = [](const Arguments& a) {
    const int64_t k = a[1].toInt();
    const int64_t dim = a[2].toInt();
    std::vector<at::Tensor> sorted =
        SortOracle(a[0].toTensor(), dim, a[3].toBool());
    if (a[0].toTensor().dim() == 0) return sorted;
    for (at::Tensor& t : sorted) t = t.narrow(dim, 0, k);
    return sorted;
  };
  return {
      {"aten::sum", sum, WithDtype(FullCalls(false))},
      {"aten::mean", sum, WithDtype(FullCalls(false))},
      {"aten::sum.IntList_out", sum,
       WithOut(DimListCalls({false, c10::IValue()}))},
      {"aten::mean.out", sum, WithOut(DimListCalls({true, c10::IValue()}))},
      {"aten::amax.out", exact, WithOut(WithDimList(DimCalls(true)))},
      {"aten::amin", exact, WithDimList(DimCalls(true))},
      {"aten::amin.out", exact, WithOut(WithDimList(DimCalls(true)))},
      {"aten::max", exact, FullCalls(true)},
      {"aten::min", exact, FullCalls(true)},
      {"aten::argmin", exact, DimCalls(true)},
      {"aten::max.dim", exact, DimCalls(true)},
      {"aten::min.dim", exact, DimCalls(true)},
      {"aten::any", exact, FullCalls(false)},
      {"aten::any.dim", exact, DimCalls(false)},
      {"aten::any.dims", exact, DimListCalls(keep)},
      {"aten::all", exact, FullCalls(false)},
      {"aten::all.dim", exact, DimCalls(false)},
      {"aten::all.dims", exact, DimListCalls(keep)},
      {"aten::var.correction", variance, VarCalls(true)},
      {"aten::std.correction", variance, VarCalls(false)},
      var_mean,
      {"aten::prod", product, ProdAllCalls()},
      {"aten::prod.dim_int", product, ProdCalls()},
      sort,
      sort_stable,
      topk,
  };
}

std::vector<Operator> AllReduceOperators() {
  std::vector<Operator> operators = ReduceOperators();
  for (Operator& op : ScanOperators()) operators.push_back(std::move(op));
  return operators;
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
