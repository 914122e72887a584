#ifndef FLAGGEMS_ATEN_QUIET_FREE_H_
#define FLAGGEMS_ATEN_QUIET_FREE_H_

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <vector>

namespace flaggems {

// Gives up the tensors of `values`. Freeing what several streams have used
// records events, which fails where the device has failed: torch's allocators
// then throw, and out of a destructor that ends the program. Here it only leaks
// the memory. Tensors that somebody else holds, too, are left to them.
// The same of the memory that `storages` are.
void FreeQuietly(std::vector<c10::IValue> values,
                 std::vector<c10::Storage> storages = {}) noexcept;

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_QUIET_FREE_H_
