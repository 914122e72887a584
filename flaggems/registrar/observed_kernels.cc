#include "flaggems/registrar/observed_kernels.h"

#include <c10/core/DispatchKeySet.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "flaggems/check/checked_op.h"
#include "flaggems/registrar/kernel_access.h"

namespace flaggems {
namespace {

// Values by address: open addressing. Reads take no lock and may run while one
// thread inserts; nothing is ever removed, and a table that was outgrown stays
// for those that still read it.
template <typename Value>
class AddressTable {
 public:
  AddressTable() { Grow(kFirstCapacity); }

  // Null if there is none.
  Value* Find(const void* address) const {
    const Slots& slots = *slots_.load(std::memory_order_acquire);
    for (size_t i = Hash(address);; ++i) {
      const Slot& slot = slots[i & (slots.size() - 1)];
      const void* const found = slot.address.load(std::memory_order_acquire);
      if (found == address) return slot.value.load(std::memory_order_relaxed);
      if (found == nullptr) return nullptr;
    }
  }

  // `address` is new and not null; `value` is never freed.
  void Insert(const void* address, Value* value) {
    const size_t capacity = slots_.load(std::memory_order_relaxed)->size();
    if (2 * (entries_.size() + 1) > capacity) Grow(2 * capacity);
    entries_.emplace_back(address, value);
    Place(*slots_.load(std::memory_order_relaxed), address, value);
  }

 private:
  struct Slot {
    std::atomic<const void*> address{nullptr};
    std::atomic<Value*> value{nullptr};
  };
  // A power of two; at most half are taken, so that a search ends.
  using Slots = std::vector<Slot>;
  static constexpr size_t kFirstCapacity = 16;

  // Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3,
  // section 6.4).
  static size_t Hash(const void* address) {
    return (reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 32;
  }

  static void Place(Slots& slots, const void* address, Value* value) {
    size_t i = Hash(address);
    while (slots[i & (slots.size() - 1)].address.load(
               std::memory_order_relaxed) != nullptr) {
      ++i;
    }
    Slot& slot = slots[i & (slots.size() - 1)];
    slot.value.store(value, std::memory_order_relaxed);
    slot.address.store(address, std::memory_order_release);
  }

  void Grow(size_t capacity) {
    auto slots = std::make_unique<Slots>(capacity);
    for (const auto& [address, value] : entries_) Place(*slots, address, value);
    slots_.store(slots.get(), std::memory_order_release);
    outgrown_.push_back(std::move(slots));
  }

  std::atomic<Slots*> slots_{nullptr};
  std::vector<std::pair<const void*, Value*>> entries_;
  std::vector<std::unique_ptr<Slots>> outgrown_;  // and the present one
};

// A boxed entry is told the operator but not for which dispatch key it is
// called (the key set names others too, and callers can pass any), so that each
// entry of the dispatch table has one of its own.
constexpr size_t kNumKeys = c10::num_runtime_entries;

// By operator: the address of its name in the dispatcher. Leaked on purpose:
// operators are called during static destruction.
std::array<AddressTable<ObservedKernel>, kNumKeys>& ByOperator() {
  static auto& tables =
      *new std::array<AddressTable<ObservedKernel>, kNumKeys>();
  return tables;
}

// By functor, of kernels with a typed entry, which is told nothing else of the
// operator. A functor that serves two operators or keys is in it for the first.
AddressTable<const Observation>& ByFunctor() {
  static auto& table = *new AddressTable<const Observation>();
  return table;
}

template <size_t kKey>
void Enter(c10::OperatorKernel* /*functor*/, const c10::OperatorHandle& handle,
           c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  static const AddressTable<ObservedKernel>& table = ByOperator()[kKey];
  const CheckedOp& op = *table.Find(&handle.operator_name())
                             ->observation.load(std::memory_order_acquire)
                             ->op;
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

const Observation& ObservationOf(const c10::OperatorKernel* functor) {
  static const AddressTable<const Observation>& table = ByFunctor();
  return *table.Find(functor);
}

ObservedKernel* ObservedKernelFor(const c10::OperatorHandle& op,
                                  c10::DispatchKey key) {
  AddressTable<ObservedKernel>& table = ByOperator()[IndexOf(key)];
  const c10::OperatorName* const name = &op.operator_name();
  ObservedKernel* kernel = table.Find(name);
  if (kernel == nullptr) {
    kernel = new ObservedKernel();  // never freed
    table.Insert(name, kernel);
  }
  return kernel;
}

c10::KernelFunction ObservingKernel(const c10::KernelFunction& kernel,
                                    c10::DispatchKey key,
                                    Observation* observation,
                                    ObservedKernel* observed) {
  UnboxedEntries entries;
  const UnboxedEntries own = UnboxedEntriesOf(kernel);
  const c10::OperatorKernel* const functor = FunctorOf(kernel);
  const Observation* const known =
      functor == nullptr ? nullptr : ByFunctor().Find(functor);
  const bool symbolic = own.symbolic != nullptr;
  if ((symbolic || own.plain != nullptr) && functor != nullptr &&
      (known == nullptr || known == observation)) {
    void* const entry = TypedEntryFor(observation->op->judged.handle, symbolic);
    if (entry != nullptr) {
      observation->unboxed = symbolic ? own.symbolic : own.plain;
      if (known == nullptr) ByFunctor().Insert(functor, observation);
      (symbolic ? entries.symbolic : entries.plain) = entry;
    }
  }
  observed->observation.store(observation, std::memory_order_release);
  return WithEntries(kernel, kEntries[IndexOf(key)], entries);
}

}  // namespace flaggems
