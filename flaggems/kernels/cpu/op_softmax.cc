#include "flaggems/kernels/cpu/op_softmax.h"

#include "flaggems/kernels/cpu/softmax_rows.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor softmax(const at::Tensor& self, int64_t dim, bool half_to_float) {
  return internal_softmax::Softmax(self, dim, half_to_float,
                                   /*log=*/false);
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
