// Errors against float64 of our CUDA kernels and of torch's own, in one run:
// the section "Errors against float64" of docs/kernels.md.
//
//   kernels_cuda_accuracy [--filter=softmax] > errors.json
//
// Inputs are rounded to the dtype; the truth is native aten's kernel in float64
// on those inputs, on the GPU. Progress goes to stderr, JSON to stdout. Without
// a GPU it says so and exits with 0.

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "benchmarks/cuda/accuracy_cases.h"
#include "benchmarks/cuda/kernel_pair.h"

ABSL_FLAG(std::string, filter, "",
          "only cases whose name or operator contains this text");

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;
using Form = AccuracyInputs::Form;
using nlohmann::json;

// The spacing of the dtype's numbers at 1.
double Spacing(at::ScalarType dtype) {
  return dtype == at::kHalf       ? 0x1p-10
         : dtype == at::kBFloat16 ? 0x1p-7
                                  : 0x1p-23;
}

double Largest(const at::Tensor& t) {
  return t.numel() == 0 ? 0 : t.max().item<double>();
}

// The errors of `got` in spacings:
//   ulp   the largest |error| / |truth|, where that is not 0
//   rms   the root of the mean square of the errors over that of the truth
//   cond  the largest |error| / condition, if there is one
json ErrorsOf(const at::Tensor& got, const at::Tensor& truth,
              const at::Tensor& condition) {
  const double spacing = Spacing(got.scalar_type());
  const at::Tensor error = (got.to(at::kDouble) - truth).abs();
  const at::Tensor size = truth.abs();
  const auto relative = [&](const at::Tensor& to) {
    return Largest((error / to).masked_fill(to == 0, 0)) / spacing;
  };
  const double scale = std::sqrt(size.square().mean().item<double>());
  const double rms = std::sqrt(error.square().mean().item<double>());
  json result = {{"ulp", relative(size)},
                 {"rms", scale == 0 ? rms / spacing : rms / scale / spacing}};
  if (condition.defined()) result["cond"] = relative(condition);
  return result;
}

// A row for each output that is a tensor of floating elements.
json Measure(const AccuracyCase& c, at::ScalarType dtype) {
  const std::optional<KernelPair> pair = KernelPair::Find(c.op);
  if (!pair.has_value()) throw std::runtime_error("no kernel of ours");
  const auto arguments = [&](Form form) {
    AccuracyInputs inputs(dtype, form);
    return c.arguments(inputs);
  };
  const Arguments own = pair->Own(arguments(Form::kRounded));
  const Arguments native = pair->Native(arguments(Form::kRounded));
  const Arguments wide = arguments(Form::kWide);
  const Arguments truth =
      c.truth ? Arguments{c.truth(wide)} : pair->Native(wide);
  Arguments condition;
  if (c.is_sum) condition = pair->Native(arguments(Form::kAbsolute));
  json rows = json::array();
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!truth[i].isTensor()) continue;
    const at::Tensor t = truth[i].toTensor();
    if (!t.defined() || t.numel() == 0 ||
        !at::isFloatingType(t.scalar_type())) {
      continue;
    }
    at::Tensor bound;
    if (c.is_sum) {
      bound = condition[i].toTensor();
    } else if (i == 0 && c.condition) {
      bound = c.condition(wide);
    }
    rows.push_back(
        {{"name", i == 0 ? c.name : c.name + " output " + std::to_string(i)},
         {"op", c.op},
         {"dtype", c10::toString(dtype)},
         {"native", ErrorsOf(native[i].toTensor(), t, bound)},
         {"own", ErrorsOf(own[i].toTensor(), t, bound)}});
  }
  return rows;
}

int Main() {
  if (!at::hasCUDA()) {
    std::fprintf(stderr, "no GPU that torch can use: nothing measured\n");
    return 0;
  }
  const c10::InferenceMode inference;
  const RunIdentity run = IdentityOfRun();
  const std::string filter = absl::GetFlag(FLAGS_filter);
  json rows = json::array();
  for (const AccuracyCase& c : AccuracyCases()) {
    if (c.name.find(filter) == std::string::npos &&
        c.op.find(filter) == std::string::npos) {
      continue;
    }
    for (const at::ScalarType dtype : c.dtypes) {
      try {
        for (json& row : Measure(c, dtype)) rows.push_back(std::move(row));
      } catch (const std::exception& e) {
        rows.push_back({{"name", c.name},
                        {"op", c.op},
                        {"dtype", c10::toString(dtype)},
                        {"error", e.what()}});
      }
      c10::cuda::CUDACachingAllocator::emptyCache();
      std::fprintf(stderr, "%s\n", rows.back().dump().c_str());
    }
  }
  const json results = {{"errors",
                         {{"device", run.device},
                          {"driver_cuda", run.driver_cuda},
                          {"torch", run.torch},
                          {"date", run.date},
                          {"rows", std::move(rows)}}}};
  std::printf("%s\n", results.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace benchmarks
}  // namespace flaggems

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return flaggems::benchmarks::Main();
}
