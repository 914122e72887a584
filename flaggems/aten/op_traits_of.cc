#include "flaggems/aten/op_traits_of.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"

namespace flaggems {
namespace {

// Operators that write arguments although their schemas do not say so.
constexpr absl::string_view kWritesUnmarkedArguments[] = {
    "native_batch_norm",  // running_mean and running_var, when training
    "cudnn_batch_norm",
    "miopen_batch_norm",
};

OpKey OpKeyOf(const c10::OperatorName& name) {
  const size_t colons = name.name.find("::");
  OpKey key;
  key.ns = colons == std::string::npos ? "" : name.name.substr(0, colons);
  key.name =
      colons == std::string::npos ? name.name : name.name.substr(colons + 2);
  key.overload = name.overload_name;
  return key;
}

ValueDesc Describe(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return ValueDesc();
    return ValueDesc::Tensor(DTypeOf(tensor.scalar_type()),
                             tensor.sizes().vec());
  }
  std::vector<ValueDesc> items;
  if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      items.push_back(Describe(item));
    }
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) {
      items.push_back(Describe(item));
    }
  }
  const bool has_tensor =
      std::any_of(items.begin(), items.end(), [](const ValueDesc& item) {
        return item.kind != ValueDesc::Kind::kNone;
      });
  return has_tensor ? ValueDesc::List(std::move(items)) : ValueDesc();
}

// Sizes that kernels may treat alike: of one magnitude, and whole tiles or not.
uint64_t SizeClass(int64_t size) {
  uint64_t magnitude = 0;
  while (size >> magnitude > 1) ++magnitude;
  return 4 * magnitude + (size % 32 == 0 ? 2 : 0) + (size % 4 == 0 ? 1 : 0);
}

// How memory is laid out, as far as kernels choose a path by it.
uint64_t LayoutClass(const at::Tensor& tensor) {
  if (!IsPlainTensor(tensor)) return 0;
  uint64_t layout = tensor.is_contiguous() ? 1 : 2;
  if (!tensor.is_contiguous()) {
    for (const int64_t stride : tensor.strides()) {
      layout = 4 * layout + (stride == 0 ? 1 : stride == 1 ? 2 : 3);
    }
  }
  const bool aligned = tensor.storage_offset() % 16 == 0;
  return 4 * layout + (aligned ? 0 : 1) + (tensor.is_conj() ? 2 : 0);
}

// What CallTraits::signature is of a value.
template <typename Hash>
Hash AddSignature(Hash hash, const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    hash =
        Hash::combine(std::move(hash), static_cast<int>(tensor.scalar_type()),
                      tensor.dim(), LayoutClass(tensor));
    if (IsPlainTensor(tensor)) {
      for (const int64_t size : tensor.sizes()) {
        hash = Hash::combine(std::move(hash), SizeClass(size));
      }
    }
  } else if (value.isTensorList() || value.isOptionalTensorList()) {
    for (const c10::IValue& item : value.toListRef()) {
      hash = AddSignature(std::move(hash), item);
    }
  } else if (value.isBool()) {
    hash = Hash::combine(std::move(hash), value.toBool());
  } else {
    hash = Hash::combine(std::move(hash), value.isNone());
  }
  return hash;
}

struct Signature {
  absl::Span<const c10::IValue> arguments;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const Signature& signature) {
    for (const c10::IValue& value : signature.arguments) {
      hash = AddSignature(std::move(hash), value);
    }
    return hash;
  }
};

uint64_t SignatureOf(absl::Span<const c10::IValue> arguments) {
  return absl::Hash<Signature>()(Signature{arguments});
}

}  // namespace

OpKey OpKeyOf(const c10::OperatorHandle& op) {
  return OpKeyOf(op.operator_name());
}

std::vector<OpKey> KnownOperators() {
  std::vector<OpKey> keys;
  for (const c10::OperatorName& name :
       c10::Dispatcher::singleton().getAllOpNames()) {
    keys.push_back(OpKeyOf(name));
  }
  return keys;
}

std::optional<c10::OperatorHandle> FindOperator(const OpKey& key) {
  return c10::Dispatcher::singleton().findSchema(
      {key.ns + "::" + key.name, key.overload});
}

OpTraits OpTraitsOf(const c10::OperatorHandle& op) {
  OpTraits traits;
  traits.key = OpKeyOf(op);
  traits.nondeterministic_seeded = op.hasTag(at::Tag::nondeterministic_seeded);
  if (!op.hasSchema()) return traits;
  const c10::FunctionSchema& schema = op.schema();
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.is_out()) traits.is_out_variant = true;
    if (argument.alias_info() && argument.alias_info()->isWrite()) {
      traits.is_mutable = true;
    }
  }
  if (traits.key.ns == "aten" &&
      absl::c_linear_search(kWritesUnmarkedArguments, traits.key.name)) {
    traits.is_mutable = true;
  }
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() && !result.alias_info()->isWrite()) {
      traits.returns_view = true;
    }
  }
  return traits;
}

std::vector<bool> WritableArguments(const c10::OperatorHandle& op) {
  const OpKey key = OpKeyOf(op);
  const bool unmarked =
      key.ns == "aten" &&
      absl::c_linear_search(kWritesUnmarkedArguments, key.name);
  std::vector<bool> writable;
  for (const c10::Argument& argument : op.schema().arguments()) {
    const bool marked =
        argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    writable.push_back(
        marked || (unmarked && absl::StartsWith(argument.name(), "running_")));
  }
  return writable;
}

CallTraits CallTraitsOf(absl::Span<const c10::IValue> arguments) {
  CallTraits traits;
  traits.signature = SignatureOf(arguments);
  VisitTensors(arguments, [&](const at::Tensor& tensor) {
    if (!traits.capturing && IsCapturing(tensor.device())) {
      traits.capturing = true;
    }
    if (!IsPlainTensor(tensor)) {
      traits.supported = false;
      return;
    }
    traits.vast = traits.vast || IsVast(tensor);
    traits.max_numel = std::max(traits.max_numel, tensor.numel());
    if (IsHalfPrecision(DTypeOf(tensor.scalar_type()))) {
      traits.half_precision_input = true;
    }
  });
  // Factories are told their device.
  for (const c10::IValue& argument : arguments) {
    if (argument.isDevice() && IsCapturing(argument.toDevice())) {
      traits.capturing = true;
    }
  }
  return traits;
}

int64_t MaxNumel(absl::Span<const c10::IValue> values) {
  int64_t max_numel = 0;
  VisitTensors(values, [&](const at::Tensor& tensor) {
    if (IsPlainTensor(tensor)) {
      max_numel = std::max(max_numel, tensor.numel());
    }
  });
  return max_numel;
}

std::vector<ValueDesc> DescribeInputs(absl::Span<const c10::IValue> arguments) {
  std::vector<ValueDesc> inputs;
  for (const c10::IValue& argument : arguments) {
    ValueDesc value = Describe(argument);
    if (value.kind != ValueDesc::Kind::kNone)
      inputs.push_back(std::move(value));
  }
  return inputs;
}

ValueDesc DescribeOutputs(absl::Span<const c10::IValue> outputs) {
  if (outputs.size() == 1) return Describe(outputs[0]);
  std::vector<ValueDesc> items;
  for (const c10::IValue& output : outputs) items.push_back(Describe(output));
  return ValueDesc::List(std::move(items));
}

std::string DeviceOf(absl::Span<const c10::IValue> arguments) {
  std::string device;
  VisitTensors(arguments, [&](const at::Tensor& tensor) {
    if (device.empty()) device = tensor.device().str();
  });
  // Factories are told theirs.
  for (const c10::IValue& argument : arguments) {
    if (device.empty() && argument.isDevice()) {
      device = argument.toDevice().str();
    }
  }
  return device.empty() ? "cpu" : device;
}

}  // namespace flaggems
