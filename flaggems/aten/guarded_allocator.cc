#include "flaggems/aten/guarded_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "flaggems/core/mutex.h"

namespace flaggems {
namespace {

// A multiple of the alignment of torch's allocator, and more than a row of most
// tiles that a kernel may write at once too much.
constexpr size_t kGuardBytes = 1024;

thread_local int depth = 0;

struct Block {
  c10::DataPtr whole;  // guard, memory, guard
  size_t size = 0;     // of the memory
};

// The living blocks by the start of their memory: users of the allocator's raw
// interface free by that address alone. Leaked: blocks are freed during static
// destruction too.
class Blocks {
 public:
  static Blocks& Instance() {
    static Blocks& instance = *new Blocks();
    return instance;
  }
  void Add(void* memory, Block block) {
    const MutexLock lock(&mutex_);
    blocks_[memory] = std::make_unique<Block>(std::move(block));
  }
  // Null if `memory` is none of ours.
  std::unique_ptr<Block> Take(void* memory) {
    const MutexLock lock(&mutex_);
    const auto it = blocks_.find(memory);
    if (it == blocks_.end()) return nullptr;
    std::unique_ptr<Block> block = std::move(it->second);
    blocks_.erase(it);
    return block;
  }
  const Block* Find(const void* memory) {
    const MutexLock lock(&mutex_);
    const auto it = blocks_.find(const_cast<void*>(memory));
    return it == blocks_.end() ? nullptr : it->second.get();
  }

 private:
  Mutex mutex_;
  absl::flat_hash_map<void*, std::unique_ptr<Block>> blocks_
      ABSL_GUARDED_BY(mutex_);
};

c10::DeleterFnPtr base_raw_deleter = nullptr;

void DeleteBlock(void* memory) { Blocks::Instance().Take(memory).reset(); }

// What raw_deallocate() calls: of a block or of memory from outside a scope.
void DeleteRaw(void* memory) {
  if (Blocks::Instance().Take(memory) == nullptr) base_raw_deleter(memory);
}

void Fill(char* begin, size_t size) {
  // Whole pairs, then a last byte: sizes may be odd.
  auto* pairs = reinterpret_cast<uint16_t*>(begin);
  std::fill_n(pairs, size / 2, kPoison);
  if (size % 2 != 0) begin[size - 1] = static_cast<char>(kPoison & 0xff);
}

// The first byte in [begin + from, begin + size) that Fill() from begin on did
// not leave; -1: none.
int64_t FirstChange(const char* begin, size_t from, size_t size) {
  for (size_t i = from; i < size; ++i) {
    const auto want =
        static_cast<unsigned char>(i % 2 == 0 ? kPoison & 0xff : kPoison >> 8);
    if (static_cast<unsigned char>(begin[i]) != want) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

class GuardingAllocator final : public c10::Allocator {
 public:
  explicit GuardingAllocator(c10::Allocator* base) : base_(base) {
    base_raw_deleter = base->raw_deleter();
  }

  c10::DataPtr allocate(size_t size) override {
    if (depth == 0 || size == 0) return base_->allocate(size);
    // An even size, so that the second guard starts on a pair.
    const size_t even = size + size % 2;
    Block block{base_->allocate(even + 2 * kGuardBytes), size};
    char* const begin = static_cast<char*>(block.whole.get());
    Fill(begin, even + 2 * kGuardBytes);
    char* const memory = begin + kGuardBytes;
    Blocks::Instance().Add(memory, std::move(block));
    // Memory and context are one, as the raw interface wants it.
    return {memory, memory, &DeleteBlock, c10::Device(c10::kCPU)};
  }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return data.get_deleter() != &DeleteBlock &&
           base_->is_simple_data_ptr(data);
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return base_raw_deleter == nullptr ? nullptr : &DeleteRaw;
  }

  void copy_data(void* dest, const void* src, size_t count) const override {
    base_->copy_data(dest, src, count);
  }

 private:
  c10::Allocator* const base_;
};

const Block* BlockOf(const c10::Storage& storage) {
  return storage.data_ptr().get_deleter() == &DeleteBlock
             ? Blocks::Instance().Find(storage.data_ptr().get_context())
             : nullptr;
}

int64_t ElementOffset(const at::Tensor& tensor, int64_t position) {
  int64_t offset = 0;
  for (int64_t d = tensor.dim(); d-- > 0;) {
    offset += position % tensor.size(d) * tensor.stride(d);
    position /= tensor.size(d);
  }
  return offset;
}

}  // namespace

GuardedAllocation::GuardedAllocation() {
  static const bool installed = [] {
    // Leaked: blocks are freed during static destruction too.
    c10::SetCPUAllocator(new GuardingAllocator(c10::GetCPUAllocator()),
                         /*priority=*/UINT8_MAX);
    return true;
  }();
  static_cast<void>(installed);
  ++depth;
}

GuardedAllocation::~GuardedAllocation() { --depth; }

bool IsGuarded(const c10::Storage& storage) {
  return BlockOf(storage) != nullptr;
}

std::optional<std::string> DamagedGuard(const c10::Storage& storage) {
  const Block* const block = BlockOf(storage);
  if (block == nullptr) return std::nullopt;
  const char* const begin = static_cast<const char*>(block->whole.get());
  if (const int64_t at = FirstChange(begin, 0, kGuardBytes); at >= 0) {
    return absl::StrCat("byte ", kGuardBytes - at, " before its start");
  }
  // The byte that fills up an odd size belongs to the guard.
  const size_t even = block->size + block->size % 2;
  const char* const memory = begin + kGuardBytes;
  if (const int64_t at = FirstChange(memory, block->size, even + kGuardBytes);
      at >= 0) {
    return absl::StrCat("byte ", at - static_cast<int64_t>(block->size),
                        " after its end");
  }
  return std::nullopt;
}

bool IsUnwritten(const at::Tensor& tensor, int64_t position) {
  if (!IsGuarded(tensor.storage())) return false;
  const size_t item = tensor.element_size();
  const size_t first =
      (tensor.storage_offset() + ElementOffset(tensor, position)) * item;
  const char* const begin = static_cast<const char*>(tensor.storage().data());
  for (size_t i = first; i < first + item; ++i) {
    const auto want =
        static_cast<unsigned char>(i % 2 == 0 ? kPoison & 0xff : kPoison >> 8);
    if (static_cast<unsigned char>(begin[i]) != want) return false;
  }
  return true;
}

std::optional<int64_t> FirstInvalidBool(const at::Tensor& tensor) {
  const auto* const data =
      static_cast<const unsigned char*>(tensor.const_data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (data[ElementOffset(tensor, i)] > 1) return i;
  }
  return std::nullopt;
}

}  // namespace flaggems
