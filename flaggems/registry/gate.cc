#include "flaggems/registry/gate.h"

#include "flaggems/registry/check_scope.h"

namespace flaggems {

bool Gate::CountForwarded(std::atomic<int64_t>* counter) {
  if (CheckScope::active()) return false;
  counter->fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace flaggems
