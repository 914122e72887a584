#include "flaggems/library/library_functions.h"

#include <torch/headeronly/version.h>

#include <cstdint>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "flaggems/config/environment.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/golden.h"
#include "flaggems/precision.h"
#include "flaggems/version.h"

namespace flaggems {
namespace {

using Json = nlohmann::json;

// The registrations that callers hold by number. Leaked on purpose: operators
// are called during static destruction.
class HeldRegistrations {
 public:
  static HeldRegistrations& Instance() {
    static HeldRegistrations& instance = *new HeldRegistrations();
    return instance;
  }

  Json Add(Registration registration) {
    Json result = {{"ops", registration.ops()},
                   {"not_observed", registration.not_observed()}};
    const MutexLock lock(&mutex_);
    result["id"] = ++last_id_;
    registrations_.emplace(last_id_, std::move(registration));
    return result;
  }

  absl::Status Remove(int64_t id) {
    std::optional<Registration> removed;
    {
      const MutexLock lock(&mutex_);
      const auto it = registrations_.find(id);
      if (it == registrations_.end()) {
        return absl::NotFoundError(
            absl::StrCat("no registration ", id, "; it was removed already"));
      }
      removed = std::move(it->second);
      registrations_.erase(it);
    }
    return absl::OkStatus();
  }

 private:
  Mutex mutex_;
  int64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Registration> registrations_ ABSL_GUARDED_BY(mutex_);
};

std::vector<std::string> Names(const Json& arguments, const char* field) {
  return arguments.value(field, std::vector<std::string>());
}

absl::StatusOr<Json> EnableCheck(const Json& arguments) {
  const std::map<std::string, std::string> given =
      arguments.value("options", std::map<std::string, std::string>());
  for (const auto& [name, text] : given) {
    if (absl::c_none_of(OptionFields(), [&](const OptionField& field) {
          return field.name == name;
        })) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no option \"", name, "\"; docs/flags.md lists them all"));
    }
  }
  FG_ASSIGN_OR_RETURN(
      const PrecisionOptions options,
      ResolveOptions(
          {}, [&](const OptionField& field) -> std::optional<SourcedText> {
            const auto it = given.find(std::string(field.name));
            if (it == given.end()) return FieldFromEnvironment(field);
            return SourcedText{std::string(field.name), it->second};
          }));
  FG_RETURN_IF_ERROR(EnablePrecisionCheck(options));
  return Json();
}

absl::StatusOr<Json> DisableCheck(const Json&) {
  DisablePrecisionCheck();
  return Json();
}

absl::StatusOr<Json> IsEnabled(const Json&) { return PrecisionCheckEnabled(); }

absl::StatusOr<Json> EnableKernels(const Json& arguments) {
  EnableOptions options;
  options.exclude = Names(arguments, "exclude");
  if (arguments.value("checked", false)) {
    options.registrar = RegistrarKind::kPrecisionCheck;
  }
  FG_ASSIGN_OR_RETURN(Registration registration,
                      arguments.contains("include")
                          ? OnlyEnable(Names(arguments, "include"), options)
                          : Enable(options));
  return HeldRegistrations::Instance().Add(std::move(registration));
}

absl::StatusOr<Json> ObserveKernels(const Json& arguments) {
  ObserveOptions options;
  options.include = Names(arguments, "include");
  options.exclude = Names(arguments, "exclude");
  options.device = arguments.value("device", options.device);
  FG_ASSIGN_OR_RETURN(Registration registration, Observe(options));
  return HeldRegistrations::Instance().Add(std::move(registration));
}

absl::StatusOr<Json> Remove(const Json& arguments) {
  FG_RETURN_IF_ERROR(
      HeldRegistrations::Instance().Remove(arguments.value("id", int64_t{0})));
  return Json();
}

absl::StatusOr<Json> Summary(const Json&) {
  Json result = Json::array();
  for (const OpSummary& op : PrecisionSummary()) {
    result.push_back({{"op", op.op},
                      {"calls", op.calls},
                      {"passed", op.passed},
                      {"failed", op.failed},
                      {"failed_by_reason", op.failed_by_reason},
                      {"skipped", op.skipped},
                      {"errors", op.errors},
                      {"untrusted", op.untrusted},
                      {"worst_score", op.worst_score}});
  }
  return result;
}

absl::StatusOr<Json> SummaryTable(const Json&) {
  return PrecisionSummaryTable();
}

absl::StatusOr<Json> Costs(const Json&) { return Json(PrecisionCosts()); }

absl::StatusOr<Json> Golden(const Json& arguments) {
  GoldenOptions options;
  options.widen = arguments.value("widen", true);
  FG_RETURN_IF_ERROR(RegisterGoldenOperator(
      arguments.value("op", std::string()),
      arguments.value("function", std::string()), options));
  return Json();
}

absl::StatusOr<Json> RemoveGolden(const Json& arguments) {
  FG_RETURN_IF_ERROR(UnregisterGolden(arguments.value("op", std::string())));
  return Json();
}

absl::StatusOr<Json> Version(const Json&) {
  return Json{{"flaggems", kVersion}, {"torch", TORCH_VERSION}};
}

struct Function {
  absl::string_view name;
  absl::StatusOr<Json> (*call)(const Json& arguments);
};

constexpr Function kFunctions[] = {
    {"enable_precision_check", EnableCheck},
    {"disable_precision_check", DisableCheck},
    {"enabled", IsEnabled},
    {"enable", EnableKernels},
    {"observe", ObserveKernels},
    {"remove", Remove},
    {"golden", Golden},
    {"remove_golden", RemoveGolden},
    {"summary", Summary},
    {"summary_table", SummaryTable},
    {"costs", Costs},
    {"version", Version},
};

absl::StatusOr<Json> Call(absl::string_view name, absl::string_view text) {
  const auto* const function = absl::c_find_if(
      kFunctions, [&](const Function& row) { return row.name == name; });
  if (function == std::end(kFunctions)) {
    return absl::UnimplementedError(absl::StrCat(
        "this libflaggems.so has no function \"", name,
        "\"; the Python package and the library are of different versions"));
  }
  const Json arguments = Json::parse(text.begin(), text.end());
  if (!arguments.is_object()) {
    return absl::InvalidArgumentError("the arguments are no JSON object");
  }
  return function->call(arguments);
}

std::string Dump(const Json& json) {
  // Messages may quote what is no UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ErrorText(const absl::Status& status) {
  return Dump({{"error",
                {{"code", absl::StatusCodeToString(status.code())},
                 {"message", std::string(status.message())}}}});
}

}  // namespace

std::string CallLibraryFunction(absl::string_view name,
                                absl::string_view arguments) noexcept {
  try {
    const absl::StatusOr<Json> result = Call(name, arguments);
    if (!result.ok()) return ErrorText(result.status());
    return Dump({{"result", *result}});
  } catch (const nlohmann::json::exception& error) {
    return ErrorText(absl::InvalidArgumentError(error.what()));
  } catch (const std::exception& error) {
    return ErrorText(absl::InternalError(error.what()));
  }
}

}  // namespace flaggems
