#include "flaggems/policy/skip_rules.h"

#include "absl/strings/str_cat.h"

namespace flaggems {
namespace {

using On = SkipRule::On;

// Reasons that several rows share.
constexpr absl::string_view kView = "changes sizes and strides, no element";
constexpr absl::string_view kCopy = "copies elements, computes none";
constexpr absl::string_view kMemory = "manages memory, computes nothing";
constexpr absl::string_view kUninitialised = "returns uninitialised memory";
constexpr absl::string_view kRandom = "draws random numbers";

// Names are those that the dispatcher has (torch 2.11). Rows that the schema
// rules cover for the schemas of one libtorch stay in the table: tags and alias
// annotations came to aten step by step, and a library may register a kernel
// under a schema of its own.
constexpr SkipRule kOriginalSkipRules[] = {
    {On::kOutVariant, "",
     "out variant: the functional form of the operator is checked"},
    {On::kReturnsView, "", "view: the result shares the argument's memory"},
    {On::kNondeterministicSeeded, "",
     "random: the result depends on the generator's state (option no_skip "
     "checks an operator that is used without its random part, such as "
     "attention without dropout)"},

    // Views.
    {On::kName, "_conj", kView},
    {On::kName, "_neg_view", kView},
    {On::kName, "_reshape_alias", kView},
    {On::kName, "_unsafe_view", kView},
    {On::kName, "alias", kView},
    {On::kName, "as_strided", kView},
    {On::kName, "as_strided_", kView},
    {On::kName, "broadcast_to", kView},
    {On::kName, "chunk", kView},
    {On::kName, "detach", kView},
    {On::kName, "detach_", kView},
    {On::kName, "diagonal", kView},
    {On::kName, "expand", kView},
    {On::kName, "expand_as", kView},
    {On::kName, "flatten", kView},
    {On::kName, "lift", kView},
    {On::kName, "lift_fresh", kView},
    {On::kName, "movedim", kView},
    {On::kName, "narrow", kView},
    {On::kName, "permute", kView},
    {On::kName, "reshape", kView},
    {On::kName, "reshape_as", kView},
    {On::kName, "select", kView},
    {On::kName, "slice", kView},
    {On::kName, "split", kView},
    {On::kName, "split_with_sizes", kView},
    {On::kName, "squeeze", kView},
    {On::kName, "squeeze_", kView},
    {On::kName, "swapaxes", kView},
    {On::kName, "swapaxes_", kView},
    {On::kName, "swapdims", kView},
    {On::kName, "swapdims_", kView},
    {On::kName, "t", kView},
    {On::kName, "t_", kView},
    {On::kName, "transpose", kView},
    {On::kName, "transpose_", kView},
    {On::kName, "unbind", kView},
    {On::kName, "unflatten", kView},
    {On::kName, "unfold", kView},
    {On::kName, "unsqueeze", kView},
    {On::kName, "unsqueeze_", kView},
    {On::kName, "view", kView},
    {On::kName, "view_as", kView},
    {On::kName, "view_as_complex", kView},
    {On::kName, "view_as_real", kView},

    // Copies.
    {On::kName, "_copy_from", kCopy},
    {On::kName, "_copy_from_and_resize", kCopy},
    {On::kName, "_foreach_copy_", kCopy},
    {On::kName, "_lazy_clone", kCopy},
    {On::kName, "_local_scalar_dense", kCopy},
    {On::kName, "_pin_memory", kCopy},
    {On::kName, "_to_copy", kCopy},
    {On::kName, "clone", kCopy},
    {On::kName, "contiguous", kCopy},
    {On::kName, "copy", kCopy},
    {On::kName, "copy_", kCopy},
    {On::kName, "lift_fresh_copy", kCopy},
    {On::kName, "pin_memory", kCopy},
    {On::kName, "to", kCopy},

    // Memory.
    {On::kName, "_resize_output_", kMemory},
    {On::kName, "record_stream", kMemory},
    {On::kName, "resize_", kMemory},
    {On::kName, "resize_as_", kMemory},
    {On::kName, "set_", kMemory},

    // Uninitialised results. full, ones, zeros and their forms are defined and
    // are checked.
    {On::kName, "_empty_affine_quantized", kUninitialised},
    {On::kName, "_empty_per_channel_affine_quantized", kUninitialised},
    {On::kName, "empty", kUninitialised},
    {On::kName, "empty_like", kUninitialised},
    {On::kName, "empty_permuted", kUninitialised},
    {On::kName, "empty_quantized", kUninitialised},
    {On::kName, "empty_strided", kUninitialised},
    {On::kName, "new_empty", kUninitialised},
    {On::kName, "new_empty_strided", kUninitialised},

    // Random numbers.
    {On::kName, "_fused_dropout", kRandom},
    {On::kName, "_sample_dirichlet", kRandom},
    {On::kName, "_standard_gamma", kRandom},
    {On::kName, "alpha_dropout", kRandom},
    {On::kName, "alpha_dropout_", kRandom},
    {On::kName, "bernoulli", kRandom},
    {On::kName, "bernoulli_", kRandom},
    {On::kName, "binomial", kRandom},
    {On::kName, "cauchy", kRandom},
    {On::kName, "cauchy_", kRandom},
    {On::kName, "dropout", kRandom},
    {On::kName, "dropout_", kRandom},
    {On::kName, "exponential", kRandom},
    {On::kName, "exponential_", kRandom},
    {On::kName, "feature_alpha_dropout", kRandom},
    {On::kName, "feature_alpha_dropout_", kRandom},
    {On::kName, "feature_dropout", kRandom},
    {On::kName, "feature_dropout_", kRandom},
    {On::kName, "geometric", kRandom},
    {On::kName, "geometric_", kRandom},
    {On::kName, "log_normal", kRandom},
    {On::kName, "log_normal_", kRandom},
    {On::kName, "multinomial", kRandom},
    {On::kName, "native_dropout", kRandom},
    {On::kName, "normal", kRandom},
    {On::kName, "normal_", kRandom},
    {On::kName, "normal_functional", kRandom},
    {On::kName, "poisson", kRandom},
    {On::kName, "rand", kRandom},
    {On::kName, "rand_like", kRandom},
    {On::kName, "randint", kRandom},
    {On::kName, "randint_like", kRandom},
    {On::kName, "randn", kRandom},
    {On::kName, "randn_like", kRandom},
    {On::kName, "random", kRandom},
    {On::kName, "random_", kRandom},
    {On::kName, "randperm", kRandom},
    {On::kName, "rrelu_with_noise", kRandom},
    {On::kName, "rrelu_with_noise_", kRandom},
    {On::kName, "rrelu_with_noise_functional", kRandom},
    {On::kName, "uniform", kRandom},
    {On::kName, "uniform_", kRandom},
};

// Reasons of the strict table.
constexpr absl::string_view kResizes =
    "changes the size of its argument: new elements are uninitialised, and the "
    "others stay what they were";
constexpr absl::string_view kNoMemory =
    "its result stands for zeros and has no memory";
constexpr absl::string_view kSets =
    "makes its argument refer to other memory, computes nothing";
constexpr absl::string_view kPins =
    "where in host memory a tensor lies is not seen in its elements";

constexpr SkipRule kStrictSkipRules[] = {
    {On::kName, "record_stream",
     "tells the allocator of a stream, has no result"},

    {On::kName, "_pin_memory", kPins},
    {On::kName, "pin_memory", kPins},

    {On::kName, "_resize_output", kResizes},
    {On::kName, "_resize_output_", kResizes},
    {On::kName, "resize", kResizes},
    {On::kName, "resize_as", kResizes},
    {On::kName, "resize_as_sparse", kResizes},
    {On::kName, "resize_as_sparse_", kResizes},
    {On::kName, "sparse_resize", kResizes},
    {On::kName, "sparse_resize_", kResizes},
    {On::kName, "sparse_resize_and_clear", kResizes},
    {On::kName, "sparse_resize_and_clear_", kResizes},

    {On::kName, "_efficientzerotensor", kNoMemory},
    {On::kName, "set", kSets},
    {On::kName, "set_", kSets},
    {On::kName, "set_data", kSets},
};

bool Matches(const SkipRule& rule, const OpTraits& op) {
  switch (rule.on) {
    case On::kOutVariant:
      return op.is_out_variant;
    case On::kReturnsView:
      return op.returns_view;
    case On::kNondeterministicSeeded:
      return op.nondeterministic_seeded;
    case On::kName:
      return PatternMatches(rule.pattern, op.key);
  }
  return false;
}

}  // namespace

absl::Span<const SkipRule> OriginalSkipRules() { return kOriginalSkipRules; }

absl::Span<const SkipRule> StrictSkipRules() { return kStrictSkipRules; }

bool PatternMatches(absl::string_view pattern, const OpKey& key) {
  absl::string_view ns = "aten";
  const size_t colons = pattern.find("::");
  if (colons != absl::string_view::npos) {
    ns = pattern.substr(0, colons);
    pattern.remove_prefix(colons + 2);
  }
  if (ns != key.ns) return false;
  const size_t dot = pattern.find('.');
  if (pattern.substr(0, dot) != key.name) return false;
  if (dot == absl::string_view::npos) return true;
  // As torch.ops calls the overload without a name.
  const absl::string_view overload = pattern.substr(dot + 1);
  return overload == "default" ? key.overload.empty()
                               : overload == key.overload;
}

std::optional<std::string> SkipReason(const OpTraits& op,
                                      absl::Span<const SkipRule> rules,
                                      absl::Span<const std::string> skip,
                                      absl::Span<const std::string> no_skip) {
  for (const std::string& pattern : no_skip) {
    if (PatternMatches(pattern, op.key)) return std::nullopt;
  }
  for (const std::string& pattern : skip) {
    if (PatternMatches(pattern, op.key)) {
      return absl::StrCat("option skip has \"", pattern, "\"");
    }
  }
  for (const SkipRule& rule : rules) {
    if (Matches(rule, op)) return std::string(rule.why);
  }
  return std::nullopt;
}

}  // namespace flaggems
