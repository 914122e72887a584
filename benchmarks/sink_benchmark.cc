// What a record costs: forming the line, and writing it to a file.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "flaggems/core/check_record.h"
#include "flaggems/sink/file_sink.h"
#include "flaggems/sink/format.h"

namespace flaggems {
namespace {

CheckRecord MakeRecord() {
  CheckRecord record;
  record.timestamp = absl::FromUnixSeconds(1747648801);
  record.op = {"aten", "add", "Tensor"};
  record.verdict = Verdict::kFailValue;
  record.inputs = {ValueDesc::Tensor(DType::kFloat16, {2, 3}),
                   ValueDesc::Tensor(DType::kFloat16, {2, 3})};
  record.output = ValueDesc::Tensor(DType::kFloat16, {2, 3});
  record.rtol = 0.01;
  record.atol = 0.01;
  record.max_abs_diff = 1.2e-3;
  record.max_rel_diff = 2.5e-2;
  record.worst_index = {1, 2};
  record.got = "1.25";
  record.want = "1.5";
  record.profile = "original";
  record.reference = "cpu";
  record.device = "cpu";
  return record;
}

void BM_Format(benchmark::State& state, RecordFormatter format) {
  const CheckRecord record = MakeRecord();
  for (auto _ : state) benchmark::DoNotOptimize(format(record));
}
BENCHMARK_CAPTURE(BM_Format, text, FormatTextLine);
BENCHMARK_CAPTURE(BM_Format, jsonl, FormatJsonLine);

void BM_Write(benchmark::State& state, RecordFormatter format) {
  char directory[] = "/tmp/sink_benchmark.XXXXXX";
  if (mkdtemp(directory) == nullptr) {
    state.SkipWithError("mkdtemp failed");
    return;
  }
  const std::string path = std::string(directory) + "/precision.log";
  {
    auto sink = OpenFileSink(path, format);
    if (!sink.ok()) {
      state.SkipWithError(sink.status().ToString().c_str());
      return;
    }
    const CheckRecord record = MakeRecord();
    for (auto _ : state) {
      if (!(*sink)->Send(record).ok()) state.SkipWithError("write failed");
    }
  }
  unlink(path.c_str());
  rmdir(directory);
}
BENCHMARK_CAPTURE(BM_Write, text, FormatTextLine);
BENCHMARK_CAPTURE(BM_Write, jsonl, FormatJsonLine);

}  // namespace
}  // namespace flaggems

BENCHMARK_MAIN();
