#include "flaggems/registry/register_kernel.h"

#include <atomic>
#include <vector>

namespace flaggems {
namespace {

// Constant-initialised, so it is there before any registrar runs.
std::atomic<const KernelRegistrar*> list_head{nullptr};

}  // namespace

KernelRegistrar::KernelRegistrar(const KernelEntry* entry) noexcept
    : entry_(entry) {
  next_ = list_head.load(std::memory_order_relaxed);
  while (!list_head.compare_exchange_weak(
      next_, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

std::vector<const KernelEntry*> KernelRegistrar::All() {
  std::vector<const KernelEntry*> entries;
  for (const KernelRegistrar* r = list_head.load(std::memory_order_acquire);
       r != nullptr; r = r->next_) {
    entries.push_back(r->entry_);
  }
  return entries;
}

}  // namespace flaggems
