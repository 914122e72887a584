#include "flaggems/comparator/budget.h"

#include <cmath>

namespace flaggems {

double Budget::Factor() const {
  return unit_roundoff * (a + b * std::sqrt(n) + l * n);
}

}  // namespace flaggems
