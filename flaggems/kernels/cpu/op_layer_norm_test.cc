// Conformance of native_layer_norm.

#include "flaggems/kernels/cpu/op_layer_norm.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/layer_norm_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    LayerNorm, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cpu::layer_norm>("aten::native_layer_norm")},
                LayerNormOperators(), at::kCPU)),
    NameOf);

// Rows whose elements are equal, or differ by a few ulps, far from zero. The
// bound of the conformance cases allows for errors of the inputs, and those
// change such a row altogether; these compare with the inputs as they are.
struct FlatCase {
  at::ScalarType dtype;
  int64_t n;
};

void PrintTo(const FlatCase& c, std::ostream* os) {
  *os << c10::toString(c.dtype) << ", rows of " << c.n;
}

std::string NameOfFlat(const ::testing::TestParamInfo<FlatCase>& info) {
  return std::string(c10::toString(info.param.dtype)) + "_" +
         std::to_string(info.param.n);
}

std::vector<FlatCase> FlatCases() {
  std::vector<FlatCase> cases;
  for (const at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const int64_t n :
         {1, 2, 3, 7, 8, 31, 33, 257, 511, 512, 513, 768, 1000, 1025, 4099}) {
      cases.push_back({dtype, n});
    }
  }
  return cases;
}

constexpr double kEps = 1e-5;

// A column of constants, of both signs, from 1e-4 to 6e4.
at::Tensor Constants(at::ScalarType dtype) {
  at::Generator generator = at::detail::createCPUGenerator(20261129);
  const at::Tensor exponents =
      at::rand({200, 1}, generator, at::kDouble) * 8.7 - 4;
  at::Tensor c = at::pow(10.0, exponents);
  c.narrow(0, 0, 50).neg_();
  c[0] = 100.1;
  c[1] = 60000;
  c[2] = 1;
  c[3] = 0;
  return c.to(dtype);
}

class FlatRowsTest : public ::testing::TestWithParam<FlatCase> {};

TEST_P(FlatRowsTest, EqualElementsGiveTheBias) {
  const auto [dtype, n] = GetParam();
  const at::Tensor c = Constants(dtype);
  at::Generator generator = at::detail::createCPUGenerator(3);
  const at::Tensor weight =
      (at::randn({n}, generator, at::kDouble) * 1e4).to(dtype);
  const at::Tensor bias = at::randn({n}, generator, at::kDouble).to(dtype);
  const at::Tensor x = c.expand({c.size(0), n});
  const auto [y, mean, rstd] = cpu::layer_norm(x, {n}, weight, bias, kEps);
  EXPECT_TRUE(at::equal(y, bias.expand_as(y)));
  EXPECT_TRUE(at::equal(mean, c));
  EXPECT_TRUE(at::equal(rstd, at::full_like(rstd, 1 / std::sqrt(kEps))));
  const at::Tensor plain =
      std::get<0>(cpu::layer_norm(x, {n}, std::nullopt, std::nullopt, kEps));
  EXPECT_EQ(at::count_nonzero(plain).item<int64_t>(), 0);
}

TEST_P(FlatRowsTest, NearlyEqualElementsKeepTheirDigits) {
  const auto [dtype, n] = GetParam();
  const at::Tensor c = Constants(dtype);
  const bool wide = dtype == at::kDouble;
  // The unit roundoffs of the dtype and of the type that computes.
  const double unit = dtype == at::kHalf       ? 0x1p-11
                      : dtype == at::kBFloat16 ? 0x1p-8
                      : wide                   ? 0x1p-53
                                               : 0x1p-24;
  const double compute = wide ? 0x1p-53 : 0x1p-24;
  at::Generator generator = at::detail::createCPUGenerator(5);
  for (const int64_t steps : {2, 5}) {
    // Apart by up to steps - 1 units, about.
    const at::Tensor k = at::randint(0, steps, {c.size(0), n}, generator);
    const at::Tensor x = (c.to(at::kDouble) * (1 + 2 * unit * k)).to(dtype);
    // Exact: the elements are close to the constant.
    const at::Tensor d = x.to(at::kDouble) - c.to(at::kDouble);
    const at::Tensor deviation = d - d.mean(1, /*keepdim=*/true);
    const at::Tensor variance = deviation.square().mean(1, /*keepdim=*/true);
    const at::Tensor want = deviation / (variance + kEps).sqrt();
    const at::Tensor y =
        std::get<0>(cpu::layer_norm(x, {n}, std::nullopt, std::nullopt, kEps));
    const at::Tensor error = (y.to(at::kDouble) - want).abs();
    // The last term: results that 16-bit types have no normal number for.
    const at::Tensor limit =
        32 * compute * std::get<0>(want.abs().max(1, true)) +
        unit * want.abs() + (dtype == at::kHalf ? 0x1p-24 : 0x1p-140);
    const double excess = (error / limit).max().item<double>();
    EXPECT_LE(excess, 1) << "steps " << steps;
  }
}

INSTANTIATE_TEST_SUITE_P(LayerNorm, FlatRowsTest,
                         ::testing::ValuesIn(FlatCases()), NameOfFlat);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
