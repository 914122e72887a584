// One measured call of a CUDA kernel: a line of docs/kernels.md.

#ifndef BENCHMARKS_CUDA_ROW_H_
#define BENCHMARKS_CUDA_ROW_H_

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace flaggems {
namespace benchmarks {

// What a row's speed is a share of.
enum class Limit {
  kMemory,  // copy bandwidth: bytes that must move, each input read once and
            // each output written once
  kMatrix,  // flops of matrix products
  kNone,    // latency or something else; only compared with native
};

struct Row {
  std::string name;  // op and shape: "softmax 8192 x 8192"
  std::string op;    // dispatcher key: "aten::_softmax"
  std::vector<at::ScalarType> dtypes;
  // New arguments on the current CUDA device, random.
  std::function<std::vector<c10::IValue>(at::ScalarType)> arguments;
  Limit limit = Limit::kMemory;
  // Bytes for kMemory, flops for kMatrix, given the size of an element.
  std::function<double(double)> work = {};
  // The share of the limit that is asked for; 0: none.
  double goal = 0;
  // How many times the dtype's tolerance the results of native and ours may
  // differ; kNeverAgree: by anything.
  double agreement = 1;
};

// For random results, and where any of several is right.
inline constexpr double kNeverAgree = std::numeric_limits<double>::infinity();

std::vector<Row> PointwiseRows();
std::vector<Row> RowRows();      // softmax and norms
std::vector<Row> ReduceRows();   // reductions, scans, sorts
std::vector<Row> ProductRows();  // matrix products, attention
std::vector<Row> IndexRows();

}  // namespace benchmarks
}  // namespace flaggems

#endif  // BENCHMARKS_CUDA_ROW_H_
