// Reductions, scans, sorts.

#include <ATen/ops/randn.h>

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
using Dims = std::vector<int64_t>;

const std::vector<at::ScalarType> kTwo = {at::kBFloat16, at::kFloat};
const std::vector<at::ScalarType> kThree = {at::kBFloat16, at::kHalf,
                                            at::kFloat};

at::Tensor Random(const Shape& shape, at::ScalarType dtype) {
  return at::randn(shape, at::TensorOptions(at::kCUDA).dtype(dtype));
}

double Numel(const Shape& shape) {
  double numel = 1;
  for (const int64_t size : shape) numel *= static_cast<double>(size);
  return numel;
}

std::string Name(const std::string& op, const Shape& shape) {
  std::string name = op;
  for (size_t d = 0; d < shape.size(); ++d) {
    name += (d == 0 ? " " : " x ") + std::to_string(shape[d]);
  }
  return name;
}

// A row whose call is (t, rest...), which reads t once and writes `written`
// times the bytes of t, and `extra` bytes.
Row OneInput(const std::string& name, const std::string& op, const Shape& shape,
             std::vector<at::ScalarType> dtypes, const Arguments& rest,
             double goal, double written = 0, double extra = 0) {
  return {Name(name, shape),
          op,
          std::move(dtypes),
          [=](at::ScalarType dtype) {
            Arguments arguments{Random(shape, dtype)};
            arguments.insert(arguments.end(), rest.begin(), rest.end());
            return arguments;
          },
          Limit::kMemory,
          [=](double bytes) {
            return (1 + written) * Numel(shape) * bytes + extra;
          },
          goal};
}

Row SumOver(const std::string& name, const Shape& shape, const Dims& dims,
            std::vector<at::ScalarType> dtypes, double goal) {
  return OneInput(name, "aten::sum.dim_IntList", shape, std::move(dtypes),
                  {dims, false, c10::IValue()}, goal);
}

// Every second column of a matrix of twice the width.
Row SumOfSteps(const Shape& shape) {
  Row row = SumOver("sum of every second column", shape, {1}, kTwo, 0);
  row.arguments = [shape](at::ScalarType dtype) {
    return Arguments{Random({shape[0], 2 * shape[1]}, dtype).slice(1, 0, {}, 2),
                     Dims{1}, false, c10::IValue()};
  };
  row.limit = Limit::kNone;
  return row;
}

}  // namespace

std::vector<Row> ReduceRows() {
  constexpr double kGoal = 0.85;
  const c10::IValue none;
  std::vector<Row> rows;
  for (const Shape& shape : std::vector<Shape>{
           {8192, 8192}, {65536, 1024}, {16384, 4096}, {4096, 16384}}) {
    const auto& dtypes = shape[0] == 8192 ? kThree : kTwo;
    rows.push_back(SumOver("sum dim 1", shape, {1}, dtypes, kGoal));
    rows.push_back(OneInput("amax dim 1", "aten::amax", shape, kTwo,
                            {Dims{1}, false}, kGoal));
    rows.push_back(OneInput("argmax dim 1", "aten::argmax", shape, kTwo,
                            {int64_t{1}, false}, kGoal));
    rows.push_back(OneInput("var dim 1", "aten::var.correction", shape, kTwo,
                            {Dims{1}, none, false}, kGoal));
    rows.push_back(OneInput("cumsum dim 1", "aten::cumsum", shape, dtypes,
                            {int64_t{1}, none}, 0.7, 1));
  }
  const Shape square = {8192, 8192};
  rows.push_back(SumOver("sum dim 0", square, {0}, kThree, kGoal));
  rows.push_back(
      OneInput("amax dim 0", "aten::amax", square, kTwo, {Dims{0}, false}, 0));
  rows.push_back(OneInput("argmax dim 0", "aten::argmax", square, kTwo,
                          {int64_t{0}, false}, 0));
  rows.push_back(OneInput("var dim 0", "aten::var.correction", square, kTwo,
                          {Dims{0}, none, false}, 0));
  rows.push_back(OneInput("cumsum dim 0", "aten::cumsum", square, kTwo,
                          {int64_t{0}, none}, 0, 1));
  rows.push_back(OneInput("sum", "aten::sum", square, kThree, {none}, kGoal));
  rows.push_back(OneInput("mean", "aten::mean", square, kTwo, {none}, kGoal));
  rows.push_back(OneInput("max", "aten::max", square, kTwo, {}, 0));
  rows.push_back(OneInput("prod dim 1", "aten::prod.dim_int", square, kTwo,
                          {int64_t{1}, false, none}, 0));
  rows.push_back(OneInput("max.dim 1", "aten::max.dim", square, kTwo,
                          {int64_t{1}, false}, 0));
  rows.push_back(OneInput("any dim 1", "aten::any.dim", square, kTwo,
                          {int64_t{1}, false}, 0));
  rows.push_back(
      SumOver("sum dims 0 2 3", {64, 128, 56, 56}, {0, 2, 3}, kTwo, 0));
  rows.push_back(SumOver("sum dim 1", {4194304, 16}, {1}, kTwo, 0));
  rows.push_back(SumOver("sum dim 0", {1048576, 64}, {0}, kTwo, 0));
  rows.push_back(SumOver("sum dim 1", {8192, 8191}, {1}, kTwo, 0));
  rows.push_back(SumOfSteps({16384, 2048}));
  rows.push_back(OneInput("cumsum dim 0", "aten::cumsum", {1 << 26}, kTwo,
                          {int64_t{0}, none}, 0, 1));

  rows.push_back(OneInput("topk 64", "aten::topk", square, kTwo,
                          {int64_t{64}, int64_t{1}, true, true}, 0));
  const Shape thousand = {1024, 8192};
  rows.push_back(OneInput("sort", "aten::sort", thousand, kTwo,
                          {int64_t{-1}, false}, 0, 1, 8 * Numel(thousand)));
  const Shape line = {1 << 22};
  rows.push_back(OneInput("sort", "aten::sort", line, kTwo,
                          {int64_t{-1}, false}, 0, 1, 8 * Numel(line)));

  // Launches.
  for (const std::string op : {"sum", "cumsum"}) {
    Row row = op == "sum"
                  ? SumOver("small sum dim 1", {64, 64}, {1}, {at::kFloat}, 0)
                  : OneInput("small cumsum", "aten::cumsum", {64, 64},
                             {at::kFloat}, {int64_t{1}, none}, 0, 1);
    row.limit = Limit::kNone;
    rows.push_back(std::move(row));
  }
  for (Row& row : rows) {
    // Native rounds the sum so far to 16 bits.
    if (row.op == "aten::cumsum") row.agreement = 20;
    // One sum of many random terms may be as small as its error.
    if (row.op == "aten::sum" || row.op == "aten::mean") row.agreement = 100;
  }
  return rows;
}

}  // namespace benchmarks
}  // namespace flaggems
