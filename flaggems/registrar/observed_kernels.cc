#include "flaggems/registrar/observed_kernels.h"

#include <c10/core/DispatchKeySet.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "flaggems/registrar/kernel_access.h"

namespace flaggems {
namespace {

// The observed kernels of one dispatch key by operator: open addressing. Reads
// take no lock and may run while one thread inserts; nothing is ever removed,
// and a table that was outgrown stays for those that still read it.
class KernelTable {
 public:
  KernelTable() { Grow(kFirstCapacity); }

  ObservedKernel* Find(const c10::OperatorName* name) const {
    const Slots& slots = *slots_.load(std::memory_order_acquire);
    for (size_t i = Hash(name);; ++i) {
      ObservedKernel* const kernel =
          slots[i & (slots.size() - 1)].load(std::memory_order_acquire);
      if (kernel == nullptr || kernel->name == name) return kernel;
    }
  }

  ObservedKernel* Insert(const c10::OperatorName* name) {
    const size_t capacity = slots_.load(std::memory_order_relaxed)->size();
    if (2 * (kernels_.size() + 1) > capacity) Grow(2 * capacity);
    kernels_.push_back(std::make_unique<ObservedKernel>(name));
    Place(*slots_.load(std::memory_order_relaxed), kernels_.back().get());
    return kernels_.back().get();
  }

 private:
  // A power of two; at most half are taken, so that a search ends.
  using Slots = std::vector<std::atomic<ObservedKernel*>>;
  static constexpr size_t kFirstCapacity = 16;

  // Operators lie further apart than a cache line; Fibonacci hashing (Knuth,
  // The Art of Computer Programming, volume 3, section 6.4) spreads them.
  static size_t Hash(const c10::OperatorName* name) {
    return (reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15u) >> 32;
  }

  static void Place(Slots& slots, ObservedKernel* kernel) {
    size_t i = Hash(kernel->name);
    while (slots[i & (slots.size() - 1)].load(std::memory_order_relaxed) !=
           nullptr) {
      ++i;
    }
    slots[i & (slots.size() - 1)].store(kernel, std::memory_order_release);
  }

  void Grow(size_t capacity) {
    auto slots = std::make_unique<Slots>(capacity);
    for (const auto& kernel : kernels_) Place(*slots, kernel.get());
    slots_.store(slots.get(), std::memory_order_release);
    outgrown_.push_back(std::move(slots));
  }

  std::atomic<Slots*> slots_{nullptr};
  std::vector<std::unique_ptr<ObservedKernel>> kernels_;
  std::vector<std::unique_ptr<Slots>> outgrown_;  // and the present one
};

// A boxed entry is told the operator but not for which dispatch key it is
// called (the key set names others too, and callers can pass any), so that each
// entry of the dispatch table has one of its own.
constexpr size_t kNumKeys = c10::num_runtime_entries;

// Leaked on purpose: operators are called during static destruction.
std::array<KernelTable, kNumKeys>& Tables() {
  static auto& tables = *new std::array<KernelTable, kNumKeys>();
  return tables;
}

template <size_t kKey>
void Enter(c10::OperatorKernel* /*functor*/, const c10::OperatorHandle& handle,
           c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  static const KernelTable& table = Tables()[kKey];
  const CheckedOp& op =
      *table.Find(&handle.operator_name())->op.load(std::memory_order_acquire);
  if (op.gate->TryForward()) {
    op.kernel.callBoxed(handle, keys, stack);
  } else {
    op.gate->checked_kernel().callBoxed(handle, keys, stack);
  }
}

template <size_t... kKeys>
constexpr auto MakeEntries(std::index_sequence<kKeys...>) {
  return std::array<c10::BoxedKernel::InternalBoxedKernelFunction*,
                    sizeof...(kKeys)>{&Enter<kKeys>...};
}

constexpr auto kEntries = MakeEntries(std::make_index_sequence<kNumKeys>());

size_t IndexOf(c10::DispatchKey key) {
  return static_cast<size_t>(c10::getDispatchTableIndexForDispatchKey(key));
}

}  // namespace

ObservedKernel* ObservedKernelFor(const c10::OperatorHandle& op,
                                  c10::DispatchKey key) {
  KernelTable& table = Tables()[IndexOf(key)];
  const c10::OperatorName* const name = &op.operator_name();
  ObservedKernel* const kernel = table.Find(name);
  return kernel != nullptr ? kernel : table.Insert(name);
}

c10::KernelFunction ObservingKernel(const c10::KernelFunction& kernel,
                                    c10::DispatchKey key) {
  return WithEntry(kernel, kEntries[IndexOf(key)]);
}

}  // namespace flaggems
