#include "flaggems/statistics/tail_bounds.h"

#include <algorithm>
#include <cmath>

namespace flaggems {
namespace {

// x log(x / y) with its limits; x >= 0, y >= 0.
double XLogXOverY(double x, double y) {
  if (x == 0) return 0;
  return x * std::log(x / y);
}

// exp(log_p), at most 1; 1 for NaN.
double Probability(double log_p) { return log_p < 0 ? std::exp(log_p) : 1; }

double Double(double p) { return std::min(1.0, 2 * p); }

// Chernoff's bound of a gamma variable with `shape` at x, for either tail.
double GammaBound(double x, double shape) {
  const double ratio = x / shape;
  return Probability(shape * (std::log(ratio) + 1 - ratio));
}

// The same of a Poisson variable.
double PoissonBound(double k, double mu) {
  return Probability(k - mu - XLogXOverY(k, mu));
}

}  // namespace

double BoundedSumTwoSided(double sum, double n, double p, double p_slack) {
  if (!(n > 0) || !(p_slack >= 0) || std::isnan(sum) || std::isnan(p)) return 1;
  const double share = sum / n;
  // The true mean that explains the sum best.
  const double low = std::clamp(p - p_slack, 0.0, 1.0);
  const double high = std::clamp(p + p_slack, 0.0, 1.0);
  const double mean = std::clamp(share, low, high);
  if (share == mean) return 1;
  if (share < 0 || share > 1) return 0;  // impossible
  return Double(Probability(
      -n * (XLogXOverY(share, mean) + XLogXOverY(1 - share, 1 - mean))));
}

double PoissonUpper(double k, double mu) {
  return k > mu && mu >= 0 ? PoissonBound(k, mu) : 1;
}

double PoissonLower(double k, double mu) {
  if (!(k < mu)) return 1;
  return k < 0 ? 0 : PoissonBound(k, mu);
}

double PoissonTwoSided(double k, double mu) {
  return Double(std::min(PoissonUpper(k, mu), PoissonLower(k, mu)));
}

double NormalTwoSided(double z) {
  return std::isnan(z) ? 1 : std::erfc(std::abs(z) * std::sqrt(0.5));
}

double ChiSquareUpper(double x, double dof) {
  return dof > 0 && x > dof ? GammaBound(x / 2, dof / 2) : 1;
}

double ChiSquareLower(double x, double dof) {
  if (!(dof > 0) || !(x < dof)) return 1;
  return x <= 0 ? 0 : GammaBound(x / 2, dof / 2);
}

double ChiSquareTwoSided(double x, double dof) {
  return Double(std::min(ChiSquareUpper(x, dof), ChiSquareLower(x, dof)));
}

double KolmogorovSmirnovUpper(double d, double n) {
  if (!(d > 0) || !(n > 0)) return 1;
  return Double(std::exp(-2 * n * d * d));
}

}  // namespace flaggems
