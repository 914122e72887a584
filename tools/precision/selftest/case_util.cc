#include "tools/precision/selftest/case_util.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace flaggems::selftest {
namespace {

template <typename T>
at::Tensor Vector(const std::vector<T>& values, at::ScalarType of_values,
                  at::ScalarType dtype) {
  const at::Tensor out = at::empty({static_cast<int64_t>(values.size())},
                                   at::TensorOptions().dtype(of_values));
  if (!values.empty()) {
    std::memcpy(out.mutable_data_ptr(), values.data(),
                values.size() * sizeof(T));
  }
  return out.to(dtype);
}

int64_t NumelOf(at::IntArrayRef sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<int64_t>());
}

template <typename Distribution>
at::Tensor Drawn(uint64_t seed, at::IntArrayRef sizes, at::ScalarType dtype,
                 Distribution distribution) {
  std::mt19937_64 generator(seed);
  std::vector<double> values(NumelOf(sizes));
  for (double& value : values) value = distribution(generator);
  return Vector(values, at::kDouble, dtype).view(sizes);
}

// An int where the schema has a float becomes one.
c10::IValue Fitted(const c10::IValue& value, const c10::TypePtr& type) {
  c10::TypePtr wanted = type;
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (value.isNone()) return value;
    wanted = optional->getElementType();
  }
  if (wanted->kind() == c10::TypeKind::FloatType && value.isInt()) {
    return static_cast<double>(value.toInt());
  }
  return value;
}

}  // namespace

CallList Calls(const char* op, std::vector<std::vector<c10::IValue>> calls) {
  const absl::StatusOr<NativeCall> native = NativeCall::Of(op);
  TORCH_CHECK(native.ok(), std::string(native.status().message()));
  const std::vector<c10::Argument>& arguments =
      native->op().schema().arguments();
  CallList stacks;
  for (std::vector<c10::IValue>& call : calls) {
    TORCH_CHECK(call.size() <= arguments.size(), op, " takes ",
                arguments.size(), " arguments; a call gives ", call.size());
    Stack stack;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i >= call.size()) {
        TORCH_CHECK(arguments[i].default_value().has_value(), op,
                    ": the call leaves out ", arguments[i].name(),
                    ", which has no default");
        stack.push_back(*arguments[i].default_value());
      } else {
        stack.push_back(Fitted(call[i], arguments[i].real_type()));
      }
    }
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

at::Tensor F64(const std::vector<double>& values) {
  return Vector(values, at::kDouble, at::kDouble);
}
at::Tensor F32(const std::vector<double>& values) {
  return Vector(values, at::kDouble, at::kFloat);
}
at::Tensor F16(const std::vector<double>& values) {
  return Vector(values, at::kDouble, at::kHalf);
}
at::Tensor BF16(const std::vector<double>& values) {
  return Vector(values, at::kDouble, at::kBFloat16);
}
at::Tensor I64(const std::vector<int64_t>& values) {
  return Vector(values, at::kLong, at::kLong);
}
at::Tensor I32(const std::vector<int64_t>& values) {
  return Vector(values, at::kLong, at::kInt);
}
at::Tensor Bools(const std::vector<int64_t>& values) {
  return Vector(values, at::kLong, at::kBool);
}
at::Tensor C64(const std::vector<double>& parts) {
  const std::vector<float> floats(parts.begin(), parts.end());
  const at::Tensor out =
      at::empty({static_cast<int64_t>(parts.size() / 2)},
                at::TensorOptions().dtype(at::kComplexFloat));
  std::memcpy(out.mutable_data_ptr(), floats.data(),
              floats.size() * sizeof(float));
  return out;
}

at::Tensor Randn(uint64_t seed, at::IntArrayRef sizes, at::ScalarType dtype) {
  return Drawn(seed, sizes, dtype, std::normal_distribution<double>());
}

at::Tensor Uniform(uint64_t seed, at::IntArrayRef sizes, double low,
                   double high, at::ScalarType dtype) {
  return Drawn(seed, sizes, dtype,
               std::uniform_real_distribution<double>(low, high));
}

at::Tensor Iota(at::IntArrayRef sizes, at::ScalarType dtype) {
  std::vector<int64_t> values(NumelOf(sizes));
  std::iota(values.begin(), values.end(), 0);
  return Vector(values, at::kLong, dtype).view(sizes);
}

at::Tensor Filled(at::IntArrayRef sizes, double value, at::ScalarType dtype) {
  return Vector(std::vector<double>(NumelOf(sizes), value), at::kDouble, dtype)
      .view(sizes);
}

at::Tensor Permutation(uint64_t seed, int64_t n) {
  std::mt19937_64 generator(seed);
  std::vector<int64_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  std::shuffle(values.begin(), values.end(), generator);
  return I64(values);
}

c10::IValue OptionalTensors(const std::vector<at::Tensor>& tensors) {
  c10::List<std::optional<at::Tensor>> list;
  for (const at::Tensor& tensor : tensors) {
    list.push_back(tensor.defined() ? std::optional<at::Tensor>(tensor)
                                    : std::nullopt);
  }
  return list;
}

void Return(Stack* stack, std::vector<c10::IValue> results) {
  *stack = std::move(results);
}

std::vector<c10::IValue> NativeResults(const NativeCall& native,
                                       const Stack* stack) {
  Stack copy = *stack;
  native(&copy);
  return copy;
}

at::Tensor NativeResult(const NativeCall& native, const Stack* stack) {
  return NativeResults(native, stack).at(0).toTensor();
}

at::Tensor NativeResultWith(const NativeCall& native, const Stack* stack,
                            size_t i, const c10::IValue& argument) {
  Stack copy = *stack;
  copy.at(i) = argument;
  native(&copy);
  return copy.at(0).toTensor();
}

at::Tensor ReadLinearly(const at::Tensor& x) {
  const at::Tensor out = at::empty(x.sizes(), x.options());
  std::memcpy(out.mutable_data_ptr(), x.const_data_ptr(), x.nbytes());
  return out;
}

void WriteLinearly(const at::Tensor& out, const at::Tensor& values) {
  const at::Tensor in = values.to(out.scalar_type()).contiguous();
  std::memcpy(out.mutable_data_ptr(), in.const_data_ptr(), in.nbytes());
}

at::Tensor Truncated(const at::Tensor& x, int bits) {
  return MapFloat(x, [bits](float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    word &= ~((uint32_t{1} << bits) - 1);
    std::memcpy(&value, &word, sizeof(word));
    return value;
  });
}

at::Tensor RoundedTo(const at::Tensor& x, int bits) {
  return MapFloat(x, [bits](float value) {
    int exponent;
    const double fraction = std::frexp(static_cast<double>(value), &exponent);
    const double scale = std::ldexp(1.0, bits + 1);
    return static_cast<float>(
        std::ldexp(std::round(fraction * scale) / scale, exponent));
  });
}

at::Tensor Tail(const at::Tensor& x, int64_t block) {
  const at::Tensor flat = x.view({-1});
  const int64_t rest = flat.numel() % block;
  return flat.narrow(0, flat.numel() - rest, rest);
}

at::Tensor ExactProduct(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor in_a = a.contiguous(), in_b = b.contiguous();
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const at::Tensor out = at::empty({m, n}, a.options());
  const float* x = in_a.const_data_ptr<float>();
  const float* y = in_b.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  std::vector<double> row(n);
  for (int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int64_t l = 0; l < k; ++l) {
      const double factor = x[i * k + l];
      for (int64_t j = 0; j < n; ++j) row[j] += factor * y[l * n + j];
    }
    for (int64_t j = 0; j < n; ++j) to[i * n + j] = static_cast<float>(row[j]);
  }
  return out;
}

}  // namespace flaggems::selftest
