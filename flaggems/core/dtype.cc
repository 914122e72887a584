#include "flaggems/core/dtype.h"

#include "absl/strings/string_view.h"

namespace flaggems {
namespace {

enum class Kind : uint8_t { kInteger, kFloat, kComplex, kOpaque };

struct Row {
  DType dtype;
  absl::string_view torch_name;
  size_t size;  // bytes
  Kind kind;
};

constexpr Row kRows[] = {
    {DType::kBool, "torch.bool", 1, Kind::kInteger},
    {DType::kUInt8, "torch.uint8", 1, Kind::kInteger},
    {DType::kInt8, "torch.int8", 1, Kind::kInteger},
    {DType::kInt16, "torch.int16", 2, Kind::kInteger},
    {DType::kInt32, "torch.int32", 4, Kind::kInteger},
    {DType::kInt64, "torch.int64", 8, Kind::kInteger},
    {DType::kUInt16, "torch.uint16", 2, Kind::kInteger},
    {DType::kUInt32, "torch.uint32", 4, Kind::kInteger},
    {DType::kUInt64, "torch.uint64", 8, Kind::kInteger},
    {DType::kFloat16, "torch.float16", 2, Kind::kFloat},
    {DType::kBFloat16, "torch.bfloat16", 2, Kind::kFloat},
    {DType::kFloat32, "torch.float32", 4, Kind::kFloat},
    {DType::kFloat64, "torch.float64", 8, Kind::kFloat},
    {DType::kComplex32, "torch.complex32", 4, Kind::kComplex},
    {DType::kComplex64, "torch.complex64", 8, Kind::kComplex},
    {DType::kComplex128, "torch.complex128", 16, Kind::kComplex},
    {DType::kFloat8E4M3FN, "torch.float8_e4m3fn", 1, Kind::kFloat},
    {DType::kFloat8E5M2, "torch.float8_e5m2", 1, Kind::kFloat},
    {DType::kFloat8E4M3FNUZ, "torch.float8_e4m3fnuz", 1, Kind::kFloat},
    {DType::kFloat8E5M2FNUZ, "torch.float8_e5m2fnuz", 1, Kind::kFloat},
    {DType::kFloat8E8M0FNU, "torch.float8_e8m0fnu", 1, Kind::kFloat},
    {DType::kQInt8, "torch.qint8", 1, Kind::kOpaque},
    {DType::kQUInt8, "torch.quint8", 1, Kind::kOpaque},
    {DType::kQInt32, "torch.qint32", 4, Kind::kOpaque},
    {DType::kOther, "torch.unknown", 0, Kind::kOpaque},
};

constexpr bool RowsAreInEnumOrder() {
  if (sizeof(kRows) / sizeof(kRows[0]) != kNumDTypes) return false;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kRows[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInEnumOrder(), "one row for each DType, in enum order");

const Row& RowOf(DType dtype) {
  const int i = static_cast<int>(dtype);
  return kRows[i < kNumDTypes ? i : static_cast<int>(DType::kOther)];
}

}  // namespace

absl::string_view TorchName(DType dtype) { return RowOf(dtype).torch_name; }

size_t ElementSize(DType dtype) { return RowOf(dtype).size; }

bool IsFloating(DType dtype) { return RowOf(dtype).kind == Kind::kFloat; }

bool IsComplex(DType dtype) { return RowOf(dtype).kind == Kind::kComplex; }

bool IsIntegral(DType dtype) { return RowOf(dtype).kind == Kind::kInteger; }

bool IsHalfPrecision(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

}  // namespace flaggems
