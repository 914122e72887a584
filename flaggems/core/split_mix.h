#ifndef FLAGGEMS_CORE_SPLIT_MIX_H_
#define FLAGGEMS_CORE_SPLIT_MIX_H_

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, OOPSLA 2014): eight bytes of state, where the standard library's
// generators have kilobytes, and the same numbers everywhere.

#include <cstdint>

#include "flaggems/core/host_device.h"

namespace flaggems {

inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

// Well mixed bits of a counter.
FG_HOST_DEVICE inline uint64_t SplitMix(uint64_t counter) {
  uint64_t x = counter + kSplitMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The next number of a sequence; `state` is its seed before the first.
FG_HOST_DEVICE inline uint64_t NextSplitMix(uint64_t& state) {
  const uint64_t next = SplitMix(state);
  state += kSplitMixStep;
  return next;
}

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_SPLIT_MIX_H_
