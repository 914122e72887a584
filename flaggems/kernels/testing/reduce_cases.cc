#include "flaggems/kernels/testing/reduce_cases.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

using Dims = std::vector<int64_t>;

struct Shape {
  std::string name;
  std::vector<int64_t> sizes;
  std::optional<Dims> dims;
  bool refused = false;
};

// Reductions over the whole, rows, columns, the middle, several dimensions;
// lengths around the block and chunk sizes of reduce.h.
const std::vector<Shape>& Shapes() {
  static const auto* const shapes = new std::vector<Shape>{
      {"scalar", {}, Dims{}},
      {"scalar_dim", {}, Dims{-1}},
      {"one", {1}, Dims{0}},
      {"rows_7", {5, 7}, Dims{1}},
      {"rows_31", {5, 31}, Dims{-1}},
      {"rows_33", {33, 33}, Dims{1}},
      {"rows_1025", {3, 1025}, Dims{1}},
      {"columns_7", {31, 7}, Dims{0}},
      {"columns_257", {33, 257}, Dims{-2}},
      {"columns_600", {17, 600}, Dims{0}},
      {"middle", {3, 37, 19}, Dims{1}},
      {"outer_dims", {3, 5, 19}, Dims{0, 1}},
      {"split_dims", {3, 5, 19}, Dims{0, 2}},
      {"split_dims_4", {3, 4, 5, 6}, Dims{1, -1}},
      {"all_empty_list", {9, 33}, Dims{}},
      {"all_named", {3, 5, 7}, Dims{2, 0, 1}},
      {"size_one_dim", {4, 1, 9}, Dims{1}},
      {"chunks", {70001}, Dims{0}},
      {"chunks_columns", {9001, 5}, Dims{0}},
      {"no_rows", {0, 5}, Dims{1}},
      {"dim_out_of_range", {3, 4}, Dims{2}, true},
      {"dim_negative_out_of_range", {3, 4}, Dims{-3}, true},
      {"dim_twice", {3, 4}, Dims{1, -1}, true},
  };
  return *shapes;
}

int64_t TermsOf(const Shape& s) {
  int64_t all = 1, terms = 1;
  const int64_t rank = static_cast<int64_t>(s.sizes.size());
  for (const int64_t size : s.sizes) all *= size;
  if (!s.dims.has_value() || s.dims->empty()) return all;
  for (const int64_t d : *s.dims) {
    const int64_t axis = d < 0 ? d + rank : d;
    if (axis >= 0 && axis < rank) terms *= s.sizes[axis];
  }
  return terms;
}

// Arguments of sum and mean.
Arguments SumArguments(const at::Tensor& t, const std::optional<Dims>& dims,
                       bool keepdim, std::optional<at::ScalarType> dtype) {
  return {t, dims, keepdim,
          dtype.has_value() ? c10::IValue(static_cast<int64_t>(*dtype))
                            : c10::IValue()};
}

std::vector<Call> SumCalls() {
  std::vector<Call> calls;
  for (const Shape& s : Shapes()) {
    for (const bool keepdim : {false, true}) {
      calls.push_back({s.name + (keepdim ? "_keepdim" : ""),
                       [s, keepdim](Inputs& in) {
                         return SumArguments(in.Random(s.sizes), s.dims,
                                             keepdim, std::nullopt);
                       },
                       s.refused, TermsOf(s)});
    }
  }
  calls.push_back({"no_dims",
                   [](Inputs& in) {
                     return SumArguments(in.Random({9, 33}), std::nullopt,
                                         false, std::nullopt);
                   },
                   false, 9 * 33});
  calls.push_back(
      {"nothing_to_add", [](Inputs& in) {
         return SumArguments(in.Random({3, 0}), Dims{1}, false, std::nullopt);
       }});
  calls.push_back(
      {"special",
       [](Inputs& in) {
         return SumArguments(in.Special({5, 7}), Dims{1}, false, std::nullopt);
       },
       false, 7});
  calls.push_back({"positive",
                   [](Inputs& in) {
                     return SumArguments(in.Positive({3, 4099}), Dims{1}, false,
                                         std::nullopt);
                   },
                   false, 4099});
  for (const at::ScalarType dtype :
       {at::kDouble, at::kFloat, at::kHalf, at::kComplexFloat}) {
    calls.push_back(
        {std::string("dtype_") + c10::toString(dtype),
         [dtype](Inputs& in) {
           return SumArguments(in.Random({5, 33}), Dims{0}, false, dtype);
         },
         false, 5});
  }
  calls.push_back({"threads",
                   [](Inputs& in) {
                     return SumArguments(in.Random({200003}), Dims{0}, false,
                                         std::nullopt);
                   },
                   false, 1, false, true});
  calls.push_back({"threads_columns",
                   [](Inputs& in) {
                     return SumArguments(in.Random({20003, 9}), Dims{0}, false,
                                         std::nullopt);
                   },
                   false, 1, false, true});
  return calls;
}

std::vector<Call> IntegerDtypeCalls(bool refused) {
  std::vector<Call> calls;
  for (const at::ScalarType dtype : {at::kLong, at::kInt, at::kBool}) {
    calls.push_back(
        {std::string("dtype_") + c10::toString(dtype),
         [dtype](Inputs& in) {
           return SumArguments(in.Random({5, 33}), Dims{0}, false, dtype);
         },
         refused, 5, /*contiguous_only=*/true});
  }
  return calls;
}

std::vector<Call> AmaxCalls() {
  std::vector<Call> calls;
  for (const Shape& s : Shapes()) {
    for (const bool keepdim : {false, true}) {
      calls.push_back({s.name + (keepdim ? "_keepdim" : ""),
                       [s, keepdim](Inputs& in) {
                         return Arguments{in.Random(s.sizes), *s.dims, keepdim};
                       },
                       s.refused});
    }
  }
  // With and without a NaN: rows and columns that have none follow ones that
  // do.
  for (const int64_t dim : {0, 1}) {
    calls.push_back({"special_" + std::to_string(dim), [dim](Inputs& in) {
                       return Arguments{in.Special({37, 41}), Dims{dim}, false};
                     }});
    calls.push_back({"special_pairs_" + std::to_string(dim), [dim](Inputs& in) {
                       return Arguments{in.Special({2, 2}), Dims{dim}, false};
                     }});
  }
  calls.push_back({"nothing_all",
                   [](Inputs& in) {
                     return Arguments{in.Random({0, 3}), Dims{}, false};
                   },
                   true});
  calls.push_back({"nothing_dim",
                   [](Inputs& in) {
                     return Arguments{in.Random({0, 3}), Dims{0}, false};
                   },
                   true});
  return calls;
}

Arguments IndexArguments(const at::Tensor& t, std::optional<int64_t> dim,
                         bool keepdim) {
  return {t, dim, keepdim};
}

std::vector<Call> ArgmaxCalls() {
  std::vector<Call> calls;
  for (const Shape& s : Shapes()) {
    if (s.dims->size() > 1) continue;
    const std::optional<int64_t> dim =
        s.dims->empty() ? std::nullopt : std::make_optional((*s.dims)[0]);
    for (const bool keepdim : {false, true}) {
      calls.push_back({s.name + (keepdim ? "_keepdim" : ""),
                       [s, dim, keepdim](Inputs& in) {
                         return IndexArguments(in.Random(s.sizes), dim,
                                               keepdim);
                       },
                       s.refused});
      calls.push_back({s.name + "_ties" + (keepdim ? "_keepdim" : ""),
                       [s, dim, keepdim](Inputs& in) {
                         return IndexArguments(in.Ties(s.sizes), dim, keepdim);
                       },
                       s.refused});
    }
  }
  for (const int64_t dim : {0, 1}) {
    calls.push_back({"special_" + std::to_string(dim), [dim](Inputs& in) {
                       return IndexArguments(in.Special({37, 41}), dim, false);
                     }});
  }
  calls.push_back(
      {"special_all", [](Inputs& in) {
         return IndexArguments(in.Special({37, 41}), std::nullopt, false);
       }});
  calls.push_back(
      {"nothing_all",
       [](Inputs& in) {
         return IndexArguments(in.Random({0, 3}), std::nullopt, false);
       },
       true});
  calls.push_back({"nothing_dim",
                   [](Inputs& in) {
                     return IndexArguments(in.Random({0, 3}), 0, false);
                   },
                   true});
  return calls;
}

Arguments CumsumArguments(const at::Tensor& t, int64_t dim,
                          std::optional<at::ScalarType> dtype) {
  return {t, dim,
          dtype.has_value() ? c10::IValue(static_cast<int64_t>(*dtype))
                            : c10::IValue()};
}

std::vector<Call> CumsumCalls() {
  std::vector<Call> calls;
  for (const Shape& s : Shapes()) {
    if (s.dims->size() != 1) continue;
    calls.push_back({s.name,
                     [s](Inputs& in) {
                       return CumsumArguments(in.Random(s.sizes), (*s.dims)[0],
                                              std::nullopt);
                     },
                     s.refused, TermsOf(s)});
  }
  calls.push_back(
      {"special", [](Inputs& in) {
         return CumsumArguments(in.Special({5, 3}), 1, std::nullopt);
       }});
  for (const at::ScalarType dtype : {at::kDouble, at::kHalf, at::kShort}) {
    calls.push_back({std::string("dtype_") + c10::toString(dtype),
                     [dtype](Inputs& in) {
                       return CumsumArguments(in.Random({5, 33}), 1, dtype);
                     },
                     false, 33, /*contiguous_only=*/true});
  }
  calls.push_back({"dtype_bool",
                   [](Inputs& in) {
                     return CumsumArguments(in.Random({5, 33}), 1, at::kBool);
                   },
                   true});
  calls.push_back(
      {"threads",
       [](Inputs& in) {
         return CumsumArguments(in.Random({99, 501}), 1, std::nullopt);
       },
       false, 1, false, true});
  return calls;
}

}  // namespace

std::vector<Operator> ReduceOperators() {
  const Bound sum = {Condition::kAbsolute, 16, 1, ""};
  const Bound exact = {Condition::kExact, 0, 0, ""};
  return {
      {"aten::sum.dim_IntList", sum,
       Concat({SumCalls(), IntegerDtypeCalls(false)})},
      {"aten::mean.dim", sum, Concat({SumCalls(), IntegerDtypeCalls(true)})},
      {"aten::amax", exact, AmaxCalls()},
      {"aten::argmax", exact, ArgmaxCalls()},
      {"aten::cumsum", sum, CumsumCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
