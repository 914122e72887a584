#include "flaggems/judge/terms.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/visit_tensors.h"

namespace flaggems {
namespace {

// Where the terms are counted.
enum class Terms {
  kInner,       // last dimension of `tensor`: the K of a product
  kWeight,      // numel / size(0) of `tensor`: a convolution's
  kTransposed,  // numel / size(1) of `tensor`
  kLength,      // numel of `tensor`: a dot product, duplicates of an index
  kKeys,        // size(-2) of `tensor`: attention
  kKeyRows,     // size(-3) of `tensor`: attention on (batch, keys, heads, size)
};

struct Row {
  absl::string_view op;
  Terms terms;
  int tensor;  // which argument
};

constexpr Row kRows[] = {
    {"mm", Terms::kInner, 0},
    {"bmm", Terms::kInner, 0},
    {"mv", Terms::kInner, 0},
    {"addmm", Terms::kInner, 1},
    {"_addmm_activation", Terms::kInner, 1},
    {"addmv", Terms::kInner, 1},
    {"baddbmm", Terms::kInner, 1},
    {"linear", Terms::kInner, 0},
    {"_scaled_mm", Terms::kInner, 0},
    {"_scaled_mm_v2", Terms::kInner, 0},
    {"_scaled_grouped_mm", Terms::kInner, 0},
    {"_weight_int4pack_mm", Terms::kInner, 0},
    {"dot", Terms::kLength, 0},
    {"vdot", Terms::kLength, 0},
    {"convolution", Terms::kWeight, 1},
    {"_convolution", Terms::kWeight, 1},
    {"mkldnn_convolution", Terms::kWeight, 1},
    {"cudnn_convolution", Terms::kWeight, 1},
    {"cudnn_convolution_relu", Terms::kWeight, 1},
    {"cudnn_convolution_add_relu", Terms::kWeight, 1},
    {"cudnn_convolution_transpose", Terms::kTransposed, 1},
    {"_conv_depthwise2d", Terms::kWeight, 1},
    {"conv_depthwise3d", Terms::kWeight, 1},
    {"_slow_conv2d_forward", Terms::kWeight, 1},
    {"slow_conv3d_forward", Terms::kWeight, 1},
    {"slow_conv_dilated2d", Terms::kWeight, 1},
    {"slow_conv_dilated3d", Terms::kWeight, 1},
    {"slow_conv_transpose2d", Terms::kTransposed, 1},
    {"slow_conv_transpose3d", Terms::kTransposed, 1},
    {"scaled_dot_product_attention", Terms::kKeys, 1},
    {"_scaled_dot_product_flash_attention_for_cpu", Terms::kKeys, 1},
    {"_scaled_dot_product_attention_math", Terms::kKeys, 1},
    {"_scaled_dot_product_flash_attention", Terms::kKeys, 1},
    {"_scaled_dot_product_efficient_attention", Terms::kKeys, 1},
    {"_scaled_dot_product_cudnn_attention", Terms::kKeys, 1},
    {"_scaled_dot_product_fused_attention_overrideable", Terms::kKeys, 1},
    {"_cudnn_attention_forward", Terms::kKeys, 1},
    {"_flash_attention_forward", Terms::kKeyRows, 1},
    {"_efficient_attention_forward", Terms::kKeyRows, 1},
    {"index_add", Terms::kLength, 2},
    {"scatter_add", Terms::kLength, 2},
    {"scatter_reduce", Terms::kLength, 2},
    {"index_reduce", Terms::kLength, 2},
    {"embedding_dense_backward", Terms::kLength, 1},
};

double CountIn(const at::Tensor& tensor, Terms terms) {
  const auto numel = static_cast<double>(tensor.numel());
  const int64_t dim = tensor.dim();
  switch (terms) {
    case Terms::kInner:
      return dim < 1 ? 1 : static_cast<double>(tensor.size(dim - 1));
    case Terms::kWeight:
      return dim < 1 || tensor.size(0) == 0
                 ? numel
                 : numel / static_cast<double>(tensor.size(0));
    case Terms::kTransposed:
      return dim < 2 || tensor.size(1) == 0
                 ? numel
                 : numel / static_cast<double>(tensor.size(1));
    case Terms::kLength:
      return numel;
    case Terms::kKeys:
      return dim < 2 ? 1 : static_cast<double>(tensor.size(dim - 2));
    case Terms::kKeyRows:
      return dim < 3 ? 1 : static_cast<double>(tensor.size(dim - 3));
  }
  return 1;
}

double Side(const at::Tensor& tensor) {
  double side = 1;
  for (const int64_t size : tensor.sizes()) {
    side = std::max(side, static_cast<double>(size));
  }
  return side;
}

std::optional<double> FromTable(const KernelCall& call) {
  absl::string_view name = call.op.traits.key.name;
  name = absl::StripSuffix(name, "_");
  for (const Row& row : kRows) {
    if (row.op != name) continue;
    const auto& arguments = call.before.arguments();
    const auto i = static_cast<size_t>(row.tensor);
    if (i >= arguments.size() || !arguments[i].isTensor() ||
        !arguments[i].toTensor().defined()) {
      return std::nullopt;
    }
    return CountIn(arguments[i].toTensor(), row.terms);
  }
  return std::nullopt;
}

}  // namespace

double TermsOf(const KernelCall& call, const at::Tensor& result) {
  if (call.op.handle.hasTag(at::Tag::pointwise)) return 1;
  if (const auto terms = FromTable(call)) return std::max(1.0, *terms);
  const double out = std::max<double>(1, static_cast<double>(result.numel()));
  double numel = 0;
  double side = 1;
  VisitTensors(call.before.arguments(), [&](const at::Tensor& tensor) {
    if (!tensor.is_floating_point() && !tensor.is_complex()) return;
    numel = std::max(numel, static_cast<double>(tensor.numel()));
    for (const int64_t size : tensor.sizes()) {
      side = std::max(side, static_cast<double>(size));
    }
  });
  // Resampling: the position of a source is computed along a whole side.
  const absl::string_view name = call.op.traits.key.name;
  if (absl::StrContains(name, "upsample_"))
    return std::max({1.0, side, Side(result)});
  // What is smaller than its input was reduced; what is not may still have been
  // made of whole rows (softmax, norms, scans).
  if (numel > out) return numel / out;
  return std::max(1.0, side);
}

}  // namespace flaggems
