// An operator's native CUDA kernel and ours, called with boxed arguments.

#ifndef BENCHMARKS_CUDA_KERNEL_PAIR_H_
#define BENCHMARKS_CUDA_KERNEL_PAIR_H_

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

namespace flaggems {
namespace benchmarks {

class KernelPair {
 public:
  // Of a dispatcher key such as "aten::sum.dim_IntList"; nothing if the
  // operator is unknown or we have no CUDA kernel of it.
  static std::optional<KernelPair> Find(const std::string& op);

  // The outputs; the arguments' tensors are shared, not copied. What the kernel
  // throws passes.
  std::vector<c10::IValue> Native(std::vector<c10::IValue> arguments) const;
  std::vector<c10::IValue> Own(std::vector<c10::IValue> arguments) const;

 private:
  KernelPair(c10::OperatorHandle op, c10::KernelFunction own)
      : op_(std::move(op)), own_(std::move(own)) {}

  c10::OperatorHandle op_;
  c10::KernelFunction own_;
};

// The device, driver, torch and date of a run, as docs/kernels.md names them.
struct RunIdentity {
  std::string device;
  int driver_cuda = 0;
  std::string torch;
  std::string date;  // of the day, UTC
};
RunIdentity IdentityOfRun();

}  // namespace benchmarks
}  // namespace flaggems

#endif  // BENCHMARKS_CUDA_KERNEL_PAIR_H_
