#include "flaggems/kernels/cuda/op_compare.h"

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/op_compare_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

constexpr Elementwise Comparison(int truth) {
  return {LaunchCompare,
          "compare_cuda",
          /*predicate=*/true,
          {{static_cast<double>(truth), truth}}};
}

}  // namespace

#define FG_DEFINE_COMPARISON(name, truth)                                     \
  at::Tensor name(const at::Tensor& self, const at::Tensor& other) {          \
    return MapBinary(Comparison(truth), self, other, Promotion::kComparison); \
  }                                                                           \
  at::Tensor& name##_out(const at::Tensor& self, const at::Tensor& other,     \
                         at::Tensor& out) {                                   \
    return MapBinaryOut(Comparison(truth), self, other, out,                  \
                        Promotion::kComparison);                              \
  }                                                                           \
  at::Tensor& name##_(at::Tensor& self, const at::Tensor& other) {            \
    return name##_out(self, other, self);                                     \
  }                                                                           \
  at::Tensor name##_scalar(const at::Tensor& self, const at::Scalar& other) { \
    return MapScalar(Comparison(truth), self, other, Promotion::kComparison); \
  }                                                                           \
  at::Tensor& name##_scalar_out(const at::Tensor& self,                       \
                                const at::Scalar& other, at::Tensor& out) {   \
    return MapScalarOut(Comparison(truth), self, other, out,                  \
                        Promotion::kComparison);                              \
  }                                                                           \
  at::Tensor& name##_scalar_(at::Tensor& self, const at::Scalar& other) {     \
    return name##_scalar_out(self, other, self);                              \
  }

FG_DEFINE_COMPARISON(eq, kEqual)
FG_DEFINE_COMPARISON(ne, kEqual | kNegated)
FG_DEFINE_COMPARISON(lt, kLess)
FG_DEFINE_COMPARISON(le, kLess | kEqual)
FG_DEFINE_COMPARISON(gt, kGreater)
FG_DEFINE_COMPARISON(ge, kGreater | kEqual)

#undef FG_DEFINE_COMPARISON

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
