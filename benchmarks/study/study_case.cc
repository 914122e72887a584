#include "benchmarks/study/study_case.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>

namespace flaggems::study {

Draw::Draw(uint64_t seed, c10::ScalarType dtype)
    : dtype_(dtype),
      generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

at::Tensor Draw::Normal(at::IntArrayRef sizes, double scale, double mean) {
  return at::randn(sizes, generator_, at::kFloat)
      .mul_(scale)
      .add_(mean)
      .to(dtype_);
}

at::Tensor Draw::Uniform(at::IntArrayRef sizes, double low, double high) {
  return at::rand(sizes, generator_, at::kFloat)
      .mul_(high - low)
      .add_(low)
      .to(dtype_);
}

}  // namespace flaggems::study
