#include "flaggems/aten/quiet_free.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <utility>

#include "flaggems/aten/visit_tensors.h"

namespace flaggems {
namespace {

void Free(const c10::Storage& storage) {
  c10::DataPtr data = storage.set_data_ptr(c10::DataPtr());
  const c10::DeleterFnPtr deleter = data.get_deleter();
  // From here on nobody frees it but the next line.
  void* const context = data.release_context();
  if (context != nullptr && deleter != nullptr) deleter(context);
}

}  // namespace

void FreeQuietly(std::vector<c10::IValue> values) noexcept {
  try {
    std::vector<c10::Storage> storages;
    VisitTensors(values, [&](const at::Tensor& tensor) {
      if (!tensor.has_storage()) return;
      const bool known = std::any_of(
          storages.begin(), storages.end(), [&](const c10::Storage& other) {
            return other.unsafeGetStorageImpl() ==
                   tensor.storage().unsafeGetStorageImpl();
          });
      if (!known) storages.push_back(tensor.storage());
    });
    values.clear();
    for (const c10::Storage& storage : storages) {
      if (storage.use_count() > 1) continue;
      try {
        Free(storage);
      } catch (...) {
      }
    }
  } catch (...) {
    // No memory for the list; they are freed as others are.
  }
}

}  // namespace flaggems
