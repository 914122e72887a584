#include "flaggems/golden.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/golden.h"
#include "flaggems/reference/goldens/shipped.h"
#include "flaggems/registry/kernel_registry.h"

namespace flaggems {
namespace {

// As RegisterGolden() says.
absl::StatusOr<c10::OperatorHandle> ResolveOperator(absl::string_view op) {
  FG_ASSIGN_OR_RETURN(OpKey key, OpKey::Parse(op));
  const bool overload_named = !key.overload.empty();
  if (key.overload == "default") key.overload.clear();
  if (const auto handle = FindOperator(key)) return *handle;
  const std::vector<OpKey> known = KnownOperators();
  std::vector<OpKey> overloads;
  for (const OpKey& other : known) {
    if (other.ns == key.ns && other.name == key.name && FindOperator(other)) {
      overloads.push_back(other);
    }
  }
  absl::c_sort(overloads);
  if (!overload_named && overloads.size() == 1) {
    return *FindOperator(overloads[0]);
  }
  if (!overloads.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        op,
        overload_named ? " is no overload that torch has"
                       : " has several overloads",
        "; name one of ",
        absl::StrJoin(
            overloads, ", ", [](std::string* out, const OpKey& overload) {
              absl::StrAppend(out, overload.ToString(),
                              overload.overload.empty() ? ".default" : "");
            })));
  }
  std::vector<std::string> names;
  for (const OpKey& other : known) {
    names.push_back(OpKey{other.ns, other.name, ""}.ToString());
  }
  absl::c_sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::vector<std::string> nearest =
      NearestNames(OpKey{key.ns, key.name, ""}.ToString(), names, 3);
  return absl::NotFoundError(absl::StrCat(
      "torch has no operator \"", op, "\"",
      nearest.empty() ? "; define it first"
                      : absl::StrCat("; did you mean ",
                                     absl::StrJoin(nearest, ", "), "?")));
}

absl::Status Register(const c10::OperatorHandle& handle,
                      GoldenFunction function, const GoldenOptions& options) {
  InstallShippedGoldens();
  GoldenSlot::Of(OpKeyOf(handle))
      .Set(MakeGolden(handle.schema(), std::move(function), options.widen));
  return absl::OkStatus();
}

// How the arguments and results of the schemas differ, names apart.
std::optional<std::string> Difference(const c10::FunctionSchema& golden,
                                      const c10::FunctionSchema& op) {
  const auto differ = [](const std::vector<c10::Argument>& a,
                         const std::vector<c10::Argument>& b,
                         absl::string_view what) -> std::optional<std::string> {
    if (a.size() != b.size()) {
      return absl::StrCat("it has ", a.size(), " ", what, "s, the operator ",
                          b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (*a[i].real_type() == *b[i].real_type()) continue;
      return absl::StrCat(what, " ", i, " is a ", a[i].real_type()->str(),
                          ", of the operator a ", b[i].real_type()->str());
    }
    return std::nullopt;
  };
  if (auto difference = differ(golden.arguments(), op.arguments(), "argument"))
    return difference;
  return differ(golden.returns(), op.returns(), "result");
}

}  // namespace

absl::Status RegisterGolden(absl::string_view op, GoldenFunction function,
                            const GoldenOptions& options) {
  return StatusOrOf([&]() -> absl::Status {
    FG_ASSIGN_OR_RETURN(const c10::OperatorHandle handle, ResolveOperator(op));
    if (function == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the golden function for ", op, " is empty"));
    }
    return Register(handle, std::move(function), options);
  });
}

absl::Status RegisterGoldenOperator(absl::string_view op,
                                    absl::string_view golden,
                                    const GoldenOptions& options) {
  return StatusOrOf([&]() -> absl::Status {
    FG_ASSIGN_OR_RETURN(const c10::OperatorHandle handle, ResolveOperator(op));
    FG_ASSIGN_OR_RETURN(const c10::OperatorHandle called,
                        ResolveOperator(golden));
    if (OpKeyOf(handle) == OpKeyOf(called)) {
      return absl::InvalidArgumentError(absl::StrCat(
          golden, " is the operator itself; a golden function is another one"));
    }
    if (const auto difference = Difference(called.schema(), handle.schema())) {
      return absl::InvalidArgumentError(
          absl::StrCat(golden, " is no golden function for ",
                       OpKeyOf(handle).ToString(), ": ", *difference));
    }
    return Register(
        handle, [called](torch::jit::Stack* stack) { called.callBoxed(stack); },
        options);
  });
}

absl::Status UnregisterGolden(absl::string_view op) {
  return StatusOrOf([&]() -> absl::Status {
    FG_ASSIGN_OR_RETURN(const c10::OperatorHandle handle, ResolveOperator(op));
    const OpKey key = OpKeyOf(handle);
    InstallShippedGoldens();
    if (GoldenSlot::Of(key).Set(nullptr) == nullptr) {
      return absl::NotFoundError(absl::StrCat(
          "no golden function is registered for ", key.ToString()));
    }
    return absl::OkStatus();
  });
}

namespace internal_golden {

absl::Status RegisterKernel(absl::string_view op, c10::KernelFunction kernel,
                            const c10::FunctionSchema& inferred,
                            const GoldenOptions& options) {
  return StatusOrOf([&]() -> absl::Status {
    FG_ASSIGN_OR_RETURN(const c10::OperatorHandle handle, ResolveOperator(op));
    FG_ASSIGN_OR_RETURN(
        std::shared_ptr<const Reference> golden,
        GoldenOfKernel(handle, std::move(kernel), inferred, options.widen));
    InstallShippedGoldens();
    GoldenSlot::Of(OpKeyOf(handle)).Set(std::move(golden));
    return absl::OkStatus();
  });
}

}  // namespace internal_golden
}  // namespace flaggems
