#ifndef FLAGGEMS_REGISTRY_GATE_H_
#define FLAGGEMS_REGISTRY_GATE_H_

// The switch in front of a kernel: forward and count, or check.

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace flaggems {

// Shared between the installed kernel, which reads it on every call, and the
// checker, which sets it. Thread-safe. It is idle when made: calls are counted
// in `idle_counter` and forwarded.
class Gate {
 public:
  // `idle_counter` and every later counter must outlive the gate.
  Gate(c10::OperatorHandle op, std::atomic<int64_t>* idle_counter)
      : op_(std::move(op)), forward_counter_(idle_counter) {}

  // Counts each call in `counter` and forwards it to the plain kernel, unless
  // the checker itself makes it (see CheckScope).
  void Forward(std::atomic<int64_t>* counter) {
    forward_counter_.store(counter, std::memory_order_release);
  }
  // Gives each call to the checked kernel.
  void Check() { forward_counter_.store(nullptr, std::memory_order_release); }

  // The checked kernel; set once, before the gate is reachable by a call.
  void set_checked_kernel(c10::BoxedKernel kernel) {
    checked_kernel_ = std::move(kernel);
  }
  const c10::BoxedKernel& checked_kernel() const { return checked_kernel_; }
  const c10::OperatorHandle& op() const { return op_; }

  // One load decides; a forwarded call is counted here.
  bool TryForward() {
    std::atomic<int64_t>* const counter =
        forward_counter_.load(std::memory_order_acquire);
    return counter != nullptr && CountForwarded(counter);
  }

 private:
  // False inside the checker.
  static bool CountForwarded(std::atomic<int64_t>* counter);

  const c10::OperatorHandle op_;
  c10::BoxedKernel checked_kernel_;
  // On its own cache line: read by every call of every thread.
  alignas(64) std::atomic<std::atomic<int64_t>*> forward_counter_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRY_GATE_H_
