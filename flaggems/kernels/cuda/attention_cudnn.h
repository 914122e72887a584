// Attention by cuDNN's fused kernels, through the headers of cudnn-frontend.

#ifndef FLAGGEMS_KERNELS_CUDA_ATTENTION_CUDNN_H_
#define FLAGGEMS_KERNELS_CUDA_ATTENTION_CUDNN_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/attention.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Enqueues the attention on `stream` of the current device, if cuDNN has a
// kernel for it; false: it has not (or the build has no cuDNN), and nothing was
// done. float16 and bfloat16; lse_rows must equal queries.
//
// A problem's plan is made once (milliseconds to a second) and kept. Workspace
// comes from the caching allocator. Throws where it gets none, naming op.
// Thread-safe; launches of one device take turns.
bool EnqueueCudnnAttention(const Attention& attention, cudaStream_t stream,
                           const char* op);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ATTENTION_CUDNN_H_
