#ifndef FLAGGEMS_COMPARATOR_CUDA_UNROLL_H_
#define FLAGGEMS_COMPARATOR_CUDA_UNROLL_H_

// Before a loop, for compilers of CUDA: all of its rounds one after the other,
// or each by the same instructions. Nothing for other compilers.
#ifdef __CUDA_ARCH__
#define FG_UNROLL _Pragma("unroll")
#define FG_NO_UNROLL _Pragma("unroll 1")
#else
#define FG_UNROLL
#define FG_NO_UNROLL
#endif

#endif  // FLAGGEMS_COMPARATOR_CUDA_UNROLL_H_
