#include "flaggems/kernels/cuda/op_index.h"

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/IndexingUtils.h>
#include <ATen/native/TensorAdvancedIndexingUtils.h>
#include <ATen/ops/_index_put_impl_native.h>
#include <ATen/ops/index_meta.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/sorted_add.h"
#include "flaggems/kernels/cuda/structured.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

using Meta = at::meta::structured_index_Tensor;
using IndexList = c10::List<std::optional<at::Tensor>>;

// Operand 0 is the output, 1 the input, the others the indices; sizes and
// strides (in bytes) are those of the chosen dimensions.
void Copy(const at::TensorIteratorBase& iterator, at::IntArrayRef sizes,
          at::IntArrayRef strides, IndexedSide side, const char* op) {
  if (iterator.numel() == 0) return;
  TORCH_CHECK(iterator.ndim() <= kMaxIndexedDims, "tensor has too many (>",
              kMaxIndexedDims, ") dims");
  Indexed indexed;
  indexed.dims = iterator.ndim();
  indexed.indices = iterator.ntensors() - 2;
  for (int d = 0; d < indexed.dims; ++d) {
    indexed.sizes[d] = iterator.shape()[d];
    indexed.to_stride[d] = iterator.strides(0)[d];
    indexed.from_stride[d] = iterator.strides(1)[d];
    indexed.index_stride[d] = indexed.indices == 0 ? 0 : iterator.strides(2)[d];
  }
  for (int k = 0; k < indexed.indices; ++k) {
    indexed.index[k] = {iterator.data_ptr(2 + k), sizes[k], strides[k]};
  }
  indexed.wraps = true;
  indexed.to = iterator.data_ptr(0);
  indexed.from = iterator.data_ptr(1);
  const at::Tensor& out = iterator.tensor(0);
  const DeviceStream on(out);
  CheckLaunch(LaunchIndexedCopy(indexed, static_cast<int>(out.element_size()),
                                side, on.stream()),
              out.scalar_type(), op);
}

void CheckDtype(const at::Tensor& self, const char* op) {
  if (!c10::isComplexType(self.scalar_type())) {
    ElementOf(self.scalar_type(), op);
  }
}

// self with its indexed dimensions side by side.
struct Advanced {
  at::Tensor self;
  std::vector<at::Tensor> indices;  // one a dimension, undefined where none is;
                                    // int64, broadcast together
  at::DimVector before, chosen, after;  // sizes of self's dimensions
  at::DimVector chosen_strides;
  at::DimVector index_sizes;
};

// What native aten's make_info does, with its checks.
Advanced AdvancedOf(const at::Tensor& self, const IndexList& list) {
  at::native::checkIndexTensorTypes(list, /*allow_int=*/true);
  std::vector<at::Tensor> indices =
      at::native::expandTensors(self, list, /*ensure_same_device=*/true);
  try {
    indices = at::expand_outplace(indices);
  } catch (const std::exception&) {
    TORCH_CHECK_INDEX(false,
                      "shape mismatch: indexing tensors could not be broadcast "
                      "together with shapes ",
                      at::native::shapes_as_str(indices));
  }
  while (indices.size() < static_cast<size_t>(self.dim())) {
    indices.emplace_back();
  }
  Advanced result;
  result.self = self;
  if (!at::native::hasContiguousSubspace(indices)) {
    std::tie(result.self, indices) =
        at::native::transposeToFront(self, indices);
  }
  for (size_t d = 0; d < indices.size(); ++d) {
    const int64_t size = result.self.size(static_cast<int64_t>(d));
    if (indices[d].defined()) {
      indices[d] = indices[d].to(at::kLong);
      result.chosen.push_back(size);
      result.chosen_strides.push_back(
          result.self.stride(static_cast<int64_t>(d)));
      result.index_sizes = at::DimVector(indices[d].sizes());
    } else {
      (result.chosen.empty() ? result.before : result.after).push_back(size);
    }
  }
  const auto has_zero = [](const at::DimVector& sizes) {
    return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  };
  TORCH_CHECK_INDEX(!has_zero(result.chosen) || has_zero(result.index_sizes),
                    "index is out of bounds for dimension with size 0");
  // One set of strides for all of them.
  const at::Tensor* first = nullptr;
  bool alike = true;
  for (const at::Tensor& index : indices) {
    if (!index.defined()) continue;
    if (first == nullptr) first = &index;
    alike = alike && index.strides() == first->strides();
  }
  for (at::Tensor& index : indices) {
    if (index.defined() && !alike) index = index.contiguous();
  }
  result.indices = std::move(indices);
  return result;
}

at::DimVector Joined(const at::DimVector& a, const at::DimVector& b,
                     const at::DimVector& c) {
  at::DimVector all(a);
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

void CheckValues(const at::Tensor& values, const Advanced& advanced,
                 at::IntArrayRef shape) {
  TORCH_CHECK(at::is_expandable_to(values.sizes(), shape),
              "shape mismatch: value tensor of shape ", values.sizes(),
              " cannot be broadcast to indexing result of shape ", shape);
  TORCH_CHECK(values.scalar_type() == advanced.self.scalar_type(),
              "Index put requires the source and destination dtypes match, "
              "got ",
              advanced.self.scalar_type(), " for the destination and ",
              values.scalar_type(), " for the source.");
}

void Assign(const Advanced& advanced, const at::Tensor& values) {
  const at::DimVector shape =
      Joined(advanced.before, advanced.index_sizes, advanced.after);
  CheckValues(values, advanced, shape);
  // self, with a stride of 0 along the dimensions of the indices.
  at::DimVector strides;
  for (size_t d = 0; d < advanced.before.size(); ++d) {
    strides.push_back(advanced.self.stride(static_cast<int64_t>(d)));
  }
  strides.append(advanced.index_sizes.size(), 0);
  for (size_t d = advanced.before.size() + advanced.chosen.size();
       d < static_cast<size_t>(advanced.self.dim()); ++d) {
    strides.push_back(advanced.self.stride(static_cast<int64_t>(d)));
  }
  const at::Tensor target = advanced.self.as_strided(shape, strides);
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false);
  config.resize_outputs(false);
  config.check_all_same_dtype(false);
  config.add_output(target);
  config.add_input(values);
  at::DimVector index_shape(advanced.before.size(), 1);
  index_shape.append(advanced.index_sizes.begin(), advanced.index_sizes.end());
  index_shape.append(advanced.after.size(), 1);
  for (const at::Tensor& index : advanced.indices) {
    if (index.defined()) config.add_owned_input(index.reshape(index_shape));
  }
  at::TensorIterator iterator = config.build();
  at::DimVector byte_strides(advanced.chosen_strides);
  for (int64_t& stride : byte_strides) stride *= advanced.self.element_size();
  Copy(iterator, advanced.chosen, byte_strides, IndexedSide::kTo,
       "index_put_cuda");
}

void Accumulate(const Advanced& advanced, const at::Tensor& values) {
  const at::DimVector shape =
      Joined(advanced.before, advanced.index_sizes, advanced.after);
  CheckValues(values, advanced, shape);
  const at::ScalarType dtype = advanced.self.scalar_type();
  SortedAdd add;
  add.element = ElementOf(dtype, "index_put_cuda");
  add.count = c10::multiply_integers(advanced.index_sizes);
  add.limit = static_cast<uint64_t>(c10::multiply_integers(advanced.chosen));
  add.before = c10::multiply_integers(advanced.before);
  add.inner = c10::multiply_integers(advanced.after);
  add.before_stride = static_cast<int64_t>(add.limit) * add.inner;
  if (add.count == 0 || add.before * add.inner == 0) return;
  const at::Tensor target = advanced.self.contiguous();
  const at::Tensor terms = values.expand(shape).contiguous();
  add.values = terms.const_data_ptr();
  add.out = target.mutable_data_ptr();
  add.overwrite = add.mean = false;
  const int bytes = static_cast<int>(target.element_size());
  const DeviceStream on(target);
  const SortedAddScratch layout = SortedAddScratchOf(add, bytes);
  const Scratch scratch(layout.bytes);
  char* const memory = static_cast<char*>(scratch.data());
  Indexed keys;
  // Strides count slices.
  int64_t stride = 1;
  for (size_t k = advanced.chosen.size(); k-- > 0;) {
    const at::Tensor& index = advanced.indices[advanced.before.size() + k];
    keys.index[keys.indices++] = {index.const_data_ptr(), advanced.chosen[k],
                                  stride};
    stride *= advanced.chosen[k];
    keys.dims = static_cast<int>(index.dim());
    TORCH_CHECK(keys.dims <= kMaxIndexedDims, "tensor has too many (>",
                kMaxIndexedDims, ") dims");
    for (int i = 0; i < keys.dims; ++i) {
      const int64_t d = keys.dims - 1 - i;
      keys.sizes[i] = index.size(d);
      keys.index_stride[i] = index.stride(d) * index.element_size();
      keys.to_stride[i] = keys.from_stride[i] = 0;
    }
  }
  keys.wraps = true;
  CheckLaunch(
      LaunchIndexKeys(keys,
                      {memory + layout.keys,
                       reinterpret_cast<uint32_t*>(memory + layout.ordinals),
                       add.limit, 0, false, layout.wide},
                      on.stream()),
      dtype, "index_put_cuda");
  CheckLaunch(LaunchSortedAdd(add, bytes, memory, on.stream()), dtype,
              "index_put_cuda");
  if (!target.is_same(advanced.self)) advanced.self.copy_(target);
}

}  // namespace

at::Tensor index(const at::Tensor& self, const IndexList& indices) {
  CheckDtype(self, "index_cuda");
  NewOutputs<Meta> op;
  const Meta::meta_return_ty meta =
      op.meta(self, at::IOptTensorListRef(indices));
  Copy(op, meta.sizes, meta.strides, IndexedSide::kFrom, "index_cuda");
  return op.output();
}

at::Tensor& index_out(const at::Tensor& self, const IndexList& indices,
                      at::Tensor& out) {
  CheckDtype(self, "index_cuda");
  GivenOutputs<Meta> op(GivenOutputs<Meta>::Kind::kOut, {out});
  const Meta::meta_return_ty meta =
      op.meta(self, at::IOptTensorListRef(indices));
  Copy(op, meta.sizes, meta.strides, IndexedSide::kFrom, "index_cuda");
  return out;
}

at::Tensor& index_put_impl_(at::Tensor& self, const IndexList& indices,
                            const at::Tensor& values, bool accumulate,
                            bool unsafe) {
  CheckDtype(self, "index_put_cuda");
  TORCH_CHECK_INDEX(indices.size() <= static_cast<size_t>(self.dim()),
                    "too many indices for tensor of dimension ", self.dim(),
                    " (got ", indices.size(), ")");
  const bool in_order = at::globalContext().deterministicAlgorithms();
  if ((in_order && !accumulate) ||
      at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    // The last of several values for an element, and what aten only warns of.
    return at::native::_index_put_impl_(self, indices, values, accumulate,
                                        unsafe);
  }
  if (!accumulate) {
    const auto [is_mask, mask] =
        at::native::canDispatchToMaskedFill(self, indices, values);
    if (is_mask) return self.masked_fill_(mask, values.item());
  }
  at::Tensor value = values;
  if (value.device() != self.device() && value.numel() == 1 &&
      value.dim() == 0) {
    value = value.to(self.device());
  }
  TORCH_CHECK(value.device() == self.device(), "expected device ",
              self.device(), " but got device ", value.device(),
              " for value tensor");
  at::assert_no_overlap(self, values);
  for (const std::optional<at::Tensor>& index : indices) {
    if (index.has_value()) at::assert_no_overlap(self, *index);
  }
  const Advanced advanced = AdvancedOf(self, indices);
  if (accumulate) {
    Accumulate(advanced, value);
  } else {
    Assign(advanced, value);
  }
  return self;
}

at::Tensor& index_put_(at::Tensor& self, const IndexList& indices,
                       const at::Tensor& values, bool accumulate) {
  return index_put_impl_(self, indices, values, accumulate, /*unsafe=*/false);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
