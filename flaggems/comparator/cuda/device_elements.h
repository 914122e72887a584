#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_ELEMENTS_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_ELEMENTS_H_

// What a thread of a device reads: pairs of elements of two arrays, `kRun`
// neighbours from a position on. Read() returns bits of which one is set if one
// of got's is not 0 or -0.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flaggems/comparator/cuda/strided_layout.h"
#include "flaggems/comparator/element.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

// Read at once.
template <typename T, int kRun>
struct alignas(kRun * sizeof(T)) Run {
  T x[kRun];
};

// What the type of got, as far as the compiler knows it, says of a first look.
enum class OutputKind {
  kAny,
  kNarrow,  // fewer exponents than float64
  kWide,    // float64: many errors are the same number of spacings
};

// Contiguous, of a type known to the compiler, aligned to runs. A run of two is
// 16 bytes of want a thread, neighbouring threads next to each other; longer
// ones would leave gaps between what neighbours read at a time.
template <DType kGot>
struct AlignedRuns {
  static constexpr int kRun = 2;
  static constexpr OutputKind kOutput =
      kGot == DType::kFloat64 ? OutputKind::kWide : OutputKind::kNarrow;
  using Value = double;
  using GotRun = Run<StoredOf<kGot>, kRun>;
  using WantRun = Run<double, kRun>;

  const StoredOf<kGot>* got;
  const double* want;

  FG_HOST_DEVICE uint32_t Read(int64_t position, double* g, double* w) const {
    return Unpack(*reinterpret_cast<const GotRun*>(got + position),
                  *reinterpret_cast<const WantRun*>(want + position), g, w);
  }
  FG_HOST_DEVICE void ReadOne(int64_t position, double* g, double* w) const {
    *g = Element<kGot>::Load(got[position]);
    *w = want[position];
  }

  // As Read(), of runs that somebody has read.
  FG_HOST_DEVICE static uint32_t Unpack(const GotRun& got_run,
                                        const WantRun& want_run, double* g,
                                        double* w) {
    for (int i = 0; i < kRun; ++i) {
      g[i] = Element<kGot>::Load(got_run.x[i]);
      w[i] = want_run.x[i];
    }
    return NonzeroBits(got_run);
  }

 private:
  // All but the signs.
  FG_HOST_DEVICE static uint32_t NonzeroBits(const GotRun& run) {
    uint32_t words[sizeof(run) / sizeof(uint32_t)];
    std::memcpy(words, &run, sizeof(run));
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof(run) / sizeof(uint32_t); ++i) {
      const bool has_sign = sizeof(StoredOf<kGot>) < 8 || i % 2 == 1;
      const uint32_t signs = sizeof(StoredOf<kGot>) == 2 ? 0x80008000
                             : has_sign                  ? 0x80000000
                                                         : 0;
      bits |= words[i] & ~signs;
    }
    return bits;
  }
};

template <DType kDType>
FG_HOST_DEVICE inline ValueOf<kDType> LoadAt(const void* data, int64_t i) {
  return Element<kDType>::Load(static_cast<const StoredOf<kDType>*>(data)[i]);
}

// Of a real floating type.
FG_HOST_DEVICE inline double LoadReal(DType dtype, const void* data,
                                      int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
      return LoadAt<DType::kFloat16>(data, i);
    case DType::kBFloat16:
      return LoadAt<DType::kBFloat16>(data, i);
    case DType::kFloat32:
      return LoadAt<DType::kFloat32>(data, i);
    case DType::kFloat8E4M3FN:
      return LoadAt<DType::kFloat8E4M3FN>(data, i);
    case DType::kFloat8E5M2:
      return LoadAt<DType::kFloat8E5M2>(data, i);
    case DType::kFloat8E4M3FNUZ:
      return LoadAt<DType::kFloat8E4M3FNUZ>(data, i);
    case DType::kFloat8E5M2FNUZ:
      return LoadAt<DType::kFloat8E5M2FNUZ>(data, i);
    case DType::kFloat8E8M0FNU:
      return LoadAt<DType::kFloat8E8M0FNU>(data, i);
    default:
      return LoadAt<DType::kFloat64>(data, i);
  }
}

// Of bool or an integer; uint64 as the int64_t of the same bits.
FG_HOST_DEVICE inline int64_t LoadInteger(DType dtype, const void* data,
                                          int64_t i) {
  switch (dtype) {
    case DType::kBool:
      return LoadAt<DType::kBool>(data, i);
    case DType::kUInt8:
      return LoadAt<DType::kUInt8>(data, i);
    case DType::kInt8:
      return LoadAt<DType::kInt8>(data, i);
    case DType::kInt16:
      return LoadAt<DType::kInt16>(data, i);
    case DType::kInt32:
      return LoadAt<DType::kInt32>(data, i);
    case DType::kUInt16:
      return LoadAt<DType::kUInt16>(data, i);
    case DType::kUInt32:
      return LoadAt<DType::kUInt32>(data, i);
    default:
      return LoadAt<DType::kInt64>(data, i);
  }
}

// Strided, of any real floating types.
template <typename Index>
struct StridedReals {
  static constexpr int kRun = 1;
  static constexpr OutputKind kOutput = OutputKind::kAny;
  using Value = double;

  const void* got;
  const void* want;
  DType got_dtype;
  DType want_dtype;
  StridedLayout<Index> layout;

  FG_HOST_DEVICE uint32_t Read(int64_t position, double* g, double* w) const {
    int64_t got_offset, want_offset;
    layout.Offsets(position, &got_offset, &want_offset);
    *g = LoadReal(got_dtype, got, got_offset);
    *w = LoadReal(want_dtype, want, want_offset);
    return *g != 0 ? 1 : 0;
  }
  FG_HOST_DEVICE void ReadOne(int64_t position, double* g, double* w) const {
    Read(position, g, w);
  }
};

// Strided, of one integer type.
template <typename Index>
struct StridedIntegers {
  static constexpr int kRun = 1;
  static constexpr OutputKind kOutput = OutputKind::kAny;
  using Value = int64_t;

  const void* got;
  const void* want;
  DType dtype;
  StridedLayout<Index> layout;

  FG_HOST_DEVICE uint32_t Read(int64_t position, int64_t* g, int64_t* w) const {
    int64_t got_offset, want_offset;
    layout.Offsets(position, &got_offset, &want_offset);
    *g = LoadInteger(dtype, got, got_offset);
    *w = LoadInteger(dtype, want, want_offset);
    return *g != 0 ? 1 : 0;
  }
  FG_HOST_DEVICE void ReadOne(int64_t position, int64_t* g, int64_t* w) const {
    Read(position, g, w);
  }
};

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_ELEMENTS_H_
