#ifndef FLAGGEMS_ATEN_GUARDED_ALLOCATOR_H_
#define FLAGGEMS_ATEN_GUARDED_ALLOCATOR_H_

// Memory in which what a kernel did not write, and what it wrote beside it,
// shows.

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <optional>
#include <string>

namespace flaggems {

// What guarded memory holds before it is written: in every floating type of 2,
// 4 or 8 bytes a quiet NaN that arithmetic does not produce, in integers a
// number that is rarely right, in bool no value at all.
inline constexpr uint16_t kPoison = 0xfffb;

// While it lives, CPU memory that this thread gets from torch's allocator is
// filled with kPoison and has a guard zone at both ends. Memory that other
// threads get, those of a parallel loop too, is as always. Nests.
//
// The first scope of the process puts an allocator of ours in front of torch's
// and leaves it there: outside a scope it costs one look at a thread-local
// variable per allocation.
class GuardedAllocation {
 public:
  GuardedAllocation();
  ~GuardedAllocation();
  GuardedAllocation(const GuardedAllocation&) = delete;
  GuardedAllocation& operator=(const GuardedAllocation&) = delete;
};

// Whether the storage's memory was allocated in a GuardedAllocation.
bool IsGuarded(const c10::Storage& storage);

// Which bytes beside the storage's memory were overwritten ("byte 4 after its
// end"); nullopt if none, or if it is not guarded.
std::optional<std::string> DamagedGuard(const c10::Storage& storage);

// Whether the element at this row-major position still holds the poison; false
// if the memory is not guarded. Requires a strided tensor on the CPU.
bool IsUnwritten(const at::Tensor& tensor, int64_t position);

// The first element of a bool tensor whose byte is neither 0 nor 1; nullopt if
// there is none. Requires a strided tensor on the CPU.
std::optional<int64_t> FirstInvalidBool(const at::Tensor& tensor);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_GUARDED_ALLOCATOR_H_
