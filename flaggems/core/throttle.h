#ifndef FLAGGEMS_CORE_THROTTLE_H_
#define FLAGGEMS_CORE_THROTTLE_H_

// Which calls of an operator are checked. In core, because options name it and
// policies carry it out.

#include <cstdint>

namespace flaggems {

enum class Throttle : uint8_t {
  kFirst,   // the first max_checks calls of each operator
  kSpread,  // the first max_checks of each signature (dtypes, shape class,
            // strides), then ever rarer ones over the whole run
};

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_THROTTLE_H_
