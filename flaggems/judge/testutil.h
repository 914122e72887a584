#ifndef FLAGGEMS_JUDGE_TESTUTIL_H_
#define FLAGGEMS_JUDGE_TESTUTIL_H_

// Calls of torch's operators by kernels of a test. For tests.

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/aten/guarded_allocator.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "gtest/gtest.h"

namespace flaggems::judge_testing {

using Values = std::vector<c10::IValue>;
// From arguments to results.
using Kernel = std::function<Values(Values arguments)>;

inline const c10::IValue kNone;

struct CallOptions {
  bool native = false;
  bool guarded = true;  // the kernel's memory is
  bool alone = true;
  bool on_host = true;
  std::shared_ptr<const Reference> reference;  // null: torch's own kernel
  std::optional<BudgetRow> row;                // nullopt: the table's
};

inline c10::OperatorHandle OperatorNamed(const std::string& name) {
  const absl::StatusOr<OpKey> key = OpKey::Parse(name);
  if (!key.ok()) throw std::runtime_error(name);
  const auto op = FindOperator(*key);
  if (!op) throw std::runtime_error("torch has no " + name);
  return *op;
}

// What is left out at the end gets the schema's default.
inline Values WithDefaults(const c10::OperatorHandle& op, Values arguments) {
  const auto& schema = op.schema().arguments();
  for (size_t i = arguments.size(); i < schema.size(); ++i) {
    TORCH_CHECK(schema[i].default_value(), "no default for ", schema[i].name());
    arguments.push_back(*schema[i].default_value());
  }
  return arguments;
}

// As a program calls it: torch's own kernel.
inline Values CallNative(const std::string& name, Values arguments) {
  const c10::OperatorHandle op = OperatorNamed(name);
  arguments = WithDefaults(op, std::move(arguments));
  op.callBoxed(&arguments);
  return arguments;
}

inline Kernel NativeKernelOf(const std::string& name) {
  return [name](Values arguments) {
    return CallNative(name, std::move(arguments));
  };
}

// torch's own kernel, and then something done to its results.
inline Kernel Native(const std::string& name,
                     std::function<void(Values& results)> then) {
  return [=](Values arguments) {
    Values results = CallNative(name, std::move(arguments));
    then(results);
    return results;
  };
}

inline Kernel Giving(Values results) {
  return [results = std::move(results)](Values) { return results; };
}

inline Kernel Throwing(std::string text) {
  return
      [text = std::move(text)](Values) -> Values { TORCH_CHECK(false, text); };
}

// One call that was made, and what judges need of it.
class MadeCall {
 public:
  MadeCall(const std::string& name, Values arguments, const Kernel& kernel,
           const CallOptions& options = {})
      : op_(OperatorNamed(name)),
        row_(options.row ? *options.row : FindBudget(op_.traits.key)),
        arguments_(WithDefaults(op_.handle, std::move(arguments))),
        on_host_(options.on_host),
        alone_(options.alone) {
    op_.native = options.native;
    reference_ = options.reference != nullptr
                     ? options.reference
                     : NativeCpuReference(op_.handle).value();
    before_ = Snapshot::Take(arguments_, /*margin=*/256).value();
    try {
      std::optional<GuardedAllocation> guarded;
      if (options.guarded) guarded.emplace();
      outputs_ = kernel(arguments_);
    } catch (...) {
      thrown_ = StatusOfException(std::current_exception());
    }
  }

  KernelCall call() const {
    return {op_,        reference_, row_,     *before_,
            arguments_, outputs_,   on_host_, alone_};
  }
  const absl::Status& thrown() const { return thrown_; }
  const Values& arguments() const { return arguments_; }
  const Values& outputs() const { return outputs_; }

 private:
  // Stands for the caller's CheckScope.
  const at::AutoDispatchBelowADInplaceOrView below_autograd_;
  JudgedOp op_;
  std::shared_ptr<const Reference> reference_;
  const BudgetRow row_;
  Values arguments_;
  const bool on_host_;
  const bool alone_;
  std::optional<Snapshot> before_;
  Values outputs_;
  absl::Status thrown_;
};

inline at::Tensor F64(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble);
}
inline at::Tensor F32(const std::vector<double>& values) {
  return F64(values).to(at::kFloat);
}
inline at::Tensor F16(const std::vector<double>& values) {
  return F64(values).to(at::kHalf);
}
inline at::Tensor BF16(const std::vector<double>& values) {
  return F64(values).to(at::kBFloat16);
}
inline at::Tensor I64(const std::vector<int64_t>& values) {
  return at::tensor(values, at::kLong);
}
inline at::Tensor Randn(uint64_t seed, at::IntArrayRef sizes,
                        at::ScalarType dtype = at::kFloat) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn(sizes, generator, at::kDouble).to(dtype);
}

// Returns result `i` as a tensor.
inline at::Tensor TensorOf(const Values& values, size_t i = 0) {
  return values.at(i).toTensor();
}

}  // namespace flaggems::judge_testing

#endif  // FLAGGEMS_JUDGE_TESTUTIL_H_
