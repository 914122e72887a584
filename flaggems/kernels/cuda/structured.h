// Checks and outputs of aten's structured operators: the operator's own meta
// function decides what it refuses, and the shape, dtype and strides of the
// outputs; here they are made, or resized where the caller gave them.
//
//   NewOutputs<at::meta::structured_gather> op;
//   op.meta(self, dim, index, sparse_grad);
//   ... write op.output()
//   return op.output();

#ifndef FLAGGEMS_KERNELS_CUDA_STRUCTURED_H_
#define FLAGGEMS_KERNELS_CUDA_STRUCTURED_H_

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/native/Resize.h>

#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace flaggems {
namespace kernels {
namespace cuda {

// The functional variant: new tensors.
template <typename Meta, int kOutputs = 1>
class NewOutputs final : public Meta {
 public:
  const at::Tensor& output(int i = 0) const { return outputs_[i]; }

  const at::Tensor& maybe_get_output(int64_t i) override { return outputs_[i]; }

  void set_output_strided(int64_t i, at::IntArrayRef sizes,
                          at::IntArrayRef strides, at::TensorOptions options,
                          at::DimnameList names) override {
    set_output_raw_strided(i, sizes, strides, options, names);
  }

  void set_output_raw_strided(int64_t i, at::IntArrayRef sizes,
                              at::IntArrayRef strides,
                              at::TensorOptions options,
                              at::DimnameList names) override {
    outputs_[i] =
        at::Tensor(strides.empty() ? at::detail::empty_cuda(sizes, options)
                                   : at::detail::empty_strided_cuda(
                                         sizes, strides, options));
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
      Meta::set_output_raw_strided(i, sizes, strides, options, names);
    }
  }

 private:
  std::array<at::Tensor, kOutputs> outputs_;
};

// The in-place and the .out variant: tensors of the caller.
template <typename Meta, int kOutputs = 1>
class GivenOutputs final : public Meta {
 public:
  enum class Kind { kInPlace, kOut };

  GivenOutputs(Kind kind, std::array<at::Tensor, kOutputs> outputs)
      : kind_(kind), outputs_(std::move(outputs)) {}

  const at::Tensor& output(int i = 0) const { return outputs_[i]; }

  const at::Tensor& maybe_get_output(int64_t i) override { return outputs_[i]; }

  void set_output_strided(int64_t i, at::IntArrayRef sizes,
                          at::IntArrayRef strides, at::TensorOptions options,
                          at::DimnameList names) override {
    set_output_raw_strided(i, sizes, strides, options, names);
  }

  void set_output_raw_strided(int64_t i, at::IntArrayRef sizes,
                              at::IntArrayRef strides,
                              at::TensorOptions options,
                              at::DimnameList names) override {
    const at::Tensor& out = outputs_[i];
    const char* const what =
        kind_ == Kind::kOut ? "Expected out tensor" : "Bad in-place call: ";
    TORCH_CHECK(options.dtype() == out.dtype(), what, " to have dtype ",
                options.dtype(), ", but got ", out.dtype(), " instead");
    TORCH_CHECK(options.device() == out.device(), what, " to have device ",
                options.device(), ", but got ", out.device(), " instead");
    if (kind_ == Kind::kInPlace) {
      TORCH_CHECK(sizes == out.sizes(), what, "input tensor size ", out.sizes(),
                  " and output tensor size ", sizes, " should match");
    } else if (at::native::resize_output(out, sizes)) {
      if (!strides.empty()) {
        out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
      } else if (options.memory_format_opt().has_value()) {
        out.unsafeGetTensorImpl()->empty_tensor_restride(
            *options.memory_format_opt());
      }
    }
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
      Meta::set_output_raw_strided(i, sizes, strides, options, names);
    }
  }

 private:
  const Kind kind_;
  std::array<at::Tensor, kOutputs> outputs_;
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_STRUCTURED_H_
