#ifndef FLAGGEMS_SCREEN_HOST_COPY_SCREEN_H_
#define FLAGGEMS_SCREEN_HOST_COPY_SCREEN_H_

// Calls on a device that only the host judges, without waiting for the device.

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <optional>

#include "flaggems/screen/screen.h"

namespace flaggems {

// Screens that accept nothing: they copy arguments and results on the device,
// in the current stream, and from there to host memory on a stream of the
// checker's own; Ready() says that the host has them. before(), after() and
// outputs() are on the host from Enqueue() on.
//
// Make() gives null, too, for calls with tensors of several devices, or with a
// golden function, which may want the thread of the program.
// kUnavailable: as many calls are under way as may be (kMaxHostCopies,
// kMaxHostCopyBytes); nothing was copied.
const ScreenMaker& HostCopyScreens();

// The stream of the checker on a device, for copies to the host beside the
// program's own work; nullopt: the backend has no such streams. Thread-safe.
std::optional<c10::Stream> CopyStream(const c10::Device& device);

inline constexpr int64_t kMaxHostCopies = 256;
// On the device and on the host together. A call with arguments of more is not
// taken.
inline constexpr int64_t kMaxHostCopyBytes = int64_t{1} << 30;

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_HOST_COPY_SCREEN_H_
