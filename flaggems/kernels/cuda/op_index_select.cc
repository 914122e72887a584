#include "flaggems/kernels/cuda/op_index_select.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/native/Resize.h>

#include <cstdint>

#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// out[..., i, ...] = self[..., index[i], ...]; index and out have any strides.
void Select(const at::Tensor& self, int64_t axis, const at::Tensor& index,
            const at::Tensor& out) {
  const int64_t bytes = self.element_size();
  const int64_t rank = self.dim();
  TORCH_CHECK(rank <= kMaxIndexedDims, "tensor has too many (>",
              kMaxIndexedDims, ") dims");
  Indexed indexed;
  for (int64_t d = rank - 1; d >= 0; --d) {
    const int i = indexed.dims++;
    indexed.sizes[i] = out.size(d);
    indexed.to_stride[i] = out.stride(d) * bytes;
    indexed.from_stride[i] = d == axis ? 0 : self.stride(d) * bytes;
    indexed.index_stride[i] = d == axis && index.dim() > 0
                                  ? index.stride(0) * index.element_size()
                                  : 0;
  }
  indexed.indices = 1;
  indexed.index[0] = {index.const_data_ptr(), rank == 0 ? 1 : self.size(axis),
                      rank == 0 ? 0 : self.stride(axis) * bytes};
  indexed.int32_indices = index.scalar_type() == at::kInt;
  indexed.to = out.mutable_data_ptr();
  indexed.from = self.const_data_ptr();
  const DeviceStream on(self);
  CheckLaunch(LaunchIndexedCopy(indexed, static_cast<int>(bytes),
                                IndexedSide::kFrom, on.stream()),
              self.scalar_type(), "index_select_cuda");
}

// Checks, and the shape of the result.
at::DimVector ShapeOf(const at::Tensor& self, int64_t axis,
                      const at::Tensor& index) {
  CheckSameDevice("index_select", {{self, "self"}, {index, "index"}});
  TORCH_CHECK(index.dim() <= 1,
              "index_select: index must be a vector, got shape ",
              index.sizes());
  TORCH_CHECK(!(self.dim() == 0 && index.numel() != 1),
              "index_select: a scalar can be selected once, not ",
              index.numel(), " times");
  // As in native aten, which has no kernel of the type; embedding checks first.
  if (index.scalar_type() != at::kLong && index.scalar_type() != at::kInt) {
    ThrowNotImplemented(index.scalar_type(), "index_select_cuda");
  }
  at::DimVector sizes(self.sizes());
  if (!sizes.empty()) sizes[axis] = index.numel();
  return sizes;
}

}  // namespace

at::Tensor index_select(const at::Tensor& self, int64_t dim,
                        const at::Tensor& index) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const at::DimVector sizes = ShapeOf(self, axis, index);
  ElementOf(self.scalar_type(), "index_select_cuda");
  at::Tensor out(at::detail::empty_cuda(sizes, self.options()));
  if (out.numel() != 0) Select(self, axis, index, out);
  return out;
}

at::Tensor& index_select_out(const at::Tensor& self, int64_t dim,
                             const at::Tensor& index, at::Tensor& out) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const at::DimVector sizes = ShapeOf(self, axis, index);
  CheckSameDevice("index_select", {{self, "self"}, {out, "out"}});
  TORCH_CHECK(out.scalar_type() == self.scalar_type(),
              "index_select: self and out must have the same dtype, got ",
              self.scalar_type(), " and ", out.scalar_type());
  ElementOf(self.scalar_type(), "index_select_out_cuda");
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, index);
  at::native::resize_output(out, sizes);
  if (out.numel() != 0) Select(self, axis, index, out);
  return out;
}

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices,
                     int64_t /*padding_idx*/, bool /*scale_grad_by_freq*/,
                     bool /*sparse*/) {
  TORCH_CHECK(weight.dim() == 2,
              "embedding: weight must have 2 dimensions, got shape ",
              weight.sizes());
  CheckSameDevice("embedding", {{weight, "weight"}, {indices, "indices"}});
  TORCH_CHECK(
      indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
      "embedding: indices must be int32 or int64, not ", indices.scalar_type());
  ElementOf(weight.scalar_type(), "embedding_cuda");
  at::DimVector sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  at::Tensor out(at::detail::empty_cuda(sizes, weight.options()));
  if (out.numel() == 0) return out;
  const at::Tensor index = indices.dim() == 1 ? indices : indices.reshape({-1});
  Select(weight, 0, index, out.dim() == 2 ? out : out.view({-1, sizes.back()}));
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
