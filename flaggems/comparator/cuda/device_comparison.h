#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARISON_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARISON_H_

// What a comparison on a device found; needs no CUDA to be read.

#include <cstdint>

#include "flaggems/comparator/comparison.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// Of a subset of the elements, or of all of them: Finish(partial) is the
// verdict then.
struct DeviceComparison {
  PartialComparison partial;
  int64_t got_nonzero = 0;  // 1 if an element of got is not 0 or -0, else 0
};

// As Merge() of comparison.h.
FG_HOST_DEVICE inline DeviceComparison Merge(const DeviceComparison& a,
                                             const DeviceComparison& b) {
  DeviceComparison joined;
  joined.partial = Merge(a.partial, b.partial);
  joined.got_nonzero = a.got_nonzero | b.got_nonzero;
  return joined;
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARISON_H_
