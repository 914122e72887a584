#include "flaggems/kernels/cuda/norm_rows.cuh"
#include "flaggems/kernels/cuda/op_layer_norm_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

using internal_norm::Kind;
using internal_norm::LaunchNorm;
using internal_norm::NormData;

cudaError_t LaunchLayerNorm(const NormShape& shape, Element element,
                            const void* in, const void* gamma, const void* beta,
                            double eps, void* out, void* mean, void* rstd,
                            void* scratch, cudaStream_t stream) {
  return ForFloatsAndDouble(element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    NormData<T, C> data;
    data.in = static_cast<const T*>(in);
    data.gamma = static_cast<const T*>(gamma);
    data.beta = static_cast<const T*>(beta);
    data.out = static_cast<T*>(out);
    data.mean = static_cast<C*>(mean);
    data.rstd = static_cast<C*>(rstd);
    data.eps = eps;
    return LaunchNorm<Kind::kLayer>(shape, data, scratch, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
