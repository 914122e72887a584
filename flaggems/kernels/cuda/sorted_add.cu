#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "flaggems/kernels/cuda/sorted_add.cuh"
#include "flaggems/kernels/cuda/sorted_add.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr size_t kAlignment = 256;

// Places in the scratch memory, in the order of use.
struct Layout {
  size_t keys;
  size_t ordinals;
  size_t sorted_keys;
  size_t sorted_ordinals;
  size_t sort;
  size_t sort_bytes;
  size_t partials;
  size_t bytes;
};

bool IsFloating(Element element) {
  return element == Element::kFloat32 || element == Element::kFloat16 ||
         element == Element::kBFloat16 || element == Element::kFloat64;
}

bool IsWide(const SortedAdd& add) { return add.limit > 0xffffffffu; }

// Bits of the keys, the limit itself included.
int BitsOf(uint64_t limit) {
  int bits = 1;
  while (bits < 64 && (limit >> bits) != 0) ++bits;
  return bits;
}

template <typename Key>
cudaError_t Sort(void* temporary, size_t* bytes, const void* keys,
                 void* sorted_keys, const uint32_t* ordinals,
                 uint32_t* sorted_ordinals, const SortedAdd& add,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(
      temporary, *bytes, static_cast<const Key*>(keys),
      static_cast<Key*>(sorted_keys), ordinals, sorted_ordinals,
      static_cast<int>(add.count), 0, BitsOf(add.limit), stream);
}

uint32_t ChunkOf(const SortedAdd& add) {
  // Short chunks give small problems enough threads, long ones save partials.
  if (add.count <= 4096) return 16;
  return add.count <= 131072 ? 32 : 64;
}

Layout LayoutOf(const SortedAdd& add) {
  const size_t count = static_cast<size_t>(add.count);
  const size_t key_bytes = IsWide(add) ? 8 : 4;
  Layout layout = {};
  size_t end = 0;
  const auto take = [&](size_t bytes) {
    const size_t begin = end;
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  };
  layout.keys = take(count * key_bytes);
  layout.ordinals = take(count * 4);
  layout.sorted_keys = take(count * key_bytes);
  layout.sorted_ordinals = take(count * 4);
  if (IsWide(add)) {
    Sort<uint64_t>(nullptr, &layout.sort_bytes, nullptr, nullptr, nullptr,
                   nullptr, add, nullptr);
  } else {
    Sort<uint32_t>(nullptr, &layout.sort_bytes, nullptr, nullptr, nullptr,
                   nullptr, add, nullptr);
  }
  layout.sort = take(layout.sort_bytes);
  const size_t sum_bytes =
      add.element == Element::kFloat64 || add.element == Element::kInt64 ? 8
                                                                         : 4;
  const size_t chunks = (count - 1) / ChunkOf(add) + 1;
  layout.partials =
      take(chunks > 1 ? chunks * 2 * add.before * add.inner * sum_bytes : 0);
  layout.bytes = end;
  return layout;
}

}  // namespace

SortedAddScratch SortedAddScratchOf(const SortedAdd& add,
                                    int /*element_bytes*/) {
  const Layout layout = LayoutOf(add);
  return {layout.bytes, layout.keys, layout.ordinals, IsWide(add)};
}

cudaError_t LaunchSortedAdd(const SortedAdd& add, int element_bytes,
                            void* scratch, cudaStream_t stream) {
  if (add.count >= (int64_t{1} << 31)) return cudaErrorNotSupported;
  if (add.count == 0 || add.before * add.inner == 0) return cudaSuccess;
  char* const memory = static_cast<char*>(scratch);
  Layout layout = LayoutOf(add);
  const bool wide = IsWide(add);
  const auto sort = wide ? &Sort<uint64_t> : &Sort<uint32_t>;
  const cudaError_t error =
      sort(memory + layout.sort, &layout.sort_bytes, memory + layout.keys,
           memory + layout.sorted_keys,
           reinterpret_cast<const uint32_t*>(memory + layout.ordinals),
           reinterpret_cast<uint32_t*>(memory + layout.sorted_ordinals), add,
           stream);
  if (error != cudaSuccess) return error;
  const int width = 16 / element_bytes;
  const bool vectorised = IsFloating(add.element) && !wide &&
                          add.inner % width == 0 &&
                          add.before_stride % width == 0 &&
                          IsAligned(add.values, 16) && IsAligned(add.out, 16);
  const int64_t inner = vectorised ? add.inner / width : add.inner;
  SumParams params;
  params.keys = memory + layout.sorted_keys;
  params.ordinals =
      reinterpret_cast<const uint32_t*>(memory + layout.sorted_ordinals);
  params.values = add.values;
  params.out = add.out;
  params.partials = memory + layout.partials;
  params.limit = add.limit;
  params.columns = add.before * inner;
  params.inner = inner;
  params.before_stride = add.before_stride;
  params.count = static_cast<uint32_t>(add.count);
  params.chunk = ChunkOf(add);
  params.chunks = (params.count - 1) / params.chunk + 1;
  params.lanes = 1;
  while (params.lanes < kSumThreads && params.lanes < params.columns) {
    params.lanes *= 2;
  }
  params.overwrite = add.overwrite;
  params.mean = add.mean;
  return IsFloating(add.element)
             ? LaunchSums(add.element, wide, vectorised, params, stream)
             : LaunchIntegerSums(add.element, wide, params, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
