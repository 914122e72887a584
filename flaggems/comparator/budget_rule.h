#ifndef FLAGGEMS_COMPARATOR_BUDGET_RULE_H_
#define FLAGGEMS_COMPARATOR_BUDGET_RULE_H_

// budget.h's limit as a Rule for the walk over elements (element_rule.h,
// element_walk.h), on the host and on a device.

#include <cmath>
#include <cstdint>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/quiet_errors.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// kPerElement: the condition is an array. Every other condition is linear in
// |want|.
template <bool kPerElement>
class BudgetRule {
 public:
  // `format` is that of the output's dtype, or of its parts.
  BudgetRule(const Budget& budget, const FloatFormat& format)
      : ulp_error(format),
        terms_(budget, format),
        flush_below_(budget.flush_subnormals ? format.smallest_normal() : 0),
        overflow_(format.overflow / budget.overflow_margin),
        has_infinity_(format.has_infinity) {}

  FG_HOST_DEVICE double Limit(const ElementError& error,
                              PartialComparison* stats) const {
    const double limit =
        terms_.Limit(error.abs_got, error.abs_want, error.position);
    if (error.diff > limit && error.abs_want < flush_below_ &&
        error.diff <= flush_below_) {
      ++stats->flushed;
      return flush_below_;
    }
    return limit;
  }

  // Whether a value that the arithmetic may have had in place of `want` rounds
  // beyond the largest finite one.
  FG_HOST_DEVICE bool AgreesAsOverflow(double got, double want,
                                       int64_t position) const {
    const double abs_want = std::fabs(want);
    const bool overflows =
        abs_want + terms_.Arithmetic(abs_want, position) >= overflow_;
    if (has_infinity_) {
      return overflows && std::isinf(got) &&
             std::signbit(got) == std::signbit(want);
    }
    return overflows && std::isnan(got);
  }

  struct QuietBounds;

  // The limit is spacing_term() * 2^e + slope() * x + base(), where 2^e is
  // ulp.h's at the smaller of the two magnitudes and x the element's condition
  // (kPerElement) or |want|.
  FG_HOST_DEVICE double spacing_term() const { return terms_.spacing_term; }
  FG_HOST_DEVICE double slope() const { return terms_.slope; }
  FG_HOST_DEVICE double base() const { return terms_.base; }
  FG_HOST_DEVICE const double* conditions() const { return terms_.conditions; }

  UlpErrorFunction ulp_error;

 private:
  struct Terms {
    Terms(const Budget& budget, const FloatFormat& format)
        : ulp(format), h(budget.h), spacing_term(budget.h * ulp(1)) {
      const double factor = budget.Factor();
      switch (budget.condition) {
        case Budget::Condition::kNone:
          break;
        case Budget::Condition::kReference:
          slope = factor;
          break;
        case Budget::Condition::kConstant:
          base = factor * budget.constant;
          break;
        case Budget::Condition::kArray:
          slope = factor;
          conditions = static_cast<const double*>(budget.conditions.data);
          break;
      }
    }

    // The second term of the budget.
    FG_HOST_DEVICE double Arithmetic(double abs_want, int64_t position) const {
      if constexpr (kPerElement) {
        // What is no magnitude gives 0, and so does 0 * Inf, which is NaN.
        const double term = slope * conditions[position];
        return term > 0 ? term : 0;
      } else {
        return slope * abs_want + base;
      }
    }
    FG_HOST_DEVICE double Limit(double abs_got, double abs_want,
                                int64_t position) const {
      const double smaller = abs_got < abs_want ? abs_got : abs_want;
      return h * ulp(smaller) + Arithmetic(abs_want, position);
    }

    UlpFunction ulp;
    double h;
    double spacing_term;  // h spacings at 1
    double slope = 0;
    double base = 0;
    const double* conditions = nullptr;
  };

  Terms terms_;
  double flush_below_;
  double overflow_;
  bool has_infinity_;
};

// The limit without the flush: what needs that is counted by Limit().
template <bool kPerElement>
struct BudgetRule<kPerElement>::QuietBounds {
  internal_rule::QuietErrors errors;
  double score;
  Terms terms;

  FG_HOST_DEVICE QuietBounds(const BudgetRule& rule,
                             const PartialComparison& stats)
      : errors(stats),
        score(internal_rule::QuietScore(stats)),
        terms(rule.terms_) {}

  FG_HOST_DEVICE double ForScore(double abs_got, double abs_want,
                                 int64_t position) const {
    // Less what rounding to a subnormal can have added to the product.
    return score * terms.Limit(abs_got, abs_want, position) - 1e-290;
  }
};

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_BUDGET_RULE_H_
