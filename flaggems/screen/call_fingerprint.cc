#include "flaggems/screen/call_fingerprint.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/split_mix.h"

namespace flaggems {
namespace {

class Fingerprint {
 public:
  uint64_t value() const { return value_; }
  bool known() const { return known_; }

  void Add(const c10::IValue& value) {
    AddNumber(static_cast<uint64_t>(TagOf(value)));
    if (value.isTensor()) {
      AddTensor(value.toTensor());
    } else if (value.isInt()) {
      AddNumber(static_cast<uint64_t>(value.toInt()));
    } else if (value.isBool()) {
      AddNumber(value.toBool() ? 1 : 0);
    } else if (value.isDouble()) {
      AddDouble(value.toDouble());
    } else if (value.isDevice()) {
      AddDevice(value.toDevice());
    } else if (value.isString()) {
      for (const char c : value.toStringRef()) {
        AddNumber(static_cast<unsigned char>(c));
      }
    } else if (value.isIntList()) {
      const c10::List<int64_t> list = value.toIntList();
      AddNumber(list.size());
      for (const int64_t item : list) AddNumber(static_cast<uint64_t>(item));
    } else if (value.isList()) {
      const c10::ArrayRef<c10::IValue> items = value.toListRef();
      AddNumber(items.size());
      for (const c10::IValue& item : items) Add(item);
    } else if (!value.isNone()) {
      known_ = false;
    }
  }

 private:
  enum class Tag {
    kTensor,
    kInt,
    kBool,
    kDouble,
    kDevice,
    kString,
    kList,
    kNone
  };

  static Tag TagOf(const c10::IValue& value) {
    if (value.isTensor()) return Tag::kTensor;
    if (value.isInt()) return Tag::kInt;
    if (value.isBool()) return Tag::kBool;
    if (value.isDouble()) return Tag::kDouble;
    if (value.isDevice()) return Tag::kDevice;
    if (value.isString()) return Tag::kString;
    if (value.isList()) return Tag::kList;
    return Tag::kNone;
  }

  void AddNumber(uint64_t number) { value_ = SplitMix(value_ ^ number); }

  void AddDouble(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    AddNumber(bits);
  }

  void AddDevice(const c10::Device& device) {
    AddNumber((static_cast<uint64_t>(device.type()) << 8) |
              static_cast<uint8_t>(device.index()));
  }

  void AddTensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return AddNumber(~uint64_t{0});
    if (!IsPlainTensor(tensor)) {
      known_ = false;
      return;
    }
    AddDevice(tensor.device());
    AddNumber((static_cast<uint64_t>(tensor.scalar_type()) << 8) |
              (tensor.is_conj() ? 1 : 0) | (tensor.is_neg() ? 2 : 0) |
              (tensor.requires_grad() ? 4 : 0) |
              (tensor.unsafeGetTensorImpl()->is_wrapped_number() ? 8 : 0));
    AddNumber(static_cast<uint64_t>(tensor.dim()));
    for (const int64_t size : tensor.sizes()) {
      AddNumber(static_cast<uint64_t>(size));
    }
    for (const int64_t stride : tensor.strides()) {
      AddNumber(static_cast<uint64_t>(stride));
    }
    AddNumber(static_cast<uint64_t>(tensor.storage_offset()));
    // Storages by the order in which they first came.
    const c10::StorageImpl* const storage =
        tensor.storage().unsafeGetStorageImpl();
    const auto found = std::find(storages_.begin(), storages_.end(), storage);
    AddNumber(static_cast<uint64_t>(found - storages_.begin()));
    if (found == storages_.end()) storages_.push_back(storage);
  }

  uint64_t value_ = 0;
  bool known_ = true;
  absl::InlinedVector<const c10::StorageImpl*, 8> storages_;
};

}  // namespace

std::optional<uint64_t> CallFingerprint(absl::Span<const c10::IValue> arguments,
                                        absl::Span<const c10::IValue> outputs) {
  Fingerprint fingerprint;
  fingerprint.Add(c10::IValue(
      static_cast<int64_t>(c10::get_default_dtype_as_scalartype())));
  for (const c10::IValue& argument : arguments) fingerprint.Add(argument);
  for (const c10::IValue& output : outputs) {
    if (!output.isTensor() && !output.isTensorList()) return std::nullopt;
    fingerprint.Add(output);
  }
  if (!fingerprint.known()) return std::nullopt;
  return fingerprint.value();
}

}  // namespace flaggems
