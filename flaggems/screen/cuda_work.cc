#include "flaggems/screen/cuda_work.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/flat_memory.h"
#include "flaggems/reference/device_widener.h"

namespace flaggems {
namespace {

thread_local DeviceWorkBatch* current_batch = nullptr;

DeviceWork::Kind KindOf(const WidenRequest& request) {
  switch (request.elements) {
    case ReferenceArgumentOptions::Elements::kMagnitude:
      return request.negative ? DeviceWork::Kind::kMinusMagnitude
                              : DeviceWork::Kind::kMagnitude;
    case ReferenceArgumentOptions::Elements::kPerturb:
      return DeviceWork::Kind::kPerturb;
    case ReferenceArgumentOptions::Elements::kKeep:
      break;
  }
  return DeviceWork::Kind::kWiden;
}

class CudaWidener final : public DeviceWidener {
 public:
  absl::Status Widen(absl::Span<const WidenRequest> requests) const override {
    const auto stream =
        c10::cuda::getCurrentCUDAStream(requests[0].to.device().index())
            .stream();
    std::optional<DeviceWorkBatch> own;
    if (DeviceWorkBatch::Current() == nullptr) own.emplace(stream);
    DeviceWorkBatch& batch = *DeviceWorkBatch::Current();
    for (const WidenRequest& request : requests) {
      if (!request.to.device().is_cuda() || request.to.is_complex()) {
        return absl::UnimplementedError(
            "complex numbers, or a device that is not CUDA");
      }
      DeviceWork work;
      work.kind = KindOf(request);
      work.dtype = DTypeOf(request.from.scalar_type());
      work.src = request.from.const_data_ptr();
      work.dst = request.to.mutable_data_ptr();
      work.n = request.to.numel();
      work.step = request.step;
      work.seed = request.seed;
      batch.Add(work);
    }
    // The reference reads them next.
    return batch.Launch();
  }
};

class CudaCopier final : public DeviceCopier {
 public:
  void Copy(absl::Span<const DeviceCopy> copies,
            c10::Device device) const override {
    absl::InlinedVector<DeviceWork, kDeviceWorkPerLaunch> all;
    for (const DeviceCopy& copy : copies) {
      DeviceWork& work = all.emplace_back();
      work.kind = DeviceWork::Kind::kCopy;
      work.src = copy.from;
      work.dst = copy.to;
      work.n = copy.nbytes;
    }
    if (DeviceWorkBatch* const batch = DeviceWorkBatch::Current()) {
      for (const DeviceWork& work : all) batch->Add(work);
      return;
    }
    C10_CUDA_CHECK(LaunchDeviceWork(
        all, c10::cuda::getCurrentCUDAStream(device.index()).stream()));
  }

  void CopyToHost(absl::Span<const DeviceCopy> copies,
                  c10::Device device) const override {
    const cudaStream_t stream =
        c10::cuda::getCurrentCUDAStream(device.index()).stream();
    for (const DeviceCopy& copy : copies) {
      C10_CUDA_CHECK(cudaMemcpyAsync(copy.to, copy.from,
                                     static_cast<size_t>(copy.nbytes),
                                     cudaMemcpyDeviceToHost, stream));
    }
  }
};

[[maybe_unused]] const bool registered = [] {
  // Leaked on purpose, as all that kernels use while the process ends.
  RegisterDeviceCopier(c10::DeviceType::CUDA, new CudaCopier());
  RegisterDeviceWidener(new CudaWidener());
  return true;
}();

}  // namespace

absl::Status StatusOfLaunch(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return absl::OkStatus();
  if (error == cudaErrorNotSupported) {
    return absl::UnimplementedError(absl::StrCat(what, ": no such dtype"));
  }
  return absl::InternalError(
      absl::StrCat(what, ": ", cudaGetErrorString(error)));
}

DeviceWorkBatch::DeviceWorkBatch(cudaStream_t stream) : stream_(stream) {
  current_batch = this;
}

DeviceWorkBatch::~DeviceWorkBatch() { current_batch = nullptr; }

absl::Status DeviceWorkBatch::Launch() {
  if (work_.empty()) return absl::OkStatus();
  const cudaError_t error = LaunchDeviceWork(work_, stream_);
  work_.clear();
  return StatusOfLaunch(error, "copies and float64 copies");
}

DeviceWorkBatch* DeviceWorkBatch::Current() { return current_batch; }

}  // namespace flaggems
