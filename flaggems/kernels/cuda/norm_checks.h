// What the .cc files of layer norm, RMS norm and group norm share.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_CHECKS_H_
#define FLAGGEMS_KERNELS_CUDA_NORM_CHECKS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/empty.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/norm_shape.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// An optional argument, undefined for none.
const at::Tensor& OrNone(const std::optional<at::Tensor>& tensor);

// Contiguous, or undefined.
at::Tensor Contiguous(const at::Tensor& tensor);

// Null for an undefined tensor.
const void* DataOf(const at::Tensor& tensor);

// Of a type that norms have; throws native's error for others.
Element NormElement(at::ScalarType dtype, const char* op);

// Native's error unless `tensor` is undefined or of the dtype.
void CheckDtype(const at::Tensor& tensor, at::ScalarType dtype);

// The dtype of float16's and bfloat16's statistics is float.
at::ScalarType StatisticsDtype(at::ScalarType dtype);

// Contiguous, of like's sizes and dtype, on its device.
at::Tensor EmptyLike(const at::Tensor& like);

// The device has to be the current one.
NormShape ShapeOf(int64_t rows, int64_t n);

// Scratch of NormScratchBytes, if any.
class NormScratch {
 public:
  explicit NormScratch(const NormShape& shape) {
    if (const size_t bytes = NormScratchBytes(shape); bytes > 0) {
      scratch_.emplace(bytes);
    }
  }
  void* data() const {
    return scratch_.has_value() ? scratch_->data() : nullptr;
  }

 private:
  std::optional<Scratch> scratch_;
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_CHECKS_H_
