#include "flaggems/kernels/cuda/op_sort.h"

#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>

#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_sort_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
std::tuple<at::Tensor, at::Tensor> sort(const at::Tensor& self, int64_t dim,
                                        bool descending) {
  return sort_stable(self, false, dim, descending);
}

std::tuple<at::Tensor, at::Tensor> sort_stable(const at::Tensor& self,
                                               std::optional<bool>, int64_t dim,
                                               bool descending) {
  constexpr char kOp[] = "sort_cuda";
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const at::ScalarType dtype = self.scalar_type();
  const Element type = ElementOf(dtype, kOp);
  // Dense results in the order of self's dimensions, as aten's.
  const at::DimVector strides = self.is_non_overlapping_and_dense()
                                    ? at::DimVector(self.strides())
                                    : at::DimVector(at::infer_dense_strides(
                                          self.sizes(), self.strides()));
  at::Tensor values = EmptyStrided(self.sizes(), strides, dtype, self);
  at::Tensor indices = EmptyStrided(self.sizes(), strides, at::kLong, self);
  if (self.numel() == 0) return {std::move(values), std::move(indices)};
  const int64_t n = self.dim() == 0 ? 1 : self.size(axis);
  if (n == 1) {
    values.copy_(self);
    indices.zero_();
    return {std::move(values), std::move(indices)};
  }
  TORCH_CHECK(n < INT32_MAX, "sort: at most ", INT32_MAX - 1,
              " elements along a dimension, not ", n);
  const at::Tensor in = self.transpose(axis, -1).contiguous();
  // Rows of the results: in place where they lie side by side.
  const bool in_place = values.transpose(axis, -1).is_contiguous();
  const at::Tensor sorted = in_place ? values : Empty(in.sizes(), dtype, self);
  const at::Tensor where =
      in_place ? indices : Empty(in.sizes(), at::kLong, self);
  const DeviceStream on(self);
  const int64_t rows = in.numel() / n;
  size_t bytes = 0;
  CheckLaunch(SortScratchBytes(type, rows, n, &bytes), dtype, kOp);
  std::optional<Scratch> scratch;
  if (bytes > 0) scratch.emplace(bytes);
  CheckLaunch(
      LaunchSort(type, descending, rows, n, in.const_data_ptr(),
                 sorted.mutable_data_ptr(), where.mutable_data_ptr<int64_t>(),
                 scratch.has_value() ? scratch->data() : nullptr, bytes,
                 on.stream()),
      dtype, kOp);
  if (!in_place) {
    values.copy_(sorted.transpose(axis, -1));
    indices.copy_(where.transpose(axis, -1));
  }
  return {std::move(values), std::move(indices)};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
