// The comparator on a device against copies of memory on it, in one run: a
// table on stderr, and JSON for benchmarks/performance/performance_doc.py on
// stdout.
//
//   device_compare_benchmark [--iterations=30] [--max_mb=1024] > results.json
//
// A comparison's bytes are those of the output, of its float64 reference, and
// of the conditions where there are any; a copy's count twice, read and
// written. Every timed launch starts with the L2 cache full of something else
// and is timed by CUDA events; the median counts. The copy is measured for the
// same number of bytes.
//
// Each row also finds one wrong element. Exits with 1, and names the rows on
// stderr, if a right output is not passed, or the wrong element is not the one
// that is reported; with 2 after an error of CUDA. Nothing is asserted about
// time. Without a GPU it says so and exits with 0.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/verdict.h"

ABSL_FLAG(int, iterations, 30, "timed launches of each row");
ABSL_FLAG(int, max_mb, 1024, "largest output, MiB");

namespace flaggems {
namespace {

using nlohmann::json;

constexpr int64_t kMiB = int64_t{1} << 20;
// Larger than any L2 (50 MB on an H200).
constexpr int64_t kFlushBytes = 256 * kMiB;
// Elements that differ; larger arrays repeat them.
constexpr int64_t kPattern = kMiB;
constexpr int kWarmUp = 3;

void Require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}
#define REQUIRE(call) Require(call, #call)

class DeviceMemory {
 public:
  explicit DeviceMemory(int64_t bytes) {
    REQUIRE(cudaMalloc(&data_, static_cast<size_t>(bytes)));
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  char* get() const { return static_cast<char*>(data_); }

  // `bytes` of it, from the host's pattern over and over.
  void Fill(const std::vector<char>& pattern, int64_t bytes) {
    int64_t done = std::min(bytes, static_cast<int64_t>(pattern.size()));
    REQUIRE(cudaMemcpy(data_, pattern.data(), static_cast<size_t>(done),
                       cudaMemcpyHostToDevice));
    while (done < bytes) {
      const int64_t more = std::min(done, bytes - done);
      REQUIRE(cudaMemcpy(get() + done, data_, static_cast<size_t>(more),
                         cudaMemcpyDeviceToDevice));
      done += more;
    }
    // Copies on the device do not hold the host, and the stream that compares
    // does not wait for theirs.
    REQUIRE(cudaDeviceSynchronize());
  }

 private:
  void* data_ = nullptr;
};

// An output that was rounded once, and its reference: up to half a spacing
// away. Where that is of the output's own type, float64, up to one spacing.
struct Pattern {
  std::vector<char> got;
  std::vector<char> want;
  double rms_ulps;
};

Pattern PatternOf(DType dtype) {
  Pattern pattern;
  std::mt19937_64 random(20261130);
  std::uniform_real_distribution<double> fraction(-0.5, 0.5);
  const bool wide = dtype == DType::kFloat64;
  const auto error = [&] {
    return wide ? static_cast<double>(random() % 3) - 1 : fraction(random);
  };
  pattern.rms_ulps = std::sqrt(wide ? 2.0 / 3 : 1.0 / 12);
  const FloatFormat format = *FloatFormatOf(dtype);
  VisitElementType(dtype, [&](auto tag) {
    using E = Element<tag.value>;
    using Stored = typename E::Stored;
    if constexpr (std::is_same_v<typename E::Value, double>) {
      std::vector<Stored> got;
      std::vector<double> want;
      while (static_cast<int64_t>(got.size()) < kPattern) {
        // A random sign and fraction, and one of eight exponents about 1.
        uint64_t bits = random();
        Stored stored;
        std::memcpy(&stored, &bits, sizeof(stored));
        const double x = E::Load(stored);
        if (!std::isfinite(x) || x == 0) continue;
        if constexpr (sizeof(Stored) >= 4) {
          int exponent;
          const double y = std::ldexp(std::frexp(x, &exponent),
                                      static_cast<int>(random() % 8) - 4);
          stored = static_cast<Stored>(y);
        } else if (std::fabs(x) < 0x1p-4 || std::fabs(x) > 0x1p4) {
          continue;
        }
        const double y = E::Load(stored);
        got.push_back(stored);
        want.push_back(y + error() * Ulp(format, std::fabs(y)));
      }
      const auto bytes_of = [](const auto& values) {
        std::vector<char> bytes(values.size() * sizeof(values[0]));
        std::memcpy(bytes.data(), values.data(), bytes.size());
        return bytes;
      };
      pattern.got = bytes_of(got);
      pattern.want = bytes_of(want);
    }
  });
  return pattern;
}

// What all rows share.
class Bench {
 public:
  Bench()
      : scratch_(DeviceCompareScratchBytes()),
        flush_(kFlushBytes),
        flush_size_(kFlushBytes) {
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    REQUIRE(cudaMallocHost(&result_, sizeof(FoundWords)));
    REQUIRE(cudaMemset(scratch_.get(), 0,
                       static_cast<size_t>(DeviceCompareScratchBytes())));
    REQUIRE(cudaMemset(flush_.get(), 1, kFlushBytes));
    REQUIRE(cudaDeviceSynchronize());
  }

  void Compare(const ArrayView& got, const ArrayView& want,
               const Budget& budget) {
    REQUIRE(LaunchCompareBudget(got, want, budget, scratch_.get(),
                                static_cast<FoundWords*>(result_), stream_));
  }
  Comparison Result() {
    REQUIRE(cudaStreamSynchronize(stream_));
    return Finish(ComparisonOf(*static_cast<FoundWords*>(result_)).partial);
  }
  cudaStream_t stream() const { return stream_; }

  // Median milliseconds.
  template <typename Launch>
  double Time(const Launch& launch) {
    struct Pair {
      cudaEvent_t start, stop;
    };
    std::vector<Pair> pairs(
        static_cast<size_t>(kWarmUp + absl::GetFlag(FLAGS_iterations)));
    for (Pair& pair : pairs) {
      REQUIRE(cudaEventCreate(&pair.start));
      REQUIRE(cudaEventCreate(&pair.stop));
      Flush();
      REQUIRE(cudaEventRecord(pair.start, stream_));
      launch();
      REQUIRE(cudaEventRecord(pair.stop, stream_));
    }
    REQUIRE(cudaStreamSynchronize(stream_));
    std::vector<float> times;
    for (const Pair& pair : pairs) {
      float ms = 0;
      REQUIRE(cudaEventElapsedTime(&ms, pair.start, pair.stop));
      times.push_back(ms);
      cudaEventDestroy(pair.start);
      cudaEventDestroy(pair.stop);
    }
    times.erase(times.begin(), times.begin() + kWarmUp);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  // Reads, and does not write: lines that are written back while a launch is
  // timed would count as its own traffic.
  void Flush() {
    const ArrayView all{
        flush_.get(), DType::kUInt8, {&flush_size_, 1}, {&flush_stride_, 1}};
    REQUIRE(LaunchCompareExactly(all, all, scratch_.get(),
                                 static_cast<FoundWords*>(result_), stream_));
  }

  DeviceMemory scratch_;
  DeviceMemory flush_;
  int64_t flush_size_;
  int64_t flush_stride_ = 1;
  cudaStream_t stream_ = nullptr;
  void* result_ = nullptr;
};

// GB/s, bytes read and written, of a copy that moves `bytes` in all.
double CopyRate(Bench& bench, int64_t bytes) {
  const int64_t half = bytes / 2;
  const DeviceMemory from(half), to(half);
  REQUIRE(cudaMemset(from.get(), 1, static_cast<size_t>(half)));
  REQUIRE(cudaDeviceSynchronize());
  const double ms = bench.Time([&] {
    REQUIRE(cudaMemcpyAsync(to.get(), from.get(), static_cast<size_t>(half),
                            cudaMemcpyDeviceToDevice, bench.stream()));
  });
  return 2 * static_cast<double>(half) / ms / 1e6;
}

struct Row {
  DType dtype;
  int64_t mb;  // of the output, MiB
  bool transposed;
  bool conditions;
};

// Empty, or what is wrong with the comparison of this row's data.
std::string Complaint(const Comparison& right, const Comparison& wrong,
                      double rms_ulps, int64_t numel, int64_t planted) {
  if (right.verdict != Verdict::kPass || right.numel != numel ||
      right.finite_numbers != numel) {
    return "a right output does not pass";
  }
  if (std::fabs(right.rms_error_ulps - rms_ulps) > 0.01 ||
      std::fabs(right.mean_error_ulps) > 0.01) {
    return "a right output has other errors than its data";
  }
  if (wrong.verdict != Verdict::kFailValue || wrong.value_mismatches != 1) {
    return "the wrong element is not found, or not alone";
  }
  if (wrong.worst != planted) {
    return "reports element " + std::to_string(wrong.worst) + ", wrong is " +
           std::to_string(planted);
  }
  return "";
}

json Measure(Bench& bench, const Row& row, const Pattern& pattern) {
  const auto element = static_cast<int64_t>(ElementSize(row.dtype));
  const int64_t numel = row.mb * kMiB / element;
  const int64_t bytes = numel * (element + 8 + (row.conditions ? 8 : 0));
  json result = {{"dtype", std::string(TorchName(row.dtype))},
                 {"mb", row.mb},
                 {"layout", row.transposed ? "transposed" : "contiguous"},
                 {"conditions", row.conditions},
                 {"bytes", bytes}};
  size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total));
  if (static_cast<int64_t>(free) < 2 * bytes + kMiB) {
    result["skipped"] = "too little device memory";
    return result;
  }
  result["copy_gb_per_s"] = CopyRate(bench, bytes);

  DeviceMemory got(numel * element), want(numel * 8);
  DeviceMemory condition(row.conditions ? numel * 8 : 1);
  got.Fill(pattern.got, numel * element);
  want.Fill(pattern.want, numel * 8);
  // Magnitudes at least, whatever the signs.
  if (row.conditions) condition.Fill(pattern.want, numel * 8);

  constexpr int64_t kColumns = 512;
  const int64_t rows = numel / kColumns;
  const std::vector<int64_t> sizes = {rows, kColumns};
  const std::vector<int64_t> row_major = {kColumns, 1};
  const std::vector<int64_t> strides =
      row.transposed ? std::vector<int64_t>{1, rows} : row_major;
  const ArrayView got_view{got.get(), row.dtype, sizes, strides};
  const ArrayView want_view{want.get(), DType::kFloat64, sizes, strides};
  Budget budget;
  budget.h = 1;
  if (row.conditions) {
    budget.a = 4;
    budget.condition = Budget::Condition::kArray;
    budget.conditions = {condition.get(), DType::kFloat64, sizes, row_major};
  }
  const auto compare = [&] {
    bench.Compare(got_view, want_view, budget);
    return bench.Result();
  };

  const Comparison right = compare();
  const int64_t planted = numel / 3 * 2 + 1;
  const int64_t at =
      planted / kColumns * strides[0] + planted % kColumns * strides[1];
  std::vector<char> kept(static_cast<size_t>(element));
  REQUIRE(cudaMemcpy(kept.data(), got.get() + at * element, kept.size(),
                     cudaMemcpyDeviceToHost));
  std::vector<char> spoilt = kept;
  spoilt.back() = static_cast<char>(spoilt.back() ^ 0x80);  // the sign
  REQUIRE(cudaMemcpy(got.get() + at * element, spoilt.data(), spoilt.size(),
                     cudaMemcpyHostToDevice));
  REQUIRE(cudaDeviceSynchronize());
  const Comparison wrong = compare();
  REQUIRE(cudaMemcpy(got.get() + at * element, kept.data(), kept.size(),
                     cudaMemcpyHostToDevice));
  REQUIRE(cudaDeviceSynchronize());
  const std::string complaint =
      Complaint(right, wrong, pattern.rms_ulps, numel, planted);
  if (!complaint.empty()) result["problem"] = complaint;

  const double ms =
      bench.Time([&] { bench.Compare(got_view, want_view, budget); });
  result["us"] = ms * 1e3;
  result["gb_per_s"] = static_cast<double>(bytes) / ms / 1e6;
  result["percent"] = 100 * result["gb_per_s"].get<double>() /
                      result["copy_gb_per_s"].get<double>();
  return result;
}

std::vector<Row> RowsOf(DType dtype) {
  std::vector<Row> rows;
  for (const int64_t mb : {1, 16, 64, 256, 1024}) {
    if (mb > absl::GetFlag(FLAGS_max_mb)) break;
    for (const bool conditions : {false, true}) {
      rows.push_back({dtype, mb, false, conditions});
      if (mb == 64) rows.push_back({dtype, mb, true, conditions});
    }
  }
  return rows;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

int Main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "this machine has no GPU: nothing measured\n");
    return 0;
  }
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0));
  Bench bench;
  json rows = json::array();
  int problems = 0;
  std::fprintf(stderr, "%-10s %6s %-11s %-10s %10s %8s %8s %6s\n", "dtype",
               "MiB", "layout", "conditions", "us", "GB/s", "copy", "%");
  for (const DType dtype :
       {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
    const Pattern pattern = PatternOf(dtype);
    for (const Row& row : RowsOf(dtype)) {
      const json result = Measure(bench, row, pattern);
      const std::string problem = result.value("problem", "");
      if (!problem.empty()) ++problems;
      std::fprintf(
          stderr, "%-10s %6d %-11s %-10s %10.1f %8.0f %8.0f %6.1f %s%s\n",
          std::string(TorchName(dtype).substr(sizeof("torch.") - 1)).c_str(),
          static_cast<int>(row.mb),
          row.transposed ? "transposed" : "contiguous",
          row.conditions ? "array" : "none", result.value("us", 0.0),
          result.value("gb_per_s", 0.0), result.value("copy_gb_per_s", 0.0),
          result.value("percent", 0.0), problem.c_str(),
          result.value("skipped", "").c_str());
      rows.push_back(result);
    }
  }
  const json document = {
      {"machine", {{"date", Today()}, {"device", properties.name}}},
      {"parts", {{"device_comparator", {{"result", rows}}}}}};
  std::printf("%s\n", document.dump(1).c_str());
  if (problems == 0) return 0;
  std::fprintf(stderr, "%d rows have a wrong verdict\n", problems);
  return 1;
}

}  // namespace
}  // namespace flaggems

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return flaggems::Main();
}
