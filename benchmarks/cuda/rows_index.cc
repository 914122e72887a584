// Indexing, cat, dropout, triangles, nll_loss.

#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cuda/row.h"

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;
using Shape = std::vector<int64_t>;

const std::vector<at::ScalarType> kTwo = {at::kBFloat16, at::kFloat};
const std::vector<at::ScalarType> kThree = {at::kBFloat16, at::kHalf,
                                            at::kFloat};

at::Tensor Random(const Shape& shape, at::ScalarType dtype) {
  return at::randn(shape, at::TensorOptions(at::kCUDA).dtype(dtype));
}

at::Tensor Index(int64_t limit, const Shape& shape) {
  return at::randint(limit, shape,
                     at::TensorOptions(at::kCUDA).dtype(at::kLong));
}

std::string Name(const std::string& op, const Shape& shape) {
  std::string name = op;
  for (size_t d = 0; d < shape.size(); ++d) {
    name += (d == 0 ? " " : " x ") + std::to_string(shape[d]);
  }
  return name;
}

double Numel(const Shape& shape) {
  double numel = 1;
  for (const int64_t size : shape) numel *= static_cast<double>(size);
  return numel;
}

Row IndexSelect(const Shape& shape, int64_t dim, int64_t count,
                std::vector<at::ScalarType> dtypes, double goal) {
  Shape out = shape;
  out[dim] = count;
  return {
      Name("index_select", shape) + " dim " + std::to_string(dim) + " to " +
          std::to_string(count),
      "aten::index_select",
      std::move(dtypes),
      [=](at::ScalarType dtype) {
        return Arguments{Random(shape, dtype), dim, Index(shape[dim], {count})};
      },
      Limit::kMemory,
      [=](double bytes) { return 2 * Numel(out) * bytes + 8.0 * count; },
      goal};
}

Row Embedding(int64_t words, int64_t columns, const Shape& indices,
              double goal) {
  return {
      Name("embedding", {words, columns}) + " of" + Name("", indices),
      "aten::embedding",
      kTwo,
      [=](at::ScalarType dtype) {
        return Arguments{Random({words, columns}, dtype), Index(words, indices),
                         int64_t{-1}, false, false};
      },
      Limit::kMemory,
      [=](double bytes) { return Numel(indices) * (2 * columns * bytes + 8); },
      goal};
}

Row EmbeddingBackward(int64_t words, int64_t columns, int64_t count) {
  return {Name("embedding_dense_backward", {words, columns}) + " of " +
              std::to_string(count),
          "aten::embedding_dense_backward",
          kTwo,
          [=](at::ScalarType dtype) {
            return Arguments{Random({count, columns}, dtype),
                             Index(words, {count}), words, int64_t{-1}, false};
          },
          Limit::kMemory,
          [=](double bytes) {
            return static_cast<double>(count + words) * columns * bytes;
          }};
}

Row Gather(const Shape& shape, int64_t dim) {
  return {Name("gather", shape) + " dim " + std::to_string(dim),
          "aten::gather",
          kTwo,
          [=](at::ScalarType dtype) {
            return Arguments{Random(shape, dtype), dim,
                             Index(shape[dim], shape), false};
          },
          Limit::kMemory,
          [=](double bytes) { return Numel(shape) * (2 * bytes + 8); }};
}

Row ScatterAdd(const Shape& shape, int64_t dim, int64_t targets) {
  return {Name("scatter_add", shape) + " dim " + std::to_string(dim) + " to " +
              std::to_string(targets),
          "aten::scatter_add",
          kTwo,
          [=](at::ScalarType dtype) {
            Shape out = shape;
            out[dim] = targets;
            return Arguments{Random(out, dtype), dim, Index(targets, shape),
                             Random(shape, dtype)};
          },
          Limit::kNone,
          {},
          0,
          // Native rounds each of many 16-bit sums.
          /*agreement=*/4};
}

Row IndexTensor(const Shape& shape, int64_t count) {
  return {Name("index", shape) + " rows " + std::to_string(count),
          "aten::index.Tensor",
          kTwo,
          [=](at::ScalarType dtype) {
            const at::Tensor self = Random(shape, dtype);
            c10::List<std::optional<at::Tensor>> list;
            list.push_back(Index(shape[0], {count}));
            return Arguments{self, list};
          },
          Limit::kMemory,
          [=](double bytes) {
            return 2 * bytes * count * (Numel(shape) / shape[0]) + 8.0 * count;
          }};
}

Row IndexPut(const Shape& shape, int64_t count, bool accumulate) {
  return {Name("index_put_", shape) + " rows " + std::to_string(count) +
              (accumulate ? " accumulate" : ""),
          "aten::index_put_", kTwo,
          [=](at::ScalarType dtype) {
            const at::Tensor self = Random(shape, dtype);
            Shape values = shape;
            values[0] = count;
            c10::List<std::optional<at::Tensor>> list;
            list.push_back(Index(shape[0], {count}));
            return Arguments{self, list, Random(values, dtype), accumulate};
          },
          Limit::kMemory,
          [=](double bytes) {
            return (accumulate ? 3 : 2) * bytes * count *
                   (Numel(shape) / shape[0]);
          },
          0,
          // Any of several values for one row.
          accumulate ? 1 : kNeverAgree};
}

Row Cat(const std::string& name, const std::vector<Shape>& shapes, int64_t dim,
        std::vector<at::ScalarType> dtypes, double goal) {
  double numel = 0;
  for (const Shape& shape : shapes) numel += Numel(shape);
  return {"cat " + name,
          "aten::cat",
          std::move(dtypes),
          [=](at::ScalarType dtype) {
            c10::List<at::Tensor> list;
            for (const Shape& shape : shapes) {
              list.push_back(Random(shape, dtype));
            }
            return Arguments{list, dim};
          },
          Limit::kMemory,
          [=](double bytes) { return 2 * numel * bytes; },
          goal};
}

std::vector<Row> DropoutRows(const Shape& shape, double goal) {
  const double numel = Numel(shape);
  return {
      {Name("native_dropout", shape), "aten::native_dropout", kThree,
       [=](at::ScalarType dtype) {
         return Arguments{Random(shape, dtype), 0.1, true};
       },
       Limit::kMemory, [=](double bytes) { return numel * (2 * bytes + 1); },
       goal, kNeverAgree},
      {Name("native_dropout_backward", shape), "aten::native_dropout_backward",
       kTwo,
       [=](at::ScalarType dtype) {
         const at::Tensor grad = Random(shape, dtype);
         return Arguments{grad,
                          at::rand(shape, at::TensorOptions(at::kCUDA)).gt(0.1),
                          1 / 0.9};
       },
       Limit::kMemory, [=](double bytes) { return numel * (2 * bytes + 1); },
       goal}};
}

Row Triangle(const std::string& op, const Shape& shape) {
  return {Name(op, shape),
          "aten::" + op,
          kTwo,
          [=](at::ScalarType dtype) {
            return Arguments{Random(shape, dtype), int64_t{0}};
          },
          Limit::kMemory,
          [=](double bytes) { return 1.5 * Numel(shape) * bytes; }};
}

std::vector<Row> LossRows(int64_t samples, int64_t classes, int64_t reduction) {
  const std::string suffix = reduction == 0 ? " none" : " mean";
  return {{Name("nll_loss_forward", {samples, classes}) + suffix,
           "aten::nll_loss_forward", kTwo,
           [=](at::ScalarType dtype) {
             return Arguments{Random({samples, classes}, dtype),
                              Index(classes, {samples}), c10::IValue(),
                              reduction, int64_t{-100}};
           },
           Limit::kNone},
          {Name("nll_loss_backward", {samples, classes}) + suffix,
           "aten::nll_loss_backward", kTwo,
           [=](at::ScalarType dtype) {
             const at::Tensor self = Random({samples, classes}, dtype);
             return Arguments{
                 Random(reduction == 0 ? Shape{samples} : Shape(), dtype),
                 self,
                 Index(classes, {samples}),
                 c10::IValue(),
                 reduction,
                 int64_t{-100},
                 at::zeros({}, self.options()).add(samples)};
           },
           Limit::kMemory,
           [=](double bytes) {
             return static_cast<double>(samples) * classes * bytes;
           }}};
}

}  // namespace

std::vector<Row> IndexRows() {
  std::vector<Row> rows = {
      IndexSelect({8192, 8192}, 0, 8192, kThree, 0.95),
      IndexSelect({8192, 8192}, 1, 8192, kTwo, 0),
      IndexSelect({131072, 64}, 0, 1048576, kTwo, 0),
      IndexSelect({8192, 8191}, 0, 8192, kTwo, 0),
      IndexSelect({64, 64}, 0, 64, kTwo, 0),
      Embedding(50257, 768, {64, 1024}, 0),
      Embedding(32000, 4096, {16, 1024}, 0.95),
      EmbeddingBackward(50257, 768, 8192),
      EmbeddingBackward(32000, 4096, 65536),
      Gather({8192, 8192}, 1),
      Gather({64, 64}, 1),
      ScatterAdd({8192, 8192}, 1, 8192),
      ScatterAdd({8192, 8192}, 1, 64),
      ScatterAdd({8192, 8192}, 0, 8192),
      IndexTensor({8192, 8192}, 8192),
      IndexTensor({64, 64}, 64),
      IndexPut({8192, 8192}, 8192, false),
      IndexPut({32000, 4096}, 8192, true),
      Cat("2 of 8192 x 8192 dim 0", {{8192, 8192}, {8192, 8192}}, 0, kThree,
          0.95),
      Cat("2 of 8192 x 8192 dim 1", {{8192, 8192}, {8192, 8192}}, 1, kTwo,
          0.95),
      Cat("8192 x (1001, 3003, 4001) dim 1",
          {{8192, 1001}, {8192, 3003}, {8192, 4001}}, 1, kTwo, 0),
      Cat("300 of 512 x 1000 dim 0", std::vector<Shape>(300, {512, 1000}), 0,
          kTwo, 0),
      Cat("4 of 16 x 16 dim 0", std::vector<Shape>(4, {16, 16}), 0, kTwo, 0),
      Triangle("triu", {8192, 8192}),
      Triangle("tril", {64, 1024, 1024}),
  };
  for (const Shape& shape : {Shape{8192, 8192}, Shape{64, 64}}) {
    for (Row& row : DropoutRows(shape, 0)) rows.push_back(std::move(row));
  }
  for (const int64_t reduction : {0, 1}) {
    for (Row& row : LossRows(8192, 32000, reduction)) {
      rows.push_back(std::move(row));
    }
  }
  for (Row& row : LossRows(64, 1000, 1)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace benchmarks
}  // namespace flaggems
