#ifndef FLAGGEMS_STATISTICS_KOLMOGOROV_SMIRNOV_H_
#define FLAGGEMS_STATISTICS_KOLMOGOROV_SMIRNOV_H_

// A Kolmogorov-Smirnov test of draws that were rounded, or are discrete.

#include <cstdint>
#include <vector>

namespace flaggems {

// A draw x of a variable with the distribution function F is a uniform variable
// u = F(x) in disguise. Rounding hides u: all that x says is an interval
// [low, high] that u lies in. An integer k says [F(k - 1), F(k)]; a float says
// F of the ends of the interval that is rounded to it.
//
// The statistic is the smallest distance between the distribution function of
// any u within their intervals and that of uniform draws, so it is never larger
// than that of the u themselves, and Massart's bound holds for it
// (KolmogorovSmirnovUpper()). Draws may have different F, as long as each has
// its own.
//
// The distance is taken at equally spaced points, which makes it smaller by at
// most one spacing, and never larger.
//
// Memory: fixed by the constructor, at most 1 MiB. Cost: O(1) a draw; PValue()
// O(spacings). Not thread-safe.
class KolmogorovSmirnov {
 public:
  // `expected_count`: about how many draws will come; decides the spacing,
  // 1/256 to 1/65,536.
  explicit KolmogorovSmirnov(int64_t expected_count);

  // One draw. Ends outside [0, 1] are moved there; NaN, or low > high, stands
  // for the whole of [0, 1], a draw that says nothing.
  void Add(double low, double high);

  int64_t count() const { return count_; }
  // The statistic, in [0, 1]; 0 without draws.
  double Distance() const;
  // An upper bound of the probability of a statistic that large.
  double PValue() const;

 private:
  const int64_t spacings_;
  int64_t count_ = 0;
  // How many draws end at or below point i, but above i - 1; how many begin
  // below point i, but not below i - 1. Points are i / spacings_.
  std::vector<int64_t> ends_;
  std::vector<int64_t> begins_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_STATISTICS_KOLMOGOROV_SMIRNOV_H_
