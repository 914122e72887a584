// Memory of checks that wait, given back to a program that needs it. Linking
// this file tells torch's allocator of it.

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/policy/sheddable_queues.h"
#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

struct DeviceMemory {
  int64_t total = 0;
  int64_t left = 0;  // to be had by the allocator
};

// Of the current device.
absl::StatusOr<DeviceMemory> MemoryOfDevice() {
  return StatusOrOf([]() -> absl::StatusOr<DeviceMemory> {
    int device = 0;
    size_t free = 0;
    size_t total = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaMemGetInfo(&free, &total) != cudaSuccess) {
      return absl::InternalError("a device that does not answer");
    }
    const auto index = static_cast<c10::DeviceIndex>(device);
    const int64_t reserved =
        allocator::getDeviceStats(index)
            .reserved_bytes[static_cast<size_t>(
                c10::CachingAllocator::StatType::AGGREGATE)]
            .current;
    const double allowed =
        allocator::getMemoryFraction(index) * static_cast<double>(total);
    return DeviceMemory{static_cast<int64_t>(total),
                        std::min(static_cast<int64_t>(free),
                                 static_cast<int64_t>(allowed) - reserved)};
  });
}

// How large an allocation it is for is not known. So checks give way where less
// is left than this share of the device, or than they hold: a larger allocation
// that just does not fit fails beside them.
constexpr int64_t kShareOfDevice = 8;

// The allocator found no block for an allocation, and asks before it takes more
// from the device. This thread holds the lock of the allocator of the current
// device, so that nothing here may wait for another thread.
class GivePendingChecks final : public c10::FreeMemoryCallback {
 public:
  bool Execute() override {
    if (CheckScope::active()) return false;
    const PendingMemory pending = MemoryOfPendingChecks();
    if (pending.checks == 0) return false;
    const CaptureTolerance tolerance(true);
    const absl::StatusOr<DeviceMemory> memory = MemoryOfDevice();
    if (!memory.ok() || memory->left >= std::max(memory->total / kShareOfDevice,
                                                 pending.bytes)) {
      return false;
    }
    return ShedPendingChecks() > 0;
  }
};

// Not by torch's macro, which ends a program with two copies of this library
// before the second can say what is wrong.
[[maybe_unused]] const bool registered = [] {
  constexpr char kName[] = "flaggems_pending_checks";
  auto* const registry = c10::FreeCudaMemoryCallbacksRegistry();
  if (!registry->Has(kName)) {
    registry->Register(kName, [] {
      return std::unique_ptr<c10::FreeMemoryCallback>(new GivePendingChecks());
    });
  }
  return true;
}();

}  // namespace
}  // namespace flaggems
