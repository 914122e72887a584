#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARE_LAUNCH_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARE_LAUNCH_H_

// CompareBudget() and Compare() of arrays in a device's memory, on the device:
// the same PartialComparison to the bit as the host's comparator gives on the
// same data.
//
// The elements (`data` of the views, and of budget.conditions) are in memory
// that the current device reads; sizes and strides are the host's and needed
// during the call only. got and want have the same sizes and any strides: what
// is left after dimensions of size 1 are dropped and neighbours joined has at
// most 8 dimensions.
//
// result:  memory that the device writes, pinned host memory included. Written
//          once, when all elements have been looked at; ComparisonOf() reads
//          it, after an event or the stream has been waited for. An array
//          without elements gives what PartialComparison{} says.
// done:    null, or memory as result's: 1 is written there after the result, so
//          that who reads 1 (and then not before, an acquire) may read all that
//          this launch and those before it in the stream wrote.
// scratch: DeviceCompareScratchBytes() of the current device's memory, aligned
//          to 256 bytes; zero before its first use, and left such that the next
//          launch can have it. Launches that share it must follow each other
//          on one stream.
// Cost:    one kernel, one pass; allocates nothing and waits for nothing. 64
//          MiB and more of contiguous arrays are to go at 80 % of the memory's
//          speed or more (benchmarks/cuda/device_compare_benchmark); so are
//          arrays without gaps whose dimensions are in the same other order,
//          where there are no conditions. Others need a division per dimension
//          and element.
// Threads: thread-safe, for different scratch and result.
// Errors:  cudaErrorInvalidValue  sizes differ; a budget's conditions that are
//                                 not contiguous float64 of want's sizes
//          cudaErrorNotSupported  dtypes without a rule here (complex,
//                                 quantised); more than 8 dimensions left
//          others                 of the launch
// What ValidateBudget() says of numbers of a budget and of malformed views is
// the caller's to check.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/core/array_view.h"

namespace flaggems {

// The same for every call and device; about 40 KiB.
int64_t DeviceCompareScratchBytes();

// got: a real floating type; want: float64.
cudaError_t LaunchCompareBudget(const ArrayView& got, const ArrayView& want,
                                const Budget& budget, void* scratch,
                                FoundWords* result, cudaStream_t stream,
                                uint32_t* done = nullptr);

// As Compare() with Tolerance{0, 0}. One dtype for both: bool, an integer, or a
// real floating type.
cudaError_t LaunchCompareExactly(const ArrayView& got, const ArrayView& want,
                                 void* scratch, FoundWords* result,
                                 cudaStream_t stream, uint32_t* done = nullptr);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARE_LAUNCH_H_
