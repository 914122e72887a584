#include "flaggems/aten/at_parallel_for.h"

#include <ATen/Parallel.h>

namespace flaggems {

void AtParallelFor::ForEach(int64_t tasks,
                            void (*task)(void* context, int64_t i),
                            void* context) {
  at::parallel_for(0, tasks, /*grain_size=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) task(context, i);
  });
}

}  // namespace flaggems
