#include "flaggems/policy/suppressions.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/policy/text_file.h"

namespace flaggems {
namespace {

constexpr absl::string_view kAny = "*";
// What stands before the why.
constexpr absl::string_view kFields[] = {"op", "dtype", "reason", "expiry"};
constexpr size_t kNumFields = std::size(kFields);

// Removes the first word of `line` and returns it; empty if there is none.
absl::string_view TakeWord(absl::string_view& line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  const size_t end = line.find_first_of(" \t\v\f\r");
  const absl::string_view word = line.substr(0, end);
  line.remove_prefix(word.size());
  return word;
}

bool IsDTypeName(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (TorchName(static_cast<DType>(i)) == name) return true;
  }
  return false;
}

absl::StatusOr<Verdict> FailureNamed(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (int i = 0; i < kNumVerdicts; ++i) {
    const Verdict verdict = static_cast<Verdict>(i);
    if (OutcomeOf(verdict) != Outcome::kFail) continue;
    if (ReasonName(verdict) == name) return verdict;
    names.push_back(ReasonName(verdict));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(name), " is not a reason of a FAIL; write one of ",
                   absl::StrJoin(names, ", "), " or *"));
}

absl::StatusOr<absl::CivilDay> DayNamed(absl::string_view text) {
  absl::CivilDay day;
  // The second condition refuses 2027-1-5, which is read as well.
  if (!absl::ParseCivilTime(text, &day) || absl::FormatCivilTime(day) != text) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is not a day; write YYYY-MM-DD, such as 2027-01-31"));
  }
  return day;
}

absl::StatusOr<Suppression> SuppressionOf(
    absl::string_view line, absl::CivilDay today,
    const std::function<bool(absl::string_view)>& known) {
  std::array<absl::string_view, kNumFields> fields;
  for (size_t i = 0; i < kNumFields; ++i) {
    fields[i] = TakeWord(line);
    if (fields[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", kFields[i],
                       " is missing; a line is: op dtype reason YYYY-MM-DD "
                       "why"));
    }
  }
  const auto [op, dtype, reason, expiry] = fields;
  Suppression suppression;
  FG_ASSIGN_OR_RETURN(const OpKey key, OpKey::Parse(op));
  if (known && !known(op)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no operator ", Quoted(op),
        "; names are those of the dispatcher: mm, add.Tensor, my::op"));
  }
  suppression.op = key.ShortName();
  if (dtype != kAny && !IsDTypeName(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(dtype),
                     " is not a dtype; write torch's name, such as "
                     "torch.float32, or *"));
  }
  suppression.dtype = std::string(dtype);
  if (reason != kAny) {
    FG_ASSIGN_OR_RETURN(suppression.reason, FailureNamed(reason));
  }
  FG_ASSIGN_OR_RETURN(suppression.expiry, DayNamed(expiry));
  suppression.why = std::string(absl::StripAsciiWhitespace(line));
  if (suppression.why.empty()) {
    return absl::InvalidArgumentError(
        "the why is missing; say why the failure is accepted");
  }
  if (suppression.expiry < today) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the suppression of ", suppression.op, " expired on ", expiry,
        " (today is ", absl::FormatCivilTime(today),
        "); remove the line, or look at the failure again and give it a later "
        "day"));
  }
  return suppression;
}

}  // namespace

absl::StatusOr<Suppressions> Suppressions::Parse(
    absl::string_view text, absl::string_view file, absl::CivilDay today,
    const std::function<bool(absl::string_view)>& known) {
  Suppressions suppressions;
  absl::flat_hash_map<std::string, int> lines;  // of op, dtype and reason
  FG_RETURN_IF_ERROR(ForEachLine(
      text, file, [&](int number, absl::string_view line) -> absl::Status {
        FG_ASSIGN_OR_RETURN(Suppression suppression,
                            SuppressionOf(line, today, known));
        const std::string same = absl::StrCat(
            suppression.op, " ", suppression.dtype, " ",
            suppression.reason ? ReasonName(*suppression.reason) : kAny);
        const auto [found, inserted] = lines.emplace(same, number);
        if (!inserted) {
          return absl::InvalidArgumentError(
              absl::StrCat("\"", same, "\" stands in line ", found->second,
                           " already; remove one"));
        }
        suppressions.all_.push_back(std::move(suppression));
        return absl::OkStatus();
      }));
  return suppressions;
}

absl::StatusOr<Suppressions> Suppressions::Read(
    const std::string& path, absl::CivilDay today,
    const std::function<bool(absl::string_view)>& known) {
  FG_ASSIGN_OR_RETURN(const std::string text,
                      ReadTextFile("suppressions", path));
  return Parse(text, path, today, known);
}

const Suppression* Suppressions::Find(const OpKey& op, absl::string_view dtype,
                                      Verdict verdict) const {
  if (OutcomeOf(verdict) != Outcome::kFail) return nullptr;
  for (const Suppression& each : all_) {
    if (each.reason.has_value() && *each.reason != verdict) continue;
    if (each.dtype != kAny && each.dtype != dtype) continue;
    if (PatternMatches(each.op, op)) return &each;
  }
  return nullptr;
}

}  // namespace flaggems
