#include "flaggems/core/clock.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace flaggems {
namespace {

class SystemClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

}  // namespace

const Clock& Clock::System() {
  // Never destroyed: kernels may run while static objects are taken down.
  static const SystemClock* const clock = new SystemClock;
  return *clock;
}

}  // namespace flaggems
