#ifndef FLAGGEMS_CORE_CLOCK_H_
#define FLAGGEMS_CORE_CLOCK_H_

// Where records take their time from; tests inject a fixed one.

#include "absl/time/time.h"

namespace flaggems {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;  // thread-safe

  // The system's clock. Lives for ever.
  static const Clock& System();
};

// Always the same instant.
class FixedClock : public Clock {
 public:
  explicit FixedClock(absl::Time now) : now_(now) {}
  absl::Time Now() const override { return now_; }

 private:
  absl::Time now_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_CLOCK_H_
