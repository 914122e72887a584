#ifndef FLAGGEMS_REFERENCE_REFERENCE_SOURCE_H_
#define FLAGGEMS_REFERENCE_REFERENCE_SOURCE_H_

// Which reference the calls of an operator have.

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKey.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "flaggems/reference/golden.h"
#include "flaggems/reference/reference.h"

namespace flaggems {

// A golden function wins, from the first call after it was registered on.
// Thread-safe.
class ReferenceSource {
 public:
  ReferenceSource() = default;  // none
  explicit ReferenceSource(std::shared_ptr<const Reference> fallback)
      : fallback_(std::move(fallback)) {}
  // `fallback` may be null, `why_none` then says why. `golden` outlives this.
  ReferenceSource(const GoldenSlot* golden,
                  std::shared_ptr<const Reference> fallback,
                  std::string why_none)
      : golden_(golden),
        fallback_(std::move(fallback)),
        why_none_(std::move(why_none)) {}

  // Of a call that begins now, which keeps it; null: nothing can compute the
  // call again.
  std::shared_ptr<const Reference> Get() const;

  // Why Get() returns null, and what to do; empty if it does not.
  std::string why_none() const;

 private:
  const GoldenSlot* golden_ = nullptr;
  std::shared_ptr<const Reference> fallback_;
  std::string why_none_;
};

// ReferenceFor()
//
// Who computes calls of `op` again while its kernel at `key` is under test.
// `kernel` tells kernels apart: how the dispatcher describes the registration
// (SafeKernelFunction::debug()), or anything else for a kernel that is not in
// the dispatcher yet.
//
// A golden function, registered or shipped (goldens/shipped.h); else the CPU
// kernel (native_cpu_reference.h), unless that is the kernel under test and not
// torch's own: a kernel that is judged by itself passes whatever it computes.
// Torch's own may be, because the float64 path is another instance of it and
// tested with torch. For keys of devices it is the CPU kernel, whoever wrote
// it.
//
// Call it before anything is installed. Thread-safe.
ReferenceSource ReferenceFor(const c10::OperatorHandle& op,
                             c10::DispatchKey key, absl::string_view kernel);

// Who computes calls of `op` again in the memory of their device: torch's
// kernel for `key`. Null if there is none, if it is the kernel under test and
// not torch's own (as above), or for keys of the CPU. A golden function takes
// precedence at each call (ReferenceSource::Get()). Thread-safe; call it before
// anything is installed.
std::shared_ptr<const Reference> DeviceReferenceFor(
    const c10::OperatorHandle& op, c10::DispatchKey key,
    absl::string_view kernel);

// Whether a registration that is described so was compiled into torch. A
// Python operator of torch's own package does not count: users' kernels are
// registered from its files too (torch.library.custom_op).
bool IsTorchsOwn(absl::string_view kernel);

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_REFERENCE_SOURCE_H_
