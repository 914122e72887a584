#ifndef FLAGGEMS_COMPARATOR_BUDGET_H_
#define FLAGGEMS_COMPARATOR_BUDGET_H_

// What rounding can explain: the largest error of an output element that a
// right kernel may have. docs/tolerance.md derives it.

#include "flaggems/core/array_view.h"

namespace flaggems {

// With want the unrounded float64 reference,
//
//   |got - want| <= h * ulp(min(|got|, |want|))
//                 + u * (a + b * sqrt(n) + l * n) * C
//
// where ulp is the spacing of got's dtype (ulp.h). The first term is the one
// rounding into the output; it has got in it because a result below a power of
// two was rounded in steps of the spacing there, whatever the reference is. The
// second is what the arithmetic before may have lost.
struct Budget {
  // C, the condition: how far relative errors of size 1 in what enters the
  // arithmetic carry into this element.
  enum class Condition {
    kNone,       // 0: nothing but the rounding of the output
    kReference,  // |want|
    kConstant,   // `constant`, for all elements
    kArray,      // `conditions`, one per element
  };

  double h = 0.5;                  // ulps of the output; 0.75 if complex
  double unit_roundoff = 0x1p-24;  // u, of the type that is accumulated in
  double a = 0;
  double b = 0;
  double l = 0;
  double n = 1;  // terms of one output element

  Condition condition = Condition::kNone;
  double constant = 0;
  // float64, of want's sizes, contiguous: its owner computed it and chooses its
  // layout. Elements are magnitudes: a negative one or a NaN counts as 0, so
  // that a condition that could not be computed excuses nothing; Inf says that
  // no error is too large.
  ArrayView conditions;

  // An infinite result is accepted from overflow / overflow_margin on: formulas
  // such as (exp(x) + exp(-x)) / 2 overflow before their result does. At least
  // 1.
  double overflow_margin = 1;

  // Below the smallest normal number an error up to that number is accepted, as
  // of a machine that flushes subnormals to zero, and counted.
  bool flush_subnormals = true;

  // u * (a + b * sqrt(n) + l * n).
  double Factor() const;
};

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_BUDGET_H_
