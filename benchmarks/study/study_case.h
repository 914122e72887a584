#ifndef BENCHMARKS_STUDY_STUDY_CASE_H_
#define BENCHMARKS_STUDY_STUDY_CASE_H_

// Kernels that are known to be wrong or right, with the calls to judge them by.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace flaggems::study {

// The arguments of a call, with those left out at the end that have a default.
class Arguments {
 public:
  Arguments(std::vector<c10::IValue> values) : values_(std::move(values)) {}

  const std::vector<c10::IValue>& values() const { return values_; }
  at::Tensor operator[](size_t i) const { return values_.at(i).toTensor(); }
  double number(size_t i) const { return values_.at(i).toScalar().toDouble(); }

 private:
  std::vector<c10::IValue> values_;
};

// What a kernel returns, before it is rounded into the output's dtype.
struct Results {
  Results(at::Tensor only) : tensors{std::move(only)} {}
  Results(std::vector<at::Tensor> all) : tensors(std::move(all)) {}

  std::vector<at::Tensor> tensors;
};

// Random arguments: the same seed, the same numbers up to the rounding into
// the dtype.
class Draw {
 public:
  Draw(uint64_t seed, c10::ScalarType dtype);

  c10::ScalarType dtype() const { return dtype_; }
  at::Tensor Normal(at::IntArrayRef sizes, double scale = 1, double mean = 0);
  at::Tensor Uniform(at::IntArrayRef sizes, double low = 0, double high = 1);

 private:
  c10::ScalarType dtype_;
  at::Generator generator_;
};

struct StudyCase {
  const char* kind;  // unique: what is wrong, or how it is computed
  const char* op;    // the dispatcher's name, "aten::mean.dim"
  Arguments (*draw)(Draw& draw);
  // The arguments come with their floating tensors widened to float32, and
  // the results are rounded once into the output's dtype: so every kernel here
  // has float32 arithmetic, whatever the dtype.
  Results (*kernel)(const Arguments& arguments);
  // In 16 bits the kernel is not wrong.
  bool float32_only = false;
};

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_STUDY_CASE_H_
