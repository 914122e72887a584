#ifndef FLAGGEMS_COMPARATOR_TOLERANCE_H_
#define FLAGGEMS_COMPARATOR_TOLERANCE_H_

namespace flaggems {

// |got - want| <= atol + rtol * |want|.
struct Tolerance {
  double rtol = 1e-4;  // a ratio
  double atol = 1e-5;  // value units
};

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_TOLERANCE_H_
