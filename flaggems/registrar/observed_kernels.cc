#include "flaggems/registrar/observed_kernels.h"

#include <c10/core/DispatchKeySet.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "flaggems/check/checked_op.h"
#include "flaggems/registrar/kernel_access.h"

namespace flaggems {
namespace {

// Values by address: open addressing. Reads take no lock and may run while one
// thread inserts. Nothing is ever removed or freed, a table that was outgrown
// included, for somebody may still read it. A read touches two lines of the
// cache beside the value: between two calls a program has filled the cache with
// something else. Needs no construction and no destruction: operators are
// called while a program starts and ends.
template <typename Value>
class AddressTable {
 public:
  // Null if there is none.
  Value* Find(const void* address) const {
    const Slots slots(slots_.load(std::memory_order_acquire));
    if (slots.first == nullptr) return nullptr;
    for (size_t i = slots.Start(address);; i = slots.Next(i)) {
      const Slot& slot = slots.first[i];
      const void* const found = slot.address.load(std::memory_order_acquire);
      if (found == address) return slot.value.load(std::memory_order_relaxed);
      if (found == nullptr) return nullptr;
    }
  }

  // `address` is new and not null; `value` is never freed.
  void Insert(const void* address, Value* value) {
    // At most half are taken, so that a search ends soon.
    const Slots slots(slots_.load(std::memory_order_relaxed));
    if (slots.first == nullptr || 2 * (size_ + 1) > slots.capacity()) Grow();
    Place(Slots(slots_.load(std::memory_order_relaxed)), address, value);
    ++size_;
  }

 private:
  struct Slot {
    std::atomic<const void*> address{nullptr};
    std::atomic<Value*> value{nullptr};
  };
  static constexpr size_t kLine = 64;
  static constexpr int kFirstBits = 4;

  // A power of two of slots: their address, and in its low bits the logarithm
  // of their number, so that readers get both at once.
  struct Slots {
    explicit Slots(uintptr_t word)
        : first(reinterpret_cast<Slot*>(word & ~(kLine - 1))),
          bits(static_cast<int>(word & (kLine - 1))) {}

    uintptr_t word() const {
      return reinterpret_cast<uintptr_t>(first) | static_cast<uintptr_t>(bits);
    }
    size_t capacity() const { return size_t{1} << bits; }
    // Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3,
    // section 6.4).
    size_t Start(const void* address) const {
      return (reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15u) >>
             (64 - bits);
    }
    size_t Next(size_t i) const { return (i + 1) & (capacity() - 1); }

    Slot* first;
    int bits;
  };

  static void Place(const Slots& slots, const void* address, Value* value) {
    size_t i = slots.Start(address);
    while (slots.first[i].address.load(std::memory_order_relaxed) != nullptr) {
      i = slots.Next(i);
    }
    slots.first[i].value.store(value, std::memory_order_relaxed);
    slots.first[i].address.store(address, std::memory_order_release);
  }

  void Grow() {
    const Slots old(slots_.load(std::memory_order_relaxed));
    Slots grown(0);
    grown.bits = old.first == nullptr ? kFirstBits : old.bits + 1;
    void* const memory = ::operator new (grown.capacity() * sizeof(Slot),
                                         std::align_val_t{kLine});
    grown.first = static_cast<Slot*>(memory);
    std::uninitialized_default_construct_n(grown.first, grown.capacity());
    for (size_t i = 0; old.first != nullptr && i < old.capacity(); ++i) {
      const void* const address =
          old.first[i].address.load(std::memory_order_relaxed);
      if (address == nullptr) continue;
      Place(grown, address, old.first[i].value.load(std::memory_order_relaxed));
    }
    slots_.store(grown.word(), std::memory_order_release);
  }

  std::atomic<uintptr_t> slots_{0};
  size_t size_ = 0;
};

// A boxed entry is told the operator but not for which dispatch key it is
// called (the key set names others too, and callers can pass any), so that each
// entry of the dispatch table has one of its own.
constexpr size_t kNumKeys = c10::num_runtime_entries;

// By operator: the address of its name in the dispatcher.
AddressTable<ObservedKernel> by_operator[kNumKeys];

// By functor, of kernels with a typed entry, which is told nothing else of the
// operator. A functor that serves two operators or keys is in it for the first.
AddressTable<const Observation> by_functor;

template <size_t kKey>
void Enter(c10::OperatorKernel* /*functor*/, const c10::OperatorHandle& handle,
           c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const Observation& observation =
      *by_operator[kKey]
           .Find(&handle.operator_name())
           ->observation.load(std::memory_order_acquire);
  if (observation.gate->TryForward()) {
    observation.op->kernel.callBoxed(handle, keys, stack);
  } else {
    observation.gate->checked_kernel().callBoxed(handle, keys, stack);
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
  return *by_functor.Find(functor);
}

ObservedKernel* ObservedKernelFor(const c10::OperatorHandle& op,
                                  c10::DispatchKey key) {
  AddressTable<ObservedKernel>& table = by_operator[IndexOf(key)];
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
      functor == nullptr ? nullptr : by_functor.Find(functor);
  const bool symbolic = own.symbolic != nullptr;
  if ((symbolic || own.plain != nullptr) && functor != nullptr &&
      (known == nullptr || known == observation)) {
    void* const entry = TypedEntryFor(observation->op->judged.handle, symbolic);
    if (entry != nullptr) {
      observation->unboxed = symbolic ? own.symbolic : own.plain;
      if (known == nullptr) by_functor.Insert(functor, observation);
      (symbolic ? entries.symbolic : entries.plain) = entry;
    }
  }
  observed->observation.store(observation, std::memory_order_release);
  return WithEntries(kernel, kEntries[IndexOf(key)], entries);
}

}  // namespace flaggems
