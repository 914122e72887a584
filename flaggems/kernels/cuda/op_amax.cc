#include "flaggems/kernels/cuda/op_amax.h"

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_amax_launch.h"
#include "flaggems/kernels/cuda/reduce_tensor.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

void Fill(const at::Tensor& self, const DimSet& reduced, bool keepdim,
          bool minimum, const char* op, const at::Tensor& out) {
  if (out.numel() == 0) return;
  const Element type = ElementOf(self.scalar_type(), op);
  const Reduction reduction(self, reduced, keepdim, out, IsWideElement(type));
  CheckLaunch(LaunchExtremum(reduction.plan(), type, minimum, reduction.in(),
                             out.mutable_data_ptr(), reduction.scratch(),
                             reduction.stream()),
              self.scalar_type(), op);
}

at::Tensor Extremum(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    bool keepdim, bool minimum, const char* name,
                    const char* op) {
  CheckNotEmpty(self, dim, name);
  const DimSet reduced = ReducedDims(self, dim);
  const at::Tensor out =
      EmptyReduced(self, reduced, keepdim, self.scalar_type());
  Fill(self, reduced, keepdim, minimum, op, out);
  return out;
}

void ExtremumInto(const at::Tensor& self, at::IntArrayRef dim, bool keepdim,
                  bool minimum, const char* name, const char* op,
                  const at::Tensor& out) {
  CheckNotEmpty(self, dim, name);
  TORCH_CHECK(self.scalar_type() == out.scalar_type(),
              "Expected the dtype for input and out to match, but got ",
              self.scalar_type(), " for input's dtype and ", out.scalar_type(),
              " for out's dtype.");
  const DimSet reduced = ReducedDims(self, dim);
  PrepareReduced(self, reduced, keepdim, self.scalar_type(), out);
  Fill(self, reduced, keepdim, minimum, op, out);
}

}  // namespace

at::Tensor amax(const at::Tensor& self, at::IntArrayRef dim, bool keepdim) {
  return Extremum(self, dim, keepdim, false, "amax()", "max_values_cuda");
}

at::Tensor& amax_out(const at::Tensor& self, at::IntArrayRef dim, bool keepdim,
                     at::Tensor& out) {
  ExtremumInto(self, dim, keepdim, false, "amax()", "max_values_cuda", out);
  return out;
}

at::Tensor amin(const at::Tensor& self, at::IntArrayRef dim, bool keepdim) {
  return Extremum(self, dim, keepdim, true, "amin()", "min_values_cuda");
}

at::Tensor& amin_out(const at::Tensor& self, at::IntArrayRef dim, bool keepdim,
                     at::Tensor& out) {
  ExtremumInto(self, dim, keepdim, true, "amin()", "min_values_cuda", out);
  return out;
}

at::Tensor max(const at::Tensor& self) {
  return Extremum(self, std::nullopt, false, false, "max()", "max_all_cuda");
}

at::Tensor min(const at::Tensor& self) {
  return Extremum(self, std::nullopt, false, true, "min()", "min_all_cuda");
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
