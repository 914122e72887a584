#ifndef FLAGGEMS_ATEN_AT_PARALLEL_FOR_H_
#define FLAGGEMS_ATEN_AT_PARALLEL_FOR_H_

// The comparator's threads: torch's own.

#include "flaggems/comparator/parallel_for.h"

namespace flaggems {

// Runs tasks on torch's intra-op threads (at::get_num_threads()); in the
// calling thread alone inside a parallel region. Thread-safe.
class AtParallelFor : public ParallelFor {
 public:
  void ForEach(int64_t tasks, void (*task)(void* context, int64_t i),
               void* context) override;
};

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_AT_PARALLEL_FOR_H_
