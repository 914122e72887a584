#include "flaggems/kernels/cuda/op_index_add.h"

#include <ATen/Context.h>
#include <ATen/ops/index_add_meta.h>

#include <cstdint>

#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/sorted_add.h"
#include "flaggems/kernels/cuda/structured.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

using Meta = at::meta::structured_index_add;

constexpr const char* kOp = "index_add_cuda";

// Elements of a slice from which on sorting the indices is faster than atomic
// additions.
constexpr int64_t kMinSorted = 16;

// out, contiguous, is (before, slices, inner); source has `index` in place of
// `slices`.
void AddInOrder(const at::Tensor& out, int64_t axis, const at::Tensor& index,
                const at::Tensor& source) {
  const at::Tensor values = source.contiguous();
  const at::Tensor indices = index.contiguous();
  SortedAdd add;
  add.element = ElementOf(out.scalar_type(), kOp);
  add.count = index.numel();
  add.limit = static_cast<uint64_t>(out.dim() == 0 ? 1 : out.size(axis));
  add.before = add.inner = 1;
  for (int64_t d = 0; d < out.dim(); ++d) {
    if (d < axis) add.before *= out.size(d);
    if (d > axis) add.inner *= out.size(d);
  }
  add.before_stride = static_cast<int64_t>(add.limit) * add.inner;
  add.values = values.const_data_ptr();
  add.out = out.mutable_data_ptr();
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
  keys.index_stride[0] = indices.element_size();
  keys.indices = 1;
  keys.index[0] = {indices.const_data_ptr(), static_cast<int64_t>(add.limit),
                   1};
  keys.int32_indices = indices.scalar_type() == at::kInt;
  CheckLaunch(
      LaunchIndexKeys(keys,
                      {memory + layout.keys,
                       reinterpret_cast<uint32_t*>(memory + layout.ordinals),
                       add.limit, 0, false, layout.wide},
                      on.stream()),
      out.scalar_type(), kOp);
  CheckLaunch(LaunchSortedAdd(add, bytes, memory, on.stream()),
              out.scalar_type(), kOp);
}

void AddAtomically(const at::Tensor& out, int64_t axis, const at::Tensor& index,
                   const at::Tensor& source) {
  const int64_t bytes = out.element_size();
  TORCH_CHECK(out.dim() <= kMaxIndexedDims, "tensor has too many (>",
              kMaxIndexedDims, ") dims");
  Indexed indexed;
  for (int64_t d = out.dim() - 1; d >= 0; --d) {
    const int i = indexed.dims++;
    indexed.sizes[i] = d == axis ? index.numel() : out.size(d);
    indexed.to_stride[i] = d == axis ? 0 : out.stride(d) * bytes;
    indexed.from_stride[i] = source.dim() == 0 ? 0 : source.stride(d) * bytes;
    indexed.index_stride[i] = d == axis && index.dim() > 0
                                  ? index.stride(0) * index.element_size()
                                  : 0;
  }
  indexed.indices = 1;
  indexed.index[0] = {index.const_data_ptr(),
                      out.dim() == 0 ? 1 : out.size(axis),
                      out.dim() == 0 ? 0 : out.stride(axis) * bytes};
  indexed.int32_indices = index.scalar_type() == at::kInt;
  indexed.to = out.mutable_data_ptr();
  indexed.from = source.const_data_ptr();
  const DeviceStream on(out);
  CheckLaunch(
      LaunchIndexedAdd(indexed, ElementOf(out.scalar_type(), kOp), on.stream()),
      out.scalar_type(), kOp);
}

// alpha in the type of the terms, as native aten takes it: their product then
// has that type, too.
at::Scalar ScaleOf(const at::Scalar& alpha, at::ScalarType dtype) {
  if (dtype == at::kBool) return alpha.to<bool>();
  if (at::isIntegralType(dtype, /*includeBool=*/false)) {
    return alpha.to<int64_t>();
  }
  return alpha.to<double>();
}

// out already has self's values.
void Add(const at::Tensor& out, int64_t axis, const at::Tensor& index,
         const at::Tensor& source, const at::Scalar& alpha) {
  if (out.numel() == 0 || index.numel() == 0) return;
  const at::Tensor terms =
      alpha.equal(1) ? source : source.mul(ScaleOf(alpha, out.scalar_type()));
  const int64_t slice = out.numel() / (out.dim() == 0 ? 1 : out.size(axis));
  if (slice < kMinSorted && !at::globalContext().deterministicAlgorithms()) {
    return AddAtomically(out, axis, index, terms);
  }
  const at::Tensor target = out.contiguous();
  AddInOrder(target, axis, index, terms);
  if (!target.is_same(out)) out.copy_(target);
}

}  // namespace

at::Tensor index_add(const at::Tensor& self, int64_t dim,
                     const at::Tensor& index, const at::Tensor& source,
                     const at::Scalar& alpha) {
  CheckSameDevice("index_add",
                  {{self, "self"}, {index, "index"}, {source, "source"}});
  ElementOf(self.scalar_type(), kOp);
  NewOutputs<Meta> op;
  const Meta::meta_return_ty meta = op.meta(self, dim, index, source, alpha);
  op.output().copy_(self);
  Add(op.output(), meta.dim, index, source, alpha);
  return op.output();
}

at::Tensor& index_add_(at::Tensor& self, int64_t dim, const at::Tensor& index,
                       const at::Tensor& source, const at::Scalar& alpha) {
  CheckSameDevice("index_add_",
                  {{self, "self"}, {index, "index"}, {source, "source"}});
  ElementOf(self.scalar_type(), kOp);
  GivenOutputs<Meta> op(GivenOutputs<Meta>::Kind::kInPlace, {self});
  const Meta::meta_return_ty meta = op.meta(self, dim, index, source, alpha);
  Add(self, meta.dim, index, source, alpha);
  return self;
}

at::Tensor& index_add_out(const at::Tensor& self, int64_t dim,
                          const at::Tensor& index, const at::Tensor& source,
                          const at::Scalar& alpha, at::Tensor& out) {
  CheckSameDevice(
      "index_add",
      {{out, "out"}, {self, "self"}, {index, "index"}, {source, "source"}});
  ElementOf(self.scalar_type(), kOp);
  GivenOutputs<Meta> op(GivenOutputs<Meta>::Kind::kOut, {out});
  const Meta::meta_return_ty meta = op.meta(self, dim, index, source, alpha);
  if (!self.is_same(out)) out.copy_(self);
  Add(out, meta.dim, index, source, alpha);
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
