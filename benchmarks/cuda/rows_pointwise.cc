// Elementwise operators.

#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <c10/core/Scalar.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/cuda/row.h"

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;
using Shape = std::vector<int64_t>;

const std::vector<at::ScalarType> kBoth = {at::kBFloat16, at::kFloat};
const std::vector<at::ScalarType> kAll = {at::kBFloat16, at::kHalf, at::kFloat};
constexpr double kGoal = 0.95;
constexpr double kTransposedGoal = 0.6;

at::Tensor Random(const Shape& shape, at::ScalarType dtype) {
  return at::randn(shape, at::TensorOptions(at::kCUDA).dtype(dtype));
}

at::Tensor Mask(const Shape& shape) {
  return at::rand(shape, at::TensorOptions(at::kCUDA)).gt(0.5);
}

double Numel(const Shape& shape) {
  double n = 1;
  for (const int64_t size : shape) n *= static_cast<double>(size);
  return n;
}

std::string Name(const std::string& op, const Shape& shape) {
  std::string name = op;
  const char* separator = " ";
  for (const int64_t size : shape) {
    name += separator + std::to_string(size);
    separator = " x ";
  }
  return name;
}

// `tensors` random tensors of a shape, then `rest`.
Row Same(const std::string& name, const std::string& op, int tensors,
         const Shape& shape, const Arguments& rest = {}, double goal = kGoal,
         const std::vector<at::ScalarType>& dtypes = kBoth) {
  return {
      Name(name, shape),
      op,
      dtypes,
      [=](at::ScalarType dtype) {
        Arguments arguments;
        for (int i = 0; i < tensors; ++i) {
          arguments.push_back(Random(shape, dtype));
        }
        arguments.insert(arguments.end(), rest.begin(), rest.end());
        return arguments;
      },
      Limit::kMemory,
      [=](double element) { return (tensors + 1) * Numel(shape) * element; },
      goal};
}

// `first` of the shape and another tensor, with the bytes of `elements`
// elements an element of the output.
Row With(const std::string& name, const std::string& op, const Shape& shape,
         double elements, double goal,
         const std::function<at::Tensor(at::ScalarType)>& other,
         const Arguments& rest) {
  return {Name(name, shape),
          op,
          kBoth,
          [=](at::ScalarType dtype) {
            Arguments arguments = {Random(shape, dtype), other(dtype)};
            arguments.insert(arguments.end(), rest.begin(), rest.end());
            return arguments;
          },
          Limit::kMemory,
          [=](double element) { return elements * Numel(shape) * element; },
          goal};
}

}  // namespace

std::vector<Row> PointwiseRows() {
  const Shape large = {8192, 8192};
  const c10::Scalar one(int64_t{1});
  const c10::Scalar half(0.5);
  std::vector<Row> rows;
  for (const char* op : {"exp", "tanh", "sigmoid", "sin", "erf", "sqrt",
                         "rsqrt", "neg", "relu", "silu", "reciprocal"}) {
    rows.push_back(Same(op, std::string("aten::") + op, 1, large, {}, kGoal,
                        std::string(op) == "exp" ? kAll : kBoth));
  }
  rows.push_back(Same("gelu", "aten::gelu", 1, large, {"none"}, kGoal, kAll));
  rows.push_back(Same("gelu tanh", "aten::gelu", 1, large, {"tanh"}));
  rows.push_back(Same("softplus", "aten::softplus", 1, large,
                      {c10::Scalar(1), c10::Scalar(20)}));
  rows.push_back(Same("clamp", "aten::clamp", 1, large, {half, one}));
  rows.push_back(Same("pow 2.5", "aten::pow.Tensor_Scalar", 1, large,
                      {c10::Scalar(2.5)}, 0));
  rows.push_back(Same("add", "aten::add.Tensor", 2, large, {one}, kGoal, kAll));
  rows.push_back(Same("mul", "aten::mul.Tensor", 2, large));
  rows.push_back(Same("div", "aten::div.Tensor", 2, large));
  rows.push_back(Same("maximum", "aten::maximum", 2, large));
  rows.push_back(Same("add in place", "aten::add_.Tensor", 2, large, {one}));
  rows.push_back(Same("silu_backward", "aten::silu_backward", 2, large));
  rows.push_back(
      Same("gelu_backward", "aten::gelu_backward", 2, large, {"none"}));
  rows.push_back(
      {Name("lt", large), "aten::lt.Tensor", kBoth,
       [large](at::ScalarType dtype) {
         return Arguments{Random(large, dtype), Random(large, dtype)};
       },
       Limit::kMemory,
       [large](double element) { return Numel(large) * (2 * element + 1); },
       kGoal});
  rows.push_back(
      {Name("where", large), "aten::where.self", kBoth,
       [large](at::ScalarType dtype) {
         return Arguments{Mask(large), Random(large, dtype),
                          Random(large, dtype)};
       },
       Limit::kMemory,
       [large](double element) { return Numel(large) * (3 * element + 1); },
       kGoal});
  rows.push_back(
      {Name("masked_fill", large), "aten::masked_fill.Scalar", kBoth,
       [large, half](at::ScalarType dtype) {
         return Arguments{Random(large, dtype), Mask(large), half};
       },
       Limit::kMemory,
       [large](double element) { return Numel(large) * (2 * element + 1); },
       kGoal});

  // Broadcast and transposed inputs, and sizes.
  for (const Shape& s :
       {large, Shape{16384, 1024}, Shape{4096, 4096}, Shape{4096, 16384}}) {
    const int64_t m = s[0];
    const int64_t n = s[1];
    rows.push_back(
        With("add row", "aten::add.Tensor", s, 2, kGoal,
             [n](at::ScalarType dtype) { return Random({n}, dtype); }, {one}));
    rows.push_back(With("add column", "aten::add.Tensor", s, 2, kGoal,
                        [m](at::ScalarType dtype) {
                          return Random({m, 1}, dtype);
                        },
                        {one}));
    rows.push_back(With("add transposed", "aten::add.Tensor", s, 3,
                        kTransposedGoal,
                        [m, n](at::ScalarType dtype) {
                          return Random({n, m}, dtype).t();
                        },
                        {one}));
  }
  rows.push_back(
      With("add permuted", "aten::add.Tensor", {64, 128, 64, 128}, 3,
           kTransposedGoal,
           [](at::ScalarType dtype) {
             return Random({64, 64, 128, 128}, dtype).permute({0, 2, 1, 3});
           },
           {one}));
  rows.push_back(With("mul odd transposed", "aten::mul.Tensor", {8191, 8191}, 3,
                      kTransposedGoal,
                      [](at::ScalarType dtype) {
                        return Random({8191, 8191}, dtype).t();
                      },
                      {}));
  for (const Shape& s :
       {Shape{16384, 1024}, Shape{4096, 4096}, Shape{1024, 1024}}) {
    const double goal = Numel(s) > 1e7 ? kGoal : 0;
    rows.push_back(Same("gelu", "aten::gelu", 1, s, {"none"}, 0));
    rows.push_back(Same("add", "aten::add.Tensor", 2, s, {one}, goal));
  }
  Row launch = Same("add launch", "aten::add.Tensor", 2, {1024}, {one}, 0);
  launch.limit = Limit::kNone;
  rows.push_back(launch);
  launch = Same("exp launch", "aten::exp", 1, {1024}, {}, 0);
  launch.limit = Limit::kNone;
  rows.push_back(launch);
  return rows;
}

}  // namespace benchmarks
}  // namespace flaggems
