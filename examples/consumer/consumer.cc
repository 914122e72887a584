// Checks a kernel of its own with flaggems.
//
//   consumer LOG            the kernel is right
//   consumer LOG --wrong    it has an error, which LOG then names
//
// Exit code: 0 no failure found, 1 a failure found, 2 usage, 3 nothing checked.

#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/linspace.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "abs_kernel.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/precision.h"

int main(int argc, char** argv) {
  const bool wrong = argc == 3 && std::strcmp(argv[2], "--wrong") == 0;
  if (argc < 2 || (argc == 3 && !wrong) || argc > 3) {
    std::fprintf(stderr, "usage: %s LOG [--wrong]\n", argv[0]);
    return 2;
  }
  if (wrong) consumer::PlantTailError();

  flaggems::PrecisionOptions options;
  options.path = argv[1];
  const absl::Status status = flaggems::EnablePrecisionCheck(options);
  if (!status.ok()) {
    std::fprintf(stderr, "consumer: %s\n", status.ToString().c_str());
    return 3;
  }

  flaggems::EnableOptions enable;
  enable.registrar = flaggems::RegistrarKind::kPrecisionCheck;
  const absl::StatusOr<flaggems::Registration> kernels =
      flaggems::OnlyEnable({"abs"}, enable);
  if (!kernels.ok()) {
    std::fprintf(stderr, "consumer: %s\n", kernels.status().ToString().c_str());
    return 3;
  }

  // Any program that calls aten::abs; the last element is negative.
  const at::Tensor x = at::linspace(3.0, -4.0, 29);
  for (int call = 0; call < 3; ++call) at::abs(x);

  // The log is complete once the check is off.
  flaggems::DisablePrecisionCheck();
  int64_t passed = 0, failed = 0;
  for (const flaggems::OpSummary& op : flaggems::PrecisionSummary()) {
    passed += op.passed;
    failed += op.failed;
  }
  if (failed > 0) return 1;
  return passed > 0 ? 0 : 3;
}
