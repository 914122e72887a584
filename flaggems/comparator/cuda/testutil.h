#ifndef FLAGGEMS_COMPARATOR_CUDA_TESTUTIL_H_
#define FLAGGEMS_COMPARATOR_CUDA_TESTUTIL_H_

// Pairs of arrays on which the comparator of a device must find what that of
// the host finds.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"

namespace flaggems {

// Where the elements of got and want lie.
struct PairLayout {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<int64_t> got_strides;  // empty: row-major
  std::vector<int64_t> want_strides;
  int64_t first = 0;  // offset of got's and want's first element
};

enum class Contents {
  kEqual,
  kClose,       // few different errors: many elements share the largest score
  kMismatches,  // close, but for some
  kSpecial,     // all patterns against NaN, Inf, zeros, subnormal, huge
  kAllNan,      // where the type has a NaN
};

struct PairCase {
  DType got;
  DType want;  // float64 for a budget, else the same
  PairLayout layout;
};
void PrintTo(const PairCase& c, std::ostream* os);
std::string NameOf(const PairCase& c);

// One dtype and layout a case. The layouts are small but for one of 1e6 + 3
// elements, which only a few dtypes have.
std::vector<PairCase> BudgetCases();
std::vector<PairCase> ExactCases();
// Those of a case. Integers have no special values.
std::vector<Contents> ContentsFor(const PairCase& c);

class ArrayPair {
 public:
  ArrayPair(const PairCase& c, Contents contents);

  // With the data elsewhere: copies of the bytes below.
  ArrayView GotAt(const void* bytes) const;
  ArrayView WantAt(const void* bytes) const;
  ArrayView got() const { return GotAt(got_bytes.data()); }
  ArrayView want() const { return WantAt(want_bytes.data()); }

  bool got_nonzero() const;

  std::vector<char> got_bytes;
  std::vector<char> want_bytes;

 private:
  PairCase case_;
};

struct ConditionArray {
  std::vector<double> data;
  std::vector<int64_t> strides;
};

// None, reference, constant, array, whose conditions are in *conditions. `c`
// must outlive them.
struct NamedBudget {
  std::string name;
  Budget budget;
};
std::vector<NamedBudget> BudgetsFor(const PairCase& c,
                                    ConditionArray* conditions);

// To the bit.
void ExpectSame(const DeviceComparison& got, const PartialComparison& want,
                bool want_nonzero);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_TESTUTIL_H_
