#include "benchmarks/cuda/kernel_pair.h"

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <ctime>
#include <utility>

#include "flaggems/registry/register_kernel.h"

namespace flaggems {
namespace benchmarks {

std::optional<KernelPair> KernelPair::Find(const std::string& op) {
  const size_t dot = op.find('.');
  const c10::OperatorName name(
      op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle.has_value()) return std::nullopt;
  for (const KernelEntry* entry : KernelRegistrar::All()) {
    if (entry->backend == Backend::kCuda && entry->op == op) {
      return KernelPair(*handle, entry->make_plain(nullptr).function);
    }
  }
  return std::nullopt;
}

std::vector<c10::IValue> KernelPair::Native(
    std::vector<c10::IValue> arguments) const {
  op_.callBoxed(arguments);
  return arguments;
}

std::vector<c10::IValue> KernelPair::Own(
    std::vector<c10::IValue> arguments) const {
  own_.callBoxed(op_, c10::DispatchKeySet(c10::DispatchKey::CUDA), &arguments);
  return arguments;
}

RunIdentity IdentityOfRun() {
  cudaDeviceProp properties;
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return {properties.name, driver, TORCH_VERSION, date};
}

}  // namespace benchmarks
}  // namespace flaggems
