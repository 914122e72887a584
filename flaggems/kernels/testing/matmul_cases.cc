#include "flaggems/kernels/testing/matmul_cases.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

struct Sizes {
  int64_t m, k, n;
};

// Vectors, odd sizes, sizes around the blocks of the integer product.
constexpr Sizes kSizes[] = {{1, 1, 1},    {1, 7, 1},   {7, 1, 31},
                            {31, 33, 7},  {33, 31, 1}, {1, 257, 33},
                            {65, 129, 7}, {3, 5, 600}, {0, 3, 4},
                            {3, 0, 4},    {3, 4, 0},   {0, 0, 0}};

std::string NameOfSizes(const Sizes& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.k) + "x" +
         std::to_string(s.n);
}

std::vector<Call> MmCalls() {
  std::vector<Call> calls;
  for (const Sizes& s : kSizes) {
    calls.push_back({NameOfSizes(s),
                     [s](Inputs& in) {
                       const at::Tensor a = in.Random({s.m, s.k});
                       return Arguments{a, in.Random({s.k, s.n})};
                     },
                     false, s.k});
    calls.push_back({"one_transposed_" + NameOfSizes(s),
                     [s](Inputs& in) {
                       const at::Tensor a = in.Random({s.k, s.m}).t();
                       return Arguments{a, in.Random({s.k, s.n})};
                     },
                     false, s.k});
    calls.push_back({"other_transposed_" + NameOfSizes(s),
                     [s](Inputs& in) {
                       const at::Tensor a = in.Random({s.m, s.k});
                       return Arguments{a, in.Random({s.n, s.k}).t()};
                     },
                     false, s.k});
  }
  calls.push_back({"rows_of_a_wider_matrix",
                   [](Inputs& in) {
                     const at::Tensor a = in.Random({9, 40}).narrow(1, 3, 20);
                     return Arguments{a, in.Random({20, 50}).narrow(1, 5, 31)};
                   },
                   false, 20});
  calls.push_back({"special", [](Inputs& in) {
                     const at::Tensor a = in.Special({19, 1});
                     return Arguments{a, in.Random({1, 5})};
                   }});
  calls.push_back({"conjugate",
                   [](Inputs& in) {
                     const at::Tensor a = in.Random({9, 20}).conj();
                     return Arguments{a, in.Random({31, 20}).t().conj()};
                   },
                   false, 20, /*contiguous_only=*/true});
  const auto of = [](std::vector<int64_t> a, std::vector<int64_t> b,
                     std::optional<at::ScalarType> dtype = std::nullopt) {
    return [a, b, dtype](Inputs& in) {
      const at::Tensor x = in.Random(a);
      return Arguments{x, in.Of(dtype.value_or(in.dtype()), b)};
    };
  };
  calls.push_back({"shape_mismatch", of({3, 4}, {3, 4}), true});
  calls.push_back({"self_is_a_vector", of({4}, {4, 3}), true});
  calls.push_back({"mat2_has_3_dims", of({3, 4}, {1, 4, 3}), true});
  calls.push_back({"dtype_mismatch", of({3, 4}, {4, 3}, at::kDouble), true});
  return calls;
}

std::vector<Call> AddmmCalls() {
  const auto call = [](const Sizes& s, const std::vector<int64_t>& self,
                       const c10::Scalar& beta, const c10::Scalar& alpha) {
    return [s, self, beta, alpha](Inputs& in) {
      const at::Tensor c = in.Random(self);
      const at::Tensor a = in.Random({s.m, s.k});
      return Arguments{c, a, in.Random({s.k, s.n}), beta, alpha};
    };
  };
  std::vector<Call> calls;
  for (const Sizes& s : kSizes) {
    calls.push_back(
        {NameOfSizes(s), call(s, {s.m, s.n}, 1, 1), false, s.k + 1});
    calls.push_back({"beta_2_alpha_3_" + NameOfSizes(s),
                     call(s, {s.m, s.n}, 2, 3), false, s.k + 1});
  }
  const Sizes s = {9, 33, 31};
  calls.push_back({"bias_vector", call(s, {31}, 1, 1), false, 34});
  calls.push_back({"bias_column", call(s, {9, 1}, 1, 1), false, 34});
  calls.push_back({"bias_scalar", call(s, {}, 1, 1), false, 34});
  calls.push_back({"fractions", call(s, {31}, 0.5, 0.3), false, 34});
  calls.push_back({"negative", call(s, {31}, -1.5, -2), false, 34});
  calls.push_back({"alpha_0", call(s, {31}, 1, 0), false, 34});
  calls.push_back({"beta_0_ignores_nan",
                   [](Inputs& in) {
                     const at::Tensor c = in.Special({9, 31});
                     const at::Tensor a = in.Random({9, 33});
                     return Arguments{c, a, in.Random({33, 31}), c10::Scalar(0),
                                      c10::Scalar(1)};
                   },
                   false, 34});
  // NaN and Inf in the product, in self, in both and in neither.
  for (const double beta : {0.0, 1.0, 2.0}) {
    for (const double alpha : {0.0, 1.0, -2.0}) {
      Call special = {"special_beta_" + std::to_string(beta) + "_alpha_" +
                          std::to_string(alpha),
                      [beta, alpha](Inputs& in) {
                        const at::Tensor c = in.Special({19, 11});
                        const at::Tensor a = in.Special({19, 1});
                        return Arguments{c, a, in.Random({1, 11}),
                                         c10::Scalar(beta), c10::Scalar(alpha)};
                      },
                      false, 2};
      // With alpha 0, aten's 16-bit product counts, its wider ones do not.
      special.native_specials = true;
      calls.push_back(special);
    }
  }
  calls.push_back({"self_too_large", call(s, {2, 9, 31}, 1, 1), true});
  calls.push_back({"self_mismatch", call(s, {30}, 1, 1), true});
  calls.push_back(
      {"complex_beta", call(s, {31}, c10::complex<double>(0, 1), 1), true});
  calls.push_back({"dtype_mismatch",
                   [](Inputs& in) {
                     const at::Tensor a = in.Random({3, 4});
                     return Arguments{in.Of(at::kDouble, {3, 3}), a,
                                      in.Random({4, 3}), c10::Scalar(1),
                                      c10::Scalar(1)};
                   },
                   true});
  calls.push_back({"shape_mismatch",
                   [](Inputs& in) {
                     const at::Tensor a = in.Random({3, 4});
                     return Arguments{in.Random({3, 3}), a, in.Random({3, 3}),
                                      c10::Scalar(1), c10::Scalar(1)};
                   },
                   true});
  return calls;
}

std::vector<Call> BmmCalls() {
  std::vector<Call> calls;
  for (const int64_t batch : {0, 1, 2, 5}) {
    for (const Sizes& s : kSizes) {
      calls.push_back({"batch_" + std::to_string(batch) + "_" + NameOfSizes(s),
                       [s, batch](Inputs& in) {
                         const at::Tensor a = in.Random({batch, s.m, s.k});
                         return Arguments{a, in.Random({batch, s.k, s.n})};
                       },
                       false, s.k});
    }
  }
  calls.push_back(
      {"transposed_matrices",
       [](Inputs& in) {
         const at::Tensor a = in.Random({3, 20, 9}).transpose(1, 2);
         return Arguments{a, in.Random({3, 31, 20}).transpose(1, 2)};
       },
       false, 20});
  const auto of = [](std::vector<int64_t> a, std::vector<int64_t> b,
                     std::optional<at::ScalarType> dtype = std::nullopt) {
    return [a, b, dtype](Inputs& in) {
      const at::Tensor x = in.Random(a);
      return Arguments{x, in.Of(dtype.value_or(in.dtype()), b)};
    };
  };
  calls.push_back({"not_3_dims", of({3, 4}, {4, 3}), true});
  calls.push_back({"batch_mismatch", of({1, 3, 4}, {2, 4, 3}), true});
  calls.push_back({"shape_mismatch", of({2, 3, 4}, {2, 3, 4}), true});
  calls.push_back(
      {"dtype_mismatch", of({2, 3, 4}, {2, 4, 3}, at::kDouble), true});
  return calls;
}

}  // namespace

std::vector<Operator> MatmulOperators() {
  const Bound bound = {Condition::kAbsolute, 16, 2, ""};
  return {
      {"aten::mm", bound, MmCalls()},
      {"aten::addmm", bound, AddmmCalls()},
      {"aten::bmm", bound, BmmCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
