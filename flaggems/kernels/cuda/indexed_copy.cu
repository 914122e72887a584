#include <type_traits>

#include "flaggems/kernels/cuda/indexed.cuh"
#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/unaligned.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

void Collapse(Indexed* indexed) {
  int kept = 0;
  for (int d = 0; d < indexed->dims; ++d) {
    const int64_t size = indexed->sizes[d];
    if (size == 1) continue;
    if (kept > 0) {
      const int last = kept - 1;
      const int64_t inner = indexed->sizes[last];
      if (indexed->to_stride[d] == inner * indexed->to_stride[last] &&
          indexed->from_stride[d] == inner * indexed->from_stride[last] &&
          indexed->index_stride[d] == inner * indexed->index_stride[last]) {
        indexed->sizes[last] = inner * size;
        continue;
      }
    }
    indexed->sizes[kept] = size;
    indexed->to_stride[kept] = indexed->to_stride[d];
    indexed->from_stride[kept] = indexed->from_stride[d];
    indexed->index_stride[kept] = indexed->index_stride[d];
    ++kept;
  }
  indexed->dims = kept;
}

int64_t PositionsOf(const Indexed& indexed) {
  int64_t positions = 1;
  for (int d = 0; d < indexed.dims; ++d) positions *= indexed.sizes[d];
  return positions;
}

namespace {

// Positions of one thread, whose loads are in flight together.
constexpr int kUnroll = 4;
// Of so few positions a thread has one: the time of such a call is that of
// fetching the kernel's code, a quarter as long then, and more multiprocessors
// share what they wait for.
constexpr uint32_t kFewPositions = 1 << 16;
constexpr int kFewThreads = 128;

// Parameters with room for no more than what is known.
template <int kDims, int kIndices>
using CopyParams = IndexedParamsOf<kDims == 0 ? kMaxIndexedDims : kDims,
                                   kIndices == 0 ? kMaxIndexedDims : kIndices>;

// All loads of a thread from an index tensor, then all loads of elements. kDims
// and kIndices: the numbers of dimensions and index tensors, if the compiler is
// to know them, else 0.
template <typename Unit, typename Index, IndexedSide kSide, int kDims,
          int kIndices, int kPositions = kUnroll,
          int kThreads = kIndexedThreads>
__global__ void __launch_bounds__(kThreads) IndexedCopyKernel(
    const __grid_constant__ CopyParams<kDims, kIndices> params) {
  const uint32_t first = blockIdx.x * (kThreads * kPositions) + threadIdx.x;
  IndexedOffsets offsets[kPositions];
  int64_t chosen[kPositions];
#pragma unroll
  for (int u = 0; u < kPositions; ++u) {
    const uint32_t position = first + u * kThreads;
    if (position < params.positions) {
      offsets[u] = OffsetsAt<kDims>(params, position);
    }
    chosen[u] = 0;
  }
  bool valid = true;
  const int indices = kIndices > 0 ? kIndices : params.indices;
#pragma unroll 1
  for (int k = 0; k < indices; ++k) {
    const Indexed::Index& index = params.index[k];
    int64_t at[kPositions];
#pragma unroll
    for (int u = 0; u < kPositions; ++u) {
      at[u] = 0;
      if (first + u * kThreads < params.positions) {
        at[u] = *reinterpret_cast<const Index*>(
            static_cast<const char*>(index.data) + offsets[u].index);
      }
    }
#pragma unroll
    for (int u = 0; u < kPositions; ++u) {
      if (params.wraps && at[u] < 0) at[u] += index.size;
      // One comparison: negative numbers are large unsigned ones.
      valid = valid &&
              static_cast<uint64_t>(at[u]) < static_cast<uint64_t>(index.size);
      chosen[u] += at[u] * index.stride;
    }
  }
  FG_DEVICE_ASSERT((valid || first >= params.positions) &&
                   "index out of bounds");
  constexpr bool kIsTo = kSide == IndexedSide::kTo;
  Unit values[kPositions];
#pragma unroll
  for (int u = 0; u < kPositions; ++u) {
    if (first + u * kThreads < params.positions) {
      values[u] = *reinterpret_cast<const Unit*>(params.from + offsets[u].from +
                                                 (kIsTo ? 0 : chosen[u]));
    }
  }
#pragma unroll
  for (int u = 0; u < kPositions; ++u) {
    if (first + u * kThreads < params.positions) {
      *reinterpret_cast<Unit*>(params.to + offsets[u].to +
                               (kIsTo ? chosen[u] : 0)) = values[u];
    }
  }
}

// Long rows of 16-byte units: a block has a piece of one row, so one index.
constexpr int kRowThreads = 128;
constexpr int kRowUnroll = 8;
constexpr int64_t kMinLongRow = kRowThreads * kRowUnroll / 2;  // units

template <typename Index, IndexedSide kSide>
__global__ void __launch_bounds__(kRowThreads)
    LongRowsKernel(const __grid_constant__ IndexedParams params, uint32_t units,
                   FastDivide pieces) {
  uint32_t row = blockIdx.x;
  const uint32_t piece = pieces.DivideInPlace(&row);
  const IndexedOffsets offsets = OffsetsAt(params, row, 1);
  const int64_t chosen = ChosenAt<Index>(params, offsets.index);
  constexpr bool kIsTo = kSide == IndexedSide::kTo;
  const uint4* const from = reinterpret_cast<const uint4*>(
      params.from + offsets.from + (kIsTo ? 0 : chosen));
  uint4* const to =
      reinterpret_cast<uint4*>(params.to + offsets.to + (kIsTo ? chosen : 0));
  const uint32_t first = piece * (kRowThreads * kRowUnroll) + threadIdx.x;
  uint4 values[kRowUnroll];
#pragma unroll
  for (int u = 0; u < kRowUnroll; ++u) {
    const uint32_t unit = first + u * kRowThreads;
    if (unit < units) values[u] = from[unit];
  }
#pragma unroll
  for (int u = 0; u < kRowUnroll; ++u) {
    const uint32_t unit = first + u * kRowThreads;
    if (unit < units) to[unit] = values[u];
  }
}

// The same pieces of neighbouring rows, one after the other, then the next
// pieces: rows that are chosen more than once are found in the L2 cache as long
// as it holds one piece of every row. A block has one unit a thread of
// kPieceRows rows.
constexpr int kPieceRows = 2;
constexpr int64_t kMinPieceRows = 1024;
constexpr int64_t kMaxPiecesBytes = int64_t{48} << 20;

template <typename Index>
__global__ void __launch_bounds__(256)
    PiecesKernel(const __grid_constant__ IndexedParams params, uint32_t rows,
                 uint32_t units, FastDivide groups) {
  uint32_t piece = blockIdx.x;
  const uint32_t row = groups.DivideInPlace(&piece) * kPieceRows;
  const uint32_t unit = piece * blockDim.x + threadIdx.x;
  const Indexed::Index& index = params.index[0];
  IndexedOffsets offsets[kPieceRows];
  int64_t chosen[kPieceRows];
#pragma unroll
  for (int u = 0; u < kPieceRows; ++u) {
    chosen[u] = 0;
    if (row + u < rows) {
      offsets[u] = OffsetsAt(params, row + u, 1);
      chosen[u] = *reinterpret_cast<const Index*>(
          static_cast<const char*>(index.data) + offsets[u].index);
    }
  }
  bool valid = true;
#pragma unroll
  for (int u = 0; u < kPieceRows; ++u) {
    if (params.wraps && chosen[u] < 0) chosen[u] += index.size;
    valid = valid && static_cast<uint64_t>(chosen[u]) <
                         static_cast<uint64_t>(index.size);
    chosen[u] *= index.stride;
  }
  FG_DEVICE_ASSERT(valid && "index out of bounds");
  if (unit >= units) return;
  uint4 values[kPieceRows];
#pragma unroll
  for (int u = 0; u < kPieceRows; ++u) {
    if (row + u < rows) {
      values[u] = reinterpret_cast<const uint4*>(params.from + offsets[u].from +
                                                 chosen[u])[unit];
    }
  }
#pragma unroll
  for (int u = 0; u < kPieceRows; ++u) {
    if (row + u < rows) {
      // What is stored leaves the cache first.
      __stcs(reinterpret_cast<uint4*>(params.to + offsets[u].to) + unit,
             values[u]);
    }
  }
}

// Rows of any alignment, by aligned 16-byte vectors of the target. A position
// is a vector of a row, or nothing at the row's end; dimension 0 are the
// vectors, a row has row_bytes bytes, all addresses are multiples of a Part.
template <typename Part, typename Index, IndexedSide kSide>
__global__ void __launch_bounds__(kIndexedThreads)
    UnalignedRowsKernel(const __grid_constant__ IndexedParams params,
                        int64_t row_bytes) {
  const uint32_t first = blockIdx.x * (kIndexedThreads * kUnroll) + threadIdx.x;
  const char* from[kUnroll];
  char* to[kUnroll];
  int64_t begin[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    uint32_t row = first + u * kIndexedThreads;
    to[u] = nullptr;
    if (row < params.positions) {
      const int64_t column = params.dim[0].size.DivideInPlace(&row);
      const IndexedOffsets offsets = OffsetsAt(params, row, 1);
      const int64_t chosen = ChosenAt<Index>(params, offsets.index);
      const bool is_to = kSide == IndexedSide::kTo;
      from[u] = params.from + offsets.from + (is_to ? 0 : chosen);
      to[u] = params.to + offsets.to + (is_to ? chosen : 0);
      begin[u] = column * 16 -
                 static_cast<int64_t>(reinterpret_cast<uintptr_t>(to[u]) & 15);
    }
  }
  Lines lines[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (to[u] == nullptr) continue;
    if (begin[u] >= 0 && begin[u] + 16 <= row_bytes) {
      lines[u] = LoadLines(from[u] + begin[u]);
    } else {
      CopyEdge<Part>(to[u], from[u], begin[u], row_bytes);
      to[u] = nullptr;
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (to[u] != nullptr) {
      *reinterpret_cast<uint4*>(to[u] + begin[u]) = Joined(lines[u]);
    }
  }
}

// Largest power of two up to 16 that divides all strides and addresses, with
// the innermost run of `bytes` bytes taken as a whole.
int UnitOf(const Indexed& indexed, int64_t run_bytes) {
  uint64_t all = static_cast<uint64_t>(run_bytes) |
                 reinterpret_cast<uint64_t>(indexed.to) |
                 reinterpret_cast<uint64_t>(indexed.from) | 16;
  for (int d = 1; d < indexed.dims; ++d) {
    all |= static_cast<uint64_t>(indexed.to_stride[d]);
    all |= static_cast<uint64_t>(indexed.from_stride[d]);
  }
  for (int k = 0; k < indexed.indices; ++k) {
    all |= static_cast<uint64_t>(indexed.index[k].stride);
  }
  return static_cast<int>(all & (~all + 1));
}

// f(kernel tag...) for the index type and the side.
template <typename F>
cudaError_t ForIndexAndSide(bool int32_indices, IndexedSide side, F f) {
  const auto with_side = [&](auto index_tag) {
    return side == IndexedSide::kTo
               ? f(index_tag,
                   std::integral_constant<IndexedSide, IndexedSide::kTo>())
               : f(index_tag,
                   std::integral_constant<IndexedSide, IndexedSide::kFrom>());
  };
  return int32_indices ? with_side(TypeTag<int32_t>())
                       : with_side(TypeTag<int64_t>());
}

uint32_t BlocksFor(const IndexedParams& params) {
  return (params.positions - 1) / (kIndexedThreads * kUnroll) + 1;
}

cudaError_t LaunchUnits(const Indexed& units, int bytes, IndexedSide side,
                        cudaStream_t stream) {
  return ForEachPart(units, [&](const IndexedParams& params) {
    return ForBytes(bytes, [&](auto unit_tag) {
      using Unit = typename decltype(unit_tag)::Type;
      return ForIndexAndSide(
          units.int32_indices, side, [&](auto index_tag, auto side_tag) {
            using Index = typename decltype(index_tag)::Type;
            constexpr IndexedSide kSide = decltype(side_tag)::value;
            const uint32_t blocks = BlocksFor(params);
            if (params.indices != 1) {
              IndexedCopyKernel<Unit, Index, kSide, 0, 0>
                  <<<blocks, kIndexedThreads, 0, stream>>>(params);
            } else if (params.dims != 2) {
              IndexedCopyKernel<Unit, Index, kSide, 0, 1>
                  <<<blocks, kIndexedThreads, 0, stream>>>(
                      CopyParams<0, 1>(params));
            } else if (params.positions <= kFewPositions) {
              IndexedCopyKernel<Unit, Index, kSide, 2, 1, 1, kFewThreads>
                  <<<(params.positions - 1) / kFewThreads + 1, kFewThreads, 0,
                     stream>>>(CopyParams<2, 1>(params));
            } else {
              IndexedCopyKernel<Unit, Index, kSide, 2, 1>
                  <<<blocks, kIndexedThreads, 0, stream>>>(
                      CopyParams<2, 1>(params));
            }
            return cudaGetLastError();
          });
    });
  });
}

// rows: collapsed, dimension 0 a run of one index in 16-byte units; fewer than
// 2^31 positions.
cudaError_t LaunchLongRows(const Indexed& rows, IndexedSide side,
                           cudaStream_t stream) {
  const int64_t units = rows.sizes[0];
  const int64_t pieces = (units - 1) / (kRowThreads * kRowUnroll) + 1;
  const int64_t blocks = PositionsOf(rows) / units * pieces;
  return ForEachPart(rows, [&](const IndexedParams& params) {
    return ForIndexAndSide(
        rows.int32_indices, side, [&](auto index_tag, auto side_tag) {
          using Index = typename decltype(index_tag)::Type;
          LongRowsKernel<Index, decltype(side_tag)::value>
              <<<static_cast<unsigned>(blocks), kRowThreads, 0, stream>>>(
                  params, static_cast<uint32_t>(units),
                  FastDivide(static_cast<uint32_t>(pieces)));
          return cudaGetLastError();
        });
  });
}

// Threads of PiecesKernel's blocks, 0 where it is not for the rows, which are
// as for LaunchLongRows.
int PieceThreadsOf(const Indexed& rows, IndexedSide side) {
  const int64_t count = PositionsOf(rows) / rows.sizes[0];
  if (side == IndexedSide::kTo || rows.indices != 1 || count < kMinPieceRows) {
    return 0;
  }
  for (const int threads : {256, 128}) {
    if (count * threads * 16 <= kMaxPiecesBytes) return threads;
  }
  return 0;
}

cudaError_t LaunchPieces(const Indexed& rows, int threads,
                         cudaStream_t stream) {
  const int64_t units = rows.sizes[0];
  const int64_t count = PositionsOf(rows) / units;
  const int64_t groups = (count - 1) / kPieceRows + 1;
  const int64_t blocks = groups * ((units - 1) / threads + 1);
  return ForEachPart(rows, [&](const IndexedParams& params) {
    const auto kernel =
        rows.int32_indices ? PiecesKernel<int32_t> : PiecesKernel<int64_t>;
    kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
        params, static_cast<uint32_t>(count), static_cast<uint32_t>(units),
        FastDivide(static_cast<uint32_t>(groups)));
    return cudaGetLastError();
  });
}

// rows: as LaunchIndexedCopy got it, collapsed, dimension 0 a run of one index.
cudaError_t LaunchRows(const Indexed& rows, int part_bytes, int64_t row_bytes,
                       IndexedSide side, cudaStream_t stream) {
  Indexed lines = rows;
  lines.sizes[0] = LinesOfRow(row_bytes);
  return ForEachPart(
      lines,
      [&](const IndexedParams& params) {
        return ForBytes(part_bytes, [&](auto part_tag) {
          using Part = typename decltype(part_tag)::Type;
          return ForIndexAndSide(
              rows.int32_indices, side, [&](auto index_tag, auto side_tag) {
                using Index = typename decltype(index_tag)::Type;
                UnalignedRowsKernel<Part, Index, decltype(side_tag)::value>
                    <<<BlocksFor(params), kIndexedThreads, 0, stream>>>(
                        params, row_bytes);
                return cudaGetLastError();
              });
        });
      },
      /*first_cut=*/1);
}

}  // namespace

cudaError_t LaunchIndexedCopy(const Indexed& indexed, int bytes,
                              IndexedSide side, cudaStream_t stream) {
  if (PositionsOf(indexed) == 0) return cudaSuccess;
  Indexed units = indexed;
  Collapse(&units);
  if (units.dims > 0 && units.index_stride[0] == 0 &&
      units.to_stride[0] == bytes && units.from_stride[0] == bytes) {
    const int64_t run = units.sizes[0] * bytes;
    const int unit = UnitOf(units, run);
    // A long row is not split in parts, where its alignment would be lost.
    if (unit < 16 && run >= kMinUnalignedRow && run < (int64_t{1} << 31)) {
      return LaunchRows(units, unit, run, side, stream);
    }
    if (unit > bytes) {
      units.sizes[0] = run / unit;
      units.to_stride[0] = units.from_stride[0] = unit;
      bytes = unit;
    }
    if (unit == 16 && units.sizes[0] >= kMinLongRow &&
        PositionsOf(units) < (int64_t{1} << 31)) {
      const int threads = PieceThreadsOf(units, side);
      if (threads != 0) return LaunchPieces(units, threads, stream);
      return LaunchLongRows(units, side, stream);
    }
    Collapse(&units);
  }
  return LaunchUnits(units, bytes, side, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
