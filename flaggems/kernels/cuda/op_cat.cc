#include "flaggems/kernels/cuda/op_cat.h"

#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/cat_meta.h>
#include <c10/util/SmallVector.h>

#include <cstdint>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_cat_launch.h"
#include "flaggems/kernels/cuda/structured.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

using Meta = at::meta::structured_cat;

// aten ignores empty vectors, whatever the shape of the others.
bool IsSkipped(const at::Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

// Whether dimension d lies outside `axis` in memory.
bool IsOuter(int64_t d, int64_t axis, at::MemoryFormat format) {
  if (format == at::MemoryFormat::Contiguous) return d < axis;
  // Channels last: 0, 2, 3, (4,) 1.
  if (axis == 1) return d != 1;
  return d != 1 && d < axis;
}

void CheckDevices(const at::ITensorListRef& tensors, const at::Tensor* out) {
  std::optional<at::Device> common;
  if (out != nullptr) {
    c10::impl::check_and_update_common_device(common, *out, "cat", "out");
  }
  c10::impl::check_and_update_common_device(common, tensors, "cat", "tensors");
}

void Cat(const at::ITensorListRef& tensors, const Meta::meta_return_ty& meta,
         const at::Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t axis = meta.dim;
  const at::MemoryFormat format = meta.memory_format;
  const bool is_dense = out.is_contiguous(format);
  int64_t rows = 1;
  for (int64_t d = 0; d < out.dim(); ++d) {
    if (IsOuter(d, axis, format)) rows *= out.size(d);
  }
  const int64_t out_row_bytes = out.numel() / rows * out.element_size();
  const int64_t slice_bytes = out_row_bytes / out.size(axis);
  const DeviceStream on(out);
  c10::SmallVector<CatInput, 32> inputs;
  int64_t start = 0;
  for (const at::Tensor& t : tensors) {
    if (IsSkipped(t)) continue;
    const int64_t size = t.size(axis);
    if (t.numel() == 0) continue;
    if (is_dense && t.scalar_type() == out.scalar_type() &&
        t.is_contiguous(format)) {
      inputs.push_back(
          {t.const_data_ptr(), size * slice_bytes, start * slice_bytes});
    } else {
      out.narrow(axis, start, size).copy_(t);
    }
    start += size;
  }
  CheckLaunch(
      LaunchCat(inputs.data(), static_cast<int64_t>(inputs.size()), rows,
                out.mutable_data_ptr(), out_row_bytes, on.stream()),
      out.scalar_type(), "cat_cuda");
}

}  // namespace

at::Tensor cat(const at::ITensorListRef& tensors, int64_t dim) {
  CheckDevices(tensors, nullptr);
  NewOutputs<Meta> op;
  const Meta::meta_return_ty meta = op.meta(tensors, dim);
  Cat(tensors, meta, op.output());
  return op.output();
}

at::Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dim,
                    at::Tensor& out) {
  CheckDevices(tensors, &out);
  GivenOutputs<Meta> op(GivenOutputs<Meta>::Kind::kOut, {out});
  const Meta::meta_return_ty meta = op.meta(tensors, dim);
  Cat(tensors, meta, out);
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
