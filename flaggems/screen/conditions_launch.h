#ifndef FLAGGEMS_SCREEN_CONDITIONS_LAUNCH_H_
#define FLAGGEMS_SCREEN_CONDITIONS_LAUNCH_H_

// The condition of each element (docs/tolerance.md), on a CUDA device: the
// bits that the host's judge makes, but for medians, which are those of a
// sample (sample_quantile.h).
//
// Arrays are flat and contiguous, of n doubles in the current device's memory.
// The functions put their work into `stream`, allocate nothing, wait for
// nothing, and return what the launch says. Thread-safe.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/screen/conditions_formula.h"

namespace flaggems {

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

#endif  // FLAGGEMS_SCREEN_CONDITIONS_LAUNCH_H_
