#ifndef FLAGGEMS_ATEN_CUDA_DRIVER_H_
#define FLAGGEMS_ATEN_CUDA_DRIVER_H_

namespace flaggems {

// A function of the CUDA driver API, by its name in the library, which is the
// same for all versions of CUDA: of a driver that torch has loaded already, so
// that nothing here is linked with CUDA. Null without one. The type is the
// caller's word.
void* CudaDriverSymbol(const char* name) noexcept;

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_CUDA_DRIVER_H_
