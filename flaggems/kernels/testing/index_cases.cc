#include "flaggems/kernels/testing/index_cases.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

using List = c10::List<at::Tensor>;

Arguments EmbeddingArguments(const at::Tensor& weight,
                             const at::Tensor& indices) {
  return {weight, indices, int64_t{-1}, false, false};
}

std::vector<Call> EmbeddingCalls() {
  std::vector<Call> calls =
      CallsForShapes("indices", [](Inputs& in, at::IntArrayRef s) {
        return EmbeddingArguments(in.Random({13, 33}), in.Index(s, 13));
      });
  const std::vector<Call> more = {
      {"special",
       [](Inputs& in) {
         return EmbeddingArguments(in.Special({13, 7}), in.Index({31}, 13));
       }},
      {"int32",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13, 7}),
                                   in.Index({5, 3}, 13, at::kInt));
       }},
      {"no_columns",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13, 0}), in.Index({5, 3}, 13));
       }},
      {"index_too_large",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13, 7}),
                                   in.Index({5}, 3).add(13));
       },
       false, 1, false, false, false, /*refused_for_values=*/true},
      {"index_negative",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13, 7}), in.Index({5}, 3).sub(5));
       },
       false, 1, false, false, false, /*refused_for_values=*/true},
      {"index_float",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13, 7}),
                                   in.Index({5}, 13, at::kFloat));
       },
       /*refused=*/true},
      {"index_int16",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13, 7}),
                                   in.Index({5}, 13, at::kShort));
       },
       /*refused=*/true},
      {"weight_is_a_vector",
       [](Inputs& in) {
         return EmbeddingArguments(in.Random({13}), in.Index({5}, 13));
       },
       /*refused=*/true},
  };
  return Concat({calls, more});
}

std::vector<Call> IndexSelectCalls() {
  std::vector<Call> calls;
  for (const int64_t dim : {0, 1, -1}) {
    for (const int64_t count : {0, 1, 7, 33}) {
      calls.push_back(
          {"dim_" + std::to_string(dim) + "_count_" + std::to_string(count),
           [dim, count](Inputs& in) {
             return Arguments{in.Random({5, 6, 7}), dim, in.Index({count}, 5)};
           }});
    }
  }
  const auto of = [](std::vector<int64_t> shape, int64_t dim,
                     std::vector<int64_t> index_shape, int64_t shift,
                     at::ScalarType dtype = at::kLong) {
    return [=](Inputs& in) {
      return Arguments{in.Random(shape), dim,
                       in.Index(index_shape, 3, dtype).add(shift)};
    };
  };
  const std::vector<Call> more = {
      {"special",
       [](Inputs& in) {
         return Arguments{in.Special({13, 7}), 0, in.Index({31}, 13)};
       }},
      {"int32", of({4, 5}, 1, {7}, 0, at::kInt)},
      {"scalar_index", of({4, 5}, 1, {}, 0)},
      {"vector", of({33}, 0, {257}, 0)},
      {"scalar_self",
       [](Inputs& in) {
         return Arguments{in.Random({}), 0, in.Index({1}, 1)};
       }},
      {"scalar_self_twice",
       [](Inputs& in) {
         return Arguments{in.Random({}), 0, in.Index({2}, 1)};
       },
       /*refused=*/true},
      {"index_too_large", of({4, 5}, 0, {7}, 4), false, 1, false, false, false,
       /*refused_for_values=*/true},
      {"index_negative", of({4, 5}, 0, {7}, -3), false, 1, false, false, false,
       /*refused_for_values=*/true},
      {"index_float", of({4, 5}, 0, {7}, 0, at::kFloat), /*refused=*/true},
      {"index_matrix", of({4, 5}, 0, {7, 2}, 0), /*refused=*/true},
      {"dim_out_of_range", of({4, 5}, 2, {7}, 0), /*refused=*/true},
  };
  return Concat({calls, more});
}

std::vector<Call> GatherCalls() {
  const auto of = [](std::vector<int64_t> shape, int64_t dim,
                     std::vector<int64_t> index_shape, int64_t limit,
                     int64_t shift = 0, at::ScalarType dtype = at::kLong) {
    return [=](Inputs& in) {
      return Arguments{in.Random(shape), dim,
                       in.Index(index_shape, limit, dtype).add(shift), false};
    };
  };
  return {
      {"scalars", of({}, 0, {}, 1)},
      {"scalar_self", of({}, 0, {3}, 1)},
      {"vector", of({33}, 0, {257}, 33)},
      {"rows", of({5, 31}, 1, {5, 7}, 31)},
      {"rows_fewer", of({5, 31}, -1, {3, 40}, 31)},
      {"columns", of({5, 31}, 0, {9, 31}, 5)},
      {"columns_fewer", of({5, 31}, 0, {9, 7}, 5)},
      {"middle", of({3, 5, 7}, 1, {2, 9, 6}, 5)},
      {"last", of({3, 5, 7}, 2, {3, 5, 11}, 7)},
      {"four", of({2, 3, 4, 5}, -3, {2, 7, 4, 3}, 3)},
      {"no_index", of({5, 31}, 0, {0, 31}, 5)},
      {"no_index_vector", of({5, 31}, 0, {0}, 5)},
      {"int32", of({5, 31}, 1, {5, 7}, 31, 0, at::kInt)},
      {"special",
       [](Inputs& in) {
         return Arguments{in.Special({13, 7}), 1, in.Index({13, 9}, 7), false};
       }},
      {"index_too_large", of({5, 31}, 1, {5, 7}, 3, 31), false, 1, false, false,
       false, /*refused_for_values=*/true},
      {"index_negative", of({5, 31}, 1, {5, 7}, 3, -4), false, 1, false, false,
       false, /*refused_for_values=*/true},
      {"index_float", of({5, 31}, 1, {5, 7}, 3, 0, at::kFloat),
       /*refused=*/true},
      {"ranks_differ", of({5, 31}, 1, {5}, 3), /*refused=*/true},
      {"index_wider", of({5, 31}, 1, {6, 7}, 3), /*refused=*/true},
      {"dim_out_of_range", of({5, 31}, 2, {5, 7}, 3), /*refused=*/true},
  };
}

std::vector<Call> CatCalls() {
  const auto of = [](std::vector<std::vector<int64_t>> shapes, int64_t dim) {
    return [=](Inputs& in) {
      List list;
      for (const std::vector<int64_t>& s : shapes) list.push_back(in.Random(s));
      return Arguments{list, dim};
    };
  };
  const auto channels_last = [](bool all) {
    return [all](Inputs& in) {
      List list;
      list.push_back(
          in.Random({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast));
      const at::Tensor other = in.Random({2, 2, 4, 5});
      list.push_back(all ? other.contiguous(at::MemoryFormat::ChannelsLast)
                         : other);
      return Arguments{list, 1};
    };
  };
  return {
      {"one", of({{3, 4}}, 0)},
      {"vectors", of({{7}, {1}, {257}}, 0)},
      {"rows", of({{3, 7}, {1, 7}, {33, 7}}, 0)},
      {"columns", of({{3, 7}, {3, 1}, {3, 33}}, 1)},
      {"columns_negative", of({{3, 7}, {3, 1}, {3, 33}}, -1)},
      {"middle", of({{2, 3, 5}, {2, 1, 5}, {2, 4, 5}}, 1)},
      {"empty_parts", of({{2, 0, 5}, {2, 1, 5}, {2, 0, 5}}, 1)},
      {"all_empty", of({{2, 0}, {2, 0}}, 1)},
      {"empty_vector_is_skipped", of({{0}, {2, 3}}, 1)},
      {"only_empty_vectors", of({{0}, {0}}, 0)},
      {"channels_last", channels_last(true), false, 1,
       /*contiguous_only=*/true},
      {"channels_last_and_contiguous", channels_last(false), false, 1,
       /*contiguous_only=*/true},
      {"promotion",
       [](Inputs& in) {
         List list;
         list.push_back(in.Random({3, 4}));
         list.push_back(in.Of(at::kInt, {5, 4}));
         return Arguments{list, 0};
       }},
      {"promotion_of_skipped",
       [](Inputs& in) {
         List list;
         list.push_back(in.Of(at::kDouble, {0}));
         list.push_back(in.Random({5, 4}));
         return Arguments{list, 0};
       }},
      {"special",
       [](Inputs& in) {
         List list;
         list.push_back(in.Special({5, 7}));
         list.push_back(in.Special({5, 4}));
         return Arguments{list, 1};
       }},
      {"no_tensors",
       [](Inputs&) {
         return Arguments{List(), 0};
       },
       /*refused=*/true},
      {"scalars", of({{}, {}}, 0), /*refused=*/true},
      {"ranks_differ", of({{3, 7}, {7}}, 0), /*refused=*/true},
      {"sizes_differ", of({{3, 7}, {3, 6}}, 0), /*refused=*/true},
      {"dim_out_of_range", of({{3, 7}, {3, 7}}, 2), /*refused=*/true},
  };
}

}  // namespace

std::vector<Operator> IndexOperators() {
  return {
      {"aten::embedding", {}, EmbeddingCalls()},
      {"aten::index_select", {}, IndexSelectCalls()},
      {"aten::gather", {}, GatherCalls()},
      {"aten::cat", {}, CatCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
