// The elementwise engine: a functor of up to three inputs over operands of any
// strides, one pass over memory.
//
// A functor is
//   template <typename T> struct Add {
//     using Out = T;  using A = T;  using B = T;  using C = None;
//     explicit Add(const Number* scalars);              // on the host
//     __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const;
//   };
// and LaunchElementwise<Add<T>>(call, stream) runs it. The kernel is chosen by
// the call's strides:
//   linear   every operand dense in the same order, or one value: vectors of 16
//            bytes, several in flight
//   rows     inputs contiguous or broadcast along the output's contiguous
//            dimension: the same vectors, the index divided once a vector
//   tiles    an input whose contiguous dimension is another one (transposed):
//            each thread moves a square of vectors and turns it in registers,
//            so that both sides move whole vectors
//   strided  the rest, and operands whose types have to be converted
// kShapes says which of them are compiled: a functor has up to four kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_CUH_
#define FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_CUH_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/elementwise_launch.h"
#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

// The type of an input that a functor does not have.
struct None {};

// Kernels that are compiled for a functor besides linear and strided.
enum ElementwiseShapes {
  kLinearOnly = 0,
  kRows = 1,
  kRowsAndTiles = 2,
};

// A scalar argument in the compute type of T.
template <typename T>
Compute<T> NumberAs(const Number& n) {
  using C = Compute<T>;
  if constexpr (std::is_same<C, bool>::value) {
    return n.integer != 0;
  } else if constexpr (std::is_integral<C>::value) {
    return static_cast<C>(n.integer);
  } else {
    return static_cast<C>(n.floating);
  }
}

namespace internal_elementwise {

// Of the linear and the row kernel; and of the others.
constexpr int kThreads = 128;
constexpr int kTileThreads = 256;
// Operands: the output and the inputs.
constexpr int kOperands = kMaxElementwiseInputs + 1;

template <typename T>
constexpr bool kIs = !std::is_same<T, None>::value;

template <typename T>
constexpr int SizeOf() {
  if constexpr (kIs<T>) {
    return sizeof(T);
  } else {
    return 0;
  }
}

template <typename F>
constexpr int kInputs = 1 + kIs<typename F::B> + kIs<typename F::C>;

// Elements a vector: the largest element's vector has 16 bytes.
template <typename F>
constexpr int VecOf() {
  int size = sizeof(typename F::Out);
  size = size > SizeOf<typename F::A>() ? size : SizeOf<typename F::A>();
  size = size > SizeOf<typename F::B>() ? size : SizeOf<typename F::B>();
  size = size > SizeOf<typename F::C>() ? size : SizeOf<typename F::C>();
  return size >= 16 ? 1 : 16 / size;
}

// What a compute value is to a None input.
template <typename T>
struct Held {
  using Type = Compute<T>;
};
template <>
struct Held<None> {
  using Type = None;
};

// How a kernel of vectors reads an input.
enum Mode : int8_t {
  kVector,     // a vector of elements side by side
  kBroadcast,  // one element for the vector
  kConstant,   // the value in the parameters
  kColumns,    // tiles: vectors along the other dimension
};

// *v = *p if `predicate`, in one predicated instruction. With a branch in its
// place, the compiler moves the conversion of the value, which waits for it,
// into the branch, before the next load is issued.
template <typename V>
__device__ __forceinline__ void LoadIf(bool predicate, const void* p, V* v) {
  static_assert(sizeof(V) == 1 || sizeof(V) == 2 || sizeof(V) == 4 ||
                    sizeof(V) == 8 || sizeof(V) == 16,
                "a size that one instruction moves");
  const size_t address = __cvta_generic_to_global(p);
  const int wanted = predicate;
  if constexpr (sizeof(V) == 16) {
    uint32_t w[4];
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %5, 0;\n"
        "@p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
        : "l"(address), "r"(wanted));
    memcpy(v, w, sizeof(V));
  } else if constexpr (sizeof(V) == 8) {
    uint32_t w[2];
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %3, 0;\n"
        "@p ld.global.v2.b32 {%0, %1}, [%2]; }"
        : "=r"(w[0]), "=r"(w[1])
        : "l"(address), "r"(wanted));
    memcpy(v, w, sizeof(V));
  } else if constexpr (sizeof(V) == 4) {
    uint32_t w;
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %2, 0;\n"
        "@p ld.global.b32 %0, [%1]; }"
        : "=r"(w)
        : "l"(address), "r"(wanted));
    memcpy(v, &w, sizeof(V));
  } else if constexpr (sizeof(V) == 2) {
    uint16_t w;
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %2, 0;\n"
        "@p ld.global.b16 %0, [%1]; }"
        : "=h"(w)
        : "l"(address), "r"(wanted));
    memcpy(v, &w, sizeof(V));
  } else {
    uint32_t w;
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %2, 0;\n"
        "@p ld.global.u8 %0, [%1]; }"
        : "=r"(w)
        : "l"(address), "r"(wanted));
    const uint8_t byte = static_cast<uint8_t>(w);
    memcpy(v, &byte, sizeof(V));
  }
}

// Element j of a vector. Of bfloat16 by the 32 bits of a pair: one instruction,
// where the second one of a pair by itself takes two.
template <typename T, int kVec>
__device__ __forceinline__ Compute<T> ElementAt(const Vec<T, kVec>& v, int j) {
  if constexpr (std::is_same<T, __nv_bfloat16>::value && kVec % 2 == 0) {
    uint32_t pair;
    memcpy(&pair, &v.at[j / 2 * 2], sizeof(pair));
    return __uint_as_float(j % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
  } else {
    return ToCompute(v.at[j]);
  }
}

template <typename T, int kVec>
__device__ __forceinline__ Vec<T, kVec> Pack(const Compute<T> (&x)[kVec]) {
  Vec<T, kVec> v;
#pragma unroll
  for (int i = 0; i < kVec; ++i) v.at[i] = FromCompute<T>(x[i]);
  return v;
}

// Two conversions an instruction.
template <int kVec>
__device__ __forceinline__ Vec<__nv_bfloat16, kVec> PackPairs(
    const float (&x)[kVec], __nv_bfloat16) {
  Vec<__nv_bfloat16, kVec> v;
#pragma unroll
  for (int i = 0; i < kVec; i += 2) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(x[i], x[i + 1]);
    v.at[i] = pair.x;
    v.at[i + 1] = pair.y;
  }
  return v;
}
template <int kVec>
__device__ __forceinline__ Vec<__half, kVec> PackPairs(const float (&x)[kVec],
                                                       __half) {
  Vec<__half, kVec> v;
#pragma unroll
  for (int i = 0; i < kVec; i += 2) {
    const __half2 pair = __floats2half2_rn(x[i], x[i + 1]);
    v.at[i] = pair.x;
    v.at[i + 1] = pair.y;
  }
  return v;
}

template <typename T, int kVec>
__device__ __forceinline__ void StoreAll(T* p, const Compute<T> (&x)[kVec]) {
  if constexpr ((std::is_same<T, __nv_bfloat16>::value ||
                 std::is_same<T, __half>::value) &&
                kVec % 2 == 0) {
    StoreVec(p, PackPairs<kVec>(x, T()));
  } else {
    StoreVec(p, Pack<T, kVec>(x));
  }
}

// An input of the linear kernel.
struct Source {
  const void* data;
  Mode mode;
};

template <typename F>
struct Constants {
  typename Held<typename F::A>::Type a;
  typename Held<typename F::B>::Type b;
  typename Held<typename F::C>::Type c;
};

// What the loads need comes first, in one line: a small call waits for each.
template <typename F>
struct LinearArguments {
  typename F::Out* out;
  uint32_t vectors;
  Source in[kInputs<F>];
  Constants<F> constants;
  // Of the whole call.
  int64_t numel;
};

// The value of an input that is the same for all elements.
template <typename T>
__device__ __forceinline__ void Settle(const Source& source, Compute<T>* x) {
  if (source.mode == kBroadcast) {
    *x = ToCompute(*static_cast<const T*>(source.data));
  }
}

template <typename T, int kVec>
__device__ __forceinline__ const T* VectorAt(const Source& source, uint32_t i) {
  return static_cast<const T*>(source.data) + static_cast<int64_t>(i) * kVec;
}

// One vector a thread: with more, fewer warps fit and the loads in flight are
// the same.
template <typename F, int kVec>
__global__ __launch_bounds__(kThreads) void LinearKernel(
    const F f, const LinearArguments<F> p) {
  using A = typename F::A;
  using B = typename F::B;
  using C = typename F::C;
  // An only input is never a constant.
  constexpr bool kSeveral = kInputs < F >> 1;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  const bool whole = i < p.vectors;
  Constants<F> k = p.constants;
  bool va = true, vb = true, vc = true;
  if constexpr (kSeveral) {
    va = p.in[0].mode == kVector;
    vb = p.in[1].mode == kVector;
  }
  if constexpr (kIs<C>) vc = p.in[2].mode == kVector;
  Vec<A, kVec> a;
  [[maybe_unused]] Vec<std::conditional_t<kIs<B>, B, A>, kVec> b;
  [[maybe_unused]] Vec<std::conditional_t<kIs<C>, C, A>, kVec> c;
  LoadIf(whole && va, VectorAt<A, kVec>(p.in[0], i), &a);
  if constexpr (kSeveral) {
    LoadIf(whole && vb, VectorAt<B, kVec>(p.in[1], i), &b);
  }
  if constexpr (kIs<C>) {
    LoadIf(whole && vc, VectorAt<C, kVec>(p.in[2], i), &c);
  }
  if constexpr (kSeveral) {
    Settle<A>(p.in[0], &k.a);
    Settle<B>(p.in[1], &k.b);
  }
  if constexpr (kIs<C>) Settle<C>(p.in[2], &k.c);
  if (whole) {
    Compute<typename F::Out> y[kVec];
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      const Compute<A> x0 = va ? ElementAt(a, j) : k.a;
      if constexpr (!kSeveral) {
        y[j] = f(x0);
      } else {
        const Compute<B> x1 = vb ? ElementAt(b, j) : k.b;
        if constexpr (kIs<C>) {
          y[j] = f(x0, x1, vc ? ElementAt(c, j) : k.c);
        } else {
          y[j] = f(x0, x1);
        }
      }
    }
    StoreAll(p.out + static_cast<int64_t>(i) * kVec, y);
  } else if (kVec > 1) {
    // The elements that fill no vector: fewer than kVec, and the threads from
    // p.vectors on have one each.
    const int64_t e = static_cast<int64_t>(p.vectors) * kVec + (i - p.vectors);
    if (e < p.numel) {
      const Compute<A> x0 =
          va ? ToCompute(static_cast<const A*>(p.in[0].data)[e]) : k.a;
      if constexpr (!kSeveral) {
        p.out[e] = FromCompute<typename F::Out>(f(x0));
      } else {
        const Compute<B> x1 =
            vb ? ToCompute(static_cast<const B*>(p.in[1].data)[e]) : k.b;
        if constexpr (kIs<C>) {
          const Compute<C> x2 =
              vc ? ToCompute(static_cast<const C*>(p.in[2].data)[e]) : k.c;
          p.out[e] = FromCompute<typename F::Out>(f(x0, x1, x2));
        } else {
          p.out[e] = FromCompute<typename F::Out>(f(x0, x1));
        }
      }
    }
  }
}

// Arguments of the kernels that compute offsets.
template <typename F>
struct StridedArguments {
  char* data[kInputs<F> + 1];
  Mode mode[kInputs<F> + 1];
  Element element[kInputs<F> + 1];
  bool mixed;
  Constants<F> constants;
  uint32_t count;  // vectors, tiles or elements
  int dims;
  FastDivide sizes[kMaxElementwiseDims];
  int32_t strides[kMaxElementwiseDims][kInputs<F> + 1];
  // Tiles: the extents of the two dimensions and, by operand, the strides of
  // the second one; whether whole vectors may be read or written.
  int32_t columns, rows;
  int32_t row_strides[kInputs<F> + 1];
  bool aligned[kInputs<F> + 1];
};

// Byte offsets of all operands at an index of the dimensions from `first` on.
template <typename F>
__device__ __forceinline__ void Offsets(const StridedArguments<F>& p,
                                        uint32_t index, int first,
                                        int32_t (&offset)[kInputs<F> + 1]) {
  if (first == 0 && p.dims == 2) {
    // What most calls have. In a loop each step would wait for its parameters,
    // and a kernel of rows has not much else to do.
    const uint32_t along = p.sizes[0].DivideInPlace(&index);
#pragma unroll
    for (int k = 0; k <= kInputs<F>; ++k) {
      offset[k] += static_cast<int32_t>(along) * p.strides[0][k] +
                   static_cast<int32_t>(index) * p.strides[1][k];
    }
    return;
  }
  for (int d = first; d < p.dims; ++d) {
    const uint32_t at =
        d + 1 < p.dims ? p.sizes[d].DivideInPlace(&index) : index;
#pragma unroll
    for (int k = 0; k <= kInputs<F>; ++k) {
      offset[k] += static_cast<int32_t>(at) * p.strides[d][k];
    }
  }
}

template <typename T>
__device__ __forceinline__ const T* At(const char* base, int32_t offset) {
  return reinterpret_cast<const T*>(base + offset);
}

// The vector of an input or its one element, neither for a constant.
template <typename T, int kVec>
struct Piece {
  Vec<T, kVec> v;
  T one;

  __device__ __forceinline__ void Load(bool wanted, Mode mode, const char* p) {
    LoadIf(wanted && mode == kVector, p, &v);
    LoadIf(wanted && mode == kBroadcast, p, &one);
  }
  // The value that all elements have, if it is not a vector.
  __device__ __forceinline__ void Settle(Mode mode, Compute<T>* x) const {
    if (mode == kBroadcast) *x = ToCompute(one);
  }
};

template <typename F, int kVec>
__global__ __launch_bounds__(kThreads) void RowsKernel(
    const F f, const __grid_constant__ StridedArguments<F> p) {
  using A = typename F::A;
  using B = typename F::B;
  using C = typename F::C;
  constexpr int kOut = kInputs<F>;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  const bool whole = i < p.count;
  int32_t offset[kInputs<F> + 1] = {};
  Offsets(p, i, 0, offset);
  Piece<A, kVec> a;
  Piece<B, kVec> b;
  [[maybe_unused]] Piece<std::conditional_t<kIs<C>, C, B>, kVec> c;
  a.Load(whole, p.mode[0], p.data[0] + offset[0]);
  b.Load(whole, p.mode[1], p.data[1] + offset[1]);
  if constexpr (kIs<C>) c.Load(whole, p.mode[2], p.data[2] + offset[2]);
  if (!whole) return;
  Constants<F> k = p.constants;
  a.Settle(p.mode[0], &k.a);
  b.Settle(p.mode[1], &k.b);
  if constexpr (kIs<C>) c.Settle(p.mode[2], &k.c);
  const bool va = p.mode[0] == kVector;
  const bool vb = p.mode[1] == kVector;
  [[maybe_unused]] const bool vc = kIs<C> && p.mode[kOut - 1] == kVector;
  Compute<typename F::Out> y[kVec];
#pragma unroll
  for (int j = 0; j < kVec; ++j) {
    const Compute<A> x0 = va ? ElementAt(a.v, j) : k.a;
    const Compute<B> x1 = vb ? ElementAt(b.v, j) : k.b;
    if constexpr (kIs<C>) {
      y[j] = f(x0, x1, vc ? ElementAt(c.v, j) : k.c);
    } else {
      y[j] = f(x0, x1);
    }
  }
  StoreAll(reinterpret_cast<typename F::Out*>(p.data[kOut] + offset[kOut]), y);
}

// A square of kVec x kVec elements of an input: x[i].at[j] is row i, column j.
template <typename T, int kVec>
struct Square {
  Vec<T, kVec> x[kVec];

  // `along` bytes from one vector to the next.
  __device__ __forceinline__ void Load(const char* p, int32_t along,
                                       bool aligned, int vectors,
                                       int elements) {
    if (aligned && elements >= kVec) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        LoadIf(i < vectors, p + i * along, &x[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          LoadIf(i < vectors && j < elements, At<T>(p, i * along) + j,
                 &x[i].at[j]);
        }
      }
    }
  }

  __device__ __forceinline__ void Transpose() {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
#pragma unroll
      for (int j = i + 1; j < kVec; ++j) {
        const T swap = x[i].at[j];
        x[i].at[j] = x[j].at[i];
        x[j].at[i] = swap;
      }
    }
  }

  __device__ __forceinline__ void Read(const char* p, Mode mode,
                                       int32_t column_stride,
                                       int32_t row_stride, bool aligned,
                                       int columns, int rows) {
    if (mode == kVector) {
      Load(p, row_stride, aligned, rows, columns);
    } else if (mode == kColumns) {
      Load(p, column_stride, aligned, columns, rows);
    }
  }
};

// A warp covers 8 squares along the output's rows and 4 across them.
constexpr int kWarpColumns = 8;
constexpr int kWarpsAlong = 2;
constexpr int kTileColumns = kWarpColumns * kWarpsAlong;
constexpr int kTileRows = kTileThreads / kTileColumns;

template <typename F, int kVec>
__global__ __launch_bounds__(kTileThreads) void TilesKernel(
    const F f, const __grid_constant__ StridedArguments<F> p) {
  using A = typename F::A;
  using B = typename F::B;
  using C = typename F::C;
  constexpr int kOut = kInputs<F>;
  // Dimension 0 counts blocks along the rows, 1 blocks across, the others are
  // what the tile's two dimensions leave.
  uint32_t index = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int column = (p.sizes[0].DivideInPlace(&index) * kTileColumns +
                      warp % kWarpsAlong * kWarpColumns + lane % kWarpColumns) *
                     kVec;
  const int row =
      (p.sizes[1].DivideInPlace(&index) * kTileRows +
       warp / kWarpsAlong * (32 / kWarpColumns) + lane / kWarpColumns) *
      kVec;
  const int columns = p.columns - column;
  const int rows = p.rows - row;
  if (columns <= 0 || rows <= 0) return;
  int32_t offset[kInputs<F> + 1];
#pragma unroll
  for (int k = 0; k <= kInputs<F>; ++k) {
    offset[k] = column * p.strides[0][k] + row * p.row_strides[k];
  }
  Offsets(p, index, 2, offset);
  Square<A, kVec> a;
  Square<B, kVec> b;
  [[maybe_unused]] Square<std::conditional_t<kIs<C>, C, B>, kVec> c;
  a.Read(p.data[0] + offset[0], p.mode[0], p.strides[0][0], p.row_strides[0],
         p.aligned[0], columns, rows);
  b.Read(p.data[1] + offset[1], p.mode[1], p.strides[0][1], p.row_strides[1],
         p.aligned[1], columns, rows);
  if constexpr (kIs<C>) {
    c.Read(p.data[2] + offset[2], p.mode[2], p.strides[0][2], p.row_strides[2],
           p.aligned[2], columns, rows);
  }
  if (p.mode[0] == kColumns) a.Transpose();
  if (p.mode[1] == kColumns) b.Transpose();
  if constexpr (kIs<C>) {
    if (p.mode[2] == kColumns) c.Transpose();
  }
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    if (i < rows) {
      Compute<typename F::Out> y[kVec];
#pragma unroll
      for (int j = 0; j < kVec; ++j) {
        const Compute<A> x0 =
            p.mode[0] == kConstant ? p.constants.a : ToCompute(a.x[i].at[j]);
        const Compute<B> x1 =
            p.mode[1] == kConstant ? p.constants.b : ToCompute(b.x[i].at[j]);
        if constexpr (kIs<C>) {
          y[j] = f(
              x0, x1,
              p.mode[2] == kConstant ? p.constants.c : ToCompute(c.x[i].at[j]));
        } else {
          y[j] = f(x0, x1);
        }
      }
      typename F::Out* const out = reinterpret_cast<typename F::Out*>(
          p.data[kOut] + offset[kOut] + i * p.row_strides[kOut]);
      if (p.aligned[kOut] && columns >= kVec) {
        StoreAll(out, y);
      } else {
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          if (j < columns) out[j] = FromCompute<typename F::Out>(y[j]);
        }
      }
    }
  }
}

// x as a T, and that in its compute type.
template <typename T, typename X>
__device__ __forceinline__ Compute<T> Converted(X x) {
  if constexpr (std::is_same<T, bool>::value) {
    return x != X(0);
  } else {
    return ToCompute(FromCompute<T>(static_cast<Compute<T>>(x)));
  }
}

// An element of any type.
template <typename T>
__device__ __noinline__ Compute<T> LoadAs(const char* p, Element element) {
  switch (element) {
    case Element::kFloat32:
      return Converted<T>(*At<float>(p, 0));
    case Element::kFloat16:
      return Converted<T>(ToCompute(*At<__half>(p, 0)));
    case Element::kBFloat16:
      return Converted<T>(ToCompute(*At<__nv_bfloat16>(p, 0)));
    case Element::kFloat64:
      return Converted<T>(*At<double>(p, 0));
    case Element::kInt64:
      return Converted<T>(*At<int64_t>(p, 0));
    case Element::kInt32:
      return Converted<T>(*At<int32_t>(p, 0));
    case Element::kInt16:
      return Converted<T>(*At<int16_t>(p, 0));
    case Element::kInt8:
      return Converted<T>(*At<int8_t>(p, 0));
    case Element::kUInt8:
      return Converted<T>(*At<uint8_t>(p, 0));
    default:
      return Converted<T>(*At<uint8_t>(p, 0) != 0);
  }
}

// The result of a functor as an element of any type, by way of its own type.
template <typename T>
__device__ __noinline__ void StoreAs(char* p, Element element, Compute<T> y) {
  const Compute<T> x = Converted<T>(y);
  switch (element) {
    case Element::kFloat32:
      *reinterpret_cast<float*>(p) = static_cast<float>(x);
      return;
    case Element::kFloat16:
      *reinterpret_cast<__half*>(p) =
          FromCompute<__half>(static_cast<float>(x));
      return;
    case Element::kBFloat16:
      *reinterpret_cast<__nv_bfloat16*>(p) =
          FromCompute<__nv_bfloat16>(static_cast<float>(x));
      return;
    case Element::kFloat64:
      *reinterpret_cast<double*>(p) = static_cast<double>(x);
      return;
    case Element::kInt64:
      *reinterpret_cast<int64_t*>(p) = static_cast<int64_t>(x);
      return;
    case Element::kInt32:
      *reinterpret_cast<int32_t*>(p) = static_cast<int32_t>(x);
      return;
    case Element::kInt16:
      *reinterpret_cast<int16_t*>(p) = static_cast<int16_t>(x);
      return;
    case Element::kInt8:
      *reinterpret_cast<int8_t*>(p) = static_cast<int8_t>(x);
      return;
    case Element::kUInt8:
      *reinterpret_cast<uint8_t*>(p) = static_cast<uint8_t>(x);
      return;
    default:
      *reinterpret_cast<bool*>(p) = x != Compute<T>(0);
  }
}

// An element of the kernel's own type, as it is.
template <typename T>
__device__ __forceinline__ void LoadOne(bool wanted, Mode mode, const char* p,
                                        T* x) {
  LoadIf(wanted && mode != kConstant, p, x);
}

template <typename T>
__device__ __forceinline__ Compute<T> OneOf(T x, Mode mode,
                                            Compute<T> constant) {
  return mode == kConstant ? constant : ToCompute(x);
}

template <typename T>
__device__ __forceinline__ Compute<T> MixedOne(const char* p, Mode mode,
                                               Element element,
                                               Compute<T> constant) {
  return mode == kConstant ? constant : LoadAs<T>(p, element);
}

template <typename F, int kUnroll>
__global__ __launch_bounds__(kThreads) void StridedKernel(
    const F f, const __grid_constant__ StridedArguments<F> p) {
  using A = typename F::A;
  using B = typename F::B;
  using C = typename F::C;
  using Out = typename F::Out;
  constexpr int kOut = kInputs<F>;
  const uint32_t first = blockIdx.x * (kThreads * kUnroll) + threadIdx.x;
  if (p.mixed) {
#pragma unroll 1
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = first + u * kThreads;
      if (i >= p.count) return;
      int32_t offset[kInputs<F> + 1] = {};
      Offsets(p, i, 0, offset);
      const Compute<A> x0 = MixedOne<A>(p.data[0] + offset[0], p.mode[0],
                                        p.element[0], p.constants.a);
      Compute<Out> y;
      if constexpr (!kIs<B>) {
        y = f(x0);
      } else {
        const Compute<B> x1 = MixedOne<B>(p.data[1] + offset[1], p.mode[1],
                                          p.element[1], p.constants.b);
        if constexpr (!kIs<C>) {
          y = f(x0, x1);
        } else {
          y = f(x0, x1,
                MixedOne<C>(p.data[2] + offset[2], p.mode[2], p.element[2],
                            p.constants.c));
        }
      }
      StoreAs<Out>(p.data[kOut] + offset[kOut], p.element[kOut], y);
    }
    return;
  }
  int32_t offset[kUnroll][kInputs<F> + 1];
  A a[kUnroll];
  [[maybe_unused]] std::conditional_t<kIs<B>, B, A> b[kUnroll];
  [[maybe_unused]] std::conditional_t<kIs<C>, C, A> c[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const uint32_t i = first + u * kThreads;
    const bool wanted = i < p.count;
#pragma unroll
    for (int k = 0; k <= kInputs<F>; ++k) offset[u][k] = 0;
    Offsets(p, i, 0, offset[u]);
    LoadOne(wanted, p.mode[0], p.data[0] + offset[u][0], &a[u]);
    if constexpr (kIs<B>) {
      LoadOne(wanted, p.mode[1], p.data[1] + offset[u][1], &b[u]);
    }
    if constexpr (kIs<C>) {
      LoadOne(wanted, p.mode[2], p.data[2] + offset[u][2], &c[u]);
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (first + u * kThreads < p.count) {
      const Compute<A> x0 = OneOf(a[u], p.mode[0], p.constants.a);
      Compute<Out> y;
      if constexpr (!kIs<B>) {
        y = f(x0);
      } else {
        const Compute<B> x1 = OneOf(b[u], p.mode[1], p.constants.b);
        if constexpr (!kIs<C>) {
          y = f(x0, x1);
        } else {
          y = f(x0, x1, OneOf(c[u], p.mode[2], p.constants.c));
        }
      }
      *reinterpret_cast<Out*>(p.data[kOut] + offset[u][kOut]) =
          FromCompute<Out>(y);
    }
  }
}

// ---- Host ----

inline uint32_t CeilDiv(int64_t n, int64_t d) {
  return static_cast<uint32_t>((n + d - 1) / d);
}

template <typename F>
Constants<F> ConstantsOf(const ElementwiseCall& call) {
  Constants<F> k{};
  k.a = NumberAs<typename F::A>(call.in[0].constant);
  if constexpr (kIs<typename F::B>) {
    k.b = NumberAs<typename F::B>(call.in[1].constant);
  }
  if constexpr (kIs<typename F::C>) {
    k.c = NumberAs<typename F::C>(call.in[2].constant);
  }
  return k;
}

// Sizes of the operands' elements; the output is the last.
template <typename F>
constexpr int ElementBytes(int operand) {
  if (operand == kInputs<F>) return sizeof(typename F::Out);
  return operand == 0   ? SizeOf<typename F::A>()
         : operand == 1 ? SizeOf<typename F::B>()
                        : SizeOf<typename F::C>();
}

template <typename F>
const ElementwiseOperand& OperandOf(const ElementwiseCall& call, int operand) {
  return operand == kInputs<F> ? call.out : call.in[operand];
}

// Returns false if the call is not one for the linear kernel.
template <typename F>
bool TryLinear(const F& f, const ElementwiseCall& call, cudaStream_t stream) {
  using Out = typename F::Out;
  constexpr int kVec = VecOf<F>();
  if (call.dims > 1) return false;
  const auto stride = [&](const ElementwiseOperand& x) -> int64_t {
    return call.dims == 0 ? 0 : x.strides[0];
  };
  if (call.numel > 1 && stride(call.out) != static_cast<int64_t>(sizeof(Out))) {
    return false;
  }
  if (!IsAligned(call.out.data, kVec * sizeof(Out))) return false;
  LinearArguments<F> p;
  p.constants = ConstantsOf<F>(call);
  for (int k = 0; k < kInputs<F>; ++k) {
    const ElementwiseOperand& x = call.in[k];
    const int bytes = ElementBytes<F>(k);
    if (x.data == nullptr) {
      p.in[k].mode = kConstant;
    } else if (call.numel == 1 || stride(x) == bytes) {
      if (!IsAligned(x.data, kVec * bytes)) return false;
      p.in[k].mode = kVector;
    } else if (stride(x) == 0 && kInputs<F> > 1) {
      p.in[k].mode = kBroadcast;
    } else {
      return false;
    }
  }
  // In pieces that 32-bit indices reach.
  constexpr int64_t kPiece = int64_t{1} << 30;
  for (int64_t begin = 0; begin < call.numel; begin += kPiece) {
    p.numel = std::min(kPiece, call.numel - begin);
    p.vectors = static_cast<uint32_t>(p.numel / kVec);
    p.out = static_cast<Out*>(call.out.data) + begin;
    for (int k = 0; k < kInputs<F>; ++k) {
      const int64_t skip =
          p.in[k].mode == kVector ? begin * ElementBytes<F>(k) : 0;
      p.in[k].data = static_cast<const char*>(call.in[k].data) + skip;
    }
    const uint32_t blocks = CeilDiv(p.vectors + p.numel % kVec, kThreads);
    LinearKernel<F, kVec><<<blocks, kThreads, 0, stream>>>(f, p);
  }
  return true;
}

template <typename F>
void FillStrided(const ElementwiseCall& call, StridedArguments<F>* p) {
  p->mixed = call.mixed;
  p->constants = ConstantsOf<F>(call);
  p->dims = call.dims;
  for (int k = 0; k <= kInputs<F>; ++k) {
    const ElementwiseOperand& x = OperandOf<F>(call, k);
    p->data[k] = static_cast<char*>(x.data);
    p->mode[k] = x.data == nullptr ? kConstant : kBroadcast;
    p->element[k] = x.element;
    for (int d = 0; d < call.dims; ++d) {
      p->strides[d][k] =
          x.data == nullptr ? 0 : static_cast<int32_t>(x.strides[d]);
    }
  }
  for (int d = 0; d < call.dims; ++d) {
    p->sizes[d] = FastDivide(static_cast<uint32_t>(call.sizes[d]));
  }
}

// Whether vectors of `bytes` can be read all along the operand, whose own
// dimension is `own`.
inline bool VectorsFit(const ElementwiseOperand& x, int own, int dims,
                       int bytes) {
  if (!IsAligned(x.data, bytes)) return false;
  for (int d = 0; d < dims; ++d) {
    if (d != own && x.strides[d] % bytes != 0) return false;
  }
  return true;
}

template <typename F>
bool TryRows(const F& f, const ElementwiseCall& call, cudaStream_t stream) {
  constexpr int kVec = VecOf<F>();
  if (call.dims == 0 || call.sizes[0] % kVec != 0) return false;
  for (int k = 0; k <= kInputs<F>; ++k) {
    const ElementwiseOperand& x = OperandOf<F>(call, k);
    const int bytes = ElementBytes<F>(k);
    if (x.data == nullptr) continue;
    if (x.strides[0] == 0 && k < kInputs<F>) continue;
    if (x.strides[0] != bytes || !VectorsFit(x, 0, call.dims, kVec * bytes)) {
      return false;
    }
  }
  StridedArguments<F> p;
  FillStrided(call, &p);
  for (int k = 0; k <= kInputs<F>; ++k) {
    if (p.strides[0][k] != 0) p.mode[k] = kVector;
    p.strides[0][k] *= kVec;
  }
  p.sizes[0] = FastDivide(static_cast<uint32_t>(call.sizes[0] / kVec));
  p.count = static_cast<uint32_t>(call.numel / kVec);
  RowsKernel<F, kVec>
      <<<CeilDiv(p.count, kThreads), kThreads, 0, stream>>>(f, p);
  return true;
}

template <typename F>
bool TryTiles(const F& f, const ElementwiseCall& call, cudaStream_t stream) {
  // Squares of 8 x 8 take so many registers that few warps fit.
  constexpr int kVec = VecOf<F>() < 4 ? VecOf<F>() : 4;
  constexpr int kOut = kInputs<F>;
  if (kVec == 1 || call.dims < 2 || call.sizes[0] < kVec ||
      call.out.strides[0] != ElementBytes<F>(kOut)) {
    return false;
  }
  // The dimension that an input is contiguous along and the output is not.
  int across = 0;
  for (int k = 0; k < kInputs<F> && across == 0; ++k) {
    const ElementwiseOperand& x = call.in[k];
    if (x.data == nullptr || x.strides[0] == ElementBytes<F>(k)) continue;
    for (int d = 1; d < call.dims; ++d) {
      if (x.strides[d] == ElementBytes<F>(k) && call.sizes[d] >= kVec) {
        across = d;
        break;
      }
    }
  }
  if (across == 0) return false;
  StridedArguments<F> p;
  FillStrided(call, &p);
  for (int k = 0; k <= kInputs<F>; ++k) {
    const ElementwiseOperand& x = OperandOf<F>(call, k);
    const int bytes = ElementBytes<F>(k);
    if (x.data == nullptr) {
      p.row_strides[k] = 0;
      continue;
    }
    p.row_strides[k] = p.strides[across][k];
    int own = 0;
    if (x.strides[0] == bytes) {
      p.mode[k] = kVector;
    } else if (x.strides[across] == bytes) {
      p.mode[k] = kColumns;
      own = across;
    } else {
      return false;
    }
    p.aligned[k] = VectorsFit(x, own, call.dims, kVec * bytes);
  }
  p.columns = static_cast<int32_t>(call.sizes[0]);
  p.rows = static_cast<int32_t>(call.sizes[across]);
  const int64_t across_blocks = CeilDiv(p.rows, kTileRows * kVec);
  const int64_t along_blocks = CeilDiv(p.columns, kTileColumns * kVec);
  // Dimension 1 becomes the blocks across; the dimension that was there takes
  // the place of the other one.
  for (int k = 0; k <= kInputs<F>; ++k) {
    p.strides[across][k] = p.strides[1][k];
  }
  p.sizes[across] = p.sizes[1];
  p.sizes[0] = FastDivide(static_cast<uint32_t>(along_blocks));
  p.sizes[1] = FastDivide(static_cast<uint32_t>(across_blocks));
  const int64_t blocks = along_blocks * across_blocks *
                         (call.numel / (call.sizes[0] * call.sizes[across]));
  if (blocks > INT32_MAX) return false;
  p.count = static_cast<uint32_t>(blocks);
  TilesKernel<F, kVec><<<p.count, kTileThreads, 0, stream>>>(f, p);
  return true;
}

template <typename F>
void RunStrided(const F& f, const ElementwiseCall& call, cudaStream_t stream) {
  constexpr int kUnroll = 4;
  StridedArguments<F> p;
  FillStrided(call, &p);
  // Dense operands may be longer than 32-bit offsets reach.
  constexpr int64_t kPiece = int64_t{1} << 27;
  const int64_t piece = call.dims == 1 ? kPiece : call.numel;
  for (int64_t begin = 0; begin < call.numel; begin += piece) {
    p.count = static_cast<uint32_t>(std::min(piece, call.numel - begin));
    if (begin > 0) {
      for (int k = 0; k <= kInputs<F>; ++k) {
        const ElementwiseOperand& x = OperandOf<F>(call, k);
        if (x.data == nullptr) continue;
        p.data[k] = static_cast<char*>(x.data) + begin * x.strides[0];
      }
    }
    StridedKernel<F, kUnroll>
        <<<CeilDiv(p.count, kThreads * kUnroll), kThreads, 0, stream>>>(f, p);
  }
}

}  // namespace internal_elementwise

// f over the call's operands, whose elements are the functor's types unless
// call.mixed. Nothing is launched for no element.
template <int kShapes = kLinearOnly, typename F>
cudaError_t LaunchElementwise(const F& f, const ElementwiseCall& call,
                              cudaStream_t stream) {
  using namespace internal_elementwise;  // NOLINT: of this file
  if (call.numel == 0) return cudaSuccess;
  if (call.mixed || !TryLinear(f, call, stream)) {
    bool done = false;
    if constexpr (kShapes >= kRows) {
      if (!call.mixed) done = TryRows(f, call, stream);
    }
    if constexpr (kShapes >= kRowsAndTiles) {
      if (!call.mixed && !done) done = TryTiles(f, call, stream);
    }
    if (!done) RunStrided(f, call, stream);
  }
  return cudaGetLastError();
}

// The launch of functor template F over a set of compute types: all kernels
// that kShapes names for float32 and 16 bits, linear and strided ones for the
// others. A type outside the set is cudaErrorNotSupported.

template <template <typename> class F, int kShapes = kLinearOnly>
cudaError_t LaunchFloats(const ElementwiseCall& call, cudaStream_t stream) {
  return ForFloats(call.compute, [&](auto tag) {
    return LaunchElementwise<kShapes>(
        F<typename decltype(tag)::Type>(call.scalars), call, stream);
  });
}

template <template <typename> class F, int kShapes = kLinearOnly>
cudaError_t LaunchFloatsAndDouble(const ElementwiseCall& call,
                                  cudaStream_t stream) {
  if (call.compute == Element::kFloat64) {
    return LaunchElementwise(F<double>(call.scalars), call, stream);
  }
  return LaunchFloats<F, kShapes>(call, stream);
}

template <template <typename> class F>
cudaError_t LaunchIntegers(const ElementwiseCall& call, cudaStream_t stream) {
  return ForIntegers(call.compute, [&](auto tag) {
    return LaunchElementwise(F<typename decltype(tag)::Type>(call.scalars),
                             call, stream);
  });
}

template <template <typename> class F, int kShapes = kLinearOnly>
cudaError_t LaunchNumbers(const ElementwiseCall& call, cudaStream_t stream) {
  const cudaError_t error = LaunchFloatsAndDouble<F, kShapes>(call, stream);
  return error == cudaErrorNotSupported ? LaunchIntegers<F>(call, stream)
                                        : error;
}

// Of a functor that has a bool, too.
template <template <typename> class F>
cudaError_t LaunchBool(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchElementwise(F<bool>(call.scalars), call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_CUH_
