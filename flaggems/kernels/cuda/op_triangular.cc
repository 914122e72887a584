#include "flaggems/kernels/cuda/op_triangular.h"

#include <ATen/ops/tril_meta.h>
#include <ATen/ops/triu_meta.h>

#include <cstdint>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_triangular_launch.h"
#include "flaggems/kernels/cuda/structured.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

using Triu = at::meta::structured_triu;
using Tril = at::meta::structured_tril;

template <typename Meta>
constexpr bool kIsUpper = std::is_same_v<Meta, Triu>;
template <typename Meta>
constexpr const char* kName = kIsUpper<Meta> ? "triu_cuda" : "tril_cuda";

void CheckDtype(const at::Tensor& self, const char* name) {
  if (!c10::isComplexType(self.scalar_type())) {
    ElementOf(self.scalar_type(), name);
  }
}

template <typename Meta>
void Fill(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
  if (self.numel() == 0) return;
  TORCH_CHECK(self.dim() <= kMaxTriangularDims, "tensor has too many (>",
              kMaxTriangularDims, ") dims");
  const int64_t bytes = self.element_size();
  Triangular t;
  t.dims = static_cast<int>(self.dim());
  for (int i = 0; i < t.dims; ++i) {
    const int64_t d = self.dim() - 1 - i;
    t.sizes[i] = self.size(d);
    t.in_stride[i] = self.stride(d) * bytes;
    t.out_stride[i] = out.stride(d) * bytes;
  }
  t.in = self.const_data_ptr();
  t.out = out.mutable_data_ptr();
  t.upper = kIsUpper<Meta>;
  t.diagonal = diagonal;
  const DeviceStream on(self);
  CheckLaunch(LaunchTriangular(t, static_cast<int>(bytes), on.stream()),
              self.scalar_type(), kName<Meta>);
}

template <typename Meta>
at::Tensor New(const at::Tensor& self, int64_t diagonal) {
  CheckDtype(self, kName<Meta>);
  NewOutputs<Meta> op;
  op.meta(self, diagonal);
  Fill<Meta>(self, diagonal, op.output());
  return op.output();
}

template <typename Meta>
at::Tensor& InPlace(at::Tensor& self, int64_t diagonal) {
  CheckDtype(self, kName<Meta>);
  GivenOutputs<Meta> op(GivenOutputs<Meta>::Kind::kInPlace, {self});
  op.meta(self, diagonal);
  Fill<Meta>(self, diagonal, self);
  return self;
}

template <typename Meta>
at::Tensor& Out(const at::Tensor& self, int64_t diagonal, at::Tensor& out) {
  CheckSameDevice(kName<Meta>, {{out, "out"}, {self, "self"}});
  CheckDtype(self, kName<Meta>);
  GivenOutputs<Meta> op(GivenOutputs<Meta>::Kind::kOut, {out});
  op.meta(self, diagonal);
  Fill<Meta>(self, diagonal, out);
  return out;
}

}  // namespace

at::Tensor triu(const at::Tensor& self, int64_t diagonal) {
  return New<Triu>(self, diagonal);
}

at::Tensor& triu_(at::Tensor& self, int64_t diagonal) {
  return InPlace<Triu>(self, diagonal);
}

at::Tensor& triu_out(const at::Tensor& self, int64_t diagonal,
                     at::Tensor& out) {
  return Out<Triu>(self, diagonal, out);
}

at::Tensor tril(const at::Tensor& self, int64_t diagonal) {
  return New<Tril>(self, diagonal);
}

at::Tensor& tril_(at::Tensor& self, int64_t diagonal) {
  return InPlace<Tril>(self, diagonal);
}

at::Tensor& tril_out(const at::Tensor& self, int64_t diagonal,
                     at::Tensor& out) {
  return Out<Tril>(self, diagonal, out);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
