#include "flaggems/kernels/testing/conformance.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <typeinfo>
#include <unordered_set>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

constexpr at::ScalarType kAllDtypes[] = {
    at::kFloat, at::kDouble, at::kBFloat16,     at::kHalf,
    at::kLong,  at::kInt,    at::kShort,        at::kChar,
    at::kByte,  at::kBool,   at::kComplexFloat, at::kUInt16,
};
// Other layouts are a matter of the walk over memory; these have all the
// element sizes and a type that is widened.
constexpr at::ScalarType kLayoutDtypes[] = {
    at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong};

// What a kernel of any backend computes itself.
bool MustHave(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
}

const char* LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kSliced:
      return "sliced";
    case Layout::kExpanded:
      return "expanded";
  }
  return "";
}

bool IsFloat(at::ScalarType t) {
  return at::isFloatingType(t) || at::isComplexType(t);
}

at::ScalarType Widened(at::ScalarType t) {
  if (at::isComplexType(t)) return at::kComplexDouble;
  return at::isFloatingType(t) ? at::kDouble : t;
}

c10::OperatorHandle Find(const std::string& schema) {
  const size_t dot = schema.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      schema.substr(0, dot).c_str(),
      dot == std::string::npos ? "" : schema.substr(dot + 1).c_str());
}

// f for each tensor in the arguments, lists included.
c10::IValue MapTensors(const c10::IValue& v,
                       const std::function<at::Tensor(const at::Tensor&)>& f) {
  if (v.isTensor() && v.toTensor().defined()) return f(v.toTensor());
  if (v.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : v.toTensorVector()) list.push_back(f(t));
    return list;
  }
  return v;
}

Arguments MapTensors(const Arguments& arguments,
                     const std::function<at::Tensor(const at::Tensor&)>& f) {
  Arguments result;
  for (const c10::IValue& v : arguments) result.push_back(MapTensors(v, f));
  return result;
}

// A copy with the same strides, storage offset and overlaps.
at::Tensor CloneStorage(const at::Tensor& t) {
  const int64_t elements =
      static_cast<int64_t>(t.storage().nbytes()) / t.element_size();
  const at::Tensor storage = t.as_strided({elements}, {1}, 0).clone();
  return storage.as_strided(t.sizes(), t.strides(), t.storage_offset());
}

struct Outcome {
  std::vector<at::Tensor> outputs;
  Arguments arguments;    // after the call
  std::string exception;  // the type, empty if none
  std::string message;
};

template <typename F>
Outcome Execute(const Arguments& arguments, F call) {
  Outcome result;
  result.arguments = MapTensors(arguments, CloneStorage);
  torch::jit::Stack stack(result.arguments.begin(), result.arguments.end());
  try {
    call(&stack);
    for (const c10::IValue& v : stack) result.outputs.push_back(v.toTensor());
  } catch (const c10::Error& e) {
    result.exception = typeid(e).name();
    result.message = e.what_without_backtrace();
  } catch (const std::exception& e) {
    result.exception = typeid(e).name();
    result.message = e.what();
  }
  return result;
}

Outcome Native(const std::string& schema, const Arguments& arguments) {
  const c10::OperatorHandle handle = Find(schema);
  return Execute(arguments, [&](torch::jit::Stack* s) { handle.callBoxed(s); });
}

Outcome UnderTest(const Kernel& kernel, const Arguments& arguments,
                  at::Device device) {
  const c10::OperatorHandle handle = Find(kernel.schema);
  const c10::DispatchKeySet keys(device.is_cuda() ? c10::DispatchKey::CUDA
                                                  : c10::DispatchKey::CPU);
  return Execute(arguments, [&](torch::jit::Stack* s) {
    kernel.function.callBoxed(handle, keys, s);
  });
}

// The operator in float64.
Outcome WideNative(const Operator& op, const Arguments& wide) {
  if (op.oracle == nullptr) return Native(op.schema, wide);
  return Execute(wide, [&](torch::jit::Stack* s) {
    const Arguments arguments(s->begin(), s->end());
    s->clear();
    for (const at::Tensor& t : op.oracle(arguments)) s->push_back(t);
  });
}

// The dtype argument of a call, if it has one.
std::optional<size_t> FindDtypeArgument(const Operator& op,
                                        const Arguments& arguments) {
  const auto& schema = Find(op.schema).schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::TypePtr type = schema[i].real_type();
    if (type->kind() == c10::TypeKind::OptionalType) {
      type = type->expect<c10::OptionalType>()->getElementType();
    }
    if (type->kind() == c10::TypeKind::ScalarTypeType && arguments[i].isInt()) {
      return i;
    }
  }
  return std::nullopt;
}

// The oracle's arguments: float64 on the CPU, a dtype argument too. With a
// dtype argument the operator first converts its input, so the oracle's input
// is of that dtype as well.
Arguments Wide(const Operator& op, const Arguments& arguments) {
  const std::optional<size_t> place = FindDtypeArgument(op, arguments);
  std::optional<at::ScalarType> dtype;
  if (place.has_value()) {
    dtype = static_cast<at::ScalarType>(arguments[*place].toInt());
  }
  Arguments wide = MapTensors(arguments, [&](const at::Tensor& t) {
    const at::Tensor host = t.to(at::kCPU);
    if (dtype.has_value()) return host.to(*dtype).to(Widened(*dtype));
    const bool integer = !IsFloat(t.scalar_type());
    return host.to(integer && op.promotes_integers ? at::kDouble
                                                   : Widened(t.scalar_type()));
  });
  if (place.has_value()) wide[*place] = static_cast<int64_t>(Widened(*dtype));
  return wide;
}

// Real numbers, two columns for complex ones.
at::Tensor Reals(const at::Tensor& t) {
  const at::Tensor wide = t.to(at::kCPU).to(Widened(t.scalar_type()));
  return (at::isComplexType(wide.scalar_type())
              ? at::view_as_real(wide.resolve_conj())
              : wide.to(at::kDouble))
      .contiguous()
      .view(-1);
}

// One non-negative number per real number of Reals().
at::Tensor Magnitudes(const at::Tensor& t) {
  const at::Tensor m = t.abs().to(at::kDouble).contiguous().view(-1);
  return at::isComplexType(t.scalar_type()) ? m.repeat_interleave(2) : m;
}

struct Format {
  int digits;        // of the significand
  int min_exponent;  // of the smallest normal number
  double max;
};

Format FormatOf(at::ScalarType t) {
  switch (t) {
    case at::kHalf:
      return {11, -14, 65504.0};
    case at::kBFloat16:
      return {8, -126, 3.3895313892515355e38};
    case at::kDouble:
    case at::kComplexDouble:
      return {53, -1022, std::numeric_limits<double>::max()};
    default:
      return {24, -126, std::numeric_limits<float>::max()};
  }
}

double Ulp(double v, const Format& f) {
  const int exponent =
      v == 0 ? f.min_exponent : std::max(std::ilogb(v), f.min_exponent);
  return std::ldexp(1.0, exponent - f.digits + 1);
}

// The condition C of the bound for each real number of the oracle's output.
at::Tensor ConditionOf(const Operator& op, const Arguments& wide,
                       const at::Tensor& oracle, size_t output) {
  switch (op.bound.condition) {
    case Bound::Condition::kExact:
    case Bound::Condition::kMagnitude:
      return Magnitudes(oracle);
    case Bound::Condition::kAbsolute: {
      Arguments absolute = MapTensors(wide, [](const at::Tensor& t) {
        return IsFloat(t.scalar_type()) ? t.abs() : t;
      });
      const auto& schema = Find(op.schema).schema().arguments();
      for (size_t i = 0; i < absolute.size(); ++i) {
        c10::IValue& v = absolute[i];
        if (v.isDouble()) v = std::fabs(v.toDouble());
        if (v.isComplexDouble()) v = std::abs(v.toComplexDouble());
        // An integer may also be a dimension.
        if (v.isInt() &&
            schema[i].type()->kind() == c10::TypeKind::NumberType) {
          v = std::abs(v.toInt());
        }
      }
      const std::string& name = op.bound.absolute_schema.empty()
                                    ? op.schema
                                    : op.bound.absolute_schema;
      // The out argument is of no interest.
      const size_t count = Find(name).schema().arguments().size();
      if (absolute.size() > count) absolute.resize(count);
      at::Tensor sum = Magnitudes(Native(name, absolute).outputs.at(output));
      const at::Tensor magnitudes = Magnitudes(oracle);
      // Magnitudes of complex numbers are real.
      if (sum.numel() != magnitudes.numel()) sum = sum.repeat_interleave(2);
      return at::maximum(sum, magnitudes);
    }
    case Bound::Condition::kSensitivity: {
      // Random errors up to 2^-20 in each input, four times. Not of one size:
      // two could cancel in every draw.
      constexpr double kStep = 1.0 / (1 << 20);
      at::Tensor effect = at::zeros_like(Reals(oracle));
      at::Generator generator = at::detail::createCPUGenerator(7);
      for (int draw = 0; draw < 4; ++draw) {
        const Arguments moved = MapTensors(wide, [&](const at::Tensor& t) {
          if (!IsFloat(t.scalar_type())) return t;
          const at::Tensor error =
              at::rand(t.sizes(), generator, at::kDouble) * 2 - 1;
          return t * (1 + kStep * error);
        });
        const at::Tensor other = WideNative(op, moved).outputs.at(output);
        effect = at::maximum(effect, (Reals(other) - Reals(oracle)).abs());
      }
      return Magnitudes(oracle) + at::nan_to_num(effect * (2 / kStep), 0, 0, 0);
    }
  }
  return at::Tensor();
}

// THE bound of the suite; conformance.h says why each term is there.
double BoundOf(const Bound& bound, double walk, double magnitude,
               double condition, at::ScalarType dtype, const Format& format) {
  const bool wide = dtype == at::kDouble;
  const double h = at::isComplexType(dtype) ? 0.75 : 0.5;
  const double u = wide ? std::ldexp(1.0, -53) : std::ldexp(1.0, -24);
  double limit =
      h * Ulp(magnitude, format) + u * (bound.a + bound.b * walk) * condition;
  // In double the oracle has errors of its own kind.
  if (wide) limit *= 2;
  limit += bound.oracle_error;
  // Results below the smallest normal number may be flushed.
  const double tiny = std::ldexp(1.0, std::max(format.min_exponent, -126));
  if (magnitude < tiny && !wide) limit += tiny * 0x1p-10;
  return limit;
}

void ExpectClose(const Operator& op, double walk, const Arguments& wide,
                 const at::Tensor& got, const at::Tensor& oracle,
                 size_t output) {
  const at::Tensor g = Reals(got);
  const at::Tensor o = Reals(oracle);
  ASSERT_EQ(g.numel(), o.numel());
  const at::Tensor m = Magnitudes(oracle);
  const at::Tensor c = ConditionOf(op, wide, oracle, output);
  ASSERT_EQ(c.numel(), o.numel());
  const Format format = FormatOf(got.scalar_type());
  int shown = 0;
  for (int64_t i = 0; i < g.numel() && shown < 3; ++i) {
    const double x = g.const_data_ptr<double>()[i];
    const double want = o.const_data_ptr<double>()[i];
    const double magnitude = m.const_data_ptr<double>()[i];
    const double condition =
        std::max(c.const_data_ptr<double>()[i], op.bound.least_condition);
    if (std::isnan(want)) {
      if (std::isnan(x)) continue;
    } else if (std::isinf(want)) {
      if (x == want) continue;
    } else if (!std::isfinite(magnitude) || !std::isfinite(condition)) {
      continue;  // a complex number whose other part is not finite
    } else {
      const double limit = BoundOf(op.bound, walk, magnitude, condition,
                                   got.scalar_type(), format);
      if (std::isinf(x)) {
        if (std::signbit(x) == std::signbit(want) &&
            std::fabs(want) + limit > format.max) {
          continue;
        }
      } else if (std::fabs(x - want) <= limit) {
        continue;
      }
      ADD_FAILURE() << "output " << output << " element " << i << ": got " << x
                    << ", want " << want << ", error " << std::fabs(x - want)
                    << ", bound " << limit;
      ++shown;
      continue;
    }
    ADD_FAILURE() << "output " << output << " element " << i << ": got " << x
                  << ", want " << want;
    ++shown;
  }
}

// Bits, but any NaN equals any NaN.
bool SameValues(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = Reals(a);
  const at::Tensor y = Reals(b);
  if (!IsFloat(a.scalar_type())) {
    return at::equal(a.to(at::kLong), b.to(at::kLong));
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double v = x.const_data_ptr<double>()[i];
    const double w = y.const_data_ptr<double>()[i];
    if (std::isnan(v) && std::isnan(w)) continue;
    if (v != w || std::isnan(v)) return false;
  }
  return true;
}

// `places` are where `values` stand in `from`; no place twice.
void ExpectPlaces(const at::Tensor& places, const at::Tensor& values,
                  const at::Tensor& from, int64_t dim) {
  ASSERT_EQ(places.scalar_type(), at::kLong);
  ASSERT_EQ(places.sizes(), values.sizes());
  if (places.numel() == 0 || from.dim() == 0) {
    EXPECT_TRUE(at::equal(places, at::zeros_like(places)));
    return;
  }
  ASSERT_GE(places.min().item<int64_t>(), 0);
  ASSERT_LT(places.max().item<int64_t>(), from.size(dim));
  EXPECT_TRUE(SameValues(at::gather(from, dim, places), values))
      << "the values do not stand at the places";
  const at::Tensor sorted = std::get<0>(places.cpu().sort(dim));
  const int64_t n = sorted.size(dim);
  EXPECT_TRUE(at::all(at::gt(sorted.narrow(dim, 1, n - 1),
                             sorted.narrow(dim, 0, n - 1)))
                  .item<bool>())
      << "a place is there twice";
}

std::string Sanitized(const std::string& s) {
  std::string result;
  for (const char c : s) {
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return result;
}

}  // namespace

at::Tensor Inputs::Normal(at::IntArrayRef shape) {
  at::Generator generator = at::detail::createCPUGenerator(seed_++);
  return at::randn(shape, generator, at::kDouble) * 2;
}

at::Tensor Inputs::Arrange(const at::Tensor& values, Layout layout) const {
  const at::Tensor v = values.to(device_);
  const int64_t rank = v.dim();
  switch (layout) {
    case Layout::kContiguous:
      return v.contiguous();
    case Layout::kTransposed:
      if (rank >= 2) {
        return v.transpose(0, -1).contiguous().transpose(0, -1);
      }
      [[fallthrough]];
    case Layout::kSliced: {
      if (rank == 0) {
        at::Tensor base = at::zeros({3}, v.options());
        base[1].copy_(v);
        return base[1];
      }
      at::DimVector sizes(v.sizes());
      for (int64_t& s : sizes) s = 2 * s + 1;
      at::Tensor view = at::zeros(sizes, v.options());
      for (int64_t d = 0; d < rank; ++d) {
        view = view.slice(d, 1, 2 * v.size(d) + 1, 2);
      }
      view.copy_(v);
      return view;
    }
    case Layout::kExpanded:
      if (rank == 0 || v.size(0) == 0) return v.contiguous();
      return v.narrow(0, 0, 1).contiguous().expand(v.sizes());
  }
  return v;
}

at::Tensor Inputs::Of(at::ScalarType dtype, at::IntArrayRef shape) {
  at::Tensor v = Normal(shape);
  if (dtype == at::kBool) {
    v = v > 0;
  } else if (!IsFloat(dtype)) {
    v = v.mul(2).round().clamp(-8, 8);
    if (dtype == at::kByte || dtype == at::kUInt16) v = v.abs();
  } else if (at::isComplexType(dtype)) {
    v = at::complex(v, Normal(shape));
  }
  return Arrange(v.to(dtype), layout_);
}

at::Tensor Inputs::Random(at::IntArrayRef shape) { return Of(dtype_, shape); }

at::Tensor Inputs::Mutable(at::IntArrayRef shape) {
  const Layout layout = layout_;
  if (layout_ == Layout::kExpanded) layout_ = Layout::kContiguous;
  const at::Tensor t = Random(shape);
  layout_ = layout;
  return t;
}

at::Tensor Inputs::Positive(at::IntArrayRef shape) {
  if (!at::isFloatingType(dtype_)) return Random(shape);
  at::Generator generator = at::detail::createCPUGenerator(seed_++);
  at::Tensor v = at::rand(shape, generator, at::kDouble) * 3.95 + 0.05;
  return Arrange(v.to(dtype_), layout_);
}

at::Tensor Inputs::Special(at::IntArrayRef shape) {
  if (!at::isFloatingType(dtype_)) return Random(shape);
  const Format f = FormatOf(dtype_);
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double smallest = std::ldexp(1.0, f.min_exponent);
  const double values[] = {
      nan,      inf,       -inf,          0.0,   -0.0,
      smallest, -smallest, smallest / 4,  f.max, -f.max,
      1.0,      -1.0,      88.0,          -88.0, 1.0 + Ulp(1.0, f),
      20.0,     -20.0,     -smallest / 4, 2.5};
  constexpr int64_t kCount = sizeof(values) / sizeof(values[0]);
  at::Tensor v = Normal(shape).contiguous();
  // Every third element, so that ordinary ones remain.
  double* const p = v.mutable_data_ptr<double>();
  for (int64_t i = 0; 3 * i < v.numel(); ++i) p[3 * i] = values[i % kCount];
  return Arrange(v.to(dtype_), layout_);
}

at::Tensor Inputs::Ties(at::IntArrayRef shape) {
  at::Generator generator = at::detail::createCPUGenerator(seed_++);
  return Arrange(at::randint(0, 4, shape, generator, at::kDouble).to(dtype_),
                 layout_);
}

at::Tensor Inputs::Mask(at::IntArrayRef shape) {
  return Arrange(Normal(shape) > 0, layout_);
}

at::Tensor Inputs::Index(at::IntArrayRef shape, int64_t limit,
                         at::ScalarType dtype) {
  at::Generator generator = at::detail::createCPUGenerator(seed_++);
  return Arrange(at::randint(0, limit, shape, generator, at::kLong).to(dtype),
                 layout_);
}

std::vector<Call> CallsForShapes(
    const std::string& name,
    const std::function<Arguments(Inputs&, at::IntArrayRef)>& arguments) {
  const std::vector<int64_t> shapes[] = {
      {},   {0},   {3, 0, 2}, {1},      {7},       {31},
      {33}, {257}, {1025},    {33, 31}, {3, 5, 7}, {2, 3, 4, 5}};
  std::vector<Call> calls;
  for (const std::vector<int64_t>& shape : shapes) {
    std::string label = name + "_shape";
    for (const int64_t size : shape) label += "_" + std::to_string(size);
    calls.push_back({label, [arguments, shape](Inputs& in) {
                       return arguments(in, shape);
                     }});
  }
  return calls;
}

std::vector<Call> Concat(const std::vector<std::vector<Call>>& lists) {
  std::vector<Call> all;
  for (const std::vector<Call>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

std::vector<ConformanceCase> CasesOf(const std::vector<Kernel>& kernels,
                                     const std::vector<Operator>& operators,
                                     at::Device device) {
  if (device.is_cuda() && !at::hasCUDA()) {
    ConformanceCase none;
    none.name = "no_device";
    none.kind = ConformanceCase::Kind::kNoDevice;
    return {none};
  }
  std::vector<ConformanceCase> cases;
  std::unordered_set<std::string> names;
  for (const Kernel& kernel : kernels) {
    const std::string prefix =
        Sanitized(kernel.schema.substr(kernel.schema.find("::") + 2));
    bool described = false;
    for (const Operator& op : operators) {
      if (op.schema != kernel.schema) continue;
      const auto add = [&](const Call& call, at::ScalarType dtype,
                           Layout layout) {
        // CUDA has no arithmetic of uint16 to make arguments with.
        if (dtype == at::kUInt16 && !device.is_cpu()) return;
        std::string name = prefix + "_" + c10::toString(dtype) + "_" +
                           Sanitized(call.name) + "_" + LayoutName(layout);
        // Two rows of an operator may name their calls alike.
        while (!names.insert(name).second) name += "_again";
        cases.push_back({name, kernel, op, call, dtype, layout, device});
      };
      // A kernel may be in two rows that differ in their bound.
      if (!described) {
        cases.push_back({prefix + "_signature", kernel, op, Call(), at::kFloat,
                         Layout::kContiguous, device,
                         ConformanceCase::Kind::kSignature});
        described = true;
      }
      for (const Call& call : op.calls) {
        if (call.refused_for_values && !device.is_cpu()) continue;
        if (call.threads) {
          add(call, at::kFloat, Layout::kContiguous);
          add(call, at::kBFloat16, Layout::kContiguous);
          continue;
        }
        for (const at::ScalarType dtype : kAllDtypes) {
          add(call, dtype, Layout::kContiguous);
        }
        if (call.contiguous_only || call.refused || call.refused_for_values) {
          continue;
        }
        for (const Layout layout :
             {Layout::kTransposed, Layout::kSliced, Layout::kExpanded}) {
          for (const at::ScalarType dtype : kLayoutDtypes) {
            add(call, dtype, layout);
          }
        }
      }
    }
    TORCH_CHECK(described, "no operator of the table is ", kernel.schema,
                ": add its calls to a <area>_cases.cc");
  }
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<ConformanceCase>& info) {
  return info.param.name;
}

void PrintTo(const ConformanceCase& c, std::ostream* os) { *os << c.name; }

void ConformanceTest::CheckSignature() {
  const ConformanceCase& c = GetParam();
  // Throws if the inferred schema differs from the declared one.
  torch::Library library(torch::Library::IMPL, "aten",
                         c10::DispatchKey::PrivateUse3, __FILE__, __LINE__);
  const std::string name = c.op.schema.substr(6);
  EXPECT_NO_THROW(library.impl(name.c_str(), c.kernel.registrable()));
}

void ConformanceTest::CheckThreads() {
  const ConformanceCase& c = GetParam();
  Inputs inputs(c.device, c.dtype, c.layout);
  const Arguments arguments = c.call.arguments(inputs);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Outcome one = UnderTest(c.kernel, arguments, c.device);
  at::set_num_threads(2);
  const Outcome two = UnderTest(c.kernel, arguments, c.device);
  at::set_num_threads(before);
  ASSERT_EQ(one.exception, "") << one.message;
  ASSERT_EQ(two.exception, "") << two.message;
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    EXPECT_TRUE(SameValues(one.outputs[i], two.outputs[i])) << "output " << i;
  }
}

void ConformanceTest::CheckCall() {
  const ConformanceCase& c = GetParam();
  Inputs inputs(c.device, c.dtype, c.layout);
  const Arguments arguments = c.call.arguments(inputs);
  const Outcome native = Native(c.op.schema, arguments);
  const Outcome got = UnderTest(c.kernel, arguments, c.device);

  if (c.dtype == at::kFloat) {
    ASSERT_EQ(!native.exception.empty(),
              c.call.refused || c.call.refused_for_values)
        << "the call is not what the table says: " << native.message;
  }
  if (!c.device.is_cpu() && !MustHave(c.dtype) &&
      got.exception == typeid(c10::NotImplementedError).name()) {
    return;
  }
  ASSERT_EQ(got.exception, native.exception)
      << "kernel: " << got.message << "\nnative: " << native.message;
  if (!native.exception.empty()) return;

  const auto& schema = Find(c.op.schema).schema();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = schema.arguments()[i];
    const bool is_mutable =
        argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) {
      continue;
    }
    const at::Tensor after = got.arguments[i].toTensor();
    if (is_mutable) {
      EXPECT_TRUE(got.outputs[0].is_same(after))
          << argument.name() << " is not what was returned";
    } else {
      EXPECT_TRUE(SameValues(after, arguments[i].toTensor()))
          << argument.name() << " was changed";
    }
  }

  ASSERT_EQ(got.outputs.size(), native.outputs.size());
  std::vector<at::Tensor> oracle;
  Arguments wide;
  if (c.op.bound.condition != Bound::Condition::kExact) {
    wide = Wide(c.op, arguments);
    const Outcome reference = WideNative(c.op, wide);
    ASSERT_EQ(reference.exception, "") << reference.message;
    oracle = reference.outputs;
  }
  // The roundings of equal terms are equal too: no random walk.
  const double terms = static_cast<double>(c.call.terms);
  const double walk = c.layout == Layout::kExpanded ? terms : std::sqrt(terms);
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    const at::Tensor& x = got.outputs[i];
    const at::Tensor& n = native.outputs[i];
    ASSERT_EQ(x.defined(), n.defined()) << "output " << i;
    if (!x.defined()) continue;
    ASSERT_EQ(x.scalar_type(), n.scalar_type()) << "output " << i;
    ASSERT_EQ(x.sizes(), n.sizes()) << "output " << i;
    EXPECT_EQ(x.strides(), n.strides()) << "output " << i;
    if (i == 1 && c.op.indices.has_value()) {
      const int64_t rank = arguments[0].toTensor().dim();
      const int64_t dim = arguments[c.op.indices->dim].toInt();
      ExpectPlaces(x, got.outputs[0], arguments[0].toTensor(),
                   dim < 0 ? dim + rank : dim);
    } else if (oracle.empty() || !IsFloat(x.scalar_type())) {
      EXPECT_TRUE(SameValues(x, n)) << "output " << i << "\ngot\n"
                                    << x << "\nwant\n"
                                    << n;
    } else {
      at::Tensor want = oracle[i];
      if (c.call.native_specials) {
        const at::Tensor own = n.to(at::kCPU).to(want.scalar_type());
        want = at::where(own.isfinite() & want.isfinite(), want, own);
      }
      ExpectClose(c.op, walk, wide, x, want, i);
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConformanceTest);

TEST_P(ConformanceTest, Agrees) {
  switch (GetParam().kind) {
    case ConformanceCase::Kind::kNoDevice:
      GTEST_SKIP() << "this machine has no GPU that torch can use";
    case ConformanceCase::Kind::kSignature:
      return CheckSignature();
    case ConformanceCase::Kind::kCall:
      return GetParam().call.threads ? CheckThreads() : CheckCall();
  }
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
