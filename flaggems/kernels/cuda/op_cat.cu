#include <algorithm>
#include <cstdint>
#include <vector>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/op_cat_launch.h"
#include "flaggems/kernels/cuda/unaligned.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kThreads = 256;
// Pieces of a launch, by the kernel that takes as many: parameters up to 4 KiB
// are faster to send, and up to 32 KiB they save launches.
constexpr int kFewPieces = 12;
constexpr int kSomePieces = 80;
constexpr int kMaxPieces = 640;
// Units of a thread, whose loads are in flight together: one of 16 bytes, as
// many threads hide latency best, unless finding the piece takes longer.
template <typename Unit, int kCapacity>
constexpr int kUnrollOf = sizeof(Unit) == 16 && kCapacity == kFewPieces ? 1 : 4;
constexpr int kShiftedUnroll = 2;
// Units of a piece, so that 32 bits count them.
constexpr int64_t kMaxUnits = int64_t{1} << 30;
// A part of an input: `units` units in rows of units_per_row.
struct Piece {
  const char* data;
  char* out;  // of its first row
  int64_t row_bytes;
  FastDivide units_per_row;
  uint32_t units;
};

template <int kCapacity>
struct Pieces {
  Pieces() {}

  int64_t out_row_bytes;
  int count;
  // Side by side, in one line of a few pieces: the search waits for each.
  uint32_t first_tile[kCapacity];
  // In a union, so that those that are not used cost nothing.
  union {
    Piece piece[kCapacity];
  };
};

// The last piece that starts at or before the tile.
template <int kCapacity>
__device__ __forceinline__ int PieceOf(const Pieces<kCapacity>& pieces,
                                       uint32_t tile) {
  int low = 0;
  int high = pieces.count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (pieces.first_tile[middle] <= tile) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <typename Unit, int kCapacity>
__global__ void __launch_bounds__(kThreads)
    CatKernel(const __grid_constant__ Pieces<kCapacity> pieces) {
  constexpr int kUnroll = kUnrollOf<Unit, kCapacity>;
  const int at = PieceOf(pieces, blockIdx.x);
  const Piece& piece = pieces.piece[at];
  const uint32_t first =
      (blockIdx.x - pieces.first_tile[at]) * (kThreads * kUnroll) + threadIdx.x;
  const Unit* const from = reinterpret_cast<const Unit*>(piece.data);
  Unit values[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const uint32_t unit = first + u * kThreads;
    if (unit < piece.units) values[u] = from[unit];
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    uint32_t unit = first + u * kThreads;
    if (unit < piece.units) {
      const uint32_t column = piece.units_per_row.DivideInPlace(&unit);
      reinterpret_cast<Unit*>(piece.out + unit * pieces.out_row_bytes)[column] =
          values[u];
    }
  }
}

// A unit is an aligned 16-byte vector of the output that has something of the
// row; all addresses are multiples of a Part.
template <typename Part, int kCapacity>
__global__ void __launch_bounds__(kThreads)
    ShiftedKernel(const __grid_constant__ Pieces<kCapacity> pieces) {
  constexpr int kUnroll = kShiftedUnroll;
  const int at = PieceOf(pieces, blockIdx.x);
  const Piece& piece = pieces.piece[at];
  const uint32_t first =
      (blockIdx.x - pieces.first_tile[at]) * (kThreads * kUnroll) + threadIdx.x;
  Lines lines[kUnroll];
  char* targets[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    uint32_t row = first + u * kThreads;
    targets[u] = nullptr;
    if (row < piece.units) {
      const int64_t column = piece.units_per_row.DivideInPlace(&row);
      char* const out_row = piece.out + row * pieces.out_row_bytes;
      const char* const in_row = piece.data + row * piece.row_bytes;
      const int64_t lead =
          static_cast<int64_t>(reinterpret_cast<uintptr_t>(out_row) & 15);
      // Of the vector, relative to the row's start.
      const int64_t begin = column * 16 - lead;
      if (begin >= 0 && begin + 16 <= piece.row_bytes) {
        lines[u] = LoadLines(in_row + begin);
        targets[u] = out_row + begin;
      } else {
        CopyEdge<Part>(out_row, in_row, begin, piece.row_bytes);
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (targets[u] != nullptr) {
      *reinterpret_cast<uint4*>(targets[u]) = Joined(lines[u]);
    }
  }
}

// Collects pieces and launches when there are enough.
class Batch {
 public:
  Batch(int64_t count, int64_t out_row_bytes, int unit, bool shifted,
        cudaStream_t stream)
      : out_row_bytes_(out_row_bytes),
        unit_(unit),
        shifted_(shifted),
        stream_(stream) {
    pieces_.reserve(static_cast<size_t>(std::min<int64_t>(count, kMaxPieces)));
  }

  cudaError_t Add(const char* data, int64_t row_bytes, int64_t rows,
                  char* out) {
    const int64_t per_row =
        shifted_ ? LinesOfRow(row_bytes) : row_bytes / unit_;
    if (per_row > kMaxUnits) {
      // Only part of a row fits; a multiple of 16 bytes.
      const int64_t part = kMaxUnits / 2 * (shifted_ ? 16 : unit_);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t b = 0; b < row_bytes; b += part) {
          const cudaError_t error =
              Add(data + r * row_bytes + b, std::min(part, row_bytes - b), 1,
                  out + r * out_row_bytes_ + b);
          if (error != cudaSuccess) return error;
        }
      }
      return cudaSuccess;
    }
    const int64_t rows_at_once = std::min(rows, kMaxUnits / per_row);
    for (int64_t r = 0; r < rows; r += rows_at_once) {
      const int64_t units = std::min(rows_at_once, rows - r) * per_row;
      pieces_.push_back({data + r * row_bytes, out + r * out_row_bytes_,
                         row_bytes, FastDivide(static_cast<uint32_t>(per_row)),
                         static_cast<uint32_t>(units)});
      units_ += units;
      if (pieces_.size() == kMaxPieces || units_ > kMaxLaunchUnits) {
        const cudaError_t error = Flush();
        if (error != cudaSuccess) return error;
      }
    }
    return cudaSuccess;
  }

  cudaError_t Flush() {
    if (pieces_.empty()) return cudaSuccess;
    const cudaError_t error = ForBytes(unit_, [&](auto tag) {
      using Unit = typename decltype(tag)::Type;
      if (pieces_.size() <= kFewPieces) return Launch<Unit, kFewPieces>();
      if (pieces_.size() <= kSomePieces) return Launch<Unit, kSomePieces>();
      return Launch<Unit, kMaxPieces>();
    });
    pieces_.clear();
    units_ = 0;
    return error;
  }

 private:
  // Blocks of fewest units, 256, stay below 2^31.
  static constexpr int64_t kMaxLaunchUnits = int64_t{1} << 38;

  template <typename Unit, int kCapacity>
  cudaError_t Launch() {
    Pieces<kCapacity> pieces;
    pieces.out_row_bytes = out_row_bytes_;
    pieces.count = static_cast<int>(pieces_.size());
    const uint32_t tile =
        kThreads * (shifted_ ? kShiftedUnroll : kUnrollOf<Unit, kCapacity>);
    uint32_t tiles = 0;
    for (int i = 0; i < pieces.count; ++i) {
      Piece& piece = pieces.piece[i];
      piece = pieces_[i];
      pieces.first_tile[i] = tiles;
      tiles += (piece.units - 1) / tile + 1;
    }
    if (shifted_) {
      ShiftedKernel<Unit, kCapacity><<<tiles, kThreads, 0, stream_>>>(pieces);
    } else {
      CatKernel<Unit, kCapacity><<<tiles, kThreads, 0, stream_>>>(pieces);
    }
    return cudaGetLastError();
  }

  const int64_t out_row_bytes_;
  const int unit_;
  const bool shifted_;
  const cudaStream_t stream_;
  int64_t units_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace

cudaError_t LaunchCat(const CatInput* inputs, int64_t count, int64_t rows,
                      void* out, int64_t out_row_bytes, cudaStream_t stream) {
  if (rows == 0 || count == 0) return cudaSuccess;
  // What divides everything.
  uint64_t all = reinterpret_cast<uint64_t>(out) | 16;
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    all |= reinterpret_cast<uint64_t>(inputs[i].data);
    all |= static_cast<uint64_t>(inputs[i].row_bytes);
    all |= static_cast<uint64_t>(inputs[i].out_offset);
    total += inputs[i].row_bytes;
  }
  if (rows > 1) all |= static_cast<uint64_t>(out_row_bytes);
  const int unit = static_cast<int>(all & (~all + 1));
  const bool shifted = unit < 16 && total / count >= kMinUnalignedRow;
  Batch batch(count, out_row_bytes, unit, shifted, stream);
  for (int64_t i = 0; i < count; ++i) {
    if (inputs[i].row_bytes == 0) continue;
    const cudaError_t error =
        batch.Add(static_cast<const char*>(inputs[i].data), inputs[i].row_bytes,
                  rows, static_cast<char*>(out) + inputs[i].out_offset);
    if (error != cudaSuccess) return error;
  }
  return batch.Flush();
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
