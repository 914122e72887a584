// Matrix products and attention.

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "benchmarks/cuda/row.h"

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;

at::Tensor Random(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::randn(shape, at::device(at::kCUDA).dtype(at::kFloat)).to(dtype);
}

// float32 has the rate of its own units, not that of the tensor cores, which
// the share is of: a goal for 16 bits only.
std::vector<at::ScalarType> TypesFor(int64_t size) {
  if (size >= 8192) return {at::kBFloat16, at::kFloat};
  return {at::kBFloat16, at::kFloat, at::kHalf};
}

std::string Square(const char* op, int64_t size) {
  const std::string n = std::to_string(size);
  return std::string(op) + " " + n + " x " + n + " x " + n;
}

Row ProductRow(const std::string& name, const std::string& op, int64_t batch,
               int64_t size, std::function<Arguments(at::ScalarType)> make) {
  Row row;
  row.name = name;
  row.op = op;
  row.dtypes = TypesFor(size);
  row.arguments = std::move(make);
  row.limit = Limit::kMatrix;
  const double flops = 2.0 * batch * size * size * size;
  row.work = [flops](double) { return flops; };
  return row;
}

void AddMatrixRows(std::vector<Row>& rows) {
  for (const int64_t n : {64, 1024, 2048, 4096, 8192}) {
    rows.push_back(ProductRow(
        Square("mm", n), "aten::mm", 1, n, [n](at::ScalarType dtype) {
          return Arguments{Random({n, n}, dtype), Random({n, n}, dtype)};
        }));
  }
  for (const int64_t n : {1024, 4096, 8192}) {
    rows.push_back(ProductRow(
        Square("mm, second transposed,", n), "aten::mm", 1, n,
        [n](at::ScalarType dtype) {
          return Arguments{Random({n, n}, dtype), Random({n, n}, dtype).t()};
        }));
    rows.push_back(ProductRow(Square("addmm, row,", n), "aten::addmm", 1, n,
                              [n](at::ScalarType dtype) {
                                return Arguments{
                                    Random({n}, dtype), Random({n, n}, dtype),
                                    Random({n, n}, dtype), c10::Scalar(1),
                                    c10::Scalar(1)};
                              }));
  }
  rows.push_back(ProductRow(Square("addmm, matrix,", 4096), "aten::addmm", 1,
                            4096, [](at::ScalarType dtype) {
                              return Arguments{Random({4096, 4096}, dtype),
                                               Random({4096, 4096}, dtype),
                                               Random({4096, 4096}, dtype),
                                               c10::Scalar(1), c10::Scalar(1)};
                            }));
  struct Batches {
    int64_t batch, size;
  };
  for (const Batches& b : {Batches{64, 512}, Batches{16, 1024}}) {
    rows.push_back(
        ProductRow(std::to_string(b.batch) + " of " + Square("bmm", b.size),
                   "aten::bmm", b.batch, b.size, [b](at::ScalarType dtype) {
                     return Arguments{Random({b.batch, b.size, b.size}, dtype),
                                      Random({b.batch, b.size, b.size}, dtype)};
                   }));
  }
  rows.push_back(ProductRow("16 of " + Square("baddbmm", 1024), "aten::baddbmm",
                            16, 1024, [](at::ScalarType dtype) {
                              return Arguments{Random({16, 1024, 1024}, dtype),
                                               Random({16, 1024, 1024}, dtype),
                                               Random({16, 1024, 1024}, dtype),
                                               c10::Scalar(1), c10::Scalar(1)};
                            }));
}

struct AttentionSizes {
  int64_t queries, keys, size;
  bool causal;
};

// Batch 2, 16 heads. kind: flash, efficient or cudnn.
Row AttentionRow(const std::string& kind, const AttentionSizes& s,
                 const std::vector<at::ScalarType>& dtypes, bool bias) {
  Row row;
  row.name = kind + " attention " + std::to_string(s.queries) + " x " +
             std::to_string(s.keys) + ", head " + std::to_string(s.size) +
             (s.causal ? ", causal" : "") + (bias ? ", bias" : "");
  row.op = "aten::_scaled_dot_product_" + kind + "_attention";
  row.dtypes = dtypes;
  row.arguments = [s, kind, bias](at::ScalarType dtype) -> Arguments {
    const at::Tensor q = Random({2, 16, s.queries, s.size}, dtype);
    const at::Tensor k = Random({2, 16, s.keys, s.size}, dtype);
    const at::Tensor v = Random({2, 16, s.keys, s.size}, dtype);
    const c10::IValue none;
    // dropout_p, is_causal, return_debug_mask, scale
    if (kind == "flash") return {q, k, v, 0.0, s.causal, false, none};
    const c10::IValue mask =
        bias ? c10::IValue(Random({1, 1, s.queries, s.keys}, dtype)
                               .expand({2, 16, s.queries, s.keys}))
             : none;
    if (kind == "cudnn") {
      return {q, k, v, mask, true, 0.0, s.causal, false, none};
    }
    return {q, k, v, mask, true, 0.0, s.causal, none};
  };
  row.limit = Limit::kMatrix;
  const double flops =
      4.0 * 2 * 16 * s.queries * s.keys * s.size * (s.causal ? 0.5 : 1.0);
  row.work = [flops](double) { return flops; };
  return row;
}

void AddAttentionRows(std::vector<Row>& rows) {
  for (const int64_t size : {64, 128}) {
    for (const int64_t length : {1024, 2048, 4096, 8192}) {
      const AttentionSizes s = {length, length, size, false};
      rows.push_back(AttentionRow("flash", s, {at::kBFloat16}, false));
      rows.push_back(AttentionRow("cudnn", s, {at::kBFloat16}, false));
    }
    const AttentionSizes causal = {4096, 4096, size, true};
    rows.push_back(
        AttentionRow("flash", causal, {at::kBFloat16, at::kHalf}, false));
    // Of 16 bits: float32 of this alignment is left to aten.
    rows.push_back(AttentionRow("efficient", {2048, 2048, size, false},
                                {at::kBFloat16}, false));
  }
  rows.push_back(AttentionRow("efficient", {2048, 2048, 128, false},
                              {at::kBFloat16}, true));
  rows.push_back(
      AttentionRow("flash", {1, 8192, 128, false}, {at::kBFloat16}, false));
  rows.push_back(
      AttentionRow("flash", {64, 64, 64, false}, {at::kBFloat16}, false));
}

}  // namespace

std::vector<Row> ProductRows() {
  std::vector<Row> rows;
  AddMatrixRows(rows);
  AddAttentionRows(rows);
  return rows;
}

}  // namespace benchmarks
}  // namespace flaggems
