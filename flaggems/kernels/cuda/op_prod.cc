#include "flaggems/kernels/cuda/op_prod.h"

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_prod_launch.h"
#include "flaggems/kernels/cuda/reduce_tensor.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// As it is where the kernel converts on the way, which must give the same as
// converting first.
at::Tensor InputFor(const at::Tensor& self, at::ScalarType dtype) {
  const at::ScalarType from = self.scalar_type();
  if (from == dtype) return self;
  const bool integers = at::isIntegralType(from, /*includeBool=*/true) &&
                        at::isIntegralType(dtype, /*includeBool=*/false);
  const bool widened = at::isReducedFloatingType(from) && dtype == at::kFloat;
  return integers || widened ? self : self.to(dtype);
}

at::Tensor Product(const at::Tensor& self, at::OptionalIntArrayRef dim,
                   bool keepdim, std::optional<at::ScalarType> dtype) {
  constexpr char kOp[] = "prod_cuda";
  const at::ScalarType type = dtype.value_or(
      at::isIntegralType(self.scalar_type(), /*includeBool=*/true)
          ? at::kLong
          : self.scalar_type());
  const Element out_type = ElementOf(type, kOp);
  const DimSet reduced = ReducedDims(self, dim);
  const at::Tensor out = EmptyReduced(self, reduced, keepdim, type);
  if (out.numel() == 0) return out;
  const at::Tensor in = InputFor(self, type);
  const Element in_type = ElementOf(in.scalar_type(), kOp);
  const Reduction reduction(in, reduced, keepdim, out, IsWideElement(in_type));
  if (reduction.empty()) return out.fill_(1);
  CheckLaunch(LaunchProd(reduction.plan(), in_type, out_type, reduction.in(),
                         out.mutable_data_ptr(), reduction.scratch(),
                         reduction.stream()),
              in.scalar_type(), kOp);
  return out;
}

}  // namespace

at::Tensor prod(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return Product(self, std::nullopt, false, dtype);
}

at::Tensor prod_dim(const at::Tensor& self, int64_t dim, bool keepdim,
                    std::optional<at::ScalarType> dtype) {
  return Product(self, at::IntArrayRef(dim), keepdim, dtype);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
