#ifndef FLAGGEMS_SCREEN_COSTS_H_
#define FLAGGEMS_SCREEN_COSTS_H_

// Where the host time of screened calls goes, and how they ended: summed over
// all threads of the process. Thread-safe; a few ns each.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace flaggems {

enum class CostPart : uint8_t {
  kSnapshot,   // copies of arguments, before the kernel
  kContract,   // the native run and what it says of the result but its numbers
  kReference,  // float64 runs
  kCompare,    // copies of results, comparisons
  kRecord,     // reading the verdict back, counting, logging
};
inline constexpr int kNumCostParts = static_cast<int>(CostPart::kRecord) + 1;

// "snapshot", "contract", ...
absl::string_view CostPartName(CostPart part);

struct ScreenCosts {
  std::array<std::atomic<int64_t>, kNumCostParts> ns{};
  std::atomic<int64_t> screened{0};  // calls
  std::atomic<int64_t> accepted{0};  // of them, by their screen
  std::atomic<int64_t> in_full{0};   // of them, judged in full

  void Reset();
};

// Those of this process.
ScreenCosts& TotalScreenCosts();

// Adds its own life time to a part.
class CostTimer {
 public:
  explicit CostTimer(CostPart part)
      : part_(part), start_(std::chrono::steady_clock::now()) {}
  ~CostTimer() {
    TotalScreenCosts().ns[static_cast<size_t>(part_)].fetch_add(
        std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now() - start_)
            .count(),
        std::memory_order_relaxed);
  }
  CostTimer(const CostTimer&) = delete;
  CostTimer& operator=(const CostTimer&) = delete;

 private:
  const CostPart part_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_COSTS_H_
