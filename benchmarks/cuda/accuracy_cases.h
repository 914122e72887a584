// Calls whose errors against float64 kernels_cuda_accuracy measures.

#ifndef BENCHMARKS_CUDA_ACCURACY_CASES_H_
#define BENCHMARKS_CUDA_ACCURACY_CASES_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flaggems {
namespace benchmarks {

// Random inputs on the current CUDA device. Values are rounded to `dtype`
// first; two objects of one dtype give the same values in the same order.
class AccuracyInputs {
 public:
  enum class Form {
    kRounded,   // in the dtype: for the kernels under test
    kWide,      // in float64: for the truth
    kAbsolute,  // their absolute values in float64: for the condition
  };
  AccuracyInputs(at::ScalarType dtype, Form form);

  at::Tensor Normal(at::IntArrayRef sizes);
  // |normal| + 2^-10: no zeros, and nothing whose reciprocal overflows.
  at::Tensor Positive(at::IntArrayRef sizes);
  // Other float64 values, and statistics, which are float32 beside 16 bits.
  at::Tensor Of(const at::Tensor& wide) const;
  at::Tensor StatisticsOf(const at::Tensor& wide) const;
  // In [0, limit), int64.
  at::Tensor Labels(int64_t count, int64_t limit);

  // The element type of what is given.
  at::ScalarType dtype() const;

 private:
  at::Tensor InForm(const at::Tensor& rounded) const;

  at::ScalarType dtype_;
  Form form_;
};

struct AccuracyCase {
  std::string name;  // as in docs/kernels.md: "softmax_1024"
  std::string op;    // dispatcher key
  std::function<std::vector<c10::IValue>(AccuracyInputs&)> arguments;
  // A sum of terms that may cancel: errors are also given in units of the
  // operator of the absolute inputs.
  bool is_sum = false;
  // The truth of the first output from arguments in float64; empty: all outputs
  // of the native kernel.
  std::function<at::Tensor(const std::vector<c10::IValue>&)> truth = {};
  std::vector<at::ScalarType> dtypes = {at::kFloat, at::kHalf, at::kBFloat16};
  // As is_sum for the first output alone, from arguments in float64: the sum of
  // the absolute values of what may cancel in it.
  std::function<at::Tensor(const std::vector<c10::IValue>&)> condition = {};
};

std::vector<AccuracyCase> AccuracyCases();

}  // namespace benchmarks
}  // namespace flaggems

#endif  // BENCHMARKS_CUDA_ACCURACY_CASES_H_
