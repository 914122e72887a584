#include "flaggems/registrar/observed_ops.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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

absl::Status Unknown(absl::string_view word, const std::vector<OpKey>& known) {
  std::vector<std::string> names;
  for (const OpKey& key : known) names.push_back(key.ShortName());
  absl::c_sort(names);
  const std::string name = absl::StrReplaceAll(word, {{"*", ""}});
  const std::vector<std::string> nearest = NearestNames(name, names, 3);
  return absl::NotFoundError(absl::StrCat(
      IsGlob(word) ? "no operator of torch matches \""
                   : "torch has no operator \"",
      word, "\"",
      nearest.empty() ? ""
                      : absl::StrCat("; did you mean ",
                                     absl::StrJoin(nearest, ", "), "?")));
}

bool MatchesAny(const std::vector<std::string>& words, const OpKey& key) {
  return absl::c_any_of(
      words, [&](const std::string& word) { return Matches(word, key); });
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

absl::StatusOr<Selection> SelectObserved(
    const std::vector<std::string>& include,
    const std::vector<std::string>& exclude, c10::DispatchKey key) {
  if (include.empty()) {
    return absl::InvalidArgumentError(
        "include names no operator to observe; \"aten::*\" is all of aten");
  }
  std::vector<OpKey> known = KnownOperators();
  absl::c_sort(known);
  for (const std::vector<std::string>* const words : {&include, &exclude}) {
    for (const std::string& word : *words) {
      if (absl::c_none_of(known,
                          [&](const OpKey& op) { return Matches(word, op); })) {
        return Unknown(word, known);
      }
    }
  }
  Selection selection;
  // What each name selects or, of what it cannot, why.
  std::map<std::string, bool> selects;
  std::map<std::string, std::string> reasons;
  for (const OpKey& op : known) {
    bool selected = false;
    bool named = false;
    for (const std::string& word : include) {
      if (!Matches(word, op)) continue;
      selected = true;
      named |= !IsGlob(word);
    }
    if (!selected) continue;
    const std::optional<c10::OperatorHandle> handle = FindOperator(op);
    if (!handle) continue;
    const std::optional<std::string> why = WhyNotObservable(*handle, key);
    for (const std::string& word : include) {
      if (IsGlob(word) || !Matches(word, op)) continue;
      selects[word] |= !why;
      if (why) reasons[word] = *why;
    }
    if (MatchesAny(exclude, op)) continue;
    if (why) {
      selection.not_observed[op.ToString()] = *why;
    } else {
      selection.observed.push_back({op, *handle, named});
    }
  }
  for (const auto& [word, any] : selects) {
    if (any) continue;
    return absl::NotFoundError(
        absl::StrCat(word, " cannot be observed: it ", reasons[word]));
  }
  if (selection.observed.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "include (", absl::StrJoin(include, ", "),
        ") matches no operator with a kernel for ", c10::toString(key),
        exclude.empty() ? "" : " that exclude leaves"));
  }
  return selection;
}

}  // namespace flaggems
