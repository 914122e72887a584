#ifndef FLAGGEMS_CORE_HOST_DEVICE_H_
#define FLAGGEMS_CORE_HOST_DEVICE_H_

// In front of an inline function that host and device code share: one rule,
// written once, gives both the same bits.

#ifdef __CUDACC__
#define FG_HOST_DEVICE __host__ __device__
#else
#define FG_HOST_DEVICE
#endif

#endif  // FLAGGEMS_CORE_HOST_DEVICE_H_
