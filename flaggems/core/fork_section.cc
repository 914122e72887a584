#include "flaggems/core/fork_section.h"

#include <pthread.h>

#include <atomic>

namespace flaggems {
namespace {

// Shared by sections, exclusive to fork(). Readers come first, which is what
// lets sections nest while a fork waits.
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<bool> forked{false};

void BeforeFork() { pthread_rwlock_wrlock(&lock); }
void AfterForkInParent() { pthread_rwlock_unlock(&lock); }
void AfterForkInChild() {
  // Made anew, because who holds it is a thread of the parent.
  lock = PTHREAD_RWLOCK_INITIALIZER;
  forked.store(true, std::memory_order_relaxed);
}

[[maybe_unused]] const int registered =
    pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);

}  // namespace

ForkSection::ForkSection() { pthread_rwlock_rdlock(&lock); }
ForkSection::~ForkSection() { pthread_rwlock_unlock(&lock); }

bool IsForkedChild() { return forked.load(std::memory_order_relaxed); }

}  // namespace flaggems
