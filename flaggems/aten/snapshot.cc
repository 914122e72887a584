#include "flaggems/aten/snapshot.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

// The bytes [begin, end) of a storage that some argument reaches, and their
// copy.
struct ReachedRange {
  c10::Storage storage;
  int64_t begin = 0;
  int64_t end = 0;
  at::Tensor copy;  // kByte, 1-d, on the CPU
};

using Ranges = absl::flat_hash_map<const c10::StorageImpl*, ReachedRange>;

void Reach(const at::Tensor& tensor, Ranges& ranges) {
  const int64_t item = static_cast<int64_t>(tensor.element_size());
  const int64_t first = tensor.storage_offset() * item;
  // A multiple of every element size, so that views of other dtypes over the
  // same storage keep whole offsets.
  const int64_t begin = first - first % 16;
  int64_t end = begin;
  if (tensor.numel() > 0) {
    int64_t last = 0;  // element offset of the last element; strides are >= 0
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      last += (tensor.size(d) - 1) * tensor.stride(d);
    }
    end = first + (last + 1) * item;
  }
  const auto [it, inserted] =
      ranges.try_emplace(tensor.storage().unsafeGetStorageImpl());
  ReachedRange& range = it->second;
  if (inserted) {
    range = {tensor.storage(), begin, end, {}};
  } else {
    range.begin = std::min(range.begin, begin);
    range.end = std::max(range.end, end);
  }
}

at::Tensor BytesOf(const c10::Storage& storage, int64_t begin, int64_t size) {
  const c10::DispatchKeySet keys(
      c10::computeDispatchKey(at::kByte, c10::kStrided, storage.device()));
  at::Tensor bytes = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), keys, caffe2::TypeMeta::Make<uint8_t>());
  bytes.unsafeGetTensorImpl()->set_sizes_contiguous({size});
  bytes.unsafeGetTensorImpl()->set_storage_offset(begin);
  return bytes;
}

void CopyToHost(ReachedRange& range) {
  const int64_t size = range.end - range.begin;
  range.copy = at::empty({size}, at::TensorOptions(at::kByte));
  if (size == 0) return;
  if (range.storage.device().is_cpu()) {
    std::memcpy(range.copy.mutable_data_ptr(),
                static_cast<const char*>(range.storage.data()) + range.begin,
                static_cast<size_t>(size));
  } else {
    range.copy.copy_(BytesOf(range.storage, range.begin, size));
  }
}

at::Tensor OnCopy(const at::Tensor& tensor, const Ranges& ranges) {
  const ReachedRange& range =
      ranges.at(tensor.storage().unsafeGetStorageImpl());
  const c10::DispatchKeySet keys(c10::computeDispatchKey(
      tensor.scalar_type(), c10::kStrided, at::Device(at::kCPU)));
  at::Tensor copy = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(range.copy.storage()), keys, tensor.dtype());
  c10::TensorImpl* impl = copy.unsafeGetTensorImpl();
  const int64_t item = static_cast<int64_t>(tensor.element_size());
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                              tensor.storage_offset() - range.begin / item);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  copy._set_conj(tensor.is_conj());
  copy._set_neg(tensor.is_neg());
  return copy;
}

c10::IValue CopyValue(const c10::IValue& value, const Ranges& ranges) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? c10::IValue(OnCopy(tensor, ranges)) : value;
  }
  if (value.isDevice()) return c10::IValue(at::Device(at::kCPU));
  if (value.isList()) {
    const c10::List<c10::IValue> items = value.toList();
    c10::impl::GenericList copies(items.elementType());
    copies.reserve(items.size());
    for (const c10::IValue& item : value.toListRef()) {
      copies.push_back(CopyValue(item, ranges));
    }
    return c10::IValue(std::move(copies));
  }
  return value;
}

}  // namespace

absl::StatusOr<std::vector<c10::IValue>> Snapshot(
    absl::Span<const c10::IValue> arguments) {
  return StatusOrOf([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
    Ranges ranges;
    bool plain = true;
    VisitTensors(arguments, [&](const at::Tensor& tensor) {
      if (IsPlainTensor(tensor)) {
        Reach(tensor, ranges);
      } else {
        plain = false;
      }
    });
    if (!plain) {
      return absl::UnimplementedError(
          "an argument is not a plain strided tensor and cannot be copied");
    }
    for (const c10::IValue& argument : arguments) {
      if (argument.isGenerator()) {
        return absl::UnimplementedError(
            "a random generator cannot be copied to the reference");
      }
    }
    for (auto& [impl, range] : ranges) CopyToHost(range);
    std::vector<c10::IValue> copies;
    copies.reserve(arguments.size());
    for (const c10::IValue& argument : arguments) {
      copies.push_back(CopyValue(argument, ranges));
    }
    return copies;
  });
}

}  // namespace flaggems
