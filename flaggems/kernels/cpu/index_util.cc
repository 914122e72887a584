#include "flaggems/kernels/cpu/index_util.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

// The size as a constant lets the compiler copy with one or two moves.
template <int64_t kBytes, typename Index>
void CopyFixed(const char* in, const Index* index, int64_t begin, int64_t end,
               char* out) {
  for (int64_t i = begin; i < end; ++i) {
    std::memcpy(out + i * kBytes, in + index[i] * kBytes, kBytes);
  }
}

template <typename Index>
void CopyRange(const char* in, int64_t bytes, const Index* index, int64_t begin,
               int64_t end, char* out) {
  switch (bytes) {
    case 1:
      return CopyFixed<1>(in, index, begin, end, out);
    case 2:
      return CopyFixed<2>(in, index, begin, end, out);
    case 4:
      return CopyFixed<4>(in, index, begin, end, out);
    case 8:
      return CopyFixed<8>(in, index, begin, end, out);
    case 16:
      return CopyFixed<16>(in, index, begin, end, out);
    default:
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(out + i * bytes, in + index[i] * bytes, bytes);
      }
  }
}

}  // namespace

void CopySlices(const char* in, int64_t outer, int64_t slices, int64_t bytes,
                const at::Tensor& index, char* out) {
  const int64_t count = index.numel();
  AT_DISPATCH_INDEX_TYPES(index.scalar_type(), "copy_slices_cpu", [&] {
    const index_t* const indices = index.const_data_ptr<index_t>();
    for (int64_t i = 0; i < count; ++i) {
      TORCH_CHECK_INDEX(indices[i] >= 0 && indices[i] < slices,
                        "index out of range in self: ", indices[i],
                        " is not in [0, ", slices, ")");
    }
    if (outer == 0 || bytes == 0) return;
    const int64_t grain = std::max<int64_t>(1, 131072 / bytes);
    at::parallel_for(0, outer * count, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t o = begin / count;
        const int64_t stop = std::min(end, (o + 1) * count);
        CopyRange(in + o * slices * bytes, bytes, indices, begin - o * count,
                  stop - o * count, out + o * count * bytes);
        begin = stop;
      }
    });
  });
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
