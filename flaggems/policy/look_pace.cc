#include "flaggems/policy/look_pace.h"

#include <algorithm>

#include "flaggems/core/split_mix.h"

namespace flaggems {
namespace {

constexpr double kGrowth = 8;
constexpr double kOld = 0.5;  // the weight of what was before a look

}  // namespace

void LookPace::Reset() {
  const MutexLock lock(&mutex_);
  random_ = seed_;
  looked_ = false;
  call_ = 0;
  time_ = 0;
  calls_ = 0;
  elapsed_ = 0;
  last_ = 0;
}

int64_t LookPace::CallsToPassOver(int64_t call, int64_t now, int64_t period) {
  const MutexLock lock(&mutex_);
  if (!looked_) {
    looked_ = true;
    call_ = call;
    time_ = now;
    return 0;
  }
  // Looks of several threads may come in another order than their calls.
  calls_ =
      kOld * calls_ + static_cast<double>(std::max<int64_t>(0, call - call_));
  elapsed_ =
      kOld * elapsed_ + static_cast<double>(std::max<int64_t>(0, now - time_));
  call_ = std::max(call, call_);
  time_ = std::max(now, time_);
  if (elapsed_ <= 0) return 0;
  const double next = calls_ / elapsed_ * static_cast<double>(period);
  last_ = std::min(
      {next - 1, kGrowth * (last_ + 1) - 1, static_cast<double>(kMostCalls)});
  last_ = std::max(last_, 0.0);
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53
  const double uniform =
      static_cast<double>(NextSplitMix(random_) >> 11) * kScale;
  return std::min(kMostCalls,
                  static_cast<int64_t>(last_ * (0.75 + 0.5 * uniform)));
}

}  // namespace flaggems
