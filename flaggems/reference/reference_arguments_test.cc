#include "flaggems/reference/reference_arguments.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

using Options = ReferenceArgumentOptions;
using Values = std::vector<c10::IValue>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const c10::IValue kNone;

Values Make(const std::string& op, Values arguments, const Options& options) {
  const absl::StatusOr<OpKey> key = OpKey::Parse(op);
  EXPECT_THAT(key, IsOk());
  const auto handle = FindOperator(*key);
  EXPECT_TRUE(handle.has_value());
  const auto& schema = handle->schema();
  for (size_t i = arguments.size(); i < schema.arguments().size(); ++i) {
    EXPECT_TRUE(schema.arguments()[i].default_value().has_value());
    arguments.push_back(*schema.arguments()[i].default_value());
  }
  absl::StatusOr<Values> made = ReferenceArguments(schema, arguments, options);
  EXPECT_THAT(made, IsOk());
  return made.ok() ? *std::move(made) : Values(arguments.size());
}

at::Tensor First(const std::string& op, Values arguments,
                 const Options& options = {}) {
  return Make(op, std::move(arguments), options)[0].toTensor();
}

Options WithElements(Options::Elements elements) {
  Options options;
  options.elements = elements;
  return options;
}

at::Tensor F32(std::vector<double> values) {
  return at::tensor(values).to(at::kFloat);
}

// The same to the bit, NaN as NaN.
bool Identical(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         at::equal(a.nan_to_num(7), b.nan_to_num(7)) &&
         at::equal(a.isnan(), b.isnan()) && at::equal(a.signbit(), b.signbit());
}

// --- What a tensor becomes. ---

struct TensorCase {
  std::string name;
  std::function<at::Tensor()> make;
  at::ScalarType wide;
};

void PrintTo(const TensorCase& c, std::ostream* os) { *os << c.name; }

class WidenedTensorTest : public testing::TestWithParam<TensorCase> {};

TEST_P(WidenedTensorTest, HasTheSameValuesAndStrides) {
  const at::Tensor x = GetParam().make();
  const at::Tensor wide = First("aten::clone", {x});
  EXPECT_EQ(wide.scalar_type(), GetParam().wide);
  EXPECT_EQ(wide.sizes(), x.sizes());
  EXPECT_EQ(wide.strides(), x.strides());
  EXPECT_EQ(wide.is_conj(), x.is_conj());
  EXPECT_EQ(wide.is_neg(), x.is_neg());
  const at::Tensor got = wide.resolve_conj().resolve_neg();
  const at::Tensor want = x.resolve_conj().resolve_neg().to(GetParam().wide);
  if (got.is_complex()) {
    EXPECT_TRUE(at::equal(got, want));
  } else {
    EXPECT_TRUE(Identical(got.to(at::kDouble), want.to(at::kDouble)));
  }
  if (x.numel() > 0) {
    EXPECT_NE(wide.const_data_ptr(), x.const_data_ptr());
  }
}

std::vector<TensorCase> TensorCases() {
  const std::vector<double> awkward = {kNan,    kInf, -kInf,    -0.,
                                       0x1p-24, 1,    0x1p-149, 16777217};
  std::vector<TensorCase> cases = {
      {"Empty",
       [] {
         return at::empty({0, 3});
       },
       at::kDouble},
      {"ZeroDim", [] { return at::scalar_tensor(2.5f); }, at::kDouble},
      {"Strided",
       [] {
         return at::arange(12.f).reshape({3, 4}).t().slice(0, 1, 4, 2);
       },
       at::kDouble},
      {"Expanded",
       [] {
         return F32({1, 2}).unsqueeze(1).expand({2, 3});
       },
       at::kDouble},
      {"ChannelsLast",
       [] {
         return at::arange(120.f)
             .reshape({2, 3, 4, 5})
             .contiguous(at::MemoryFormat::ChannelsLast);
       },
       at::kDouble},
      {"Conjugated",
       [] {
         return at::complex(F32({1, 2}), F32({3, -4})).conj();
       },
       at::kComplexDouble},
      {"Negated",
       [] {
         return at::_neg_view(F32({1, -0., 2}));
       },
       at::kDouble},
      {"ComplexHalf",
       [] {
         return at::complex(F32({1, 2}), F32({3, -4})).to(at::kComplexHalf);
       },
       at::kComplexDouble},
      {"Int64",
       [] {
         return at::tensor({int64_t{1} << 60, int64_t{-1}});
       },
       at::kLong},
      {"Bool",
       [] {
         return F32({0, 1}).gt(0);
       },
       at::kBool},
  };
  for (const auto& [name, type] :
       {std::pair<const char*, at::ScalarType>{"Float", at::kFloat},
        {"Double", at::kDouble},
        {"Half", at::kHalf},
        {"BFloat16", at::kBFloat16},
        {"E4m3fn", at::kFloat8_e4m3fn},
        {"E5m2", at::kFloat8_e5m2},
        {"E4m3fnuz", at::kFloat8_e4m3fnuz},
        {"E5m2fnuz", at::kFloat8_e5m2fnuz}}) {
    cases.push_back(
        {name, [type = type, awkward] { return at::tensor(awkward).to(type); },
         at::kDouble});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Tensors, WidenedTensorTest,
                         testing::ValuesIn(TensorCases()),
                         [](const auto& info) { return info.param.name; });

TEST(ReferenceArgumentsTest, SharingIsKept) {
  const at::Tensor base = at::arange(10.f);
  const Values made =
      Make("aten::add.Tensor", {base.slice(0, 0, 6), base.slice(0, 4, 10)}, {});
  made[0].toTensor().fill_(-1);
  EXPECT_EQ(made[1].toTensor()[0].item<double>(), -1);
  EXPECT_EQ(made[1].toTensor()[2].item<double>(), 6);
  EXPECT_EQ(base[0].item<float>(), 0);
}

TEST(ReferenceArgumentsTest, WithoutWideningOnlyWhatIsWrittenIsCopied) {
  const at::Tensor x = F32({1, 2});
  Options options;
  options.widen = false;
  EXPECT_NE(First("aten::exp", {x}, options).const_data_ptr(),
            x.const_data_ptr());
  options.copy = false;
  EXPECT_TRUE(First("aten::exp", {x}, options).is_same(x));
  // Widened tensors are copies in any case; integers need none.
  options.widen = true;
  EXPECT_EQ(First("aten::exp", {x}, options).scalar_type(), at::kDouble);
  const at::Tensor index = at::arange(3);
  EXPECT_TRUE(First("aten::exp", {index}, options).is_same(index));
}

TEST(ReferenceArgumentsTest, IntegersAreWidenedOnDemand) {
  Options options;
  options.widen_integers = true;
  const at::Tensor x = at::tensor({int64_t{3}, (int64_t{1} << 24) + 1});
  const at::Tensor wide = First("aten::exp", {x}, options);
  EXPECT_EQ(wide.scalar_type(), at::kDouble);
  EXPECT_EQ(wide[1].item<double>(), 16777217);
  EXPECT_EQ(First("aten::exp", {x.gt(5)}, options).scalar_type(), at::kBool);
}

TEST(ReferenceArgumentsTest, ListsOptionalsAndUndefined) {
  const at::Tensor x = F32({1, 2});
  const Values list =
      Make("aten::_foreach_exp", {c10::List<at::Tensor>({x, x + 1})}, {});
  ASSERT_TRUE(list[0].isTensorList());
  EXPECT_EQ(list[0].toTensorList().get(1).scalar_type(), at::kDouble);
  c10::List<std::optional<at::Tensor>> optionals;
  optionals.push_back(std::nullopt);
  optionals.push_back(at::arange(2));
  const Values index = Make("aten::index.Tensor", {x, optionals}, {});
  EXPECT_TRUE(index[1].toListRef()[0].isNone());
  EXPECT_EQ(index[1].toListRef()[1].toTensor().scalar_type(), at::kLong);
  const Values norm =
      Make("aten::native_layer_norm",
           {x, std::vector<int64_t>{2}, at::Tensor(), kNone, 1e-5}, {});
  EXPECT_FALSE(norm[2].toTensor().defined());
  EXPECT_TRUE(norm[3].isNone());
  EXPECT_EQ(norm[1].toIntVector(), (std::vector<int64_t>{2}));
}

TEST(ReferenceArgumentsTest, APythonNumberStaysOne) {
  at::Tensor number = at::scalar_tensor(0.1, at::kDouble);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  Options options;
  const Values made = Make("aten::mul.Tensor", {F32({1, 2}), number}, options);
  const at::Tensor kept = made[1].toTensor();
  EXPECT_TRUE(kept.unsafeGetTensorImpl()->is_wrapped_number());
  EXPECT_EQ(kept.item<double>(), 0.1);
  // In a narrower type where a kernel may hold it so; never perturbed.
  options.scalar_type = at::kFloat;
  EXPECT_EQ(Make("aten::mul.Tensor", {F32({1, 2}), number}, options)[1]
                .toTensor()
                .item<double>(),
            double{0.1f});
  options = WithElements(Options::Elements::kPerturb);
  options.step = 0.5;
  EXPECT_EQ(Make("aten::mul.Tensor", {F32({1, 2}), number}, options)[1]
                .toTensor()
                .item<double>(),
            0.1);
}

// --- Arguments that name a type, or depend on one. ---

struct ArgumentCase {
  std::string name;
  std::string op;
  Values arguments;
  Options options;
  size_t index;
  c10::IValue want;
};

void PrintTo(const ArgumentCase& c, std::ostream* os) { *os << c.name; }

class ReferenceArgumentTest : public testing::TestWithParam<ArgumentCase> {};

TEST_P(ReferenceArgumentTest, Becomes) {
  const ArgumentCase& c = GetParam();
  const c10::IValue got = Make(c.op, c.arguments, c.options)[c.index];
  ASSERT_EQ(got.tagKind(), c.want.tagKind());
  EXPECT_EQ(got, c.want);
}

Options FillDefaults() {
  Options options;
  options.widening = Widening::kFillDtypeDefaults;
  return options;
}

Options Factory(c10::ScalarType type) {
  Options options;
  options.factory_dtype = type;
  return options;
}

Options NotWidened() {
  Options options;
  options.widen = false;
  return options;
}

Options Rounded(c10::ScalarType type) {
  Options options;
  options.scalar_type = type;
  return options;
}

c10::IValue Type(c10::ScalarType type) {
  return c10::IValue(static_cast<int64_t>(type));
}

std::vector<ArgumentCase> ArgumentCases() {
  const at::Tensor x = F32({1, 2});
  const at::Tensor h = x.to(at::kHalf);
  const at::Tensor b = x.to(at::kBFloat16);
  const Options magnitude = WithElements(Options::Elements::kMagnitude);
  const std::string sum = "aten::sum";
  const std::string nan_to_num = "aten::nan_to_num";
  const double f32_max = std::numeric_limits<float>::max();
  return {
      {"DtypeFloat", sum, {x, at::kFloat}, {}, 1, Type(at::kDouble)},
      {"DtypeHalf", sum, {x, at::kHalf}, {}, 1, Type(at::kDouble)},
      {"DtypeComplex",
       sum,
       {x, at::kComplexFloat},
       {},
       1,
       Type(at::kComplexDouble)},
      {"DtypeInteger", sum, {x, at::kInt}, {}, 1, Type(at::kInt)},
      {"DtypeFp8",
       "aten::_to_copy",
       {x, at::kFloat8_e5m2},
       {},
       1,
       Type(at::kDouble)},
      {"DtypeNone", sum, {x, kNone}, Factory(at::kDouble), 1, kNone},
      {"DtypeNotWidened",
       sum,
       {x, at::kFloat},
       NotWidened(),
       1,
       Type(at::kFloat)},
      {"FactoryDtype",
       "aten::arange",
       {5, kNone},
       Factory(at::kDouble),
       1,
       Type(at::kDouble)},
      {"FactoryOwnDtype",
       "aten::arange",
       {5, at::kHalf},
       Factory(at::kDouble),
       1,
       Type(at::kDouble)},
      {"FactoryOfIntegers", "aten::arange", {5, kNone}, {}, 1, kNone},
      {"PinMemory",
       "aten::arange",
       {5, kNone, kNone, kNone, true},
       {},
       4,
       false},
      {"HalfToFloat", "aten::_softmax", {h, 0, true}, {}, 2, false},
      {"HalfToFloatNotWidened",
       "aten::_softmax",
       {h, 0, true},
       NotWidened(),
       2,
       true},

      {"PosinfFloat",
       nan_to_num,
       {x, kNone, kNone, kNone},
       FillDefaults(),
       2,
       f32_max},
      {"NeginfFloat",
       nan_to_num,
       {x, kNone, kNone, kNone},
       FillDefaults(),
       3,
       -f32_max},
      {"PosinfHalf",
       nan_to_num,
       {h, kNone, kNone, kNone},
       FillDefaults(),
       2,
       65504.},
      {"PosinfBfloat16",
       nan_to_num,
       {b, kNone, kNone, kNone},
       FillDefaults(),
       2,
       0x1.fep127},
      {"PosinfDouble",
       nan_to_num,
       {x.to(at::kDouble), kNone, kNone, kNone},
       FillDefaults(),
       2,
       std::numeric_limits<double>::max()},
      {"NanStaysNone",
       nan_to_num,
       {x, kNone, kNone, kNone},
       FillDefaults(),
       1,
       kNone},
      {"PosinfGiven", nan_to_num, {x, kNone, 3., kNone}, FillDefaults(), 2, 3.},
      {"PosinfOfIntegers",
       nan_to_num,
       {at::arange(3), kNone, kNone, kNone},
       FillDefaults(),
       2,
       kNone},
      {"PosinfWithoutFilling",
       nan_to_num,
       {x, kNone, kNone, kNone},
       {},
       2,
       kNone},
      {"EpsFloat",
       "aten::_fused_rms_norm",
       {x, std::vector<int64_t>{2}, kNone, kNone},
       FillDefaults(),
       3,
       0x1p-23},
      {"EpsHalf",
       "aten::_fused_rms_norm",
       {h, std::vector<int64_t>{2}, kNone, kNone},
       FillDefaults(),
       3,
       0x1p-23},
      {"EpsBfloat16",
       "aten::_fused_rms_norm",
       {b, std::vector<int64_t>{2}, kNone, kNone},
       FillDefaults(),
       3,
       0x1p-23},
      {"Rcond",
       "aten::linalg_lstsq",
       {at::ones({4, 3}), at::ones({4, 1}), kNone, "gelsd"},
       FillDefaults(),
       2,
       4 * 0x1p-23},

      {"ScalarKept", "aten::mul.Scalar", {x, 0.1}, {}, 1, 0.1},
      {"ScalarInFloat",
       "aten::mul.Scalar",
       {x, 0.1},
       Rounded(at::kFloat),
       1,
       double{0.1f}},
      {"ScalarInHalf",
       "aten::mul.Scalar",
       {x, 0.1},
       Rounded(at::kHalf),
       1,
       0x1.998p-4},
      {"ScalarInBfloat16",
       "aten::mul.Scalar",
       {x, 0.1},
       Rounded(at::kBFloat16),
       1,
       0x1.9ap-4},
      {"ScalarBeyondHalf",
       "aten::mul.Scalar",
       {x, 1e6},
       Rounded(at::kHalf),
       1,
       kInf},
      {"ScalarSubnormal",
       "aten::mul.Scalar",
       {x, 0x1p-149},
       Rounded(at::kFloat),
       1,
       0x1p-149},
      {"IntegerScalar",
       "aten::mul.Scalar",
       {x, 16777217},
       Rounded(at::kFloat),
       1,
       16777217},
      {"BoolScalar", "aten::mul.Scalar", {x, true}, magnitude, 1, true},
      {"ScalarMagnitude", "aten::mul.Scalar", {x, -0.5}, magnitude, 1, 0.5},
      {"IntegerScalarMagnitude", "aten::mul.Scalar", {x, -3}, magnitude, 1, 3},
      {"WeightOfASummand", "aten::add.Tensor", {x, x, -2}, magnitude, 2, 2},
      {"IntArgumentIsNoScalar",
       "aten::sum.dim_IntList",
       {x, std::vector<int64_t>{-1}},
       magnitude,
       1,
       std::vector<int64_t>{-1}},
      {"DimKept", "aten::cumsum", {x, -1}, magnitude, 1, -1},
  };
}

INSTANTIATE_TEST_SUITE_P(Arguments, ReferenceArgumentTest,
                         testing::ValuesIn(ArgumentCases()),
                         [](const auto& info) { return info.param.name; });

TEST(ReferenceArgumentsTest, ListsOfScalarsAreRounded) {
  c10::impl::GenericList numbers(c10::NumberType::get());
  numbers.push_back(0.1);
  numbers.push_back(16777217);
  const Values made =
      Make("aten::_foreach_mul.ScalarList",
           {c10::List<at::Tensor>({F32({1}), F32({2})}), numbers},
           Rounded(at::kFloat));
  EXPECT_EQ(made[1].toListRef()[0].toDouble(), double{0.1f});
  EXPECT_EQ(made[1].toListRef()[1].toInt(), 16777217);
}

TEST(ReferenceArgumentsTest, NotANumberScalars) {
  const Values made =
      Make("aten::mul.Scalar", {F32({1}), kNan}, Rounded(at::kHalf));
  EXPECT_TRUE(std::isnan(made[1].toDouble()));
  EXPECT_EQ(Make("aten::mul.Scalar", {F32({1}), c10::complex<double>(1, -2)},
                 WithElements(Options::Elements::kMagnitude))[1]
                .toComplexDouble(),
            c10::complex<double>(1, -2));
}

// --- Magnitudes. ---

TEST(ReferenceArgumentsTest, Magnitudes) {
  const Options options = WithElements(Options::Elements::kMagnitude);
  const at::Tensor x = F32({-1, 2, -0., -kInf, kNan});
  const at::Tensor m = First("aten::exp", {x}, options);
  EXPECT_TRUE(Identical(m.narrow(0, 0, 4),
                        at::tensor({1., 2., 0., kInf}, at::kDouble)));
  EXPECT_TRUE(std::isnan(m[4].item<double>()));
  const at::Tensor c = at::complex(F32({3, 0}), F32({-4, -1})).conj();
  const at::Tensor mc = First("aten::exp", {c}, options);
  EXPECT_FALSE(mc.is_conj());
  EXPECT_TRUE(at::equal(
      mc, at::complex(F32({5, 1}), F32({0, 0})).to(at::kComplexDouble)));
  const at::Tensor n = at::_neg_view(F32({1, -2}));
  EXPECT_TRUE(at::equal(First("aten::exp", {n}, options),
                        at::tensor({1., 2.}, at::kDouble)));
  // Indices are no summands.
  EXPECT_TRUE(at::equal(
      Make("aten::gather", {x, 0, at::tensor({int64_t{-1}})}, options)[2]
          .toTensor(),
      at::tensor({int64_t{-1}})));
}

TEST(ReferenceArgumentsTest, TheSubtrahendIsNegated) {
  Options options = WithElements(Options::Elements::kMagnitude);
  options.negative_argument = 1;
  const at::Tensor x = F32({-3, 1});
  const Values made = Make("aten::sub.Tensor", {x, x}, options);
  // One storage, and two signs all the same.
  EXPECT_TRUE(at::equal(made[0].toTensor(), at::tensor({3., 1.}, at::kDouble)));
  EXPECT_TRUE(
      at::equal(made[1].toTensor(), at::tensor({-3., -1.}, at::kDouble)));
  // a - (-|s|) adds too.
  options.negative_argument = 1;
  EXPECT_EQ(Make("aten::sub.Scalar", {x, 2.5}, options)[1].toDouble(), -2.5);
  EXPECT_EQ(Make("aten::sub.Scalar", {x, -2}, options)[1].toInt(), -2);
  c10::impl::GenericList numbers(c10::NumberType::get());
  numbers.push_back(2.5);
  numbers.push_back(-2);
  const c10::List<at::Tensor> list({x, x});
  const Values foreach =
      Make("aten::_foreach_sub.ScalarList", {list, numbers}, options);
  EXPECT_EQ(foreach[1].toListRef()[0].toDouble(), -2.5);
  EXPECT_EQ(foreach[1].toListRef()[1].toInt(), -2);
  options.negative_argument = std::nullopt;
  EXPECT_EQ(Make("aten::_foreach_add.ScalarList", {list, numbers}, options)[1]
                .toListRef()[1]
                .toInt(),
            2);
  options.negative_argument = 0;
  const Values rsub = Make("aten::rsub.Scalar", {x, -2.5}, options);
  EXPECT_TRUE(
      at::equal(rsub[0].toTensor(), at::tensor({-3., -1.}, at::kDouble)));
  EXPECT_EQ(rsub[1].toDouble(), 2.5);
}

// --- Arguments of the schema's type float. ---

TEST(ReferenceArgumentsTest, FloatsAreHeldInFloat32AtTheNarrowest) {
  const at::Tensor x = at::ones({2, 3});
  const Values arguments = {x, std::vector<int64_t>{3}, kNone, kNone, 1e-8};
  Options options;
  EXPECT_EQ(Make("aten::native_layer_norm", arguments, options)[4].toDouble(),
            1e-8);
  for (const c10::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    options.scalar_type = type;
    EXPECT_EQ(Make("aten::native_layer_norm", arguments, options)[4].toDouble(),
              static_cast<double>(1e-8F));
  }
}

// torch's CPU kernels read the scale as float32.
TEST(ReferenceArgumentsTest, TheGradientScaleOfAnOptimizerStays) {
  const auto list = [](const at::Tensor& x) {
    return c10::IValue(std::vector<at::Tensor>{x});
  };
  const at::Tensor scale = at::full({}, 8, at::kFloat);
  Options options = WithElements(Options::Elements::kPerturb);
  options.step = 0x1p-8;
  const Values made =
      Make("aten::_fused_sgd_",
           {list(at::ones({3})), list(at::ones({3})), list(at::ones({3})), 0.1,
            0.9, 0.1, 0., false, false, false, scale, kNone},
           options);
  EXPECT_EQ(made[0].toTensorVector()[0].scalar_type(), at::kDouble);
  EXPECT_EQ(made[10].toTensor().scalar_type(), at::kFloat);
  EXPECT_EQ(made[10].toTensor().item<double>(), 8);
  EXPECT_FALSE(made[10].toTensor().is_same(scale));
  EXPECT_TRUE(made[11].isNone());
}

// --- Perturbation. ---

TEST(ReferenceArgumentsTest, PerturbationIsWithinItsStepAndReproducible) {
  Options options = WithElements(Options::Elements::kPerturb);
  options.step = 0x1p-8;
  options.seed = 3;
  const at::Tensor x = at::ones({10000});
  at::manual_seed(5);
  const at::Tensor rand = at::rand({2});
  at::manual_seed(5);
  const at::Tensor a = First("aten::exp", {x}, options);
  // Not from the user's generator.
  EXPECT_TRUE(at::equal(at::rand({2}), rand));
  const at::Tensor change = (a - 1).abs() / options.step;
  EXPECT_GE(change.min().item<double>(), 0.5 * (1 - 1e-12));
  EXPECT_LE(change.max().item<double>(), 1 + 1e-12);
  const double up = (a > 1).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(up, 0.5, 0.02);
  // Continuous: few of the steps are equal.
  EXPECT_GT(std::get<0>(at::_unique(a)).numel(), 9990);

  EXPECT_TRUE(at::equal(First("aten::exp", {x}, options), a));
  options.seed = 4;
  EXPECT_FALSE(at::equal(First("aten::exp", {x}, options), a));
}

TEST(ReferenceArgumentsTest, PerturbationOfAwkwardElements) {
  Options options = WithElements(Options::Elements::kPerturb);
  options.step = 0x1p-8;
  const at::Tensor p =
      First("aten::exp", {F32({0, -0., kInf, -kInf, kNan, -1})}, options);
  EXPECT_TRUE(Identical(p.narrow(0, 0, 4),
                        at::tensor({0., -0., kInf, -kInf}, at::kDouble)));
  EXPECT_TRUE(std::isnan(p[4].item<double>()));
  EXPECT_LT(p[5].item<double>(), 0);
  EXPECT_NE(p[5].item<double>(), -1);
  // Both parts, each by its own step.
  const at::Tensor c = First(
      "aten::exp", {at::complex(at::ones({1000}), at::ones({1000}))}, options);
  EXPECT_FALSE(at::equal(at::real(c), at::imag(c)));
  EXPECT_LE((at::real(c) - 1).abs().max().item<double>(), 0x1p-8 + 1e-12);
  // Two arguments do not move together.
  const Values two =
      Make("aten::add.Tensor", {at::ones({100}), at::ones({100})}, options);
  EXPECT_FALSE(at::equal(two[0].toTensor(), two[1].toTensor()));
  // Integers stay.
  EXPECT_TRUE(
      at::equal(First("aten::exp", {at::arange(4)}, options), at::arange(4)));
}

// The condition of a norm of equal elements is that of any others.
TEST(ReferenceArgumentsTest, ExpandedElementsArePerturbedEachByItself) {
  Options options = WithElements(Options::Elements::kPerturb);
  options.step = 0x1p-8;
  const at::Tensor x = at::ones({2, 1}).expand({2, 50});
  const Values two = Make("aten::add.Tensor", {x, x}, options);
  for (const size_t i : {0, 1}) {
    const at::Tensor p = two[i].toTensor();
    EXPECT_EQ(p.sizes(), x.sizes());
    EXPECT_EQ(std::get<0>(at::_unique(p)).numel(), 100);
    EXPECT_LE((p - 1).abs().max().item<double>(), 0x1p-8 + 1e-12);
  }
  EXPECT_FALSE(at::equal(two[0].toTensor(), two[1].toTensor()));
  // What is not perturbed keeps its strides.
  options = WithElements(Options::Elements::kKeep);
  EXPECT_EQ(First("aten::exp", {x}, options).stride(1), 0);
}

TEST(ReferenceArgumentsTest, NumbersArePerturbedForFactoriesAlone) {
  Options options = WithElements(Options::Elements::kPerturb);
  options.step = 0x1p-8;
  options.seed = 3;
  const Values arguments = {1.0, 3, 5, 10.0};
  EXPECT_EQ(Make("aten::logspace", arguments, options)[1].toInt(), 3);
  options.perturb_numbers = true;
  const Values moved = Make("aten::logspace", arguments, options);
  EXPECT_NE(moved[0].toDouble(), 1);
  EXPECT_NEAR(moved[0].toDouble(), 1, 0x1p-8);
  EXPECT_NE(moved[1].toDouble(), 3);
  EXPECT_NEAR(moved[1].toDouble(), 3, 3 * 0x1p-8);
  EXPECT_NE(moved[1].toDouble() / 3, moved[0].toDouble());
  // How many elements, and a base that is no Scalar of the schema.
  EXPECT_EQ(moved[2].toInt(), 5);
  EXPECT_EQ(moved[3].toDouble(), 10);
  const Values again = Make("aten::logspace", arguments, options);
  EXPECT_EQ(again[0].toDouble(), moved[0].toDouble());
}

}  // namespace
}  // namespace flaggems
