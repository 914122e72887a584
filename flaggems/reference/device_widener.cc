#include "flaggems/reference/device_widener.h"

#include <atomic>

namespace flaggems {
namespace {

std::atomic<const DeviceWidener*> registered{nullptr};

}  // namespace

void RegisterDeviceWidener(const DeviceWidener* widener) {
  registered.store(widener, std::memory_order_release);
}

const DeviceWidener* RegisteredDeviceWidener() {
  return registered.load(std::memory_order_acquire);
}

}  // namespace flaggems
