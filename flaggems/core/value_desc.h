#ifndef FLAGGEMS_CORE_VALUE_DESC_H_
#define FLAGGEMS_CORE_VALUE_DESC_H_

// What a record says of an argument or an output: shape and dtype of a tensor,
// or a list of such. Other arguments (numbers, strings, None) are left out of
// records, as in the original.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/core/dtype.h"

namespace flaggems {

struct TensorDesc {
  DType dtype = DType::kOther;
  std::vector<int64_t> sizes;
};

struct ValueDesc {
  enum class Kind : uint8_t { kNone, kTensor, kList };

  Kind kind = Kind::kNone;
  TensorDesc tensor;             // kTensor
  std::vector<ValueDesc> items;  // kList

  static ValueDesc Tensor(DType dtype, std::vector<int64_t> sizes);
  static ValueDesc List(std::vector<ValueDesc> items);
};

// A Python tuple: "()", "(5,)", "(2, 3)".
std::string FormatShape(absl::Span<const int64_t> sizes);

// "(2, 3):torch.float16".
std::string FormatTensor(const TensorDesc& tensor);

// A tensor as FormatTensor; a list is "[a, b]" and may nest, and leaves out
// what is None or an empty list (the original drops falsy entries); None alone
// is "None".
std::string FormatValue(const ValueDesc& value);

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_VALUE_DESC_H_
