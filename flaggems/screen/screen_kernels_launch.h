#ifndef FLAGGEMS_SCREEN_SCREEN_KERNELS_LAUNCH_H_
#define FLAGGEMS_SCREEN_SCREEN_KERNELS_LAUNCH_H_

// The small kernels of a screen: the cheap test on the device that accepts
// right results. What it does not accept is judged in full on the host.
//
// Arrays are flat, contiguous and in the current device's memory, aligned as
// their elements are. Every function puts its work into `stream`, allocates
// nothing, waits for nothing, and returns what the launch says; items are
// copied during the call. Of functions that take items, one launch does up to
// kScreenBatch of them. Thread-safe.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/types/span.h"
#include "flaggems/core/dtype.h"
#include "flaggems/screen/conditions_formula.h"

namespace flaggems {

inline constexpr int kScreenBatch = 16;

struct WidenItem {
  enum class Mode : uint8_t {
    kKeep,            // x
    kMagnitude,       // |x|
    kMinusMagnitude,  // -|x|
    kPerturb,  // x * (1 + step * Draw(seed, i)); reference/perturbation.h
  };

  const void* src = nullptr;
  // A real floating type, an integer or bool. Of complex numbers kKeep and
  // kPerturb are those of twice as many real ones.
  DType dtype = DType::kOther;
  Mode mode = Mode::kKeep;
  double* dst = nullptr;  // must not overlap src
  int64_t n = 0;          // elements
  double step = 0;
  uint64_t seed = 0;
};

// dst[i] = what the mode makes of src[i] in float64, to the bit what
// ReferenceArguments() (reference/reference_arguments.h) makes on the host.
// cudaErrorNotSupported: a dtype without real elements; nothing was launched.
cudaError_t LaunchWiden(absl::Span<const WidenItem> items, cudaStream_t stream);

struct SameBytesItem {
  const void* a = nullptr;
  const void* b = nullptr;
  int64_t nbytes = 0;
};

// different[i] = 1 if a byte of items[i].a is not that of items[i].b, else it
// stays as it is: the caller has put 0 there. `different` may be pinned host
// memory. Addresses that are multiples of 16 are the fastest, of
// this and of LaunchCopy(); odd ones the slowest.
cudaError_t LaunchSameBytes(absl::Span<const SameBytesItem> items,
                            int32_t* different, cudaStream_t stream);

struct CopyItem {
  const void* src = nullptr;
  void* dst = nullptr;  // must not overlap a src or another dst
  int64_t nbytes = 0;
};

cudaError_t LaunchCopy(absl::Span<const CopyItem> items, cudaStream_t stream);

// The largest change of each element over several runs:
//   first: effect[i] = |moved[i] - want[i]|
//   else:  effect[i] = max(effect[i], |moved[i] - want[i]|)
// where NaN counts as 0.
cudaError_t LaunchEffect(const double* want, const double* moved,
                         double* effect, int64_t n, bool first,
                         cudaStream_t stream);

// Makes the conditions (conditions_formula.h) from the effects, in their place;
// effects are all 0 if no run succeeded.
// quantiles: 3 doubles of device memory for the kernels' own use, of any
//            content before.
// Cost:      two launches.
cudaError_t LaunchConditions(const double* want, double* effect, int64_t n,
                             const ConditionsFormula& formula,
                             double* quantiles, cudaStream_t stream);

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_SCREEN_KERNELS_LAUNCH_H_
