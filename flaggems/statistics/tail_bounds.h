#ifndef FLAGGEMS_STATISTICS_TAIL_BOUNDS_H_
#define FLAGGEMS_STATISTICS_TAIL_BOUNDS_H_

// p-values: how probable something at least as far out as what was seen is, if
// all is as it should be.
//
// Each function returns an upper bound of the p-value, in [0, 1], valid for
// every sample size: a test that rejects below alpha has a false-alarm rate of
// at most alpha. No approximation that holds for large samples only is used,
// because tests here reject at 1e-7 and below, where such approximations are
// wrong by orders of magnitude. What a bound gives away is at most a factor in
// the order of the square root of the sample size.
//
// All are pure, allocate nothing and cost O(1). An argument that is NaN gives
// 1: nothing is proved.

namespace flaggems {

// A sum of n independent variables, each in [0, 1], whose expectations have the
// mean p; so a binomial or Poisson-binomial count, too. The probability that
// the sum is as far from n * p as `sum` on one side or as improbable on the
// other. `p_slack`: how far from p the mean may be in truth, on either side.
//
// 2 exp(-n KL(sum / n || p)): Hoeffding, "Probability inequalities for sums of
// bounded random variables", JASA 58 (1963), theorem 1.
double BoundedSumTwoSided(double sum, double n, double p, double p_slack = 0);

// A count with expectation mu >= 0 that is Poisson, binomial or a sum of
// independent indicators: P(count >= k). 1 for k <= mu.
//
// exp(-mu) (e mu / k)^k: Mitzenmacher and Upfal, Probability and Computing,
// theorem 4.4 (indicators) and 5.4 (Poisson).
double PoissonUpper(double k, double mu);
// P(count <= k). 1 for k >= mu.
double PoissonLower(double k, double mu);
// Twice the smaller of the two.
double PoissonTwoSided(double k, double mu);

// P(|Z| >= |z|) of a standard normal variable; exact.
double NormalTwoSided(double z);

// P(X >= x) of a chi-square variable with dof > 0 degrees of freedom, an
// integer or not: X / 2 is a gamma variable with shape dof / 2. 1 for
// x <= dof.
//
// (x / dof exp(1 - x / dof))^(dof / 2), Chernoff's bound: Dasgupta and Gupta,
// "An elementary proof of a theorem of Johnson and Lindenstrauss", Random
// Structures and Algorithms 22 (2003), lemma 2.2.
double ChiSquareUpper(double x, double dof);
// P(X <= x); the same formula. 1 for x >= dof.
double ChiSquareLower(double x, double dof);
// Twice the smaller of the two.
double ChiSquareTwoSided(double x, double dof);

// The largest distance d between the distribution function of n independent
// draws and their true one, whatever that is: P(D >= d).
//
// 2 exp(-2 n d^2): Massart, "The tight constant in the
// Dvoretzky-Kiefer-Wolfowitz inequality", Annals of Probability 18 (1990).
double KolmogorovSmirnovUpper(double d, double n);

}  // namespace flaggems

#endif  // FLAGGEMS_STATISTICS_TAIL_BOUNDS_H_
