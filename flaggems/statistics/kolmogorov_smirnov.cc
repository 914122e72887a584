#include "flaggems/statistics/kolmogorov_smirnov.h"

#include <algorithm>
#include <cmath>

#include "flaggems/statistics/tail_bounds.h"

namespace flaggems {
namespace {

int64_t SpacingsFor(int64_t expected_count) {
  int64_t spacings = 256;
  while (spacings < 65536 && spacings < 4 * expected_count) spacings *= 2;
  return spacings;
}

}  // namespace

KolmogorovSmirnov::KolmogorovSmirnov(int64_t expected_count)
    : spacings_(SpacingsFor(expected_count)),
      ends_(spacings_ + 1),
      begins_(spacings_ + 2) {}

void KolmogorovSmirnov::Add(double low, double high) {
  if (!(low <= high)) {
    low = 0;
    high = 1;
  }
  // A power of two: the products are exact.
  const double scale = static_cast<double>(spacings_);
  const double end = std::ceil(std::clamp(high, 0.0, 1.0) * scale);
  const double begin = std::floor(std::clamp(low, 0.0, 1.0) * scale) + 1;
  ++ends_[static_cast<int64_t>(end)];
  ++begins_[static_cast<int64_t>(begin)];
  ++count_;
}

double KolmogorovSmirnov::Distance() const {
  if (count_ == 0) return 0;
  const double n = static_cast<double>(count_);
  double distance = 0;
  int64_t surely_below = 0;  // draws that are surely <= the point
  int64_t may_be_below = 0;  // draws that may be below the point
  for (int64_t i = 0; i <= spacings_; ++i) {
    const double point =
        static_cast<double>(i) / static_cast<double>(spacings_);
    surely_below += ends_[i];
    may_be_below += begins_[i];
    distance =
        std::max({distance, static_cast<double>(surely_below) / n - point,
                  point - static_cast<double>(may_be_below) / n});
  }
  return distance;
}

double KolmogorovSmirnov::PValue() const {
  return KolmogorovSmirnovUpper(Distance(), static_cast<double>(count_));
}

}  // namespace flaggems
