// An assertion of device code that stays in optimised builds, as native aten's
// CUDA_KERNEL_ASSERT does: the kernel stops, the context is lost, and the next
// synchronising call reports "device-side assert triggered".

#ifndef FLAGGEMS_KERNELS_CUDA_DEVICE_ASSERT_CUH_
#define FLAGGEMS_KERNELS_CUDA_DEVICE_ASSERT_CUH_

#include <cassert>

#ifdef NDEBUG
// <cassert> leaves it out.
extern "C" __host__ __device__ void __assert_fail(const char* assertion,
                                                  const char* file,
                                                  unsigned int line,
                                                  const char* function) throw();
#endif

#define FG_DEVICE_ASSERT(condition)                            \
  do {                                                         \
    if (!(condition)) {                                        \
      __assert_fail(#condition, __FILE__, __LINE__, "kernel"); \
    }                                                          \
  } while (false)

#endif  // FLAGGEMS_KERNELS_CUDA_DEVICE_ASSERT_CUH_
