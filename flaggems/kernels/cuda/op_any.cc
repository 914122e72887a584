#include "flaggems/kernels/cuda/op_any.h"

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_any_launch.h"
#include "flaggems/kernels/cuda/reduce_tensor.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

at::Tensor AnyOrAll(const at::Tensor& self, const DimSet& reduced, bool keepdim,
                    bool all) {
  const char* const op = all ? "and_cuda" : "or_cuda";
  const at::ScalarType dtype = self.scalar_type();
  const Element type = ElementOf(dtype, op);
  at::Tensor out = EmptyReduced(self, reduced, keepdim,
                                dtype == at::kByte ? at::kByte : at::kBool);
  if (out.numel() == 0) return out;
  const Reduction reduction(self, reduced, keepdim, out,
                            /*wide=*/true);
  if (reduction.empty()) return out.fill_(all);
  CheckLaunch(LaunchAny(reduction.plan(), type, all, reduction.in(),
                        static_cast<uint8_t*>(out.mutable_data_ptr()),
                        reduction.scratch(), reduction.stream()),
              dtype, op);
  return out;
}

at::Tensor Full(const at::Tensor& self, bool all) {
  return AnyOrAll(self, ReducedDims(self, std::nullopt), false, all);
}

at::Tensor Dim(const at::Tensor& self, int64_t dim, bool keepdim, bool all) {
  return AnyOrAll(self, ReducedDims(self, at::IntArrayRef(dim)), keepdim, all);
}

// An empty list reduces nothing.
at::Tensor Dims(const at::Tensor& self, at::OptionalIntArrayRef dim,
                bool keepdim, bool all) {
  return AnyOrAll(self, ReducedDims(self, dim, /*empty_is_none=*/true), keepdim,
                  all);
}

}  // namespace

at::Tensor any(const at::Tensor& self) { return Full(self, false); }
at::Tensor any_dim(const at::Tensor& self, int64_t dim, bool keepdim) {
  return Dim(self, dim, keepdim, false);
}
at::Tensor any_dims(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim) {
  return Dims(self, dim, keepdim, false);
}
at::Tensor all(const at::Tensor& self) { return Full(self, true); }
at::Tensor all_dim(const at::Tensor& self, int64_t dim, bool keepdim) {
  return Dim(self, dim, keepdim, true);
}
at::Tensor all_dims(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim) {
  return Dims(self, dim, keepdim, true);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
