// Device side of op_cat.h.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_CAT_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_CAT_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// Rows of one input, side by side in memory, and where in a row of the output
// they go.
struct CatInput {
  const void* data;
  int64_t row_bytes;
  int64_t out_offset;  // bytes from the start of the output's row
};

// out[r, out_offset : out_offset + row_bytes] = row r of each input, for
// r < rows. Rows of out are out_row_bytes long and side by side. Bytes of any
// size and alignment, 16 at a time where rows are long enough. One launch for
// every 80 inputs.
cudaError_t LaunchCat(const CatInput* inputs, int64_t count, int64_t rows,
                      void* out, int64_t out_row_bytes, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_CAT_LAUNCH_H_
