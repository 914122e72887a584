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

void FreeQuietly(std::vector<c10::IValue> values,
                 std::vector<c10::Storage> storages) noexcept {
  try {
    VisitTensors(values, [&](const at::Tensor& tensor) {
      if (tensor.has_storage()) storages.push_back(tensor.storage());
    });
    values.clear();
    // One of each.
    const auto impl = [](const c10::Storage& storage) {
      return storage.unsafeGetStorageImpl();
    };
    std::sort(storages.begin(), storages.end(),
              [&](const c10::Storage& a, const c10::Storage& b) {
                return impl(a) < impl(b);
              });
    storages.erase(
        std::unique(storages.begin(), storages.end(),
                    [&](const c10::Storage& a, const c10::Storage& b) {
                      return impl(a) == impl(b);
                    }),
        storages.end());
    for (const c10::Storage& storage : storages) {
      if (!storage) continue;
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
