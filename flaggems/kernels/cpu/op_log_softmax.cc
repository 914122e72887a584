#include "flaggems/kernels/cpu/op_log_softmax.h"

#include "flaggems/kernels/cpu/softmax_rows.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor log_softmax(const at::Tensor& self, int64_t dim,
                       bool half_to_float) {
  return internal_softmax::Softmax(self, dim, half_to_float,
                                   /*log=*/true);
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
