#ifndef FLAGGEMS_REFERENCE_PERTURBATION_H_
#define FLAGGEMS_REFERENCE_PERTURBATION_H_

// How inputs are moved to measure a condition (docs/tolerance.md): the same
// numbers on the host and on a device.

#include <cstdint>

#include "flaggems/core/host_device.h"
#include "flaggems/core/split_mix.h"

namespace flaggems {

// +-[1/2, 1], of the i-th element of an array. Continuous: with +-1 alone two
// terms of equal size would cancel in every draw for one element in eight.
FG_HOST_DEVICE inline double Draw(uint64_t seed, int64_t i) {
  const uint64_t bits = SplitMix(seed ^ static_cast<uint64_t>(i));
  const double half = 0.5 * static_cast<double>(bits >> 12) * 0x1p-52;
  return (bits & 1) != 0 ? 0.5 + half : -0.5 - half;
}

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_PERTURBATION_H_
