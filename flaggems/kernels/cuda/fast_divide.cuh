// Division of 32-bit indices by a number that is known at launch: a product
// and a shift in place of the hardware's 20 instructions (T. Granlund and P. L.
// Montgomery, Division by Invariant Integers using Multiplication, 1994,
// figure 4.1).

#ifndef FLAGGEMS_KERNELS_CUDA_FAST_DIVIDE_CUH_
#define FLAGGEMS_KERNELS_CUDA_FAST_DIVIDE_CUH_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// Quotient and remainder by a divisor in [1, 2^31), of numbers below 2^31.
class FastDivide {
 public:
  FastDivide() : FastDivide(1) {}
  explicit FastDivide(uint32_t divisor) : divisor_(divisor) {
    while (shift_ < 31 && (uint32_t{1} << shift_) < divisor) ++shift_;
    const uint64_t power = uint64_t{1} << shift_;
    multiplier_ =
        static_cast<uint32_t>(((power - divisor) << 32) / divisor + 1);
  }

  uint32_t divisor() const { return divisor_; }

  __host__ __device__ uint32_t Quotient(uint32_t n) const {
#ifdef __CUDA_ARCH__
    const uint32_t high = __umulhi(n, multiplier_);
#else
    const uint32_t high =
        static_cast<uint32_t>((uint64_t{n} * multiplier_) >> 32);
#endif
    return (high + n) >> shift_;
  }

  // Remainder; the quotient goes to *n.
  __host__ __device__ uint32_t DivideInPlace(uint32_t* n) const {
    const uint32_t quotient = Quotient(*n);
    const uint32_t remainder = *n - quotient * divisor_;
    *n = quotient;
    return remainder;
  }

 private:
  uint32_t divisor_;
  uint32_t multiplier_ = 0;
  uint32_t shift_ = 0;
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_FAST_DIVIDE_CUH_
