#include "flaggems/kernels/cuda/op_embedding_backward.h"

#include <ATen/cuda/EmptyTensor.h>
#include <c10/cuda/CUDAException.h>

#include <cstdint>

#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/sorted_add.h"

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor embedding_dense_backward(const at::Tensor& grad_output,
                                    const at::Tensor& indices,
                                    int64_t num_weights, int64_t padding_idx,
                                    bool scale_grad_by_freq) {
  constexpr const char* kOp = "embedding_backward_cuda";
  CheckSameDevice("embedding_dense_backward",
                  {{grad_output, "grad_output"}, {indices, "indices"}});
  TORCH_CHECK(
      indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
      "embedding_backward: indices must be int32 or int64, not ",
      indices.scalar_type());
  const Element element = ElementOf(grad_output.scalar_type(), kOp);
  if (!at::isFloatingType(grad_output.scalar_type())) {
    ThrowNotImplemented(grad_output.scalar_type(), kOp);
  }
  const int64_t count = indices.numel();
  const int64_t columns = grad_output.size(-1);
  const at::Tensor grad = grad_output.contiguous().view({count, columns});
  const at::Tensor index = indices.contiguous();
  const at::Tensor result(
      at::detail::empty_cuda({num_weights, columns}, grad_output.options()));
  if (result.numel() == 0) return result;
  const DeviceStream on(grad);
  C10_CUDA_CHECK(cudaMemsetAsync(result.mutable_data_ptr(), 0, result.nbytes(),
                                 on.stream()));
  if (count == 0) return result;
  SortedAdd add;
  add.element = element;
  add.count = count;
  add.limit = static_cast<uint64_t>(num_weights);
  add.before = 1;
  add.inner = columns;
  add.before_stride = 0;
  add.values = grad.const_data_ptr();
  add.out = result.mutable_data_ptr();
  add.overwrite = true;
  add.mean = scale_grad_by_freq;
  const int bytes = static_cast<int>(grad.element_size());
  const SortedAddScratch layout = SortedAddScratchOf(add, bytes);
  const Scratch scratch(layout.bytes);
  char* const memory = static_cast<char*>(scratch.data());
  Indexed keys;
  keys.dims = 1;
  keys.sizes[0] = count;
  keys.to_stride[0] = keys.from_stride[0] = 0;
  keys.index_stride[0] = index.element_size();
  keys.indices = 1;
  keys.index[0] = {index.const_data_ptr(), num_weights, 1};
  keys.int32_indices = index.scalar_type() == at::kInt;
  CheckLaunch(
      LaunchIndexKeys(keys,
                      {memory + layout.keys,
                       reinterpret_cast<uint32_t*>(memory + layout.ordinals),
                       add.limit, padding_idx, true, layout.wide},
                      on.stream()),
      grad.scalar_type(), kOp);
  CheckLaunch(LaunchSortedAdd(add, bytes, memory, on.stream()),
              grad.scalar_type(), kOp);
  return result;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
