#include "flaggems/kernels/cuda/op_gather.h"

#include <ATen/Context.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/gather_meta.h>
#include <ATen/ops/scatter_add_meta.h>

#include <cstdint>

#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/sorted_add.h"
#include "flaggems/kernels/cuda/structured.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

using GatherMeta = at::meta::structured_gather;
using ScatterAddMeta = at::meta::structured_scatter_add;

int64_t StrideOf(const at::Tensor& t, int64_t d) {
  return t.dim() == 0 ? 0 : t.stride(d);
}

// A loop over index: `chosen` is the tensor whose elements along dim it
// chooses, `other` has one element for each index. Strides in bytes of
// elements; those of `other` are in to_stride, those of `chosen` in
// from_stride.
Indexed IndexedOf(const at::Tensor& chosen, int64_t dim,
                  const at::Tensor& index, const at::Tensor& other) {
  const int64_t axis = at::maybe_wrap_dim(dim, chosen.dim());
  const int64_t bytes = chosen.element_size();
  TORCH_CHECK(index.dim() <= kMaxIndexedDims, "tensor has too many (>",
              kMaxIndexedDims, ") dims");
  Indexed indexed;
  for (int64_t d = index.dim() - 1; d >= 0; --d) {
    const int i = indexed.dims++;
    indexed.sizes[i] = index.size(d);
    indexed.to_stride[i] = StrideOf(other, d) * bytes;
    indexed.from_stride[i] = d == axis ? 0 : StrideOf(chosen, d) * bytes;
    indexed.index_stride[i] = index.stride(d) * index.element_size();
  }
  indexed.indices = 1;
  indexed.index[0] = {index.const_data_ptr(),
                      chosen.dim() == 0 ? 1 : chosen.size(axis),
                      StrideOf(chosen, axis) * bytes};
  indexed.int32_indices = index.scalar_type() == at::kInt;
  return indexed;
}

void Gather(const at::Tensor& self, int64_t dim, const at::Tensor& index,
            const at::Tensor& out) {
  if (index.numel() == 0) return;
  Indexed indexed = IndexedOf(self, dim, index, out);
  indexed.to = out.mutable_data_ptr();
  indexed.from = self.const_data_ptr();
  const DeviceStream on(self);
  CheckLaunch(LaunchIndexedCopy(indexed, static_cast<int>(self.element_size()),
                                IndexedSide::kFrom, on.stream()),
              self.scalar_type(), "gather_cuda");
}

void ExchangeSides(Indexed* indexed) {
  for (int d = 0; d < indexed->dims; ++d) {
    std::swap(indexed->to_stride[d], indexed->from_stride[d]);
  }
}

// In the order of src's elements: sorts the targets' offsets.
void AddInOrder(const at::Tensor& out, int64_t dim, const at::Tensor& index,
                const at::Tensor& src) {
  const at::Tensor target = out.contiguous();
  const at::Tensor values =
      src.sizes() == index.sizes()
          ? src.contiguous()
          : src.as_strided(index.sizes(), src.strides(), src.storage_offset())
                .contiguous();
  // The offset of the target in elements: that of the chosen dimension, and one
  // more "index" of each other dimension, its position.
  const int64_t axis = at::maybe_wrap_dim(dim, out.dim());
  at::Tensor offset = index.to(at::kLong).contiguous();
  if (target.dim() > 0) {
    offset = offset.mul(target.stride(axis));
    for (int64_t d = 0; d < index.dim(); ++d) {
      if (d == axis) continue;
      at::DimVector shape(index.dim(), 1);
      shape[d] = index.size(d);
      offset = offset.add(at::arange(index.size(d), offset.options())
                              .mul_(target.stride(d))
                              .view(shape));
    }
  } else {
    offset.zero_();
  }
  SortedAdd add;
  add.element = ElementOf(out.scalar_type(), "scatter_add_cuda");
  add.count = index.numel();
  add.limit = static_cast<uint64_t>(target.numel());
  add.before = add.inner = 1;
  add.before_stride = 0;
  add.values = values.const_data_ptr();
  add.out = target.mutable_data_ptr();
  add.overwrite = add.mean = false;
  const int bytes = static_cast<int>(out.element_size());
  const DeviceStream on(out);
  const SortedAddScratch layout = SortedAddScratchOf(add, bytes);
  const Scratch scratch(layout.bytes);
  char* const memory = static_cast<char*>(scratch.data());
  Indexed keys;
  keys.dims = 1;
  keys.sizes[0] = add.count;
  keys.to_stride[0] = keys.from_stride[0] = 0;
  keys.index_stride[0] = sizeof(int64_t);
  keys.indices = 1;
  keys.index[0] = {offset.const_data_ptr(), target.numel(), 1};
  CheckLaunch(
      LaunchIndexKeys(keys,
                      {memory + layout.keys,
                       reinterpret_cast<uint32_t*>(memory + layout.ordinals),
                       add.limit, 0, false, layout.wide},
                      on.stream()),
      out.scalar_type(), "scatter_add_cuda");
  CheckLaunch(LaunchSortedAdd(add, bytes, memory, on.stream()),
              out.scalar_type(), "scatter_add_cuda");
  if (!target.is_same(out)) out.copy_(target);
}

Indexed AdditionOf(const at::Tensor& out, int64_t dim, const at::Tensor& index,
                   const at::Tensor& src) {
  Indexed indexed = IndexedOf(out, dim, index, src);
  ExchangeSides(&indexed);
  indexed.to = out.mutable_data_ptr();
  indexed.from = src.const_data_ptr();
  return indexed;
}

void AddAtomically(const at::Tensor& out, int64_t dim, const at::Tensor& index,
                   const at::Tensor& src) {
  const Indexed indexed = AdditionOf(out, dim, index, src);
  const DeviceStream on(out);
  CheckLaunch(LaunchIndexedAdd(indexed,
                               ElementOf(out.scalar_type(), "scatter_add_cuda"),
                               on.stream()),
              out.scalar_type(), "scatter_add_cuda");
}

// out already has self's values.
void ScatterAdd(const at::Tensor& out, int64_t dim, const at::Tensor& index,
                const at::Tensor& src) {
  if (index.numel() == 0) return;
  if (at::globalContext().deterministicAlgorithms()) {
    return AddInOrder(out, dim, index, src);
  }
  const bool is_short =
      out.scalar_type() == at::kHalf || out.scalar_type() == at::kBFloat16;
  if (is_short && index.numel() >= 4 * out.numel() &&
      !SumsFewTargets(AdditionOf(out, dim, index, src),
                      ElementOf(out.scalar_type(), "scatter_add_cuda"))) {
    // Many terms an element: one rounding in place of many.
    const at::Tensor sums = out.to(at::kFloat);
    AddAtomically(sums, dim, index, src.to(at::kFloat));
    out.copy_(sums);
    return;
  }
  AddAtomically(out, dim, index, src);
}

}  // namespace

at::Tensor gather(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                  bool sparse_grad) {
  CheckSameDevice("gather", {{self, "self"}, {index, "index"}});
  NewOutputs<GatherMeta> op;
  op.meta(self, dim, index, sparse_grad);
  ElementOf(self.scalar_type(), "gather_cuda");
  Gather(self, dim, index, op.output());
  return op.output();
}

at::Tensor& gather_out(const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, bool sparse_grad,
                       at::Tensor& out) {
  CheckSameDevice("gather", {{out, "out"}, {self, "self"}, {index, "index"}});
  ElementOf(self.scalar_type(), "gather_out_cuda");
  GivenOutputs<GatherMeta> op(GivenOutputs<GatherMeta>::Kind::kOut, {out});
  op.meta(self, dim, index, sparse_grad);
  Gather(self, dim, index, out);
  return out;
}

at::Tensor scatter_add(const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, const at::Tensor& src) {
  CheckSameDevice("scatter_add",
                  {{self, "self"}, {index, "index"}, {src, "src"}});
  NewOutputs<ScatterAddMeta> op;
  op.meta(self, dim, index, src);
  ElementOf(self.scalar_type(), "scatter_add_cuda");
  op.output().copy_(self);
  ScatterAdd(op.output(), dim, index, src);
  return op.output();
}

at::Tensor& scatter_add_(at::Tensor& self, int64_t dim, const at::Tensor& index,
                         const at::Tensor& src) {
  CheckSameDevice("scatter_add_",
                  {{self, "self"}, {index, "index"}, {src, "src"}});
  GivenOutputs<ScatterAddMeta> op(GivenOutputs<ScatterAddMeta>::Kind::kInPlace,
                                  {self});
  op.meta(self, dim, index, src);
  ElementOf(self.scalar_type(), "scatter_add_cuda");
  ScatterAdd(self, dim, index, src);
  return self;
}

at::Tensor& scatter_add_out(const at::Tensor& self, int64_t dim,
                            const at::Tensor& index, const at::Tensor& src,
                            at::Tensor& out) {
  CheckSameDevice(
      "scatter_add",
      {{out, "out"}, {self, "self"}, {index, "index"}, {src, "src"}});
  ElementOf(self.scalar_type(), "scatter_add_cuda");
  GivenOutputs<ScatterAddMeta> op(GivenOutputs<ScatterAddMeta>::Kind::kOut,
                                  {out});
  op.meta(self, dim, index, src);
  if (!self.is_same(out)) out.copy_(self);
  ScatterAdd(out, dim, index, src);
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
