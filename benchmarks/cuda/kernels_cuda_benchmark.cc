// Our CUDA kernels against torch's own, in one run: the numbers of
// docs/kernels.md.
//
//   kernels_cuda_benchmark [--filter=softmax] [--iterations=30] > results.json
//
// Each row is one call of one operator. Native kernel and ours take turns;
// every call starts with the L2 cache full of something else and with the next
// of several argument sets, and is timed by CUDA events; the median counts.
// Nothing is asserted about time. Progress goes to stderr, JSON to stdout.
// Exits with 1, and names the rows on stderr, if results of ours and of native
// differ by more than the dtype's tolerance. Without a GPU it says so and exits
// with 0.

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "benchmarks/cuda/kernel_pair.h"
#include "benchmarks/cuda/row.h"
#include "flaggems/precision.h"

ABSL_FLAG(std::string, filter, "",
          "only rows whose name or operator contains this text");
ABSL_FLAG(int, iterations, 30, "timed calls of each kernel in each row");

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;
using nlohmann::json;

// The flush has to be larger than any L2 (50 MB on an H200).
constexpr int64_t kFlushBytes = int64_t{256} << 20;
// Argument sets take turns until they fill this much.
constexpr double kRotatedBytes = 512e6;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Event {
 public:
  Event() { C10_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { C10_CUDA_CHECK_WARN(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Record() {
    C10_CUDA_CHECK(
        cudaEventRecord(event_, c10::cuda::getCurrentCUDAStream().stream()));
  }
  double MillisecondsSince(const Event& start) const {
    float ms = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_;
};

// Median milliseconds of each of several callables, which take turns. Each is
// given the number of the round.
std::vector<double> TimeInTurns(
    const std::vector<std::function<void(int)>>& calls, int iterations) {
  // Read, not written: lines that are written back while the call is timed
  // would count as its own traffic.
  static const at::Tensor flush =
      at::zeros({kFlushBytes / 4}, at::TensorOptions(at::kCUDA));
  std::vector<std::vector<double>> times(calls.size());
  struct Pair {
    Event start, stop;
  };
  std::vector<std::unique_ptr<Pair>> pairs;
  constexpr int kWarmUp = 3;
  for (int i = 0; i < kWarmUp + iterations; ++i) {
    for (const auto& call : calls) {
      at::sum(flush);
      pairs.push_back(std::make_unique<Pair>());
      pairs.back()->start.Record();
      call(i);
      pairs.back()->stop.Record();
    }
  }
  c10::cuda::device_synchronize();
  for (size_t p = kWarmUp * calls.size(); p < pairs.size(); ++p) {
    times[p % calls.size()].push_back(
        pairs[p]->stop.MillisecondsSince(pairs[p]->start));
  }
  std::vector<double> medians;
  for (const auto& t : times) medians.push_back(Median(t));
  return medians;
}

double BytesOf(const Arguments& arguments) {
  double bytes = 0;
  for (const c10::IValue& v : arguments) {
    if (v.isTensor() && v.toTensor().defined()) {
      bytes += static_cast<double>(v.toTensor().nbytes());
    }
    if (v.isTensorList()) {
      for (const at::Tensor& t : v.toTensorVector()) {
        bytes += static_cast<double>(t.nbytes());
      }
    }
  }
  return bytes;
}

// Largest |a - b| over the largest finite |b|, of the first output: tells a
// wrong kernel, not a rounding. NaN agrees with NaN and an infinity with
// itself; with anything else, or for other shapes, the difference is infinite.
double Difference(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) {
    return kInfinity;
  }
  if (a.numel() == 0) return 0;
  const at::Tensor x = a.to(at::kFloat);
  const at::Tensor y = b.to(at::kFloat);
  const at::Tensor same = (x == y).logical_or_(x.isnan() & y.isnan());
  const double error =
      (x - y).abs_().masked_fill_(same, 0).max().item<double>();
  if (!std::isfinite(error)) return kInfinity;
  const double scale =
      y.abs().masked_fill_(y.isfinite().logical_not_(), 0).max().item<double>();
  return scale == 0 ? error : error / scale;
}

// What Difference may be where the order of additions and the last rounding
// are all that differs: a few float32 roundings, two spacings of 16 bits.
double Tolerance(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return 0x1p-9;
    case at::kBFloat16:
      return 0x1p-6;
    default:
      return 1e-5;
  }
}

json Measure(const Row& row, at::ScalarType dtype) {
  json result = {{"name", row.name},
                 {"op", row.op},
                 {"dtype", c10::toString(dtype)},
                 {"goal", row.goal}};
  const std::optional<KernelPair> pair = KernelPair::Find(row.op);
  if (!pair.has_value()) {
    result["error"] = "no kernel of ours";
    return result;
  }
  std::vector<Arguments> sets = {row.arguments(dtype)};
  const double bytes = std::max(BytesOf(sets[0]), 1.0);
  while (sets.size() < 4 && bytes * sets.size() < kRotatedBytes) {
    sets.push_back(row.arguments(dtype));
  }
  // On arguments of their own: an operator may write them.
  Arguments a = row.arguments(dtype), b;
  for (const c10::IValue& v : a) {
    b.push_back(v.isTensor() && v.toTensor().defined()
                    ? c10::IValue(v.toTensor().clone())
                    : v);
  }
  a = pair->Own(std::move(a));
  b = pair->Native(std::move(b));
  if (a[0].isTensor()) {
    const double difference = Difference(a[0].toTensor(), b[0].toTensor());
    // JSON has no infinity: null.
    result["difference"] = difference;
    result["agrees"] = row.agreement == kNeverAgree ||
                       difference <= row.agreement * Tolerance(dtype);
  }
  const std::vector<double> ms =
      TimeInTurns({[&](int i) { pair->Native(sets[i % sets.size()]); },
                   [&](int i) { pair->Own(sets[i % sets.size()]); }},
                  absl::GetFlag(FLAGS_iterations));
  result["native_ms"] = ms[0];
  result["own_ms"] = ms[1];
  if (row.limit != Limit::kNone) {
    result["limit"] = row.limit == Limit::kMemory ? "memory" : "matrix";
    result["work"] = row.work(static_cast<double>(c10::elementSize(dtype)));
  }
  return result;
}

// GB/s, bytes read and written, of a device-to-device copy of 1 GiB.
double CopyRate() {
  const at::Tensor from =
      at::rand({int64_t{1} << 28}, at::TensorOptions(at::kCUDA));
  const at::Tensor to = at::empty_like(from);
  const double ms = TimeInTurns({[&](int) { to.copy_(from); }}, 20)[0];
  return 2 * static_cast<double>(from.nbytes()) / ms / 1e6;
}

// TFLOP/s of native mm, 8192 x 8192, on random data.
double MatrixRate() {
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const at::Tensor a = at::randn({8192, 8192}, options);
  const at::Tensor b = at::randn({8192, 8192}, options);
  const double ms = TimeInTurns({[&](int) { at::mm(a, b); }}, 20)[0];
  return 2 * std::pow(8192.0, 3) / ms / 1e9;
}

// Host nanoseconds to start one call of a small operator, nothing waited for.
double HostNanoseconds(const std::function<void()>& call) {
  constexpr int kCalls = 500;
  for (int i = 0; i < 20; ++i) call();
  c10::cuda::device_synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  const auto stop = std::chrono::steady_clock::now();
  c10::cuda::device_synchronize();
  return std::chrono::duration<double, std::nano>(stop - start).count() /
         kCalls;
}

json LaunchOverheads() {
  const auto options = at::TensorOptions(at::kCUDA);
  const at::Tensor a = at::randn({2, 3}, options);
  const at::Tensor b = at::randn({2, 3}, options);
  const at::Tensor row = at::randn({16, 64}, options);
  const at::Tensor square = at::randn({64, 64}, options);
  const at::Tensor weight = at::randn({64}, options);
  const std::vector<int64_t> last = {64};
  const at::Tensor index = at::arange(16, options.dtype(at::kLong));
  const std::map<std::string, std::function<void()>> calls = {
      {"add (2, 3)", [&] { at::add(a, b); }},
      {"mul (2, 3)", [&] { at::mul(a, b); }},
      {"exp (2, 3)", [&] { at::exp(a); }},
      {"gelu (2, 3)", [&] { at::gelu(a); }},
      {"maximum (2, 3)", [&] { at::maximum(a, b); }},
      {"sum (16, 64), dim 1", [&] { at::sum(row, 1); }},
      {"softmax (16, 64)", [&] { at::_softmax(row, 1, false); }},
      {"layer_norm (16, 64)",
       [&] { at::native_layer_norm(row, last, weight, weight, 1e-5); }},
      {"mm (64, 64)", [&] { at::mm(square, square); }},
      {"index_select (16, 64)", [&] { at::index_select(row, 0, index); }},
      {"cat 2 x (2, 3)",
       [&] {
         at::cat({a, b});
       }},
  };
  json results = json::array();
  for (const auto& [name, call] : calls) {
    std::vector<double> native, own;
    for (int round = 0; round < 7; ++round) {
      native.push_back(HostNanoseconds(call));
      const auto enabled = Enable();
      if (!enabled.ok()) {
        return {{"error", std::string(enabled.status().message())}};
      }
      own.push_back(HostNanoseconds(call));
    }
    results.push_back({{"name", name},
                       {"native_ns", Median(native)},
                       {"own_ns", Median(own)}});
  }
  return results;
}

json Machine() {
  const RunIdentity run = IdentityOfRun();
  return {{"device", run.device},        {"driver_cuda", run.driver_cuda},
          {"torch", run.torch},          {"date", run.date},
          {"copy_gb_per_s", CopyRate()}, {"matrix_tflop_per_s", MatrixRate()}};
}

int Main() {
  if (!at::hasCUDA()) {
    std::fprintf(stderr, "no GPU that torch can use: nothing measured\n");
    return 0;
  }
  const c10::InferenceMode inference;
  const std::string filter = absl::GetFlag(FLAGS_filter);
  json results = {{"machine", Machine()}, {"rows", json::array()}};
  std::vector<std::string> differing;
  for (const auto& rows :
       {PointwiseRows(), RowRows(), ReduceRows(), ProductRows(), IndexRows()}) {
    for (const Row& row : rows) {
      if (row.name.find(filter) == std::string::npos &&
          row.op.find(filter) == std::string::npos) {
        continue;
      }
      for (const at::ScalarType dtype : row.dtypes) {
        json result;
        try {
          result = Measure(row, dtype);
        } catch (const std::exception& e) {
          result = {{"name", row.name},
                    {"op", row.op},
                    {"dtype", c10::toString(dtype)},
                    {"error", e.what()}};
        }
        c10::cuda::CUDACachingAllocator::emptyCache();
        const double difference = result.value("difference", 0.0);
        const std::string label = row.name + " " + c10::toString(dtype);
        if (!result.value("agrees", true)) {
          differing.push_back(absl::StrFormat("%s: %.1e", label, difference));
        }
        std::fprintf(stderr, "%s native %.4f own %.4f diff %.1e%s%s\n",
                     label.c_str(), result.value("native_ms", 0.0),
                     result.value("own_ms", 0.0), difference,
                     result.value("agrees", true) ? "" : " DIFFERS",
                     result.contains("error") ? " ERROR" : "");
        results["rows"].push_back(result);
      }
    }
  }
  results["launch"] = LaunchOverheads();
  std::printf("%s\n", results.dump(1).c_str());
  if (differing.empty()) return 0;
  std::fprintf(stderr, "ours and native differ:\n");
  for (const std::string& row : differing) {
    std::fprintf(stderr, "  %s\n", row.c_str());
  }
  return 1;
}

}  // namespace
}  // namespace benchmarks
}  // namespace flaggems

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return flaggems::benchmarks::Main();
}
