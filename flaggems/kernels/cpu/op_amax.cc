#include "flaggems/kernels/cpu/op_amax.h"

#include <ATen/Dispatch.h>
#include <ATen/WrapDimUtils.h>

#include <cstdint>

#include "flaggems/kernels/cpu/reduce.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor amax(const at::Tensor& self, at::IntArrayRef dim, bool keepdim) {
  if (self.numel() == 0) {
    TORCH_CHECK(!dim.empty(),
                "amax: a tensor without elements has a maximum only along "
                "dimensions of non-zero size; name them in dim");
    for (const int64_t d : dim) {
      TORCH_CHECK_INDEX(
          self.dim() == 0 || self.size(at::maybe_wrap_dim(d, self.dim())) != 0,
          "amax: dimension ", d, " of ", self.sizes(), " has size zero");
    }
  }
  ReduceView view = MakeReduceView(self, dim, keepdim, self.scalar_type());
  if (view.output.numel() == 0) return view.output;
  AT_DISPATCH_ALL_TYPES_AND3(
      at::kBFloat16, at::kHalf, at::kBool, self.scalar_type(), "amax_cpu", [&] {
        Reduce(Maximum<scalar_t>(), view.input.const_data_ptr<scalar_t>(),
               view.outer, view.n, view.inner,
               view.result.mutable_data_ptr<scalar_t>());
      });
  return view.Finish();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
