#include "flaggems/kernels/cuda/norm_rows.cuh"
#include "flaggems/kernels/cuda/op_group_norm_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

using internal_norm::Kind;
using internal_norm::LaunchNorm;
using internal_norm::NormData;

cudaError_t LaunchGroupNorm(const NormShape& shape, int64_t groups,
                            int64_t channels, int64_t channel_size,
                            Element element, const void* in, const void* gamma,
                            const void* beta, double eps, void* out, void* mean,
                            void* rstd, void* scratch, cudaStream_t stream) {
  return ForFloatsAndDouble(element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    NormData<T, T> data;
    data.in = static_cast<const T*>(in);
    data.gamma = static_cast<const T*>(gamma);
    data.beta = static_cast<const T*>(beta);
    data.out = static_cast<T*>(out);
    data.mean = static_cast<T*>(mean);
    data.rstd = static_cast<T*>(rstd);
    data.eps = eps;
    data.channels.channel_size = channel_size;
    data.channels.channels = channels;
    data.channels.groups = groups;
    data.channels.is_fast = shape.n < (int64_t{1} << 31);
    if (data.channels.is_fast) {
      data.channels.fast = FastDivide(static_cast<uint32_t>(channel_size));
    }
    data.channels.whole_vectors =
        channel_size % kVecWidth<T> == 0 && IsAligned(in, 16);
    return LaunchNorm<Kind::kGroup>(shape, data, scratch, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
