#ifndef FLAGGEMS_CORE_THREAD_ID_H_
#define FLAGGEMS_CORE_THREAD_ID_H_

#include <cstdint>

namespace flaggems {

// That of the calling thread, as the system and its tools number threads
// (gettid). Asks the system once a thread, and again in the child of a fork().
// Thread-safe.
uint64_t ThreadId();

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_THREAD_ID_H_
