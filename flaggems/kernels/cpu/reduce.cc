#include "flaggems/kernels/cpu/reduce.h"

#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/empty.h>

#include <bitset>
#include <numeric>

namespace flaggems {
namespace kernels {
namespace cpu {

ReduceView MakeReduceView(const at::Tensor& self, at::OptionalIntArrayRef dim,
                          bool keepdim, at::ScalarType output_dtype) {
  const int64_t rank = self.dim();
  std::bitset<at::dim_bitset_size> reduced =
      at::dim_list_to_bitset(dim.value_or(at::IntArrayRef()), rank);
  if (!dim.has_value() || dim->empty()) reduced.set();

  ReduceView view;
  at::DimVector output_sizes;
  for (int64_t d = 0; d < rank; ++d) {
    if (!reduced[d]) {
      output_sizes.push_back(self.size(d));
    } else if (keepdim) {
      output_sizes.push_back(1);
    }
  }
  view.output = at::empty(output_sizes, self.options().dtype(output_dtype));

  // Dimensions in memory order, if that makes the input dense.
  at::DimVector order(rank);
  std::iota(order.begin(), order.end(), 0);
  view.input = self;
  if (!self.is_contiguous()) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return self.stride(a) > self.stride(b);
    });
    view.input = self.permute(order);
    if (!view.input.is_contiguous()) {
      std::iota(order.begin(), order.end(), 0);
      view.input = self.contiguous();
    }
  }

  // outer: kept, before the reduced ones; inner: kept, after them.
  bool split = false;
  bool seen_reduced = false;
  bool seen_inner = false;
  for (const int64_t d : order) {
    const int64_t size = self.size(d);
    if (size == 1) continue;
    if (reduced[d]) {
      split = split || seen_inner;
      seen_reduced = true;
    } else if (seen_reduced) {
      seen_inner = true;
    }
  }
  if (split) {
    std::stable_partition(order.begin(), order.end(),
                          [&](int64_t d) { return !reduced[d]; });
    view.input = self.permute(order).contiguous();
    seen_inner = false;
  }
  seen_reduced = false;
  at::DimVector kept_order;
  for (const int64_t d : order) {
    const int64_t size = self.size(d);
    if (reduced[d]) {
      view.n *= size;
      seen_reduced = seen_reduced || size != 1;
      continue;
    }
    kept_order.push_back(d);
    view.kept_sizes.push_back(size);
    (seen_reduced ? view.inner : view.outer) *= size;
  }
  view.permuted = !std::is_sorted(kept_order.begin(), kept_order.end());
  view.result = view.permuted
                    ? at::empty(view.kept_sizes, view.output.options())
                    : view.output;
  if (view.permuted) {
    view.logical_order.resize(kept_order.size());
    std::iota(view.logical_order.begin(), view.logical_order.end(), 0);
    std::sort(
        view.logical_order.begin(), view.logical_order.end(),
        [&](int64_t a, int64_t b) { return kept_order[a] < kept_order[b]; });
  }
  return view;
}

const at::Tensor& ReduceView::Finish() {
  if (permuted) {
    output.copy_(result.permute(logical_order).reshape(output.sizes()));
  }
  return output;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
