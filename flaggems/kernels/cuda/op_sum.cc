#include "flaggems/kernels/cuda/op_sum.h"

#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include <limits>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_sum_launch.h"
#include "flaggems/kernels/cuda/reduce_tensor.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// The input of a sum in `dtype`: as it is where the kernel converts on the way,
// which must give the same as converting first.
at::Tensor InputFor(const at::Tensor& self, at::ScalarType dtype) {
  const at::ScalarType from = self.scalar_type();
  if (from == dtype) return self;
  const bool integers = at::isIntegralType(from, /*includeBool=*/true) &&
                        at::isIntegralType(dtype, /*includeBool=*/false);
  const bool widened = at::isReducedFloatingType(from) && dtype == at::kFloat;
  return integers || widened ? self : self.to(dtype);
}

int64_t CountOf(const at::Tensor& self, const DimSet& reduced) {
  int64_t count = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (reduced[d]) count *= self.size(d);
  }
  return count;
}

void Fill(const at::Tensor& self, const DimSet& reduced, bool keepdim,
          bool mean, const char* op, const at::Tensor& out) {
  if (at::isComplexType(out.scalar_type())) {
    // Two columns of real numbers.
    DimSet of_real = reduced;
    of_real[self.dim()] = false;
    // dims that name all of a set beyond the rank stand for every dimension.
    Fill(at::view_as_real(self), of_real, keepdim, mean, op,
         at::view_as_real(out));
    return;
  }
  const Element in_type = ElementOf(self.scalar_type(), op);
  const Element out_type = ElementOf(out.scalar_type(), op);
  const double divisor =
      mean ? static_cast<double>(CountOf(self, reduced)) : 1.0;
  const Reduction reduction(self, reduced, keepdim, out,
                            /*wide=*/true);
  if (reduction.empty()) {
    if (out.numel() == 0) return;
    out.fill_(mean ? std::numeric_limits<double>::quiet_NaN() : 0.0);
    return;
  }
  CheckLaunch(LaunchSum(reduction.plan(), in_type, out_type, divisor,
                        reduction.in(), out.mutable_data_ptr(),
                        reduction.scratch(), reduction.stream()),
              self.scalar_type(), op);
}

at::ScalarType SumType(const at::Tensor& self,
                       std::optional<at::ScalarType> dtype) {
  return dtype.value_or(
      at::isIntegralType(self.scalar_type(), /*includeBool=*/true)
          ? at::kLong
          : self.scalar_type());
}

at::ScalarType MeanType(const at::Tensor& self,
                        std::optional<at::ScalarType> dtype) {
  const at::ScalarType type = dtype.value_or(self.scalar_type());
  TORCH_CHECK(at::isFloatingType(type) || at::isComplexType(type),
              "mean(): could not infer output dtype. ",
              dtype.has_value() ? "Optional dtype" : "Input dtype",
              " must be either a floating point or complex dtype. Got: ", type);
  return type;
}

at::Tensor Reduce(const at::Tensor& self, at::OptionalIntArrayRef dim,
                  bool keepdim, at::ScalarType dtype, bool mean,
                  const char* op) {
  if (!at::isComplexType(dtype)) (void)ElementOf(dtype, op);
  const DimSet reduced = ReducedDims(self, dim);
  const at::Tensor out = EmptyReduced(self, reduced, keepdim, dtype);
  Fill(InputFor(self, dtype), reduced, keepdim, mean, op, out);
  return out;
}

void ReduceInto(const at::Tensor& self, at::OptionalIntArrayRef dim,
                bool keepdim, at::ScalarType dtype, bool mean, const char* op,
                const at::Tensor& out) {
  const DimSet reduced = ReducedDims(self, dim);
  PrepareReduced(self, reduced, keepdim, dtype, out);
  Fill(InputFor(self, dtype), reduced, keepdim, mean, op, out);
}

}  // namespace

at::Tensor sum(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return sum_dim(self, std::nullopt, false, dtype);
}

at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dim,
                   bool keepdim, std::optional<at::ScalarType> dtype) {
  return Reduce(self, dim, keepdim, SumType(self, dtype), false, "sum_cuda");
}

at::Tensor& sum_out(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim, std::optional<at::ScalarType> dtype,
                    at::Tensor& out) {
  ReduceInto(self, dim, keepdim, dtype.value_or(out.scalar_type()), false,
             "sum_cuda", out);
  return out;
}

at::Tensor mean(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return mean_dim(self, std::nullopt, false, dtype);
}

at::Tensor mean_dim(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim, std::optional<at::ScalarType> dtype) {
  return Reduce(self, dim, keepdim, MeanType(self, dtype), true, "mean_cuda");
}

at::Tensor& mean_out(const at::Tensor& self, at::OptionalIntArrayRef dim,
                     bool keepdim, std::optional<at::ScalarType> dtype,
                     at::Tensor& out) {
  MeanType(self, dtype);
  ReduceInto(self, dim, keepdim, dtype.value_or(out.scalar_type()), true,
             "mean_cuda", out);
  return out;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
