// Elementwise kernels as functions of at::Tensor: what stands between aten's
// signatures and a launch function (elementwise_launch.h).
//
// TensorIterator does broadcasting, type promotion, overlap and device checks
// and the outputs' layout, so these are aten's to the letter. Where nothing of
// that is needed (contiguous tensors of one shape, dtype and device, or a CPU
// scalar among them) it is not asked: a call costs an allocation and a launch.

#ifndef FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_H_
#define FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_H_

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

#include <initializer_list>

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Throws ThrowNotImplemented's error if a tensor's dtype is one that no kernel
// here has. Undefined tensors are left out. To be called first: a call that is
// left to native aten must not have changed anything.
void CheckElements(const char* op,
                   std::initializer_list<const at::Tensor*> tensors);

// A scalar argument for a kernel; NotImplementedError for a complex one.
Number NumberOf(const at::Scalar& scalar);
// The same, refused where the type that `dtype` is computed in cannot hold it.
Number NumberOf(const at::Scalar& scalar, at::ScalarType dtype);

// One operator's kernel.
struct Elementwise {
  ElementwiseLaunch launch;
  const char* name;        // "exp_cuda", for error messages
  bool predicate = false;  // the functor yields bools
  // The functor's. In a call of bytes, the first is the inputs' that are not
  // there.
  Number scalars[kMaxElementwiseScalars] = {};
};

// How the dtypes of a call come about.
enum class Promotion {
  kCommon,      // the inputs' common dtype
  kFloat,       // that, or the default dtype for integers
  kComparison,  // compared in the common dtype, the output is bool
};

at::Tensor MapUnary(const Elementwise& op, const at::Tensor& self,
                    Promotion promotion = Promotion::kCommon);
// `out` may be self, for an operator in place.
at::Tensor& MapUnaryOut(const Elementwise& op, const at::Tensor& self,
                        at::Tensor& out,
                        Promotion promotion = Promotion::kCommon);

at::Tensor MapBinary(const Elementwise& op, const at::Tensor& self,
                     const at::Tensor& other,
                     Promotion promotion = Promotion::kCommon);
at::Tensor& MapBinaryOut(const Elementwise& op, const at::Tensor& self,
                         const at::Tensor& other, at::Tensor& out,
                         Promotion promotion = Promotion::kCommon);

// The second input is a number.
at::Tensor MapScalar(const Elementwise& op, const at::Tensor& self,
                     const at::Scalar& other,
                     Promotion promotion = Promotion::kCommon);
at::Tensor& MapScalarOut(const Elementwise& op, const at::Tensor& self,
                         const at::Scalar& other, at::Tensor& out,
                         Promotion promotion = Promotion::kCommon);

// The kernel over an iterator of one output. `compute` is the dtype that the
// functor computes in; operands of other dtypes are converted.
void RunElementwise(const Elementwise& op, at::TensorIteratorBase& iter,
                    at::ScalarType compute);

// The same for a kernel that moves elements of a size, whatever their dtype:
// the operands' dtypes must be the functor's.
void RunElementwiseOfBytes(const Elementwise& op, at::TensorIteratorBase& iter,
                           int bytes);

// The element that stands for `bytes` bytes in such a call (kUInt8, kInt16,
// kInt32, kInt64); others are ThrowNotImplemented's error.
Element ElementOfBytes(int bytes, at::ScalarType dtype, const char* op);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ELEMENTWISE_H_
