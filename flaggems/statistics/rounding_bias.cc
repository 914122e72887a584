#include "flaggems/statistics/rounding_bias.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "flaggems/statistics/tail_bounds.h"

namespace flaggems {
namespace {

// Sign, exponent and the 14 leading fraction bits.
uint32_t CellOf(double want) {
  uint64_t bits;
  std::memcpy(&bits, &want, sizeof(bits));
  return static_cast<uint32_t>(bits >> (52 - 14));
}

}  // namespace

std::optional<RoundingStep> RoundingStepOf(double got, double want,
                                           double arithmetic_error,
                                           const FloatFormat& format) {
  const double magnitude = std::abs(want);
  if (!std::isfinite(got) || !(magnitude >= format.smallest_normal()) ||
      !(magnitude < format.overflow) || !(arithmetic_error >= 0)) {
    return std::nullopt;
  }
  const double ulp = Ulp(format, magnitude);
  const double scaled = want / ulp;  // exact: ulp is a power of two
  const double from_middle =
      std::abs(std::abs(scaled - std::trunc(scaled)) - 0.5);
  if (from_middle < 0x1p-20) return std::nullopt;
  RoundingStep step;
  step.want = want;
  step.steps = got / ulp - std::nearbyint(scaled);
  step.flip_probability = std::min(1.0, 2 * arithmetic_error / ulp);
  return step;
}

void RoundingBias::Add(absl::Span<const RoundingStep> steps) {
  MutexLock lock(&mutex_);
  for (const RoundingStep& step : steps) {
    if (static_cast<int64_t>(seen_.size()) >= kMaxElements) return;
    if (!seen_.insert(CellOf(step.want)).second) continue;
    expected_flips_ += step.flip_probability;
    sum_steps_ += step.steps;
    ups_ += step.steps > 0;
    downs_ += step.steps < 0;
  }
}

RoundingBias::Summary RoundingBias::summary() const {
  MutexLock lock(&mutex_);
  Summary summary;
  summary.counted = static_cast<int64_t>(seen_.size());
  if (summary.counted == 0) return summary;
  summary.expected_flips = expected_flips_;
  summary.ups = ups_;
  summary.downs = downs_;
  summary.mean_ulps = sum_steps_ / static_cast<double>(summary.counted);
  const int64_t flips = std::max(ups_, downs_);
  // Twice, for the choice of the side.
  summary.p_value = std::min(
      1.0, 2 * PoissonUpper(static_cast<double>(flips), expected_flips_));
  summary.significant = flips >= kMinFlips && summary.p_value < kSignificance;
  return summary;
}

bool RoundingBias::MarkReported() {
  MutexLock lock(&mutex_);
  if (reported_) return false;
  reported_ = true;
  return true;
}

void RoundingBias::Reset() {
  MutexLock lock(&mutex_);
  seen_.clear();
  expected_flips_ = 0;
  sum_steps_ = 0;
  ups_ = 0;
  downs_ = 0;
  reported_ = false;
}

}  // namespace flaggems
