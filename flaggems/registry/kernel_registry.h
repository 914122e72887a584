#ifndef FLAGGEMS_REGISTRY_KERNEL_REGISTRY_H_
#define FLAGGEMS_REGISTRY_KERNEL_REGISTRY_H_

// Which kernels there are, and selecting them by name.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"
#include "flaggems/registry/kernel_entry.h"

namespace flaggems {

// An immutable set of kernels, at most one for each operator and backend;
// usually built from KernelRegistrar::All(). Thread-safe.
class KernelRegistry {
 public:
  struct Kernel {
    OpKey key;
    const KernelEntry* entry;
  };

  // kAlreadyExists   two entries for one operator and backend; names both
  //                  places
  // kInvalidArgument an entry's operator name cannot be parsed
  static absl::StatusOr<KernelRegistry> Build(
      absl::Span<const KernelEntry* const> entries);

  // All kernels, sorted by operator, then backend.
  const std::vector<Kernel>& kernels() const { return kernels_; }

  // The kernels that `include` names, without those that `exclude` names; an
  // empty `include` means all. A name is an operator without or with "aten::",
  // with or without overload: "add" is every overload of add, "add.Tensor" one.
  // A composite operator that a kernel is reached through ("softmax" for
  // aten::_softmax, "sum" for sum.dim_IntList) may be named too.
  // kNotFound        a name selects nothing; lists the nearest known names
  // kInvalidArgument a name is empty
  absl::StatusOr<std::vector<Kernel>> Select(
      absl::Span<const std::string> include,
      absl::Span<const std::string> exclude) const;

 private:
  std::vector<Kernel> kernels_;
};

// The operator name that a public function reaches in the dispatcher, for
// names that users know ("softmax" -> "_softmax"), or `name` itself.
std::string DispatchedName(const std::string& name);

// The `count` strings of `known` with the least edit distance to `name`, the
// nearest first; only those that are close enough to be a likely slip.
std::vector<std::string> NearestNames(const std::string& name,
                                      absl::Span<const std::string> known,
                                      size_t count);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRY_KERNEL_REGISTRY_H_
