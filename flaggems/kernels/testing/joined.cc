#include "flaggems/kernels/testing/joined.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> Joined(const std::vector<std::vector<Operator>>& lists) {
  std::vector<Operator> all;
  for (const std::vector<Operator>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
