#ifndef FLAGGEMS_ATEN_FLAT_MEMORY_H_
#define FLAGGEMS_ATEN_FLAT_MEMORY_H_

// Memory for copies, without a way through the dispatcher: a check makes
// several for each call, and the operators that would make them may be
// observed.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

#include "absl/types/span.h"

namespace flaggems {

// An uninitialised contiguous tensor from its device's allocator; on a device
// that is to be the current one, in its current stream. Throws the allocator's
// error.
at::Tensor EmptyFlat(int64_t numel, c10::ScalarType type, c10::Device device);

// Memory of a device for several tensors that are given up at about the same
// time, in one allocation: for small ones an allocator takes longer than the
// device. For one thread.
class FlatArena {
 public:
  // What Take() needs of the room for a tensor of so many bytes.
  static int64_t RoomFor(int64_t nbytes);

  // `room`: of all tensors. Is allocated as EmptyFlat() does it, by the first
  // Take().
  FlatArena(int64_t room, c10::Device device) : room_(room), device_(device) {}
  FlatArena(const FlatArena&) = delete;
  FlatArena& operator=(const FlatArena&) = delete;
  ~FlatArena();

  // As EmptyFlat(), with a storage of its own. The memory is freed with the
  // last of the tensors and the arena. Where there is no room, or so much that
  // nothing is gained, it is EmptyFlat().
  at::Tensor Take(int64_t numel, c10::ScalarType type);

  c10::Device device() const { return device_; }

 private:
  struct Block;
  static void Leave(void* block);

  int64_t room_;
  const c10::Device device_;
  Block* block_ = nullptr;
  int64_t taken_ = 0;
};

// Bytes of one device to be copied there, or to the host.
struct DeviceCopy {
  const void* from;
  void* to;
  int64_t nbytes;
};

// Copies memory on a device, many pieces at once.
class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;
  // Puts the copies into the current stream of `device`. Thread-safe. Throws
  // what the device says.
  virtual void Copy(absl::Span<const DeviceCopy> copies,
                    c10::Device device) const = 0;
  // The same to page-locked memory of the host. Its allocator is not told: who
  // frees it, or the device's memory, first knows that the copies are done.
  virtual void CopyToHost(absl::Span<const DeviceCopy> copies,
                          c10::Device device) const = 0;
};

// The one for this type of device; null if none was linked. `copier` outlives
// the process. Thread-safe.
void RegisterDeviceCopier(c10::DeviceType type, const DeviceCopier* copier);
const DeviceCopier* DeviceCopierFor(c10::DeviceType type);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_FLAT_MEMORY_H_
