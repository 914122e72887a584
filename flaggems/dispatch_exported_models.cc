#include "flaggems/dispatch_exported_models.h"

#include <c10/util/Registry.h>

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"

// libtorch exports this function but ships no header that declares it.
namespace torch::nativert {
class OpKernel;
class Node;
c10::Registry<std::string, std::unique_ptr<OpKernel>, const Node*>*
StaticallyDispatchedCPUKernelRegistry();
}  // namespace torch::nativert

namespace flaggems {

absl::Status DispatchExportedModels() {
  static std::once_flag once;
  auto* const registry =
      torch::nativert::StaticallyDispatchedCPUKernelRegistry();
  std::call_once(once, [&] {
    // c10::Registry cannot forget an entry, so an empty one takes its place.
    // What the old one owns is leaked: destroying it is not worth the risk.
    using Registry = std::remove_pointer_t<decltype(registry)>;
    new (registry) Registry();
  });
  const size_t left = registry->Keys().size();
  if (left == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      left,
      " operators of torch.export packages would bypass the dispatcher; "
      "this version of libtorch is not supported for .pt2 files"));
}

}  // namespace flaggems
