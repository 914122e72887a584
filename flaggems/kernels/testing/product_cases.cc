#include "flaggems/kernels/testing/product_cases.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;
using Shape = std::vector<int64_t>;

struct Sizes {
  int64_t m, k, n;
};

// Vectors, odd sizes, multiples of what a 16-byte access has, empty ones.
constexpr Sizes kSizes[] = {{1, 1, 1},   {1, 64, 1},    {7, 1, 31},
                            {31, 33, 7}, {64, 64, 64},  {63, 65, 129},
                            {8, 16, 24}, {3, 300, 200}, {0, 3, 4},
                            {3, 0, 4},   {3, 4, 0}};

// For factors that are awkward themselves: rows of whole 16 bytes, and not.
constexpr Sizes kAwkwardSizes[] = {{64, 64, 64}, {31, 33, 7}};

std::string NameOfSizes(const Sizes& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.k) + "x" +
         std::to_string(s.n);
}

// Of a matrix, or with `batch` above 0 of so many.
Shape Batched(int64_t batch, int64_t rows, int64_t columns) {
  return batch > 0 ? Shape{batch, rows, columns} : Shape{rows, columns};
}

// The two factors of a product.
std::vector<at::Tensor> Factors(Inputs& in, const Sizes& s, int64_t batch) {
  const at::Tensor first = in.Random(Batched(batch, s.m, s.k));
  return {first, in.Random(Batched(batch, s.k, s.n))};
}

// A view that starts one element after the start of its rows.
at::Tensor OffByOne(const at::Tensor& t, int64_t columns) {
  return t.narrow(-1, 1, columns);
}

at::Tensor MisalignedRandom(Inputs& in, Shape shape) {
  const int64_t columns = shape.back();
  shape.back() += 8;
  return OffByOne(in.Random(shape), columns);
}

std::vector<at::Tensor> MisalignedFactors(Inputs& in, const Sizes& s,
                                          int64_t batch) {
  const at::Tensor first = MisalignedRandom(in, Batched(batch, s.m, s.k));
  return {first, MisalignedRandom(in, Batched(batch, s.k, s.n))};
}

// NaN, infinities of both signs, zeros of both signs, and Inf * 0, in some rows
// and columns; the sums of the others are finite.
std::vector<at::Tensor> SpecialFactors(Inputs& in, const Sizes& s,
                                       int64_t batch) {
  const at::Tensor first = in.Mutable(Batched(batch, s.m, s.k));
  const at::Tensor second = in.Mutable(Batched(batch, s.k, s.n));
  if (!at::isFloatingType(in.dtype())) return {first, second};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto row = [&first](int64_t i) { return first.select(-2, i); };
  row(0).select(-1, 3).fill_(std::numeric_limits<double>::quiet_NaN());
  row(1).select(-1, s.k - 1).fill_(kInf);
  row(2).select(-1, 0).fill_(-kInf);
  row(3).select(-1, 0).fill_(-kInf);
  row(3).select(-1, s.k - 1).fill_(kInf);
  row(4).fill_(0.0);
  row(5).fill_(-0.0);
  second.select(-1, 1).fill_(0.0);
  second.select(-1, 2).select(-1, s.k / 2).fill_(-kInf);
  return {first, second};
}

Shape ResultShape(const Sizes& s, int64_t batch) {
  return Batched(batch, s.m, s.n);
}

// What is written: of the right shape, of another layout, or to be resized.
struct Target {
  std::string name;
  std::function<at::Tensor(Inputs&, const Shape&)> make;
};

std::vector<Target> Targets() {
  return {
      {"fitting",
       [](Inputs& in, const Shape& shape) { return in.Mutable(shape); }},
      {"columns",
       [](Inputs& in, Shape shape) {
         std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
         return in.Mutable(shape).transpose(-1, -2);
       }},
      {"part_of_rows",
       [](Inputs& in, Shape shape) {
         const int64_t columns = shape.back();
         shape.back() += 5;
         return in.Mutable(shape).narrow(-1, 2, columns);
       }},
      {"misaligned",
       [](Inputs& in, Shape shape) {
         const int64_t columns = shape.back();
         shape.back() += 8;
         return OffByOne(in.Mutable(shape), columns);
       }},
      {"empty", [](Inputs& in, const Shape&) { return in.Mutable({0}); }},
  };
}

std::vector<Call> OutCalls(int64_t batch) {
  std::vector<Call> calls;
  for (const Sizes& s : kSizes) {
    for (const Target& target : Targets()) {
      calls.push_back({target.name + "_" + NameOfSizes(s),
                       [s, batch, target](Inputs& in) {
                         const auto factors = Factors(in, s, batch);
                         return Arguments{
                             factors[0], factors[1],
                             target.make(in, ResultShape(s, batch))};
                       },
                       false, s.k});
    }
  }
  for (const Sizes& s : kAwkwardSizes) {
    calls.push_back({"special_factors_" + NameOfSizes(s),
                     [s, batch](Inputs& in) {
                       const auto factors = SpecialFactors(in, s, batch);
                       return Arguments{factors[0], factors[1],
                                        in.Mutable(ResultShape(s, batch))};
                     },
                     false, s.k});
    calls.push_back({"misaligned_factors_" + NameOfSizes(s),
                     [s, batch](Inputs& in) {
                       const auto factors = MisalignedFactors(in, s, batch);
                       return Arguments{factors[0], factors[1],
                                        in.Mutable(ResultShape(s, batch))};
                     },
                     false, s.k});
  }
  calls.push_back({"out_dtype_mismatch",
                   [batch](Inputs& in) {
                     const Sizes s = {3, 4, 5};
                     const auto factors = Factors(in, s, batch);
                     return Arguments{
                         factors[0], factors[1],
                         in.Of(at::kDouble, ResultShape(s, batch))};
                   },
                   true});
  return calls;
}

struct Coefficients {
  std::string name;
  c10::Scalar beta, alpha;
};

std::vector<Coefficients> AllCoefficients() {
  return {{"plain", 1, 1},           {"beta_0", 0, 1},
          {"beta_2_alpha_3", 2, 3},  {"alpha_minus_2", 1, -2},
          {"fractions", 0.5, -0.25}, {"alpha_0", 1, 0}};
}

// beta * self + alpha * product, self being written or, with `out`, not.
std::vector<Call> AddCalls(int64_t batch, bool in_place, bool out) {
  std::vector<Call> calls;
  for (const Coefficients& c : AllCoefficients()) {
    for (const Sizes& s : kSizes) {
      calls.push_back({c.name + "_" + NameOfSizes(s),
                       [s, c, batch, in_place, out](Inputs& in) {
                         const Shape shape = ResultShape(s, batch);
                         const at::Tensor self =
                             in_place ? in.Mutable(shape) : in.Random(shape);
                         const auto factors = Factors(in, s, batch);
                         Arguments arguments = {self, factors[0], factors[1],
                                                c.beta, c.alpha};
                         if (out) arguments.push_back(in.Mutable(shape));
                         return arguments;
                       },
                       false, s.k + 1});
    }
  }
  for (const Sizes& s : kAwkwardSizes) {
    const auto call = [s, batch, in_place, out](
                          const std::string& name,
                          std::vector<at::Tensor> (*factors_of)(
                              Inputs&, const Sizes&, int64_t)) {
      return Call{name + "_factors_" + NameOfSizes(s),
                  [=](Inputs& in) {
                    const Shape shape = ResultShape(s, batch);
                    const at::Tensor self =
                        in_place ? in.Mutable(shape) : in.Random(shape);
                    const auto factors = factors_of(in, s, batch);
                    Arguments arguments = {self, factors[0], factors[1],
                                           c10::Scalar(1), c10::Scalar(1)};
                    if (out) arguments.push_back(in.Mutable(shape));
                    return arguments;
                  },
                  false, s.k + 1};
    };
    calls.push_back(call("special", SpecialFactors));
    calls.push_back(call("misaligned", MisalignedFactors));
    if (in_place) continue;
    for (const Shape& shape : {Shape{s.n}, ResultShape(s, batch)}) {
      calls.push_back({"misaligned_self_of_" + std::to_string(shape.size()) +
                           "_dims_" + NameOfSizes(s),
                       [s, batch, out, shape](Inputs& in) {
                         const at::Tensor self = MisalignedRandom(in, shape);
                         const auto factors = Factors(in, s, batch);
                         Arguments arguments = {self, factors[0], factors[1],
                                                c10::Scalar(1), c10::Scalar(1)};
                         if (out) {
                           arguments.push_back(
                               in.Mutable(ResultShape(s, batch)));
                         }
                         return arguments;
                       },
                       false, s.k + 1});
    }
  }
  if (!in_place) {
    const Sizes s = {9, 33, 31};
    for (const Coefficients& c : AllCoefficients()) {
      Shape column = ResultShape(s, batch);
      column.back() = 1;
      for (const Shape& self : {Shape{31}, Shape{1, 31}, Shape{1}, column}) {
        std::string name = c.name + "_self";
        for (const int64_t size : self) name += "_" + std::to_string(size);
        calls.push_back({name,
                         [s, c, batch, self, out](Inputs& in) {
                           const at::Tensor addend = in.Random(self);
                           const auto factors = Factors(in, s, batch);
                           Arguments arguments = {addend, factors[0],
                                                  factors[1], c.beta, c.alpha};
                           if (out) {
                             arguments.push_back(
                                 in.Mutable(ResultShape(s, batch)));
                           }
                           return arguments;
                         },
                         false, s.k + 1});
      }
    }
  }
  calls.push_back({"self_mismatch",
                   [batch, out](Inputs& in) {
                     const Sizes s = {3, 4, 5};
                     const auto factors = Factors(in, s, batch);
                     Arguments arguments = {in.Random({3, 4}), factors[0],
                                            factors[1], c10::Scalar(1),
                                            c10::Scalar(1)};
                     if (out) {
                       arguments.push_back(in.Mutable(ResultShape(s, batch)));
                     }
                     return arguments;
                   },
                   true});
  return calls;
}

// NaN and Inf in self, which beta 0 must not read.
std::vector<Call> HiddenNanCalls() {
  return {{"beta_0_ignores_nan",
           [](Inputs& in) {
             const at::Tensor self = in.Special({2, 9, 31});
             const auto factors = Factors(in, {9, 33, 31}, 2);
             return Arguments{self, factors[0], factors[1], c10::Scalar(0),
                              c10::Scalar(1)};
           },
           false, 34}};
}

// Factors as attention and convolutions pass them.
std::vector<Call> BatchLayoutCalls() {
  return {{"one_matrix_for_all",
           [](Inputs& in) {
             const at::Tensor a = in.Random({16, 24}).expand({3, 16, 24});
             return Arguments{in.Random({3, 16, 8}), a, in.Random({3, 24, 8}),
                              c10::Scalar(1), c10::Scalar(1)};
           },
           false, 25},
          {"heads_side_by_side",
           [](Inputs& in) {
             // (rows, heads, size): the batch is the middle dimension.
             const at::Tensor a = in.Random({17, 3, 16}).transpose(0, 1);
             const at::Tensor b = in.Random({19, 3, 16}).permute({1, 2, 0});
             return Arguments{in.Random({3, 17, 19}), a, b, c10::Scalar(0),
                              c10::Scalar(0.25)};
           },
           false, 17}};
}

}  // namespace

std::vector<Operator> ProductOperators() {
  const auto bound = [](const std::string& functional) {
    return Bound{Condition::kAbsolute, 16, 2, functional};
  };
  return {
      {"aten::mm.out", bound("aten::mm"), OutCalls(0)},
      {"aten::bmm.out", bound("aten::bmm"), OutCalls(2)},
      {"aten::addmm_", bound("aten::addmm"), AddCalls(0, true, false)},
      {"aten::addmm.out", bound("aten::addmm"), AddCalls(0, false, true)},
      {"aten::baddbmm", bound(""),
       Concat(
           {AddCalls(3, false, false), HiddenNanCalls(), BatchLayoutCalls()})},
      {"aten::baddbmm_", bound("aten::baddbmm"), AddCalls(3, true, false)},
      {"aten::baddbmm.out", bound("aten::baddbmm"), AddCalls(3, false, true)},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
