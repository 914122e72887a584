// Reductions of strided tensors: the device half of reduce_plan.h.
//
// An operator is a class, passed to kernels by value:
//   using In       element type of the input
//   using C        what an element is computed in
//   using Acc      accumulator: trivially copyable, at most kMaxAccBytes, a
//                  multiple of 4 bytes
//   using Shift    what all elements of an output are taken relative to, or
//                  NoShift
//   kLoads         16-byte loads in flight per thread
//   kWide          whether kernels with 16-byte loads are made for it, not only
//                  ones that read element by element
//   Acc Identity() const
//   In Filler() const               an element that changes nothing
//   int4 Mask(int4 raw) const       of 16 bytes of elements, before Read
//   In Mask(In x) const             the same of one
//   C Read(In x) const
//   Shift ShiftOf(const In* x) const        x: the first element of an output
//   void Batch<U, V>(Acc* acc, C (&x)[U * V], int valid, int64_t first,
//                    int64_t step, Shift shift) const
//       adds x[u * V + v], which stands at first + u * step + v of the reduced
//       dimension. Only u < valid are real, the others are fillers; valid > 0.
//       Positions of one accumulator's batches grow.
//   Acc Combine(Acc a, Acc b) const
//   void Finish(Acc acc, int64_t offset, Shift shift) const   writes the output
// PlainOperator has the usual ones. The order in which elements are joined
// depends on shapes and the device only.

#ifndef FLAGGEMS_KERNELS_CUDA_REDUCE_ENGINE_CUH_
#define FLAGGEMS_KERNELS_CUDA_REDUCE_ENGINE_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// f over the N (a power of two) values of x, pairwise; x is overwritten.
template <int N, int M, typename C, typename F>
__device__ __forceinline__ C TreeReduceFirst(C (&x)[M], F f) {
  if constexpr (N > 1) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) x[i] = f(x[i], x[i + N / 2]);
    return TreeReduceFirst<N / 2>(x, f);
  }
  return x[0];
}
template <int N, typename C, typename F>
__device__ __forceinline__ C TreeReduce(C (&x)[N], F f) {
  return TreeReduceFirst<N>(x, f);
}

struct NoShift {};

template <typename In_>
struct PlainOperator {
  using In = In_;
  using Shift = NoShift;
  static constexpr bool kWide = true;
  static constexpr int kLoads = sizeof(In) == 1 ? 2 : 4;
  __device__ __forceinline__ int4 Mask(int4 raw) const { return raw; }
  __device__ __forceinline__ In Mask(In x) const { return x; }
  __device__ __forceinline__ NoShift ShiftOf(const In*) const { return {}; }
};

namespace internal_reduce {

struct Offsets {
  int64_t in = 0;
  int64_t out = 0;
};

__device__ __forceinline__ Offsets OffsetsOf(const ReduceDims& dims,
                                             int64_t index) {
  Offsets offsets;
  if (dims.rank == 0) return offsets;
  const int last = dims.rank - 1;
  if (dims.narrow) {
    uint32_t rest = static_cast<uint32_t>(index);
#pragma unroll 1
    for (int d = 0; d < last; ++d) {
      const uint32_t size = static_cast<uint32_t>(dims.size[d]);
      const uint32_t quotient = rest / size;
      const uint32_t i = rest - quotient * size;
      offsets.in += i * dims.stride[d];
      offsets.out += i * dims.out_stride[d];
      rest = quotient;
    }
    index = rest;
  } else {
#pragma unroll 1
    for (int d = 0; d < last; ++d) {
      const int64_t quotient = index / dims.size[d];
      const int64_t i = index - quotient * dims.size[d];
      offsets.in += i * dims.stride[d];
      offsets.out += i * dims.out_stride[d];
      index = quotient;
    }
  }
  offsets.in += index * dims.stride[last];
  offsets.out += index * dims.out_stride[last];
  return offsets;
}

// 16 bytes of elements.
template <typename T>
union VectorOf {
  __device__ VectorOf() {}
  int4 raw;
  T at[kVecWidth<T>];
};

// The vectors of an aligned line of which lane `lane` of `lanes` takes its
// share. `offset`: position of p[0] in the reduced dimension.
template <typename I, typename Op>
__device__ __forceinline__ void AddVectors(const Op& op, typename Op::Acc* acc,
                                           const int4* p, I vectors, int lane,
                                           int lanes, int64_t offset,
                                           typename Op::Shift shift) {
  using T = typename Op::In;
  constexpr int U = Op::kLoads;
  constexpr int V = kVecWidth<T>;
  VectorOf<T> filler;
#pragma unroll
  for (int k = 0; k < V; ++k) filler.at[k] = op.Filler();
#pragma unroll 1
  for (I i = lane; i < vectors; i += static_cast<I>(lanes) * U) {
    VectorOf<T> load[U];
    int valid = U;
    // Without conditions between the loads, for which the compiler would wait
    // for some before it issues the others.
    if (i + static_cast<I>(lanes) * (U - 1) < vectors) {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        load[u].raw = __ldg(p + i + static_cast<I>(lanes) * u);
      }
    } else {
      valid = 0;
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const I at = i + static_cast<I>(lanes) * u;
        const bool real = at < vectors;
        load[u].raw = filler.raw;
        if (real) load[u].raw = __ldg(p + at);
        valid += real;
      }
    }
    typename Op::C v[U * V];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      load[u].raw = op.Mask(load[u].raw);
#pragma unroll
      for (int k = 0; k < V; ++k) v[u * V + k] = op.Read(load[u].at[k]);
    }
    op.template Batch<U, V>(acc, v, valid, offset + int64_t{i} * V,
                            int64_t{lanes} * V, shift);
  }
}

// A line of n elements, as above; `x` may be misaligned.
template <int V, typename Op>
__device__ __forceinline__ void AddLine(const Op& op, typename Op::Acc* acc,
                                        const typename Op::In* x,
                                        int64_t stride, int64_t n, int lane,
                                        int lanes, int64_t offset,
                                        typename Op::Shift shift) {
  using T = typename Op::In;
  using C = typename Op::C;
  if constexpr (V == 1) {
    constexpr int U = 8;
    const int64_t hop = lanes * stride;
    const T* p = x + lane * stride;
#pragma unroll 1
    for (int64_t i = lane; i < n; i += int64_t{lanes} * U, p += hop * U) {
      T load[U];
      int valid = U;
      if (i + int64_t{lanes} * (U - 1) < n) {
#pragma unroll
        for (int u = 0; u < U; ++u) load[u] = __ldg(p + u * hop);
      } else {
        valid = 0;
#pragma unroll
        for (int u = 0; u < U; ++u) {
          const bool real = i + int64_t{lanes} * u < n;
          load[u] = real ? __ldg(p + u * hop) : op.Filler();
          valid += real;
        }
      }
      C v[U];
#pragma unroll
      for (int u = 0; u < U; ++u) v[u] = op.Read(op.Mask(load[u]));
      op.template Batch<U, 1>(acc, v, valid, offset + i, lanes, shift);
    }
  } else {
    const auto one = [&](int64_t i) {
      C v[1] = {op.Read(op.Mask(__ldg(x + i)))};
      op.template Batch<1, 1>(acc, v, 1, offset + i, 1, shift);
    };
    const int misaligned =
        static_cast<int>(reinterpret_cast<uintptr_t>(x) % 16 / sizeof(T));
    const int64_t head = misaligned == 0 ? 0 : min(int64_t{V - misaligned}, n);
    const int64_t vectors = (n - head) / V;
    const int64_t tail = head + vectors * V;
    if (lane < head) {
#pragma unroll 1
      for (int64_t i = lane; i < head; i += lanes) one(i);
    }
    AddVectors<int64_t>(op, acc, reinterpret_cast<const int4*>(x + head),
                        vectors, lane, lanes, offset + head, shift);
#pragma unroll 1
    for (int64_t i = tail + lane; i < n; i += lanes) one(i);
  }
}

// Joins the accumulators of 2^log threads side by side, in lane 0 of them; more
// than a warp only if they are the whole block.
template <typename Op>
__device__ __forceinline__ typename Op::Acc JoinGroup(const Op& op,
                                                      typename Op::Acc acc,
                                                      int log) {
  using Acc = typename Op::Acc;
  const int threads = 1 << log;
  for (int mask = min(threads, kWarp) / 2; mask > 0; mask /= 2) {
    acc = op.Combine(acc, ShuffleXor(acc, mask));
  }
  if (threads > kWarp) {
    __shared__ __align__(8) unsigned char memory[kWarp * sizeof(Acc)];
    Acc* const shared = reinterpret_cast<Acc*>(memory);
    const int warps = threads / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (lane == 0) shared[threadIdx.x / kWarp] = acc;
    __syncthreads();
    if (threadIdx.x < kWarp) {
      acc = lane < warps ? shared[lane] : op.Identity();
      for (int mask = warps / 2; mask > 0; mask /= 2) {
        acc = op.Combine(acc, ShuffleXor(acc, mask));
      }
    }
  }
  return acc;
}

// Rows of whole aligned vectors, or equal parts of them: the frequent case, and
// little code.
struct LineShape {
  int64_t outputs;
  int64_t stride;
  int64_t out_stride;
  uint32_t vectors;
  uint32_t part;  // vectors of a part
  int log;        // 2^log threads an output or part
  bool parts;
};

template <typename Op>
__global__ void __launch_bounds__(256, sizeof(typename Op::Acc) > 8 ? 4 : 6)
    Lines(const Op op, const typename Op::In* __restrict__ in,
          const LineShape shape, typename Op::Acc* __restrict__ scratch) {
  using Acc = typename Op::Acc;
  const int lanes = 1 << shape.log;
  const int lane = threadIdx.x & (lanes - 1);
  const int64_t output = int64_t{blockIdx.x} * (blockDim.x >> shape.log) +
                         (threadIdx.x >> shape.log);
  const bool active = output < shape.outputs;
  const typename Op::In* const x = in + (active ? output : 0) * shape.stride;
  const uint32_t begin = blockIdx.y * shape.part;
  const uint32_t count = active ? min(shape.part, shape.vectors - begin) : 0;
  const typename Op::Shift shift = op.ShiftOf(x);
  Acc acc = op.Identity();
  AddVectors<uint32_t>(op, &acc, reinterpret_cast<const int4*>(x) + begin,
                       count, lane, lanes,
                       int64_t{begin} * kVecWidth<typename Op::In>, shift);
  acc = JoinGroup(op, acc, shape.log);
  if (!active || lane != 0) return;
  if (!shape.parts) {
    op.Finish(acc, output * shape.out_stride, shift);
  } else {
    scratch[int64_t{blockIdx.y} * shape.outputs + output] = acc;
  }
}

template <typename Op, int V>
__global__ void __launch_bounds__(256)
    Rows(const Op op, const typename Op::In* __restrict__ in,
         const __grid_constant__ ReducePlan plan,
         typename Op::Acc* __restrict__ scratch) {
  using Acc = typename Op::Acc;
  const int log = plan.log_x + plan.log_y;
  const int lane = threadIdx.x & ((1 << plan.log_x) - 1);
  const int64_t output =
      int64_t{blockIdx.x} * (blockDim.x >> log) + (threadIdx.x >> log);
  const bool active = output < plan.outputs;
  Acc acc = op.Identity();
  const Offsets offsets = OffsetsOf(plan.kept, active ? output : 0);
  const typename Op::In* const x = in + offsets.in;
  const typename Op::Shift shift = op.ShiftOf(x);
  if (active) {
    int64_t begin = 0, end = plan.inner;
    int64_t outer = (threadIdx.x >> plan.log_x) & ((1 << plan.log_y) - 1);
    int64_t outer_end = plan.outer_count;
    if (plan.splits > 1) {
      const int64_t start = blockIdx.y * plan.split_length;
      if (plan.split_inner) {
        begin = start;
        end = min(end, start + plan.split_length);
      } else {
        outer += start;
        outer_end = min(outer_end, start + plan.split_length);
      }
    }
#pragma unroll 1
    for (; outer < outer_end; outer += 1 << plan.log_y) {
      const int64_t base =
          OffsetsOf(plan.outer, outer).in + begin * plan.inner_stride;
      AddLine<V>(op, &acc, x + base, plan.inner_stride, end - begin, lane,
                 1 << plan.log_x, begin, shift);
    }
  }
  acc = JoinGroup(op, acc, log);
  if (!active || (threadIdx.x & ((1 << log) - 1)) != 0) return;
  if (plan.splits == 1) {
    op.Finish(acc, offsets.out, shift);
  } else {
    scratch[int64_t{blockIdx.y} * plan.outputs + output] = acc;
  }
}

// Joins the accumulators of the block's rows of threads, in the first row.
template <int V, typename Op>
__device__ __forceinline__ void JoinColumns(const Op& op,
                                            typename Op::Acc (&acc)[V],
                                            int log_x, int log_y) {
  using Acc = typename Op::Acc;
  constexpr int kHalf = 128;  // threads of a block / 2
  __shared__ __align__(8) unsigned char memory[kHalf * V * sizeof(Acc)];
  Acc* const shared = reinterpret_cast<Acc*>(memory);
  const int y = threadIdx.x >> log_x;
  for (int half = (1 << log_y) / 2; half > 0; half /= 2) {
    const int slot = threadIdx.x - (half << log_x);
    __syncthreads();
    if (y >= half && y < 2 * half) {
#pragma unroll
      for (int v = 0; v < V; ++v) shared[v * kHalf + slot] = acc[v];
    }
    __syncthreads();
    if (y < half) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        acc[v] = op.Combine(acc[v], shared[v * kHalf + threadIdx.x]);
      }
    }
  }
}

template <typename Op, int V>
__global__ void __launch_bounds__(256, 3)
    Columns(const Op op, const typename Op::In* __restrict__ in,
            const __grid_constant__ ReducePlan plan,
            typename Op::Acc* __restrict__ scratch) {
  using T = typename Op::In;
  using C = typename Op::C;
  using Acc = typename Op::Acc;
  // Rows read ahead, as far as registers reach.
  constexpr int U = (sizeof(Acc) + sizeof(typename Op::Shift)) * V > 72 ? 4 : 8;
  const int64_t across =
      (plan.inner + (V << plan.log_x) - 1) / (V << plan.log_x);
  const int64_t kept = blockIdx.x / across;
  const int64_t column = ((blockIdx.x - kept * across) << plan.log_x) * V +
                         int64_t{threadIdx.x & ((1 << plan.log_x) - 1)} * V;
  const int y = threadIdx.x >> plan.log_x;
  const int rows = 1 << plan.log_y;
  const bool active = column < plan.inner;
  Acc acc[V];
#pragma unroll
  for (int v = 0; v < V; ++v) acc[v] = op.Identity();
  const Offsets offsets = OffsetsOf(plan.kept, kept);
  const T* const x =
      in + offsets.in + (active ? column : 0) * plan.inner_stride;
  typename Op::Shift shift[V];
#pragma unroll
  for (int v = 0; v < V; ++v) shift[v] = op.ShiftOf(x + v);
  if (active) {
    int64_t begin = 0, end = plan.outer_count;
    if (plan.splits > 1) {
      begin = blockIdx.y * plan.split_length;
      end = min(end, begin + plan.split_length);
    }
    const bool simple = plan.outer.rank == 1;
    const int64_t stride = plan.outer.stride[0];
#pragma unroll 1
    for (int64_t r = begin + y; r < end; r += rows * U) {
      VectorOf<T> load[U];
      const auto fetch = [&](int u, int64_t offset) {
        if constexpr (V == 1) {
          load[u].at[0] = __ldg(x + offset);
        } else {
          load[u].raw = __ldg(reinterpret_cast<const int4*>(x + offset));
        }
      };
      int valid = U;
      if (simple && r + (U - 1) * rows < end) {
        // No branch between loads: all are in flight at once.
#pragma unroll
        for (int u = 0; u < U; ++u) fetch(u, (r + u * rows) * stride);
      } else {
        valid = 0;
#pragma unroll
        for (int u = 0; u < U; ++u) {
          const int64_t row = r + u * rows;
#pragma unroll
          for (int v = 0; v < V; ++v) load[u].at[v] = op.Filler();
          if (row < end) {
            fetch(u, simple ? row * stride : OffsetsOf(plan.outer, row).in);
            ++valid;
          }
        }
      }
#pragma unroll
      for (int u = 0; u < U; ++u) {
        if constexpr (V == 1) {
          load[u].at[0] = op.Mask(load[u].at[0]);
        } else {
          load[u].raw = op.Mask(load[u].raw);
        }
      }
#pragma unroll
      for (int v = 0; v < V; ++v) {
        C c[U];
#pragma unroll
        for (int u = 0; u < U; ++u) {
          c[u] = op.Read(load[u].at[v]);
        }
        op.template Batch<U, 1>(&acc[v], c, valid, r, rows, shift[v]);
      }
    }
  }
  JoinColumns(op, acc, plan.log_x, plan.log_y);
  if (!active || y != 0) return;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (plan.splits == 1) {
      op.Finish(acc[v], offsets.out + (column + v) * plan.inner_out_stride,
                shift[v]);
    } else {
      scratch[int64_t{blockIdx.y} * plan.outputs + kept * plan.inner + column +
              v] = acc[v];
    }
  }
}

// Joins the parts of outputs that were cut.
template <typename Op>
__global__ void __launch_bounds__(256)
    JoinParts(const Op op, const __grid_constant__ ReducePlan plan, int log_x,
              const typename Op::In* __restrict__ in,
              const typename Op::Acc* scratch) {
  using Acc = typename Op::Acc;
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const int64_t output =
      (int64_t{blockIdx.x} << log_x) + (threadIdx.x & ((1 << log_x) - 1));
  const int y = threadIdx.x >> log_x;
  const int rows = blockDim.x >> log_x;
  const bool active = output < plan.outputs;
  Acc acc[1] = {op.Identity()};
  if (active) {
#pragma unroll 4
    for (int s = y; s < plan.splits; s += rows) {
      acc[0] = op.Combine(acc[0], scratch[s * plan.outputs + output]);
    }
  }
  JoinColumns(op, acc, log_x, 8 - log_x);
  if (!active || y != 0) return;
  Offsets offsets;
  if (plan.rows) {
    offsets = OffsetsOf(plan.kept, output);
  } else {
    const int64_t kept = output / plan.inner;
    const int64_t column = output - kept * plan.inner;
    offsets = OffsetsOf(plan.kept, kept);
    offsets.in += column * plan.inner_stride;
    offsets.out += column * plan.inner_out_stride;
  }
  op.Finish(acc[0], offsets.out, op.ShiftOf(in + offsets.in));
}

}  // namespace internal_reduce

// Runs the plan. `scratch`: plan.ScratchBytes() bytes, null if that is 0.
template <typename Op>
cudaError_t LaunchReduce(const Op& op, const ReducePlan& plan,
                         const typename Op::In* in, void* scratch,
                         cudaStream_t stream) {
  using Acc = typename Op::Acc;
  static_assert(sizeof(Acc) <= kMaxAccBytes, "raise kMaxAccBytes");
  constexpr int kWidth = kVecWidth<typename Op::In>;
  if (plan.outputs == 0) return cudaSuccess;
  if (plan.blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  const dim3 grid(static_cast<unsigned>(plan.blocks),
                  static_cast<unsigned>(plan.splits));
  Acc* const parts = static_cast<Acc*>(scratch);
  const unsigned threads = static_cast<unsigned>(plan.threads);
  bool launched = false;
  if constexpr (Op::kWide) {
    launched = true;
    if (plan.rows && plan.lean) {
      internal_reduce::LineShape shape;
      shape.outputs = plan.outputs;
      shape.stride = plan.kept.rank == 0 ? 0 : plan.kept.stride[0];
      shape.out_stride = plan.kept.rank == 0 ? 0 : plan.kept.out_stride[0];
      shape.vectors = static_cast<uint32_t>(plan.inner / kWidth);
      shape.part = plan.splits == 1
                       ? shape.vectors
                       : static_cast<uint32_t>(plan.split_length / kWidth);
      shape.log = plan.log_x;
      shape.parts = plan.splits > 1;
      internal_reduce::Lines<Op>
          <<<grid, threads, 0, stream>>>(op, in, shape, parts);
    } else if (plan.rows && plan.vector) {
      internal_reduce::Rows<Op, kWidth>
          <<<grid, threads, 0, stream>>>(op, in, plan, parts);
    } else if (!plan.rows && plan.vector) {
      internal_reduce::Columns<Op, kWidth>
          <<<grid, threads, 0, stream>>>(op, in, plan, parts);
    } else {
      launched = false;
    }
  }
  if (!launched && plan.rows) {
    internal_reduce::Rows<Op, 1>
        <<<grid, threads, 0, stream>>>(op, in, plan, parts);
  } else if (!launched) {
    internal_reduce::Columns<Op, 1>
        <<<grid, threads, 0, stream>>>(op, in, plan, parts);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess || plan.splits == 1) return error;
  int log_x = 0;
  while (log_x < 5 && (int64_t{1} << log_x) < plan.outputs) ++log_x;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(
      (plan.outputs + (int64_t{1} << log_x) - 1) >> log_x));
  config.blockDim = dim3(256);
  config.stream = stream;
  cudaLaunchAttribute overlap;
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  if (plan.dependent_launch) {
    config.attrs = &overlap;
    config.numAttrs = 1;
  }
  return cudaLaunchKernelEx(&config, internal_reduce::JoinParts<Op>, op, plan,
                            log_x, in, static_cast<const Acc*>(parts));
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_REDUCE_ENGINE_CUH_
