#include "flaggems/reference/golden.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/infer_schema.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

using Values = std::vector<c10::IValue>;

// Tensors with a lazy sign, and what a golden function got in their place.
class Resolver {
 public:
  void Resolve(c10::IValue& value) {
    if (value.isTensor()) {
      value = Resolved(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> tensors = value.toTensorList();
      for (size_t i = 0; i < tensors.size(); ++i) {
        tensors.set(i, Resolved(tensors.get(i)));
      }
    }
  }

  // What was written.
  void CopyBack() const {
    for (const auto& [lazy, resolved] : copies_) lazy.copy_(resolved);
  }

 private:
  at::Tensor Resolved(const at::Tensor& tensor) {
    if (!tensor.defined() || (!tensor.is_conj() && !tensor.is_neg())) {
      return tensor;
    }
    at::Tensor resolved = tensor.resolve_conj().resolve_neg();
    copies_.emplace_back(tensor, resolved);
    return resolved;
  }

  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;
};

// Undoes for this thread what a CheckScope excludes of autograd, so that a
// golden function may differentiate.
class WithAutograd {
 public:
  WithAutograd() : guard_(Keys()) {}

 private:
  static c10::impl::LocalDispatchKeySet Keys() {
    c10::impl::LocalDispatchKeySet keys =
        c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ =
        keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }

  const c10::impl::ForceDispatchKeyGuard guard_;
};

absl::Status CheckResults(const c10::FunctionSchema& schema, Values& results) {
  const std::vector<c10::Argument>& returns = schema.returns();
  if (results.size() != returns.size()) {
    return absl::InternalError(absl::StrCat("it returned ", results.size(),
                                            " results, the schema has ",
                                            returns.size()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const c10::TypePtr& type = returns[i].real_type();
    if (type->kind() == c10::TypeKind::TensorType) {
      if (results[i].isNone()) results[i] = at::Tensor();
      // An undefined tensor has no type that could be asked for.
      if (results[i].isTensor()) continue;
    }
    // An int serves for a SymInt, and for an enumeration.
    if (results[i].type()->isSubtypeOf(*type) ||
        results[i].type()->isSubtypeOf(*returns[i].type())) {
      continue;
    }
    return absl::InternalError(
        absl::StrCat("result ", i, " is a ", results[i].type()->str(),
                     ", the schema has a ", type->str()));
  }
  return absl::OkStatus();
}

// What a function with int64_t for each SymInt has for a schema.
c10::FunctionSchema WithoutSymInts(const c10::FunctionSchema& schema) {
  std::vector<c10::Argument> returns;
  for (const c10::Argument& result : schema.returns()) {
    returns.push_back(result.real_type()->kind() == c10::TypeKind::SymIntType
                          ? result.cloneWithType(c10::IntType::get())
                          : result.cloneWithType(result.real_type()));
  }
  return schema.cloneWithRealTypes(/*with_symint=*/false)
      .cloneWithReturns(std::move(returns));
}

class Golden final : public Reference {
 public:
  Golden(const c10::FunctionSchema& schema, GoldenFunction function, bool widen)
      : schema_(schema), function_(std::move(function)), widen_(widen) {
    for (const c10::Argument& argument : schema_.arguments()) {
      mutable_ = mutable_ || (argument.alias_info() != nullptr &&
                              argument.alias_info()->isWrite());
    }
  }

  absl::StatusOr<Values> Compute(Values arguments) const override {
    absl::StatusOr<Values> results =
        StatusOrOf([&]() -> absl::StatusOr<Values> {
          Resolver resolver;
          for (c10::IValue& argument : arguments) resolver.Resolve(argument);
          const WithAutograd with_autograd;
          function_(&arguments);
          FG_RETURN_IF_ERROR(CheckResults(schema_, arguments));
          if (mutable_) resolver.CopyBack();
          return std::move(arguments);
        });
    if (results.ok() || absl::IsResourceExhausted(results.status())) {
      return results;
    }
    // Ctrl-C came while a golden function in Python ran, and nothing that the
    // check throws reaches the program: it is interrupted again, by the signal.
    if (absl::IsCancelled(results.status()) &&
        absl::StartsWith(results.status().message(), "KeyboardInterrupt")) {
      std::raise(SIGINT);
    }
    return absl::Status(
        results.status().code(),
        absl::StrCat("the golden function: ", results.status().message()));
  }

  std::string name() const override { return "golden"; }
  bool is_operator() const override { return false; }
  bool widens() const override { return widen_; }

 private:
  const c10::FunctionSchema schema_;
  const GoldenFunction function_;
  const bool widen_;
  bool mutable_ = false;
};

}  // namespace

std::shared_ptr<const Reference> MakeGolden(const c10::FunctionSchema& schema,
                                            GoldenFunction function,
                                            bool widen) {
  return std::make_shared<const Golden>(schema, std::move(function), widen);
}

absl::StatusOr<std::shared_ptr<const Reference>> GoldenOfKernel(
    const c10::OperatorHandle& op, c10::KernelFunction kernel,
    const c10::FunctionSchema& inferred, bool widen) {
  const c10::FunctionSchema schema = kernel.isValidSymUnboxed()
                                         ? op.schema().cloneWithRealTypes()
                                         : WithoutSymInts(op.schema());
  if (const auto difference =
          c10::findSchemaDifferences(inferred.cloneWithRealTypes(), schema)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the golden function for ", c10::toString(op.operator_name()),
        " has another signature: ", *difference, " (the operator is ",
        c10::toString(op.schema()), ")"));
  }
  return MakeGolden(
      op.schema(),
      [kernel = std::move(kernel), op](torch::jit::Stack* stack) {
        kernel.callBoxed(op, c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
      },
      widen);
}

GoldenSlot& GoldenSlot::Of(const OpKey& op) {
  // Leaked on purpose: kernels run during static destruction too.
  static Mutex& mutex = *new Mutex();
  static std::map<OpKey, GoldenSlot>& slots =
      *new std::map<OpKey, GoldenSlot>();
  const MutexLock lock(&mutex);
  return slots[op];
}

std::shared_ptr<const Reference> GoldenSlot::Get() const {
  const MutexLock lock(&mutex_);
  return golden_;
}

std::shared_ptr<const Reference> GoldenSlot::Set(
    std::shared_ptr<const Reference> golden) {
  const MutexLock lock(&mutex_);
  golden_.swap(golden);
  return golden;
}

}  // namespace flaggems
