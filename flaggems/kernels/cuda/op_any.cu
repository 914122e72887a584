#include <cstdint>

#include "flaggems/kernels/cuda/op_any_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// Reads bits, so that one kernel serves all types of a width.
template <typename T>
struct AnyAll : PlainOperator<T> {
  using In = T;
  using C = uint32_t;
  using Acc = uint32_t;

  bool all;
  T mask;  // without the sign of floating point numbers: -0 is false
  uint8_t* out;

  // Counts the elements that decide: for `all` those that are 0.
  __device__ Acc Identity() const { return 0; }
  __device__ In Filler() const { return all ? T(1) : T(0); }
  __device__ C Read(T x) const { return ((x & mask) == 0) == all; }
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int, int64_t,
                                        int64_t, NoShift) const {
    *acc |= TreeReduce(x, [](C a, C b) { return a | b; });
  }
  __device__ Acc Combine(Acc a, Acc b) const { return a | b; }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    out[offset] = (acc != 0) != all;
  }
};

template <typename T>
cudaError_t LaunchBits(const ReducePlan& plan, T mask, bool all, const void* in,
                       uint8_t* out, void* scratch, cudaStream_t stream) {
  const AnyAll<T> op = {{}, all, mask, out};
  return LaunchReduce(op, plan, static_cast<const T*>(in), scratch, stream);
}

}  // namespace

cudaError_t LaunchAny(const ReducePlan& plan, Element type, bool all,
                      const void* in, uint8_t* out, void* scratch,
                      cudaStream_t stream) {
  switch (type) {
    case Element::kFloat32:
      return LaunchBits<uint32_t>(plan, 0x7fffffffu, all, in, out, scratch,
                                  stream);
    case Element::kFloat16:
    case Element::kBFloat16:
      return LaunchBits<uint16_t>(plan, 0x7fff, all, in, out, scratch, stream);
    case Element::kFloat64:
      return LaunchBits<uint64_t>(plan, 0x7fffffffffffffffull, all, in, out,
                                  scratch, stream);
    case Element::kInt64:
      return LaunchBits<uint64_t>(plan, ~uint64_t{0}, all, in, out, scratch,
                                  stream);
    case Element::kInt32:
      return LaunchBits<uint32_t>(plan, ~0u, all, in, out, scratch, stream);
    case Element::kInt16:
      return LaunchBits<uint16_t>(plan, 0xffff, all, in, out, scratch, stream);
    default:
      return LaunchBits<uint8_t>(plan, 0xff, all, in, out, scratch, stream);
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
