#include "flaggems/reference/goldens/matmul.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace flaggems {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using OptionalType = std::optional<at::ScalarType>;

Tensor Wide(const Tensor& tensor) { return tensor.to(at::kDouble); }

// ---- products of 16-bit numbers with a result of another type ----

Tensor Mm(const Tensor& self, const Tensor& mat2, at::ScalarType type) {
  return at::mm(Wide(self), Wide(mat2)).to(type);
}

Tensor Bmm(const Tensor& self, const Tensor& mat2, at::ScalarType type) {
  return at::bmm(Wide(self), Wide(mat2)).to(type);
}

Tensor Addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
             at::ScalarType type, const at::Scalar& beta,
             const at::Scalar& alpha) {
  return at::addmm(Wide(self), Wide(mat1), Wide(mat2), beta, alpha).to(type);
}

Tensor Baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
               at::ScalarType type, const at::Scalar& beta,
               const at::Scalar& alpha) {
  return at::baddbmm(Wide(self), Wide(batch1), Wide(batch2), beta, alpha)
      .to(type);
}

Tensor& Put(const Tensor& result, Tensor& out) {
  if (out.sizes() != result.sizes()) out.resize_(result.sizes());
  return out.copy_(result);
}

Tensor& MmOut(const Tensor& self, const Tensor& mat2, at::ScalarType type,
              Tensor& out) {
  return Put(Mm(self, mat2, type), out);
}

Tensor& BmmOut(const Tensor& self, const Tensor& mat2, at::ScalarType type,
               Tensor& out) {
  return Put(Bmm(self, mat2, type), out);
}

Tensor& AddmmOut(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                 at::ScalarType type, const at::Scalar& beta,
                 const at::Scalar& alpha, Tensor& out) {
  return Put(Addmm(self, mat1, mat2, type, beta, alpha), out);
}

Tensor& BaddbmmOut(const Tensor& self, const Tensor& batch1,
                   const Tensor& batch2, at::ScalarType type,
                   const at::Scalar& beta, const at::Scalar& alpha,
                   Tensor& out) {
  return Put(Baddbmm(self, batch1, batch2, type, beta, alpha), out);
}

// ---- products of 8-bit numbers with scales ----

// The sizes of blocks that share a scale: all of a side, one element, or this.
constexpr int64_t kBlock = 128;

// The scale of each element along one side: `scale` has 1, `size`, or one of
// each block of 128.
Tensor SpreadScale(const Tensor& scale, int64_t dim, int64_t size) {
  const int64_t count = scale.size(dim);
  if (count == size || count == 1) return scale;
  TORCH_CHECK(count == (size + kBlock - 1) / kBlock, count, " scales for ",
              size,
              " elements are neither one, nor one each, nor one a block "
              "of ",
              kBlock, ": their layout is not known");
  return scale.repeat_interleave(kBlock, dim).narrow(dim, 0, size);
}

Tensor Scaled(const Tensor& matrix, const Tensor& scale) {
  TORCH_CHECK(matrix.scalar_type() != at::kFloat4_e2m1fn_x2 &&
                  scale.scalar_type() != at::kFloat8_e8m0fnu &&
                  scale.scalar_type() != at::kFloat8_e4m3fn,
              "scales of blocks of 16 and 32 are in a device layout");
  const Tensor wide = Wide(scale);
  if (wide.numel() == 1) return Wide(matrix) * wide.reshape({});
  TORCH_CHECK(wide.dim() == 2, "scales of ", wide.dim(), " dimensions");
  return Wide(matrix) *
         SpreadScale(SpreadScale(wide, 0, matrix.size(0)), 1, matrix.size(1));
}

Tensor ScaledMm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                const Tensor& scale_b, const OptionalTensor& bias,
                const OptionalTensor& scale_result, OptionalType out_dtype,
                bool /*use_fast_accum*/) {
  Tensor result = at::mm(Scaled(self, scale_a), Scaled(mat2, scale_b));
  if (bias && bias->defined()) result.add_(Wide(*bias));
  if (scale_result && scale_result->defined()) {
    result.mul_(Wide(*scale_result));
  }
  return result.to(out_dtype.value_or(self.scalar_type()));
}

Tensor& ScaledMmOut(const Tensor& self, const Tensor& mat2,
                    const Tensor& scale_a, const Tensor& scale_b,
                    const OptionalTensor& bias,
                    const OptionalTensor& scale_result, OptionalType out_dtype,
                    bool use_fast_accum, Tensor& out) {
  return Put(ScaledMm(self, mat2, scale_a, scale_b, bias, scale_result,
                      out_dtype.value_or(out.scalar_type()), use_fast_accum),
             out);
}

// Values of torch.nn.functional.ScalingType and SwizzleType.
constexpr int64_t kTensorWise = 0;
constexpr int64_t kRowWise = 1;
constexpr int64_t kNoSwizzle = 0;

bool IsPlain(at::IntArrayRef recipe, at::IntArrayRef swizzle) {
  return recipe.size() == 1 &&
         (recipe[0] == kTensorWise || recipe[0] == kRowWise) &&
         (swizzle.empty() || (swizzle.size() == 1 && swizzle[0] == kNoSwizzle));
}

Tensor ScaledMmV2(const Tensor& self, const Tensor& mat2,
                  at::TensorList scale_a, at::IntArrayRef recipe_a,
                  at::IntArrayRef swizzle_a, at::TensorList scale_b,
                  at::IntArrayRef recipe_b, at::IntArrayRef swizzle_b,
                  const OptionalTensor& bias, OptionalType out_dtype,
                  at::IntArrayRef contraction_dim, bool use_fast_accum) {
  TORCH_CHECK(IsPlain(recipe_a, swizzle_a) && IsPlain(recipe_b, swizzle_b) &&
                  scale_a.size() == 1 && scale_b.size() == 1 &&
                  contraction_dim.empty(),
              "only scales of tensors and rows are supported");
  return ScaledMm(
      self, mat2, scale_a[0],
      recipe_b[0] == kRowWise ? scale_b[0].reshape({1, -1}) : scale_b[0], bias,
      std::nullopt, out_dtype, use_fast_accum);
}

Tensor& ScaledMmV2Out(const Tensor& self, const Tensor& mat2,
                      at::TensorList scale_a, at::IntArrayRef recipe_a,
                      at::IntArrayRef swizzle_a, at::TensorList scale_b,
                      at::IntArrayRef recipe_b, at::IntArrayRef swizzle_b,
                      const OptionalTensor& bias, OptionalType out_dtype,
                      at::IntArrayRef contraction_dim, bool use_fast_accum,
                      Tensor& out) {
  return Put(
      ScaledMmV2(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b,
                 swizzle_b, bias, out_dtype.value_or(out.scalar_type()),
                 contraction_dim, use_fast_accum),
      out);
}

// A product for each group. Offsets are where groups end, along the rows of a
// 2-d `self`, the columns of a 2-d `mat2`, or, if both are 2-d, the side that
// is summed over. One scale for each row of self and column of mat2.
Tensor ScaledGroupedMm(const Tensor& self, const Tensor& mat2,
                       const Tensor& scale_a, const Tensor& scale_b,
                       const OptionalTensor& offs, const OptionalTensor& bias,
                       const OptionalTensor& scale_result,
                       OptionalType out_dtype, bool /*use_fast_accum*/) {
  TORCH_CHECK(
      !(bias && bias->defined()) && !(scale_result && scale_result->defined()),
      "bias and scale_result are not supported");
  TORCH_CHECK(scale_a.scalar_type() != at::kFloat8_e8m0fnu,
              "scales of blocks of 32 are in a device layout");
  const bool flat_a = self.dim() == 2;
  const bool flat_b = mat2.dim() == 2;
  const int64_t groups = !flat_a   ? self.size(0)
                         : !flat_b ? mat2.size(0)
                                   : offs->numel();
  const int64_t m = self.size(-2);
  const int64_t n = mat2.size(-1);
  Tensor result = flat_a == flat_b ? at::zeros({groups, m, n}, at::kDouble)
                                   : at::zeros({m, n}, at::kDouble);
  const Tensor a = Wide(self);
  const Tensor b = Wide(mat2);
  const Tensor sa = Wide(scale_a);
  const Tensor sb = Wide(scale_b);
  int64_t begin = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t end = flat_a || flat_b ? (*offs)[g].item<int64_t>() : begin;
    const int64_t count = end - begin;
    Tensor a_g = flat_a ? a : a[g];
    Tensor b_g = flat_b ? b : b[g];
    Tensor sa_g = flat_a ? sa : sa[g];
    Tensor sb_g = flat_b ? sb : sb[g];
    Tensor out = result.dim() == 3 ? result[g] : result;
    if (flat_a && flat_b) {
      a_g = a.narrow(1, begin, count);
      b_g = b.narrow(0, begin, count);
      sa_g = sa.narrow(0, g * m, m);
      sb_g = sb.narrow(0, g * n, n);
    } else if (flat_a) {
      a_g = a.narrow(0, begin, count);
      sa_g = sa.narrow(0, begin, count);
      out = result.narrow(0, begin, count);
    } else if (flat_b) {
      b_g = b.narrow(1, begin, count);
      sb_g = sb.narrow(0, begin, count);
      out = result.narrow(1, begin, count);
    }
    out.copy_(at::mm(a_g * sa_g.unsqueeze(1), b_g * sb_g.unsqueeze(0)));
    begin = end;
  }
  TORCH_CHECK(flat_a == flat_b || begin == (flat_a ? m : n),
              "what is behind the last offset is never written");
  return result.to(out_dtype.value_or(at::kBFloat16));
}

// ---- 4-bit weights ----

// int4 weights in the order of tensor core tiles (n, k) of 8 by 16:
// (N / 8, K / 16 / inner, 32 lanes, inner / 2) words of 8 numbers. In a tile
// lane t has row t / 4 and the columns 2 (t % 4) + {0, 1, 8, 9}; a word has two
// tiles of a lane, the numbers 0, 2, 4, ... in its lower half and the others in
// its upper one.
Tensor UnpackInt4(const Tensor& packed) {
  const int64_t n = packed.size(0) * 8;
  const int64_t k = packed.size(1) * packed.size(3) * 2 * 16;
  Tensor weights = at::empty({n, k}, at::kLong);
  const Tensor words = packed.to(at::kLong).contiguous();
  const auto* word = words.const_data_ptr<int64_t>();
  auto* const weight = weights.mutable_data_ptr<int64_t>();
  constexpr int kShifts[] = {0, 16, 4, 20, 8, 24, 12, 28};
  constexpr int kColumns[] = {0, 1, 8, 9, 16, 17, 24, 25};
  for (int64_t tile = 0; tile < packed.size(0); ++tile) {
    for (int64_t outer = 0; outer < packed.size(1); ++outer) {
      for (int64_t t = 0; t < 32; ++t) {
        for (int64_t inner = 0; inner < packed.size(3); ++inner) {
          const int64_t bits = *word++;
          const int64_t row = 8 * tile + t / 4;
          const int64_t column =
              (outer * packed.size(3) + inner) * 32 + 2 * (t % 4);
          for (int i = 0; i < 8; ++i) {
            weight[row * k + column + kColumns[i]] = bits >> kShifts[i] & 15;
          }
        }
      }
    }
  }
  return weights;
}

// Weights are (number - 8) * scale + zero, by groups along K.
Tensor WeightInt4packMm(const Tensor& self, const Tensor& mat2,
                        int64_t group_size, const Tensor& scale_and_zeros) {
  const Tensor numbers = UnpackInt4(mat2).to(at::kDouble) - 8;  // (N, K)
  // (K / group, N, 2)
  const Tensor spread =
      Wide(scale_and_zeros).repeat_interleave(group_size, 0).permute({2, 1, 0});
  const int64_t n = spread.size(1);
  const Tensor weights = numbers.narrow(0, 0, n) * spread[0] + spread[1];
  return at::mm(Wide(self), weights.t()).to(self.scalar_type());
}

}  // namespace

std::vector<GoldenRow> MatmulGoldens() {
  constexpr char kDevice[] = "no CPU kernel";
  constexpr char kScales[] =
      "the CPU kernel knows fewer kinds of scales, and no float64";
  return {
      GoldenOf<&Mm>("aten::mm.dtype", kDevice),
      GoldenOf<&MmOut>("aten::mm.dtype_out", kDevice),
      GoldenOf<&Bmm>("aten::bmm.dtype", kDevice),
      GoldenOf<&BmmOut>("aten::bmm.dtype_out", kDevice),
      GoldenOf<&Addmm>("aten::addmm.dtype", kDevice),
      GoldenOf<&AddmmOut>("aten::addmm.dtype_out", kDevice),
      GoldenOf<&Baddbmm>("aten::baddbmm.dtype", kDevice),
      GoldenOf<&BaddbmmOut>("aten::baddbmm.dtype_out", kDevice),
      GoldenOf<&ScaledMm>("aten::_scaled_mm", kScales),
      GoldenOf<&ScaledMmOut>("aten::_scaled_mm.out", kScales),
      GoldenOf<&ScaledMmV2>("aten::_scaled_mm_v2", kDevice),
      GoldenOf<&ScaledMmV2Out>("aten::_scaled_mm_v2.out", kDevice),
      GoldenOf<&ScaledGroupedMm>("aten::_scaled_grouped_mm", kDevice),
      GoldenOf<&WeightInt4packMm>("aten::_weight_int4pack_mm", kDevice),
  };
}

}  // namespace flaggems
