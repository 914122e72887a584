#include "flaggems/judge/flat_values.h"

#include <ATen/ops/scalar_tensor.h>

#include "flaggems/aten/dtype_of.h"
#include "flaggems/core/value_desc.h"

namespace flaggems {
namespace {

void FlattenParts(std::vector<at::Tensor> parts, std::vector<FlatValue>& flat) {
  flat.push_back({c10::IValue(), static_cast<int64_t>(parts.size())});
  for (at::Tensor& part : parts) flat.push_back({std::move(part)});
}

// False if the tensor is of one piece.
bool FlattenComposite(const at::Tensor& tensor, std::vector<FlatValue>& flat) {
  if (!tensor.defined()) return false;
  if (tensor.layout() == c10::kSparse) {
    const at::Tensor coalesced = tensor.coalesce();
    FlattenParts({coalesced._indices(), coalesced._values()}, flat);
    return true;
  }
  if (tensor.layout() == c10::kSparseCsr) {
    FlattenParts({tensor.crow_indices(), tensor.col_indices(), tensor.values()},
                 flat);
    return true;
  }
  if (tensor.is_quantized()) {
    const bool per_channel =
        tensor.qscheme() == at::kPerChannelAffine ||
        tensor.qscheme() == at::kPerChannelAffineFloatQParams;
    flat.push_back({c10::IValue(), 3});
    flat.push_back({tensor.int_repr(), -1, true});
    flat.push_back({per_channel ? c10::IValue(tensor.q_per_channel_scales())
                                : c10::IValue(tensor.q_scale())});
    flat.push_back({per_channel
                        ? c10::IValue(tensor.q_per_channel_zero_points())
                        : c10::IValue(tensor.q_zero_point())});
    return true;
  }
  return false;
}

void Flatten(const c10::IValue& value, std::vector<FlatValue>& flat) {
  if (value.isTensor() && FlattenComposite(value.toTensor(), flat)) return;
  c10::ArrayRef<c10::IValue> items;
  if (value.isList()) {
    items = value.toListRef();
  } else if (value.isTuple()) {
    items = value.toTupleRef().elements();
  } else {
    flat.push_back({value, -1});
    return;
  }
  flat.push_back({c10::IValue(), static_cast<int64_t>(items.size())});
  for (const c10::IValue& item : items) Flatten(item, flat);
}

}  // namespace

std::vector<FlatValue> FlattenValues(absl::Span<const c10::IValue> values) {
  std::vector<FlatValue> flat;
  for (const c10::IValue& value : values) {
    // Lists of numbers are no IValues inside.
    if (value.isIntList() || value.isDoubleList() || value.isBoolList()) {
      const c10::List<c10::IValue> items = value.toList();
      flat.push_back({c10::IValue(), static_cast<int64_t>(items.size())});
      for (size_t i = 0; i < items.size(); ++i) flat.push_back({items.get(i)});
    } else {
      Flatten(value, flat);
    }
  }
  return flat;
}

bool IsNothing(const c10::IValue& value) {
  return value.isNone() || (value.isTensor() && !value.toTensor().defined());
}

bool IsNumberOrTensor(const c10::IValue& value) {
  return value.isTensor() || value.isScalar();
}

at::Tensor AsTensor(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  const c10::Scalar scalar = value.toScalar();
  return at::scalar_tensor(scalar, at::TensorOptions(scalar.type()));
}

at::Tensor ToHost(const at::Tensor& tensor) {
  at::Tensor host = tensor.detach();
  if (!host.device().is_cpu()) host = host.to(at::kCPU);
  if (host.is_conj()) host = host.resolve_conj();
  if (host.is_neg()) host = host.resolve_neg();
  return host;
}

std::string TypeAndShape(const at::Tensor& tensor) {
  return FormatValue(
      ValueDesc::Tensor(DTypeOf(tensor.scalar_type()), tensor.sizes().vec()));
}

std::vector<int64_t> IndexOf(int64_t position, c10::IntArrayRef sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = position % sizes[d];
    position /= sizes[d];
  }
  return index;
}

}  // namespace flaggems
