#include "flaggems/aten/snapshot.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/flat_memory.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

using Ranges = absl::flat_hash_map<const c10::StorageImpl*, CopiedRange>;

void Reach(const at::Tensor& tensor, int64_t margin, Ranges& ranges) {
  if (tensor.numel() == 0 && margin != kWholeStorage) {
    // Reaches nothing, whatever its offset, which may lie outside the storage.
    ranges.try_emplace(tensor.storage().unsafeGetStorageImpl(),
                       CopiedRange{tensor.storage(), nullptr, 0, 0, {}});
    return;
  }
  const int64_t item = static_cast<int64_t>(tensor.element_size());
  const int64_t first = tensor.storage_offset() * item;
  const auto all = static_cast<int64_t>(tensor.storage().nbytes());
  int64_t begin = first;
  int64_t end = first + Extent(tensor) * item;
  if (margin == kWholeStorage) {
    begin = 0;
    end = all;
  } else if (tensor.device().is_cpu()) {
    begin = std::max<int64_t>(0, begin - margin);
    end = std::min<int64_t>(all, end + margin);
  }
  // A multiple of every element size, so that views of other dtypes over the
  // same storage keep whole offsets.
  begin -= begin % 16;
  end = std::max(begin, end);
  const auto [it, inserted] =
      ranges.try_emplace(tensor.storage().unsafeGetStorageImpl());
  CopiedRange& range = it->second;
  if (inserted || range.begin == range.end) {
    range = {tensor.storage(), nullptr, begin, end, {}};
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

// Copies on a device that are made together.
class DeviceCopies {
 public:
  // False: nothing on its device makes them together.
  bool Add(const CopiedRange& range) {
    if (range.storage.device().is_cpu()) return false;
    const DeviceCopier* const copier =
        DeviceCopierFor(range.storage.device().type());
    if (copier == nullptr || (device_ && *device_ != range.storage.device())) {
      return false;
    }
    device_ = range.storage.device();
    copies_.push_back(
        {static_cast<const char*>(range.storage.data()) + range.begin,
         range.copy.mutable_data_ptr(), range.end - range.begin});
    return true;
  }

  void Make(CopyPlace place) const {
    if (!device_) return;
    const DeviceCopier* const copier = DeviceCopierFor(device_->type());
    if (place == CopyPlace::kDevice) {
      copier->Copy(copies_, *device_);
    } else {
      copier->CopyToHost(copies_, *device_);
    }
  }

 private:
  std::optional<at::Device> device_;
  std::vector<DeviceCopy> copies_;
};

// Makes the memory for copies that stay on their device.
void AllocateThere(Ranges& ranges) {
  std::optional<at::Device> device;
  int64_t room = 0;
  for (const auto& [impl, range] : ranges) {
    const at::Device of_range = range.storage.device();
    if (!device && !of_range.is_cpu()) device = of_range;
    if (device == of_range) {
      room += FlatArena::RoomFor(range.end - range.begin);
    }
  }
  FlatArena arena(room, device.value_or(at::kCPU));
  for (auto& [impl, range] : ranges) {
    const at::Device of_range = range.storage.device();
    const int64_t size = range.end - range.begin;
    range.copy = device == of_range ? arena.Take(size, at::kByte)
                                    : EmptyFlat(size, at::kByte, of_range);
  }
}

void Copy(CopiedRange& range, CopyPlace place, DeviceCopies& later) {
  const int64_t size = range.end - range.begin;
  const at::Device from = range.storage.device();
  const bool to_host_later = place == CopyPlace::kHostLater;
  if (to_host_later && from.is_cuda()) {
    range.copy =
        at::empty({size}, at::TensorOptions(at::kByte).pinned_memory(true));
  } else if (place != CopyPlace::kDevice) {
    range.copy = EmptyFlat(size, at::kByte, at::kCPU);
  }
  range.data = range.storage.data();
  if (size == 0) return;
  if (place != CopyPlace::kHost && later.Add(range)) return;
  if (from.is_cpu()) {
    std::memcpy(range.copy.mutable_data_ptr(),
                static_cast<const char*>(range.storage.data()) + range.begin,
                static_cast<size_t>(size));
  } else {
    range.copy.copy_(BytesOf(range.storage, range.begin, size),
                     /*non_blocking=*/to_host_later);
  }
}

at::Tensor OnCopy(const at::Tensor& tensor, const Ranges& ranges) {
  const CopiedRange& range = ranges.at(tensor.storage().unsafeGetStorageImpl());
  const c10::DispatchKeySet keys(c10::computeDispatchKey(
      tensor.scalar_type(), c10::kStrided, range.copy.device()));
  at::Tensor copy = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(range.copy.storage()), keys, tensor.dtype());
  c10::TensorImpl* impl = copy.unsafeGetTensorImpl();
  const int64_t item = static_cast<int64_t>(tensor.element_size());
  const int64_t offset = tensor.storage_offset() - range.begin / item;
  // Only an empty tensor may lie before the range.
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                              std::max<int64_t>(0, offset));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  copy._set_conj(tensor.is_conj());
  copy._set_neg(tensor.is_neg());
  // Some kernels refuse a call, or choose a way, by it.
  if (tensor.requires_grad()) copy.set_requires_grad(true);
  return copy;
}

c10::IValue CopyValue(const c10::IValue& value, const Ranges& ranges,
                      CopyPlace place) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? c10::IValue(OnCopy(tensor, ranges)) : value;
  }
  if (value.isDevice() && place != CopyPlace::kDevice) {
    return c10::IValue(at::Device(at::kCPU));
  }
  if (value.isList()) {
    const c10::List<c10::IValue> items = value.toList();
    c10::impl::GenericList copies(items.elementType());
    copies.reserve(items.size());
    for (const c10::IValue& item : value.toListRef()) {
      copies.push_back(CopyValue(item, ranges, place));
    }
    return c10::IValue(std::move(copies));
  }
  return value;
}

// Calls run(offset, count) for runs of elements next to each other; offsets in
// elements from the start of the storage.
template <typename Run>
void VisitRuns(const at::Tensor& tensor, Run&& run) {
  if (tensor.numel() == 0) return;
  // Dimensions by falling stride: then what is dense ends up in one run.
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1 && tensor.stride(d) != 0) {
      dims.emplace_back(tensor.stride(d), tensor.size(d));
    }
  }
  std::sort(dims.rbegin(), dims.rend());
  int64_t run_length = 1;
  while (!dims.empty() && dims.back().first == run_length) {
    run_length *= dims.back().second;
    dims.pop_back();
  }
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    int64_t offset = tensor.storage_offset();
    for (size_t d = 0; d < dims.size(); ++d) offset += index[d] * dims[d].first;
    run(offset, run_length);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1].second) index[--d] = 0;
    if (d == 0) return;
  }
}

// Which of the range's bytes the tensors of this argument cover.
void Mark(const c10::IValue& argument, const CopiedRange& range,
          std::vector<bool>& covered) {
  VisitTensors(argument, [&](const at::Tensor& tensor) {
    if (!IsPlainTensor(tensor) || tensor.storage().unsafeGetStorageImpl() !=
                                      range.storage.unsafeGetStorageImpl()) {
      return;
    }
    const int64_t item = static_cast<int64_t>(tensor.element_size());
    VisitRuns(tensor, [&](int64_t offset, int64_t count) {
      const int64_t begin = std::max(offset * item, range.begin);
      const int64_t end = std::min((offset + count) * item, range.end);
      for (int64_t byte = begin; byte < end; ++byte) {
        covered[byte - range.begin] = true;
      }
    });
  });
}

bool Reaches(const c10::IValue& argument, const CopiedRange& range) {
  bool reaches = false;
  VisitTensors(argument, [&](const at::Tensor& tensor) {
    reaches = reaches || (IsPlainTensor(tensor) &&
                          tensor.storage().unsafeGetStorageImpl() ==
                              range.storage.unsafeGetStorageImpl());
  });
  return reaches;
}

// The first byte in [from, size) that differs; size if none does.
int64_t FirstDifference(const char* now, const char* before, int64_t from,
                        int64_t size) {
  constexpr int64_t kBlock = 4096;
  while (from < size) {
    const int64_t count = std::min(kBlock, size - from);
    if (std::memcmp(now + from, before + from, static_cast<size_t>(count)) !=
        0) {
      while (now[from] == before[from]) ++from;
      return from;
    }
    from += count;
  }
  return size;
}

std::optional<MemoryChange> FindChangeIn(
    const CopiedRange& range, absl::Span<const c10::IValue> arguments,
    const std::vector<bool>& writable, bool beside) {
  const int64_t size = range.end - range.begin;
  if (size == 0 || !range.storage.device().is_cpu() ||
      range.storage.data() != range.data ||
      static_cast<int64_t>(range.storage.nbytes()) < range.end) {
    return std::nullopt;
  }
  const char* const now =
      static_cast<const char*>(range.storage.data()) + range.begin;
  const char* const before =
      static_cast<const char*>(range.copy.const_data_ptr());
  int64_t at = FirstDifference(now, before, 0, size);
  if (at == size) return std::nullopt;
  std::vector<bool> allowed(static_cast<size_t>(size), false);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (writable[i]) Mark(arguments[i], range, allowed);
  }
  std::vector<int> readers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!writable[i] && Reaches(arguments[i], range)) {
      readers.push_back(static_cast<int>(i));
    }
  }
  std::vector<std::vector<bool>> read(readers.size());
  for (; at < size; at = FirstDifference(now, before, at + 1, size)) {
    if (allowed[at]) continue;
    for (size_t r = 0; r < readers.size(); ++r) {
      if (read[r].empty()) {
        read[r].resize(static_cast<size_t>(size), false);
        Mark(arguments[readers[r]], range, read[r]);
      }
      if (read[r][at]) return MemoryChange{readers[r], "changed"};
    }
    if (beside) {
      return MemoryChange{
          -1,
          absl::StrCat("byte ", range.begin + at,
                       " of the memory that an argument is a view of "
                       "was overwritten; no argument has an element there")};
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t Extent(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  int64_t last = 0;  // strides are not negative
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    last += (tensor.size(d) - 1) * tensor.stride(d);
  }
  return last + 1;
}

bool LiesInStorage(const at::Tensor& tensor) {
  return tensor.numel() == 0 ||
         (tensor.storage_offset() + Extent(tensor)) *
                 static_cast<int64_t>(tensor.element_size()) <=
             static_cast<int64_t>(tensor.storage().nbytes());
}

int64_t BytesReached(absl::Span<const c10::IValue> values, int64_t margin) {
  int64_t bytes = 0;
  VisitTensors(values, [&](const at::Tensor& tensor) {
    if (!IsPlainTensor(tensor)) return;
    bytes += margin == kWholeStorage
                 ? static_cast<int64_t>(tensor.storage().nbytes())
                 : Extent(tensor) * static_cast<int64_t>(tensor.element_size());
  });
  return bytes;
}

int64_t Snapshot::nbytes() const {
  int64_t sum = 0;
  for (const CopiedRange& range : ranges_) sum += range.end - range.begin;
  return sum;
}

absl::StatusOr<Snapshot> Snapshot::Take(absl::Span<const c10::IValue> arguments,
                                        int64_t margin, CopyPlace place) {
  return StatusOrOf([&]() -> absl::StatusOr<Snapshot> {
    Ranges ranges;
    bool plain = true;
    bool inside = true;
    VisitTensors(arguments, [&](const at::Tensor& tensor) {
      if (!IsPlainTensor(tensor)) {
        plain = false;
      } else if (!LiesInStorage(tensor)) {
        inside = false;
      } else {
        Reach(tensor, margin, ranges);
      }
    });
    if (!plain) {
      return absl::UnimplementedError(
          "an argument is not a plain strided tensor and cannot be copied");
    }
    if (!inside) {
      return absl::UnimplementedError(
          "an argument has elements outside its storage, which was resized, "
          "and cannot be copied");
    }
    for (const c10::IValue& argument : arguments) {
      if (argument.isGenerator()) {
        return absl::UnimplementedError(
            "a random generator cannot be copied to the reference");
      }
    }
    Snapshot snapshot;
    DeviceCopies later;
    if (place == CopyPlace::kDevice) AllocateThere(ranges);
    for (auto& [impl, range] : ranges) Copy(range, place, later);
    later.Make(place);
    snapshot.arguments_.reserve(arguments.size());
    for (const c10::IValue& argument : arguments) {
      snapshot.arguments_.push_back(CopyValue(argument, ranges, place));
    }
    for (auto& [impl, range] : ranges) {
      snapshot.ranges_.push_back(std::move(range));
    }
    return snapshot;
  });
}

Snapshot Snapshot::Borrow(absl::Span<const c10::IValue> arguments) {
  Snapshot snapshot;
  snapshot.arguments_.assign(arguments.begin(), arguments.end());
  return snapshot;
}

std::optional<MemoryChange> FindChange(const Snapshot& before,
                                       absl::Span<const c10::IValue> arguments,
                                       const std::vector<bool>& writable,
                                       bool beside) {
  std::optional<MemoryChange> first;
  for (const CopiedRange& range : before.ranges()) {
    std::optional<MemoryChange> change =
        FindChangeIn(range, arguments, writable, beside);
    // A changed argument says more than changed memory beside one.
    if (change && (!first || first->argument < 0)) first = std::move(change);
  }
  return first;
}

bool LookAlike(const c10::IValue& now, const c10::IValue& before) {
  std::vector<at::Tensor> were;
  VisitTensors(before,
               [&](const at::Tensor& tensor) { were.push_back(tensor); });
  size_t next = 0;
  bool alike = true;
  VisitTensors(now, [&](const at::Tensor& tensor) {
    if (next == were.size()) {
      alike = false;
      return;
    }
    const at::Tensor& was = were[next++];
    if (!IsPlainTensor(tensor) || !IsPlainTensor(was)) return;
    alike = alike && tensor.sizes() == was.sizes() &&
            tensor.strides() == was.strides() &&
            tensor.is_conj() == was.is_conj() &&
            tensor.is_neg() == was.is_neg();
  });
  return alike && next == were.size();
}

}  // namespace flaggems
