#include "flaggems/judge/unread_results.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/string_view.h"
#include "flaggems/aten/find_argument.h"

namespace flaggems {
namespace {

struct UnreadRow {
  absl::string_view op;
  int first;  // results [first, last]
  int last;
  bool only_in_eval;  // when the argument training (train) is false
  absl::string_view why;
};

constexpr UnreadRow kUnread[] = {
    {"_ctc_loss", 1, 1, false, "log_alpha has cells that are never written"},
    {"_embedding_bag", 1, 3, false, "internal to the backward pass"},
    {"_embedding_bag_forward_only", 1, 3, false, "internal"},
    {"log_sigmoid_forward", 1, 1, false, "a buffer; empty on some devices"},
    {"native_batch_norm", 1, 2, true, "saved statistics of no batch"},
    {"_native_batch_norm_legit", 1, 2, true, "saved statistics of no batch"},
    {"cudnn_batch_norm", 1, 3, true, "saved statistics of no batch"},
    {"_batch_norm_with_update", 3, 3, false, "a reserve of the backend"},
    {"linalg_lu_factor_ex", 2, 2, false, "error codes"},
    {"mkldnn_rnn_layer", 3, 3, false,
     "what the backward pass reads; none where no gradient is needed"},
    {"_scaled_dot_product_flash_attention", 2, 8, false,
     "bounds of sequences, random state, a mask for debugging"},
    {"_scaled_dot_product_cudnn_attention", 2, 8, false,
     "bounds of sequences, random state, a mask for debugging"},
    {"_cudnn_attention_forward", 2, 8, false,
     "bounds of sequences, random state, a mask for debugging"},
    {"_scaled_dot_product_fused_attention_overrideable", 1, 8, false,
     "what the backend's own backward pass reads"},
    {"_flash_attention_forward", 2, 4, false,
     "random state, a mask for debugging"},
    {"_scaled_dot_product_efficient_attention", 2, 3, false, "random state"},
    {"_efficient_attention_forward", 2, 5, false,
     "random state, bounds of sequences"},
    {"cudnn_batch_norm", 3, 3, false, "a reserve of the backend"},
};

struct StatisticsRow {
  absl::string_view op;
  int first;  // results [first, last] are statistics
  int last;
};

constexpr StatisticsRow kStatistics[] = {
    {"native_layer_norm", 1, 2},
    {"native_group_norm", 1, 2},
    {"native_batch_norm", 1, 2},
    {"_native_batch_norm_legit", 1, 2},
    {"_native_batch_norm_legit_no_training", 1, 2},
    {"_batch_norm_with_update", 1, 2},
    {"_batch_norm_no_update", 1, 2},
    {"cudnn_batch_norm", 1, 2},
    {"_fused_rms_norm", 1, 1},
};

}  // namespace

bool IsStatistic(const OpKey& op, int index) {
  return std::any_of(std::begin(kStatistics), std::end(kStatistics),
                     [&](const StatisticsRow& row) {
                       return row.op == op.name && row.first <= index &&
                              index <= row.last;
                     });
}

bool InEval(const JudgedOp& op, absl::Span<const c10::IValue> arguments) {
  for (const absl::string_view name : {"training", "train"}) {
    const c10::IValue* const value =
        FindArgument(op.handle.schema(), arguments, name);
    if (value != nullptr && value->isBool()) return !value->toBool();
  }
  return false;
}

bool IsUnread(const JudgedOp& op, absl::Span<const c10::IValue> arguments,
              int output) {
  for (const UnreadRow& row : kUnread) {
    if (row.op == op.traits.key.name && row.first <= output &&
        output <= row.last && (!row.only_in_eval || InEval(op, arguments))) {
      return true;
    }
  }
  return false;
}

// Statistics of packed sequences, (sequences, heads, longest): each is written
// and read in whole tiles of 32 queries, padded with +Inf. Memory behind the
// last tile of a short sequence is never touched.
at::Tensor WithUnreadCellsFilled(const JudgedOp& op,
                                 absl::Span<const c10::IValue> arguments,
                                 int output, const at::Tensor& result) {
  constexpr int64_t kTile = 32;
  if (op.traits.key.name != "_efficient_attention_forward" || output != 1 ||
      result.dim() != 3) {
    return result;
  }
  const c10::IValue* const offsets =
      FindArgument(op.handle.schema(), arguments, "cu_seqlens_q");
  if (offsets == nullptr || !offsets->isTensor()) return result;
  const at::Tensor bounds =
      offsets->toTensor().to(c10::kCPU, c10::kLong).contiguous();
  if (bounds.dim() != 1 || bounds.numel() != result.size(0) + 1) return result;
  const auto* const b = static_cast<const int64_t*>(bounds.const_data_ptr());
  at::Tensor filled = result.clone();
  for (int64_t i = 0; i < result.size(0); ++i) {
    const int64_t end = (b[i + 1] - b[i] + kTile - 1) / kTile * kTile;
    if (end < 0 || end >= result.size(2)) continue;
    filled.select(0, i)
        .narrow(1, end, result.size(2) - end)
        .fill_(std::numeric_limits<double>::infinity());
  }
  return filled;
}

}  // namespace flaggems
