// Inner loops that use AVX2 where the machine has it, and stay correct on any
// x86-64 (or other) machine.
//
// The decision for all our CPU kernels: nothing is compiled with -mavx2. A
// translation unit so compiled also emits AVX2 copies of inline functions from
// torch and the standard library, and the linker may pick those for the whole
// program. Here one function template carries the target attribute, the loop
// body is inlined into it (flatten), and a run-time test selects it. For the
// same reason at::vec is not used: its AVX2 half exists only under -mavx2.
// Transcendental functions are in vec_math.h.

#ifndef FLAGGEMS_KERNELS_CPU_VEC_LOOPS_H_
#define FLAGGEMS_KERNELS_CPU_VEC_LOOPS_H_

#include <cstdint>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define FLAGGEMS_HAS_AVX2_CODE 1
#define FLAGGEMS_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#else
#define FLAGGEMS_HAS_AVX2_CODE 0
#endif

// The iterations of the next loop are independent, except that an output may
// be exactly an input. (TensorIterator refuses partial overlap.)
#if defined(__clang__)
#define FLAGGEMS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define FLAGGEMS_INDEPENDENT _Pragma("GCC ivdep")
#else
#define FLAGGEMS_INDEPENDENT
#endif

namespace flaggems {
namespace kernels {
namespace cpu {

// True if this machine runs AVX2, FMA and F16C. Constant during the run.
inline bool HasAvx2() {
#if FLAGGEMS_HAS_AVX2_CODE
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

namespace internal_vec_loops {

#if FLAGGEMS_HAS_AVX2_CODE
template <typename Body>
FLAGGEMS_TARGET_AVX2 __attribute__((flatten, noinline)) void CallAvx2(
    const Body body) {
  body();
}
template <typename Body>
FLAGGEMS_TARGET_AVX2 __attribute__((flatten, noinline)) void ForAvx2(
    int64_t n, const Body body) {
  FLAGGEMS_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) body(i);
}
#endif

template <typename Body>
void ForPlain(int64_t n, const Body body) {
  FLAGGEMS_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) body(i);
}

}  // namespace internal_vec_loops

// Calls body() once, compiled for AVX2 where the machine has it. For loops
// that are written out in the body. Capture pointers by value.
template <typename Body>
void Simd(const Body& body) {
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) {
    internal_vec_loops::CallAvx2(body);
    return;
  }
#endif
  body();
}

// Calls body(i) for i in [0, n), iterations independent of each other.
template <typename Body>
void SimdFor(int64_t n, const Body& body) {
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) {
    internal_vec_loops::ForAvx2(n, body);
    return;
  }
#endif
  internal_vec_loops::ForPlain(n, body);
}

// An unsigned integer of kBytes bytes. Elements that are only moved are moved
// as these: a choice between two is then made of bits, without a branch.
template <int kBytes>
struct BitsOfSize;
template <>
struct BitsOfSize<1> {
  using Type = uint8_t;
};
template <>
struct BitsOfSize<2> {
  using Type = uint16_t;
};
template <>
struct BitsOfSize<4> {
  using Type = uint32_t;
};
template <>
struct BitsOfSize<8> {
  using Type = uint64_t;
};

// chosen (0 or 1) ? a : b.
template <typename Bits>
Bits ChooseBits(uint8_t chosen, Bits a, Bits b) {
  const Bits mask = static_cast<Bits>(0 - static_cast<Bits>(chosen));
  return static_cast<Bits>((a & mask) | (b & static_cast<Bits>(~mask)));
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_VEC_LOOPS_H_
