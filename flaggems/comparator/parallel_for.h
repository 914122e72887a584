#ifndef FLAGGEMS_COMPARATOR_PARALLEL_FOR_H_
#define FLAGGEMS_COMPARATOR_PARALLEL_FOR_H_

// The threads that a comparison may use, as the caller has them. An adapter
// over at::parallel_for belongs to the torch half.

#include <cstdint>

namespace flaggems {

class ParallelFor {
 public:
  virtual ~ParallelFor() = default;

  // Calls task(context, i) exactly once for each i in [0, tasks), in any order
  // and on any threads, and returns when all calls have returned. A task
  // neither throws nor waits for another task.
  virtual void ForEach(int64_t tasks, void (*task)(void* context, int64_t i),
                       void* context) = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_PARALLEL_FOR_H_
