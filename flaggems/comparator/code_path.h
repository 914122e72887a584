#ifndef FLAGGEMS_COMPARATOR_CODE_PATH_H_
#define FLAGGEMS_COMPARATOR_CODE_PATH_H_

namespace flaggems {

// Which instructions look for elements that need a second look. The answer is
// the same; kBaseline is for tests and machines without AVX2.
enum class CodePath { kBest, kBaseline };

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CODE_PATH_H_
