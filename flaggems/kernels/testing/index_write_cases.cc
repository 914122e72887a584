#include "flaggems/kernels/testing/index_write_cases.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randperm.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;
using Shape = std::vector<int64_t>;

using List = c10::List<at::Tensor>;
using Indices = c10::List<std::optional<at::Tensor>>;

Bound BoundOf(Condition condition, double a, double b,
              const std::string& absolute_schema = "") {
  Bound bound;
  bound.condition = condition;
  bound.a = a;
  bound.b = b;
  bound.absolute_schema = absolute_schema;
  return bound;
}

at::Tensor EmptyOut(Inputs& in) {
  return at::empty({0}, at::TensorOptions(in.device()).dtype(in.dtype()));
}

Call Of(const std::string& name,
        const std::function<Arguments(Inputs&)>& arguments) {
  Call call;
  call.name = name;
  call.arguments = arguments;
  return call;
}

Call Refused(const std::string& name,
             const std::function<Arguments(Inputs&)>& arguments) {
  Call call = Of(name, arguments);
  call.refused = true;
  return call;
}

std::vector<Call> IndexSelectCalls() {
  const auto of = [](Shape shape, int64_t dim, int64_t count,
                     at::ScalarType dtype = at::kLong) {
    return [=](Inputs& in) {
      return Arguments{in.Random(shape), dim,
                       in.Index({count}, shape[dim], dtype)};
    };
  };
  return {
      Of("row_127_bytes", of({9, 127}, 0, 33)),
      Of("row_odd", of({9, 301}, 0, 33)),
      Of("row_vectors", of({9, 320}, 0, 33)),
      Of("row_vectors_but_one", of({9, 319}, 0, 33, at::kInt)),
      Of("rows_many", of({300, 8}, 0, 1025)),
      Of("rows_in_pieces", of({9, 2056}, 0, 1025)),
      Of("middle_odd", of({3, 9, 301}, 1, 5)),
      Of("middle_vectors", of({3, 9, 320}, 1, 5)),
      Of("last_long", of({7, 1025}, 1, 1027)),
      {"misaligned",
       [](Inputs& in) {
         const at::Tensor t = in.Random({9 * 320 + 1});
         return Arguments{t.narrow(0, 1, 9 * 320).view({9, 320}), 0,
                          in.Index({31}, 9)};
       },
       false, 1, /*contiguous_only=*/true},
  };
}

std::vector<Call> IndexSelectOutCalls() {
  return {
      Of("empty_out",
         [](Inputs& in) {
           return Arguments{in.Random({9, 7}), 0, in.Index({5}, 9),
                            EmptyOut(in)};
         }),
      Of("given_out",
         [](Inputs& in) {
           return Arguments{in.Random({9, 37}), 1, in.Index({5}, 37),
                            in.Mutable({9, 5})};
         }),
      Refused("dtype",
              [](Inputs& in) {
                return Arguments{in.Random({9, 37}), 1, in.Index({5}, 37),
                                 in.Of(at::kShort, {9, 5})};
              }),
  };
}

std::vector<Call> GatherOutCalls() {
  return {
      Of("empty_out",
         [](Inputs& in) {
           return Arguments{in.Random({9, 7}), 0, in.Index({5, 7}, 9), false,
                            EmptyOut(in)};
         }),
      Of("given_out",
         [](Inputs& in) {
           return Arguments{in.Random({9, 37}), 1, in.Index({9, 41}, 37), false,
                            in.Mutable({9, 41})};
         }),
  };
}

std::vector<Call> CatCalls() {
  const auto of = [](std::vector<Shape> shapes, int64_t dim) {
    return [=](Inputs& in) {
      List list;
      for (const Shape& s : shapes) list.push_back(in.Random(s));
      return Arguments{list, dim};
    };
  };
  return {
      Of("long_columns", of({{5, 301}, {5, 77}, {5, 512}}, 1)),
      Of("long_vectors", of({{1025}, {4097}, {3}, {2048}}, 0)),
      Of("vectors_of_16_bytes", of({{5, 64}, {5, 256}}, 1)),
      Of("13_inputs", of(std::vector<Shape>(13, {3, 17}), 0)),
      Of("200_inputs", of(std::vector<Shape>(200, {3, 5}), 1)),
      Of("last_of_four", of({{2, 3, 4, 5}, {2, 3, 4, 7}}, -1)),
      {"misaligned",
       [](Inputs& in) {
         List list;
         list.push_back(in.Random({1025}).narrow(0, 1, 1024));
         list.push_back(in.Random({1027}).narrow(0, 3, 1024));
         return Arguments{list, 0};
       },
       false, 1, /*contiguous_only=*/true},
  };
}

std::vector<Call> CatOutCalls() {
  return {
      Of("empty_out",
         [](Inputs& in) {
           List list({in.Random({3, 7}), in.Random({3, 9})});
           return Arguments{list, 1, EmptyOut(in)};
         }),
      Of("given_out",
         [](Inputs& in) {
           List list({in.Random({3, 7}), in.Random({3, 9})});
           return Arguments{list, 1, in.Mutable({3, 16})};
         }),
  };
}

// Sums of 16-bit types are rounded at each addition where few elements are
// added: then no element gets two.
at::Tensor Targets(Inputs& in, Shape shape, int64_t dim, int64_t limit,
                   bool many) {
  const bool is_short = in.dtype() == at::kHalf || in.dtype() == at::kBFloat16;
  if (many || !is_short || shape.empty()) return in.Index(shape, limit);
  at::DimVector column(shape.size(), 1);
  column[dim] = shape[dim];
  return at::arange(shape[dim], at::TensorOptions(in.device()).dtype(at::kLong))
      .flip(0)
      .view(column)
      .expand(shape)
      .contiguous();
}

std::vector<Call> ScatterAddCalls(bool is_out) {
  const auto of = [is_out](Shape shape, int64_t dim, Shape index_shape,
                           Shape source_shape, bool many = false) {
    return [=](Inputs& in) {
      Arguments arguments{
          in.Mutable(shape), dim,
          Targets(in, index_shape, dim < 0 ? dim + shape.size() : dim,
                  shape.empty() ? 1 : shape[dim < 0 ? dim + shape.size() : dim],
                  many),
          in.Random(source_shape)};
      if (is_out) arguments.push_back(EmptyOut(in));
      return arguments;
    };
  };
  std::vector<Call> calls = {
      Of("scalars", of({}, 0, {}, {})),
      Of("vector", of({257}, 0, {33}, {33})),
      Of("rows", of({5, 31}, 1, {5, 7}, {5, 9})),
      Of("columns", of({31, 5}, 0, {9, 5}, {9, 5})),
      Of("middle", of({3, 7, 5}, 1, {2, 6, 4}, {3, 6, 5})),
      Of("negative_dim", of({5, 31}, -1, {5, 7}, {5, 9})),
      Of("no_index", of({5, 31}, 0, {0, 31}, {5, 31})),
      Refused("dtypes",
              [](Inputs& in) {
                return Arguments{in.Mutable({5}), 0, in.Index({5}, 5),
                                 in.Of(at::kShort, {5})};
              }),
      Refused("index_wider", of({5, 31}, 1, {6, 7}, {6, 7})),
  };
  if (is_out) calls.erase(calls.end() - 2, calls.end());
  Call many = Of("many", of({3, 5}, 1, {3, 401}, {3, 401}, true));
  many.terms = 402;
  calls.push_back(many);
  // Long rows of few targets: in parts, few rows, many rows.
  const auto few = [&](int64_t rows, int64_t row, int64_t targets) {
    Call call =
        Of("few_" + std::to_string(rows) + "_" + std::to_string(targets),
           of({rows, targets}, 1, {rows, row}, {rows, row}, true));
    call.terms = row + 1;
    calls.push_back(call);
  };
  few(1, 20001, 64);
  few(3, 1025, 31);
  few(270, 600, 1);
  few(270, 1025, 64);
  return calls;
}

std::vector<Call> IndexCalls() {
  const auto of = [](Shape shape,
                     std::vector<std::pair<int64_t, Shape>> indices) {
    // {dimension, shape of its index}; others have none.
    return [=](Inputs& in) {
      const at::Tensor self = in.Random(shape);
      Indices list;
      for (const auto& [dim, index_shape] : indices) {
        while (static_cast<int64_t>(list.size()) < dim) {
          list.push_back(std::nullopt);
        }
        const int64_t size = shape[dim];
        // Half of them count from the end.
        list.push_back(in.Index(index_shape, 2 * size).sub(size));
      }
      return Arguments{self, list};
    };
  };
  const auto with_mask = [](Shape shape, Shape mask_shape, bool after) {
    return [=](Inputs& in) {
      const at::Tensor self = in.Random(shape);
      Indices list;
      if (after) list.push_back(std::nullopt);
      list.push_back(in.Mask(mask_shape));
      return Arguments{self, list};
    };
  };
  return {
      Of("vector", of({37}, {{0, {257}}})),
      Of("vector_matrix", of({37}, {{0, {5, 7}}})),
      Of("rows", of({9, 33}, {{0, {31}}})),
      Of("rows_vectors", of({9, 64}, {{0, {31}}})),
      Of("rows_odd", of({9, 301}, {{0, {31}}})),
      Of("columns", of({9, 33}, {{1, {31}}})),
      Of("middle", of({3, 5, 7}, {{1, {4}}})),
      Of("both", of({9, 33}, {{0, {31}}, {1, {31}}})),
      Of("both_broadcast", of({9, 33}, {{0, {4, 1}}, {1, {7}}})),
      Of("adjacent_inner", of({3, 5, 7}, {{1, {4}}, {2, {4}}})),
      Of("apart", of({3, 5, 7}, {{0, {4}}, {2, {4}}})),
      Of("four", of({3, 5, 7, 2}, {{0, {4}}, {1, {4}}, {2, {4}}, {3, {4}}})),
      Of("none_selected", of({9, 33}, {{0, {0}}})),
      Of("scalar_index", of({9, 33}, {{0, {}}})),
      Of("empty_self", of({9, 0}, {{0, {3}}})),
      Of("mask", with_mask({9, 33}, {9, 33}, false)),
      Of("mask_rows", with_mask({9, 33}, {9}, false)),
      Of("mask_columns", with_mask({9, 33}, {33}, true)),
      Of("int32",
         [](Inputs& in) {
           const at::Tensor self = in.Random({9, 33});
           return Arguments{self, Indices({in.Index({5}, 9, at::kInt)})};
         }),
      Of("special",
         [](Inputs& in) {
           const at::Tensor self = in.Special({9, 33});
           return Arguments{self, Indices({in.Index({5}, 9)})};
         }),
      Refused("too_many",
              [](Inputs& in) {
                const at::Tensor self = in.Random({9});
                return Arguments{self,
                                 Indices({in.Index({5}, 9), in.Index({5}, 9)})};
              }),
      Refused("float_index",
              [](Inputs& in) {
                const at::Tensor self = in.Random({9});
                return Arguments{self, Indices({in.Of(at::kFloat, {5})})};
              }),
      Refused("no_broadcast",
              [](Inputs& in) {
                const at::Tensor self = in.Random({9, 9});
                return Arguments{self,
                                 Indices({in.Index({5}, 9), in.Index({4}, 9)})};
              }),
      Refused("mask_shape",
              [](Inputs& in) {
                const at::Tensor self = in.Random({9, 9});
                return Arguments{self, Indices({in.Mask({8})})};
              }),
      Refused("empty_dimension",
              [](Inputs& in) {
                const at::Tensor self = in.Random({0, 9});
                return Arguments{self, Indices({in.Index({5}, 1)})};
              }),
  };
}

std::vector<Call> IndexOutCalls() {
  return {
      Of("empty_out",
         [](Inputs& in) {
           const at::Tensor self = in.Random({9, 33});
           return Arguments{self, Indices({in.Index({5}, 9)}), EmptyOut(in)};
         }),
      Of("given_out",
         [](Inputs& in) {
           const at::Tensor self = in.Random({9, 33});
           return Arguments{self, Indices({in.Index({5}, 9)}),
                            in.Mutable({5, 33})};
         }),
  };
}

// Distinct indices, as the order of assignments is open.
at::Tensor Distinct(Inputs& in, int64_t count) {
  return at::arange(count, at::TensorOptions(in.device()).dtype(at::kLong))
      .flip(0);
}

std::vector<Call> AssignCalls(bool is_impl) {
  const auto of = [is_impl](Shape shape, int64_t before, int64_t count,
                            Shape values) {
    return [=](Inputs& in) {
      const at::Tensor self = in.Mutable(shape);
      Indices list;
      for (int64_t d = 0; d < before; ++d) list.push_back(std::nullopt);
      list.push_back(Distinct(in, count));
      Arguments arguments{self, list, in.Random(values), false};
      if (is_impl) arguments.push_back(false);
      return arguments;
    };
  };
  const auto done = [is_impl](Arguments arguments) {
    if (is_impl) arguments.push_back(false);
    return arguments;
  };
  return {
      Of("vector", of({37}, 0, 31, {31})),
      Of("rows", of({9, 33}, 0, 7, {7, 33})),
      Of("rows_vectors", of({9, 64}, 0, 7, {7, 64})),
      Of("rows_odd", of({9, 301}, 0, 7, {7, 301})),
      Of("rows_of_one_value", of({9, 33}, 0, 7, {})),
      Of("columns", of({9, 33}, 1, 31, {9, 31})),
      Of("columns_broadcast", of({9, 33}, 1, 31, {31})),
      Of("middle", of({3, 5, 7}, 1, 4, {3, 4, 7})),
      Of("none", of({9, 33}, 0, 0, {0, 33})),
      Of("both",
         [=](Inputs& in) {
           const at::Tensor self = in.Mutable({9, 33});
           return done({self, Indices({Distinct(in, 7), Distinct(in, 7)}),
                        in.Random({7}), false});
         }),
      Of("apart",
         [=](Inputs& in) {
           const at::Tensor self = in.Mutable({5, 3, 9});
           return done(
               {self, Indices({Distinct(in, 4), std::nullopt, Distinct(in, 4)}),
                in.Random({4, 3}), false});
         }),
      Of("mask",
         [=](Inputs& in) {
           const at::Tensor self = in.Mutable({9, 33});
           return done(
               {self, Indices({in.Mask({9, 33})}), in.Random({1}), false});
         }),
      Of("mask_and_host_value",
         [=](Inputs& in) {
           const at::Tensor self = in.Mutable({9, 33});
           return done({self, Indices({in.Mask({9, 33})}),
                        in.Random({}).to(at::kCPU), false});
         }),
      Refused("dtypes",
              [=](Inputs& in) {
                const at::Tensor self = in.Mutable({9});
                return done({self, Indices({Distinct(in, 4)}),
                             in.Of(at::kShort, {4}), false});
              }),
      Refused("shapes",
              [=](Inputs& in) {
                const at::Tensor self = in.Mutable({9});
                return done(
                    {self, Indices({Distinct(in, 4)}), in.Random({5}), false});
              }),
      Refused("too_many",
              [=](Inputs& in) {
                const at::Tensor self = in.Mutable({9});
                return done({self, Indices({Distinct(in, 4), Distinct(in, 4)}),
                             in.Random({4}), false});
              }),
  };
}

std::vector<Call> AccumulateCalls(bool is_impl) {
  const auto of = [is_impl](Shape shape,
                            std::vector<std::pair<int64_t, Shape>> indices,
                            Shape values, int64_t terms) {
    Call call = Of("", [=](Inputs& in) {
      const at::Tensor self = in.Mutable(shape);
      Indices list;
      for (const auto& [dim, index_shape] : indices) {
        while (static_cast<int64_t>(list.size()) < dim) {
          list.push_back(std::nullopt);
        }
        list.push_back(in.Index(index_shape, 2 * shape[dim]).sub(shape[dim]));
      }
      Arguments arguments{self, list, in.Random(values), true};
      if (is_impl) arguments.push_back(false);
      return arguments;
    });
    call.terms = terms;
    return call;
  };
  const auto named = [](const std::string& name, Call call) {
    call.name = "accumulate_" + name;
    return call;
  };
  return {
      named("vector", of({37}, {{0, {257}}}, {257}, 257)),
      named("one_target", of({1}, {{0, {1025}}}, {1025}, 1025)),
      named("two_targets", of({2}, {{0, {5000}}}, {5000}, 5000)),
      named("rows", of({9, 33}, {{0, {100}}}, {100, 33}, 100)),
      named("rows_vectors", of({9, 64}, {{0, {100}}}, {100, 64}, 100)),
      named("rows_broadcast", of({9, 33}, {{0, {100}}}, {33}, 100)),
      named("columns", of({9, 33}, {{1, {100}}}, {9, 100}, 100)),
      named("middle", of({3, 5, 8}, {{1, {40}}}, {3, 40, 8}, 40)),
      named("both", of({9, 33}, {{0, {40}}, {1, {40}}}, {40}, 40)),
      named("both_broadcast", of({9, 33}, {{0, {4, 1}}, {1, {7}}}, {4, 7}, 28)),
      named("apart", of({3, 5, 7}, {{0, {40}}, {2, {40}}}, {40, 5}, 40)),
      named("none", of({9, 33}, {{0, {0}}}, {0, 33}, 1)),
  };
}

std::vector<Call> IndexAddCalls(bool is_out) {
  const auto of = [is_out](Shape shape, int64_t dim, int64_t count,
                           c10::Scalar alpha = 1, int64_t axis = -1) {
    Call call = Of("", [=](Inputs& in) {
      Shape source = shape;
      int64_t limit = 1;
      if (!shape.empty()) {
        source[axis < 0 ? dim : axis] = count;
        limit = shape[axis < 0 ? dim : axis];
      }
      const at::Tensor self = in.Mutable(shape);
      // Atomic additions round 16-bit sums: one for each target there.
      int64_t slice = 1;
      for (const int64_t size : shape) slice *= size;
      const bool is_atomic = slice / limit < 16;
      Arguments arguments{self, dim,
                          is_atomic ? Targets(in, {count}, 0, limit, false)
                                    : in.Index({count}, limit),
                          in.Random(source), alpha};
      if (is_out) arguments.push_back(EmptyOut(in));
      return arguments;
    });
    call.terms = count + 1;
    return call;
  };
  const auto named = [](const std::string& name, Call call) {
    call.name = name;
    return call;
  };
  std::vector<Call> calls = {
      named("vector", of({37}, 0, 31)),
      named("rows", of({9, 33}, 0, 100)),
      named("rows_vectors", of({9, 64}, 0, 100)),
      named("columns", of({33, 9}, 1, 100)),
      named("middle", of({3, 5, 8}, 1, 40)),
      named("negative_dim", of({3, 5, 8}, -2, 40, 1, 1)),
      named("alpha", of({9, 33}, 0, 20, 2)),
      named("none", of({9, 33}, 0, 0)),
  };
  if (!is_out) {
    calls.push_back(Refused("dtypes", [](Inputs& in) {
      return Arguments{in.Mutable({5}), 0, in.Index({5}, 5),
                       in.Of(at::kShort, {5}), 1};
    }));
    calls.push_back(Refused("counts", [](Inputs& in) {
      return Arguments{in.Mutable({5}), 0, in.Index({4}, 5), in.Random({5}), 1};
    }));
  }
  return calls;
}

std::vector<Call> EmbeddingBackwardCalls() {
  const auto of = [](Shape index_shape, int64_t weights, int64_t columns,
                     int64_t padding, bool scale, int64_t terms,
                     at::ScalarType dtype = at::kLong) {
    Call call = Of("", [=](Inputs& in) {
      Shape grad_shape = index_shape;
      grad_shape.push_back(columns);
      return Arguments{in.Random(grad_shape),
                       in.Index(index_shape, weights, dtype), weights, padding,
                       scale};
    });
    call.terms = terms;
    return call;
  };
  const auto named = [](const std::string& name, Call call) {
    call.name = name;
    return call;
  };
  return {
      named("vector", of({31}, 13, 33, -1, false, 31)),
      named("matrix", of({5, 7}, 13, 32, -1, false, 35)),
      named("padding", of({31}, 5, 33, 3, false, 31)),
      named("scaled", of({31}, 5, 33, -1, true, 31)),
      named("scaled_padding", of({400}, 5, 8, 0, true, 400)),
      named("one_row", of({5000}, 1, 8, -1, false, 5000)),
      named("two_rows", of({5000}, 2, 9, -1, false, 5000)),
      // All indices are one where they are expanded.
      named("many_rows", of({5000}, 700, 8, -1, false, 5000)),
      named("int32", of({31}, 13, 33, -1, false, 31, at::kInt)),
      named("no_indices", of({0}, 13, 33, -1, false, 1)),
      // Rows without columns are left out: native aten's CUDA kernel accesses
      // memory that such tensors do not have.
  };
}

}  // namespace

std::vector<Operator> IndexWriteOperators() {
  const Bound sums = BoundOf(Condition::kAbsolute, 2, 1);
  return {
      {"aten::index_select", {}, IndexSelectCalls()},
      {"aten::index_select.out", {}, IndexSelectOutCalls()},
      {"aten::gather.out", {}, GatherOutCalls()},
      {"aten::cat", {}, CatCalls()},
      {"aten::cat.out", {}, CatOutCalls()},
      {"aten::scatter_add", sums, ScatterAddCalls(false)},
      {"aten::scatter_add_", sums, ScatterAddCalls(false)},
      {"aten::scatter_add.out",
       BoundOf(Condition::kAbsolute, 2, 1, "aten::scatter_add"),
       ScatterAddCalls(true)},
      {"aten::index.Tensor", {}, IndexCalls()},
      {"aten::index.Tensor_out", {}, IndexOutCalls()},
      {"aten::index_put_", {}, AssignCalls(false)},
      {"aten::_index_put_impl_", {}, AssignCalls(true)},
      {"aten::index_put_", sums, AccumulateCalls(false)},
      {"aten::_index_put_impl_", sums, AccumulateCalls(true)},
      {"aten::index_add", sums, IndexAddCalls(false)},
      {"aten::index_add_", sums, IndexAddCalls(false)},
      {"aten::index_add.out",
       BoundOf(Condition::kAbsolute, 2, 1, "aten::index_add"),
       IndexAddCalls(true)},
      {"aten::embedding_dense_backward", sums, EmbeddingBackwardCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
