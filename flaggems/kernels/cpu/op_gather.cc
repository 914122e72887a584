#include "flaggems/kernels/cpu/op_gather.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

void CheckShapes(const at::Tensor& self, int64_t axis,
                 const at::Tensor& index) {
  if (index.numel() == 0) return;
  const int64_t rank = std::max<int64_t>(self.dim(), 1);
  TORCH_CHECK(
      rank == std::max<int64_t>(index.dim(), 1),
      "gather: index and self must have as many dimensions, got shapes ",
      index.sizes(), " and ", self.sizes());
  for (int64_t d = 0; d < self.dim() && d < index.dim(); ++d) {
    TORCH_CHECK(d == axis || index.size(d) <= self.size(d),
                "gather: index of shape ", index.sizes(),
                " is larger than self of shape ", self.sizes(),
                " in dimension ", d);
  }
}

// Both index and out are contiguous. Positions are walked along the last
// dimension of index, whose stride in self is `last`.
template <typename T, typename Index>
void Kernel(const at::Tensor& self, int64_t axis, const at::Tensor& index,
            const at::Tensor& out) {
  const int64_t rank = index.dim();
  const int64_t length = rank == 0 ? 1 : index.size(rank - 1);
  const int64_t rows = index.numel() / length;
  const int64_t step = self.dim() == 0 ? 0 : self.stride(axis);
  const int64_t limit = self.dim() == 0 ? 1 : self.size(axis);
  const int64_t last =
      self.dim() == 0 || axis == rank - 1 ? 0 : self.stride(rank - 1);
  const T* const x = static_cast<const T*>(self.const_data_ptr());
  const Index* const indices = index.const_data_ptr<Index>();
  T* const y = static_cast<T*>(out.mutable_data_ptr());
  const int64_t grain = std::max<int64_t>(1, 16384 / length);
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      // Where the row starts in self, the gathered dimension left out.
      int64_t base = 0;
      int64_t rest = r;
      for (int64_t d = rank - 2; d >= 0; --d) {
        const int64_t position = rest % index.size(d);
        rest /= index.size(d);
        if (d != axis) base += position * self.stride(d);
      }
      const Index* const from = indices + r * length;
      T* const to = y + r * length;
      const T* const row = x + base;
      for (int64_t j = 0; j < length; ++j) {
        const int64_t i = from[j];
        TORCH_CHECK(i >= 0 && i < limit, "gather: index ", i,
                    " is out of bounds for dimension ", axis, " of size ",
                    limit);
        to[j] = row[i * step + j * last];
      }
    }
  });
}

template <typename T>
void KernelOfIndex(const at::Tensor& self, int64_t axis,
                   const at::Tensor& index, const at::Tensor& out) {
  if (index.scalar_type() == at::kInt) {
    Kernel<T, int32_t>(self, axis, index, out);
  } else {
    Kernel<T, int64_t>(self, axis, index, out);
  }
}

}  // namespace

at::Tensor gather(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                  bool /*sparse_grad*/) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  if (index.numel() != 0) {
    TORCH_CHECK(
        index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
        "gather: index must be int32 or int64, not ", index.scalar_type());
  }
  CheckShapes(self, axis, index);
  at::Tensor out = at::empty(index.sizes(), self.options());
  if (index.numel() == 0) return out;
  const at::Tensor indices = index.contiguous();
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(
      at::kBFloat16, at::kHalf, at::kBool, self.scalar_type(), "gather_cpu",
      [&] { KernelOfIndex<scalar_t>(self, axis, indices, out); });
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
