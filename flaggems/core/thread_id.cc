#include "flaggems/core/thread_id.h"

#include <pthread.h>
#include <unistd.h>

namespace flaggems {
namespace {

thread_local uint64_t known = 0;  // 0: not asked yet

// The child's one thread is that which called fork().
[[maybe_unused]] const int forget_parent =
    pthread_atfork(nullptr, nullptr, [] { known = 0; });

}  // namespace

uint64_t ThreadId() {
  if (known == 0) known = static_cast<uint64_t>(gettid());
  return known;
}

}  // namespace flaggems
