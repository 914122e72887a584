#include "flaggems/registry/kernel_registry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/policy/skip_rules.h"

namespace flaggems {
namespace {

struct PublicName {
  const char* name;
  const char* dispatched;
};

// Functions that decompose before a backend kernel is chosen, and the operator
// that they reach there.
constexpr PublicName kPublicNames[] = {
    {"batch_norm", "native_batch_norm"},
    {"dropout", "native_dropout"},
    {"group_norm", "native_group_norm"},
    {"layer_norm", "native_layer_norm"},
    {"log_softmax", "_log_softmax"},
    {"rms_norm", "_fused_rms_norm"},
    {"softmax", "_softmax"},
};

std::string PlaceOf(const KernelEntry& entry) {
  return absl::StrCat(entry.file, ":", entry.line);
}

bool Matches(const std::string& pattern, const OpKey& key) {
  return PatternMatches(pattern, key) ||
         PatternMatches(DispatchedName(pattern), key);
}

int EditDistance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string DispatchedName(const std::string& name) {
  const std::string prefix = "aten::";
  const bool qualified = name.compare(0, prefix.size(), prefix) == 0;
  const std::string bare = qualified ? name.substr(prefix.size()) : name;
  for (const PublicName& row : kPublicNames) {
    if (bare == row.name) return row.dispatched;
  }
  return name;
}

std::vector<std::string> NearestNames(const std::string& name,
                                      absl::Span<const std::string> known,
                                      size_t count) {
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& candidate : known) {
    const int distance = EditDistance(name, candidate);
    // Half of the letters wrong is no slip any more; a name that is part of
    // the other one ("norm", "native_layer_norm") is.
    if (2 * distance <= static_cast<int>(std::max(name.size(), size_t{2})) ||
        (name.size() >= 3 && candidate.find(name) != std::string::npos)) {
      ranked.emplace_back(distance, candidate);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > count) ranked.resize(count);
  std::vector<std::string> names;
  for (auto& [distance, candidate] : ranked) names.push_back(candidate);
  return names;
}

absl::StatusOr<KernelRegistry> KernelRegistry::Build(
    absl::Span<const KernelEntry* const> entries) {
  KernelRegistry registry;
  for (const KernelEntry* entry : entries) {
    absl::StatusOr<OpKey> key = OpKey::Parse(entry->op);
    if (!key.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(PlaceOf(*entry), ": \"", entry->op,
                       "\" is not an operator name: ", key.status().message()));
    }
    registry.kernels_.push_back({*std::move(key), entry});
  }
  std::sort(registry.kernels_.begin(), registry.kernels_.end(),
            [](const Kernel& a, const Kernel& b) {
              if (a.key != b.key) return a.key < b.key;
              return a.entry->backend < b.entry->backend;
            });
  for (size_t i = 1; i < registry.kernels_.size(); ++i) {
    const Kernel& a = registry.kernels_[i - 1];
    const Kernel& b = registry.kernels_[i];
    if (a.key == b.key && a.entry->backend == b.entry->backend) {
      return absl::AlreadyExistsError(absl::StrCat(
          "two kernels for ", a.key.ToString(), " on ",
          BackendName(a.entry->backend), ": registered at ", PlaceOf(*a.entry),
          " and at ", PlaceOf(*b.entry), "; link only one of them"));
    }
  }
  return registry;
}

absl::StatusOr<std::vector<KernelRegistry::Kernel>> KernelRegistry::Select(
    absl::Span<const std::string> include,
    absl::Span<const std::string> exclude) const {
  for (const auto& names : {include, exclude}) {
    for (const std::string& name : names) {
      if (name.empty()) {
        return absl::InvalidArgumentError(
            "an operator name is empty; write for example \"mm\" or "
            "\"add.Tensor\"");
      }
      const bool known = std::any_of(
          kernels_.begin(), kernels_.end(),
          [&](const Kernel& kernel) { return Matches(name, kernel.key); });
      if (known) continue;
      std::set<std::string> all;
      for (const Kernel& kernel : kernels_) {
        all.insert(kernel.key.name);
        all.insert(kernel.key.Unqualified());
      }
      const std::vector<std::string> nearest = NearestNames(
          name, std::vector<std::string>(all.begin(), all.end()), 3);
      return absl::NotFoundError(absl::StrCat(
          "no kernel for operator \"", name, "\"",
          nearest.empty() ? absl::StrCat("; ", kernels_.size(),
                                         " kernels are linked, none "
                                         "of a similar name")
                          : absl::StrCat("; did you mean ",
                                         absl::StrJoin(nearest, ", "), "?")));
    }
  }
  std::vector<Kernel> selected;
  for (const Kernel& kernel : kernels_) {
    const auto matches = [&](const std::string& name) {
      return Matches(name, kernel.key);
    };
    if (!include.empty() &&
        std::none_of(include.begin(), include.end(), matches)) {
      continue;
    }
    if (std::any_of(exclude.begin(), exclude.end(), matches)) continue;
    selected.push_back(kernel);
  }
  return selected;
}

}  // namespace flaggems
