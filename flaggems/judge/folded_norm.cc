#include "flaggems/judge/folded_norm.h"

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "flaggems/judge/op_names.h"

namespace flaggems {
namespace {

constexpr int64_t kFew = 8;

constexpr absl::string_view kLayerNorms[] = {"native_layer_norm"};
constexpr absl::string_view kGroupNorms[] = {"native_group_norm"};
constexpr absl::string_view kBatchNorms[] = {
    "native_batch_norm", "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional", "_batch_norm_with_update",
    "cudnn_batch_norm"};

const at::Tensor* TensorNamed(const KernelCall& call, absl::string_view name) {
  const c10::IValue* const value = FindArgument(call, name);
  return value != nullptr && value->isTensor() && value->toTensor().defined()
             ? &value->toTensor()
             : nullptr;
}

// With ones for the dimensions of `x` but the second.
std::vector<int64_t> OfChannels(const at::Tensor& x) {
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = x.size(1);
  return sizes;
}

// The reciprocal deviations, so that they broadcast to `x`; undefined where the
// call is no norm over few elements.
at::Tensor DeviationsOf(const KernelCall& call, const at::Tensor& x,
                        const at::Tensor& found) {
  const absl::string_view name = call.op.traits.key.name;
  if (found.numel() == 0 || x.numel() / found.numel() > kFew) return {};
  if (HasOp(kLayerNorms, name)) return found;
  if (x.dim() < 2) return {};
  if (HasOp(kGroupNorms, name)) {
    if (found.dim() != 2 || found.size(0) != x.size(0) || found.size(1) == 0 ||
        x.size(1) % found.size(1) != 0) {
      return {};
    }
    std::vector<int64_t> sizes = OfChannels(x);
    sizes[0] = x.size(0);
    return found.repeat_interleave(x.size(1) / found.size(1), 1).reshape(sizes);
  }
  if (HasOp(kBatchNorms, name) && found.numel() == x.size(1)) {
    return found.reshape(OfChannels(x));
  }
  return {};
}

}  // namespace

std::optional<at::Tensor> FoldedNormTerms(const KernelCall& call,
                                          absl::Span<const FlatValue> wide) {
  const at::Tensor* const x = TensorNamed(call, "input");
  if (x == nullptr || x->numel() == 0 || !x->is_floating_point() ||
      !x->device().is_cpu() || wide.size() < 3 || !wide[2].value.isTensor() ||
      !wide[2].value.toTensor().defined()) {
    return std::nullopt;
  }
  at::Tensor deviations = DeviationsOf(
      call, *x, wide[2].value.toTensor().to(at::kCPU, c10::kDouble));
  if (!deviations.defined()) return std::nullopt;
  if (const at::Tensor* const w = TensorNamed(call, "weight")) {
    const at::Tensor scale = w->to(c10::kDouble).abs();
    deviations = deviations.mul(HasOp(kLayerNorms, call.op.traits.key.name)
                                    ? scale
                                    : scale.reshape(OfChannels(*x)));
  }
  return x->to(c10::kDouble).abs().mul(deviations).contiguous();
}

}  // namespace flaggems
