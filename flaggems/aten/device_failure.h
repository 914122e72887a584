#ifndef FLAGGEMS_ATEN_DEVICE_FAILURE_H_
#define FLAGGEMS_ATEN_DEVICE_FAILURE_H_

#include <c10/core/Device.h>

#include <optional>
#include <string>

namespace flaggems {

// Why nothing works on a CUDA device any more, in this process: a kernel
// touched memory that is not its own, an assertion of one failed, ... From then
// on each call there fails, whoever makes it. nullopt: the device works, or is
// no CUDA device, or nobody can tell.
//
// Asks the driver about the current stream of the device and for something else
// that is harmless, twice: a microsecond where the stream has work, else some
// ten. Does not
// wait for the device, does not throw, and leaves the error that the runtime
// keeps for the program (cudaGetLastError) as it is. Thread-safe.
std::optional<std::string> DeviceFailure(const c10::Device& device) noexcept;

// What something harmless on a device comes to, as the driver numbers results
// (CUresult); 0: it works. May throw.
using DeviceProbe = int (*)(const c10::Device& device);

// Asked in place of the driver, for devices of any kind; null: the driver
// again. For tests.
void SetDeviceProbeForTesting(DeviceProbe probe);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_DEVICE_FAILURE_H_
