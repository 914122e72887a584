#include "flaggems/kernels/cpu/op_cat.h"

#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

// aten ignores empty vectors, whatever the shape of the others.
bool IsSkipped(const at::Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

// The layout that all inputs suggest, contiguous if they disagree.
at::MemoryFormat CommonFormat(const std::vector<at::Tensor>& tensors) {
  const at::MemoryFormat format = tensors[0].suggest_memory_format();
  for (const at::Tensor& t : tensors) {
    if (t.suggest_memory_format() != format) {
      return at::MemoryFormat::Contiguous;
    }
  }
  return format;
}

// inputs are contiguous and of one dtype.
void CopyContiguous(const std::vector<at::Tensor>& inputs, int64_t axis,
                    const at::Tensor& out) {
  int64_t outer = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= out.size(d);
  const int64_t out_bytes = out.numel() / outer * out.element_size();
  char* const to = static_cast<char*>(out.mutable_data_ptr());
  const int64_t grain =
      std::max<int64_t>(1, 131072 / std::max<int64_t>(1, out_bytes));
  if (outer == 1) {
    // Few long runs: threads share each of them.
    int64_t offset = 0;
    for (const at::Tensor& t : inputs) {
      const char* const from = static_cast<const char*>(t.const_data_ptr());
      char* const target = to + offset;
      at::parallel_for(0, t.nbytes(), 131072, [&](int64_t begin, int64_t end) {
        std::memcpy(target + begin, from + begin, end - begin);
      });
      offset += static_cast<int64_t>(t.nbytes());
    }
    return;
  }
  at::parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      char* target = to + o * out_bytes;
      for (const at::Tensor& t : inputs) {
        const int64_t bytes = static_cast<int64_t>(t.nbytes()) / outer;
        std::memcpy(target,
                    static_cast<const char*>(t.const_data_ptr()) + o * bytes,
                    bytes);
        target += bytes;
      }
    }
  });
}

}  // namespace

at::Tensor cat(const at::ITensorListRef& tensors, int64_t dim) {
  std::vector<at::Tensor> all;
  at::native::ResultTypeState state = {};
  for (const at::Tensor& t : tensors) {
    TORCH_CHECK(t.dim() > 0, "cat: tensor number ", all.size(),
                " has no dimensions and cannot be concatenated");
    state = at::native::update_result_type_state(t, state);
    all.push_back(t);
  }
  TORCH_CHECK_VALUE(!all.empty(), "cat: the list of tensors is empty");
  const at::ScalarType dtype = at::native::result_type(state);
  std::vector<at::Tensor> used;
  for (const at::Tensor& t : all) {
    if (!IsSkipped(t)) used.push_back(t);
  }
  const at::TensorOptions options = all[0].options().dtype(dtype);
  if (used.empty()) {
    return at::empty({0}, options);
  }
  const at::Tensor& first = used[0];
  const int64_t axis = at::maybe_wrap_dim(dim, first.dim());
  at::DimVector sizes(first.sizes());
  sizes[axis] = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    const at::Tensor& t = used[i];
    TORCH_CHECK(t.dim() == first.dim(),
                "cat: tensors must have as many dimensions, got shapes ",
                first.sizes(), " and ", t.sizes());
    for (int64_t d = 0; d < first.dim(); ++d) {
      TORCH_CHECK(d == axis || t.size(d) == first.size(d), "cat: shapes ",
                  first.sizes(), " and ", t.sizes(), " differ in dimension ", d,
                  ", not only in dimension ", axis);
    }
    sizes[axis] += t.size(axis);
  }
  const at::MemoryFormat format = CommonFormat(all);
  at::Tensor out = at::empty(sizes, options.memory_format(format));
  if (out.numel() == 0) return out;
  if (format == at::MemoryFormat::Contiguous) {
    for (at::Tensor& t : used) t = t.to(dtype).contiguous();
    CopyContiguous(used, axis, out);
    return out;
  }
  int64_t start = 0;
  for (const at::Tensor& t : used) {
    out.narrow(axis, start, t.size(axis)).copy_(t);
    start += t.size(axis);
  }
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
