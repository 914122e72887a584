#include "flaggems/core/value_desc.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace flaggems {
namespace {

// What Python's truth test finds false: None and the empty list.
bool IsFalsy(const ValueDesc& value) {
  return value.kind == ValueDesc::Kind::kNone ||
         (value.kind == ValueDesc::Kind::kList && value.items.empty());
}

void AppendValue(const ValueDesc& value, std::string* out) {
  switch (value.kind) {
    case ValueDesc::Kind::kNone:
      out->append("None");
      return;
    case ValueDesc::Kind::kTensor:
      absl::StrAppend(out, FormatTensor(value.tensor));
      return;
    case ValueDesc::Kind::kList:
      break;
  }
  out->push_back('[');
  bool first = true;
  for (const ValueDesc& item : value.items) {
    if (IsFalsy(item)) continue;
    if (!first) out->append(", ");
    first = false;
    AppendValue(item, out);
  }
  out->push_back(']');
}

}  // namespace

ValueDesc ValueDesc::Tensor(DType dtype, std::vector<int64_t> sizes) {
  ValueDesc value;
  value.kind = Kind::kTensor;
  value.tensor = {dtype, std::move(sizes)};
  return value;
}

ValueDesc ValueDesc::List(std::vector<ValueDesc> items) {
  ValueDesc value;
  value.kind = Kind::kList;
  value.items = std::move(items);
  return value;
}

std::string FormatShape(absl::Span<const int64_t> sizes) {
  return absl::StrCat("(", absl::StrJoin(sizes, ", "),
                      sizes.size() == 1 ? ",)" : ")");
}

std::string FormatTensor(const TensorDesc& tensor) {
  return absl::StrCat(FormatShape(tensor.sizes), ":", TorchName(tensor.dtype));
}

std::string FormatValue(const ValueDesc& value) {
  std::string out;
  AppendValue(value, &out);
  return out;
}

}  // namespace flaggems
