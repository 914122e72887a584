#include "flaggems/registrar/observed_ops.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/registrar/observer.h"
#include "flaggems/registry/kernel_registry.h"

namespace flaggems {
namespace {

bool IsGlob(absl::string_view word) { return absl::StrContains(word, '*'); }

bool Matches(absl::string_view word, const OpKey& key) {
  return IsGlob(word) ? GlobMatches(word, key.ToString())
                      : PatternMatches(word, key);
}

absl::Status Unknown(const std::string& word, const std::vector<OpKey>& known) {
  std::vector<std::string> names;
  for (const OpKey& key : known) names.push_back(key.ShortName());
  absl::c_sort(names);
  const std::vector<std::string> nearest = NearestNames(word, names, 3);
  return absl::NotFoundError(absl::StrCat(
      "torch has no operator \"", word, "\"",
      nearest.empty() ? ""
                      : absl::StrCat("; did you mean ",
                                     absl::StrJoin(nearest, ", "), "?")));
}

}  // namespace

bool GlobMatches(absl::string_view pattern, absl::string_view text) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return pattern == text;
  if (!absl::ConsumePrefix(&text, pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (size_t skip = 0; skip <= text.size(); ++skip) {
    if (GlobMatches(pattern, text.substr(skip))) return true;
  }
  return false;
}

absl::StatusOr<std::vector<Observed>> SelectObserved(
    const std::vector<std::string>& include,
    const std::vector<std::string>& exclude) {
  if (include.empty()) {
    return absl::InvalidArgumentError(
        "include names no operator to observe; \"aten::*\" is all of aten");
  }
  const std::vector<OpKey> known = KnownOperators();
  for (const std::string& word : exclude) {
    if (absl::c_none_of(known,
                        [&](const OpKey& key) { return Matches(word, key); })) {
      return Unknown(word, known);
    }
  }
  std::vector<Observed> observed;
  for (const std::string& word : include) {
    bool exists = false;
    bool selected = false;
    bool composite = false;
    for (const OpKey& key : known) {
      if (!Matches(word, key)) continue;
      exists = true;
      const std::optional<c10::OperatorHandle> handle = FindOperator(key);
      if (!handle) continue;
      if (!IsObservable(*handle, c10::DispatchKey::CPU)) {
        composite |=
            handle->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
        continue;
      }
      selected = true;
      if (absl::c_any_of(exclude, [&](const std::string& other) {
            return Matches(other, key);
          })) {
        continue;
      }
      observed.push_back({key, *handle, !IsGlob(word)});
    }
    if (!exists && !IsGlob(word)) return Unknown(word, known);
    if (!selected && !IsGlob(word)) {
      return absl::NotFoundError(absl::StrCat(
          word, composite ? " has no CPU kernel of its own to observe: it only "
                            "calls other operators; observe those"
                          : " has no CPU kernel; only such are observed"));
    }
  }
  // The named one of doubles is kept.
  absl::c_stable_sort(observed, [](const Observed& a, const Observed& b) {
    return a.key < b.key || (a.key == b.key && a.named && !b.named);
  });
  observed.erase(std::unique(observed.begin(), observed.end(),
                             [](const Observed& a, const Observed& b) {
                               return a.key == b.key;
                             }),
                 observed.end());
  if (observed.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("include (", absl::StrJoin(include, ", "),
                     ") matches no operator with a CPU kernel",
                     exclude.empty() ? "" : " that exclude leaves"));
  }
  return observed;
}

}  // namespace flaggems
