// One conformance suite for every operator kernel, on any device.
//
// Operators are described as data, once for all backends: the dispatcher's name
// and calls (<area>_cases.h). A backend's test adds its kernels. The suite runs
// each call for each dtype and memory layout and compares with aten:
//   - dtype, shape and strides of every output with aten's native kernel;
//   - values with aten in float64 (the oracle), within the bound below (a call
//     may ask for the native kernel's own infinities and NaNs);
//   - exceptions: where native aten throws, the kernel throws the same type;
//   - arguments: those that the schema does not mark mutable are unchanged, a
//     returned alias is the argument itself;
//   - threads: one thread and two give the same bits, where promised.
// It also registers the kernel for its name once: the dispatcher compares the
// C++ signature with the schema.
//
// The bound (Bound, the formula is in conformance.cc only):
//   |got - oracle| <= h ulp(oracle) + u (a + b sqrt(terms)) C + oracle_error
// h ulp: the final rounding, 0.5 (0.75 for complex) of the output dtype.
// u: unit roundoff of the accumulating type, 2^-53 for double, else 2^-24. The
// kernel's own operations add up to a few u (a) and, over long sums, to a
// random walk (b), each relative to the condition C: what the operator makes
// of errors of its inputs or of its intermediate terms.

#ifndef FLAGGEMS_KERNELS_TESTING_CONFORMANCE_H_
#define FLAGGEMS_KERNELS_TESTING_CONFORMANCE_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {

using Arguments = std::vector<c10::IValue>;

enum class Layout {
  kContiguous,
  kTransposed,  // first and last dimension exchanged in memory
  kSliced,      // every second element of a larger tensor, with an offset
  kExpanded,    // first dimension of stride 0
};

// Makes tensors of the case's dtype, layout and device; always the same ones.
class Inputs {
 public:
  Inputs(at::Device device, at::ScalarType dtype, Layout layout)
      : device_(device), dtype_(dtype), layout_(layout) {}

  // About normal(0, 2); integers in [-8, 8], or [0, 8]; bools either.
  at::Tensor Random(at::IntArrayRef shape);
  // In (0.05, 4), for log, sqrt and the like; Random of other types.
  at::Tensor Positive(at::IntArrayRef shape);
  // NaN, infinities, zeros of both signs, subnormals, the largest and smallest
  // normal numbers, and ordinary ones in between.
  at::Tensor Special(at::IntArrayRef shape);
  // Random, for an argument that is written: never expanded.
  at::Tensor Mutable(at::IntArrayRef shape);
  // Small integers with many ties.
  at::Tensor Ties(at::IntArrayRef shape);
  at::Tensor Of(at::ScalarType dtype, at::IntArrayRef shape);
  at::Tensor Mask(at::IntArrayRef shape);
  // In [0, limit).
  at::Tensor Index(at::IntArrayRef shape, int64_t limit,
                   at::ScalarType dtype = at::kLong);

  at::ScalarType dtype() const { return dtype_; }
  at::Device device() const { return device_; }

 private:
  at::Tensor Arrange(const at::Tensor& values, Layout layout) const;
  at::Tensor Normal(at::IntArrayRef shape);

  at::Device device_;
  at::ScalarType dtype_;
  Layout layout_;
  uint64_t seed_ = 20261129;
};

struct Call {
  std::string name;
  std::function<Arguments(Inputs&)> arguments;
  // Native aten refuses the call in float32. (Where it refuses another dtype,
  // the kernel has to refuse too, flag or not.)
  bool refused = false;
  // Terms of one output element, the n of the bound.
  int64_t terms = 1;
  // Only for contiguous arguments.
  bool contiguous_only = false;
  // For the thread test, in float32 and bfloat16; runs in no other case.
  bool threads = false;
  // Where the oracle's or native aten's element is not finite, native aten's is
  // the right one: for a dtype that aten computes by a formula of its own.
  bool native_specials = false;
  // Refused for the values of an argument (an index out of range). Only for the
  // CPU: a GPU's assertion ends the process.
  bool refused_for_values = false;
};

// The same call for the shapes every operator has to get right: 0-d, empty, one
// element, sizes around vector and block lengths, matrices, 3-d, 4-d.
std::vector<Call> CallsForShapes(
    const std::string& name,
    const std::function<Arguments(Inputs&, at::IntArrayRef)>& arguments);

// One list from several.
std::vector<Call> Concat(const std::vector<std::vector<Call>>& lists);

struct Bound {
  enum class Condition {
    kExact,        // the bits of native aten (NaN equals NaN)
    kMagnitude,    // C = |oracle|
    kAbsolute,     // C = the operator, or absolute_schema, of |arguments|
    kSensitivity,  // C = |oracle| + effect of relative errors of the inputs
  };
  Condition condition = Condition::kExact;
  double a = 0;
  double b = 0;
  std::string absolute_schema;  // for kAbsolute; empty: the operator itself
  // What aten's float64 formula loses itself, in absolute terms.
  double oracle_error = 0;
  // C is at least this: for a formula with terms of that size that cancel.
  double least_condition = 0;
};

// A kernel under its dispatcher name. Make one with KernelOf<&function>(name).
struct Kernel {
  std::string schema;  // "aten::add.Tensor"
  c10::KernelFunction function;
  torch::CppFunction (*registrable)();
};

template <auto* kFunction>
Kernel KernelOf(const std::string& schema) {
  using Function = c10::CompileTimeFunctionPointer<
      std::remove_pointer_t<decltype(kFunction)>, kFunction>;
  return {schema, c10::KernelFunction::makeFromUnboxedFunction(Function()),
          []() { return torch::CppFunction(Function()); }};
}

struct Operator {
  std::string schema;  // "aten::add.Tensor"
  Bound bound;
  std::vector<Call> calls;
  // Integer arguments are computed as floating point (division, exp).
  bool promotes_integers = false;
  // For operators without a CPU kernel: the outputs, from float64 arguments on
  // the CPU. Empty: the operator itself.
  std::function<std::vector<at::Tensor>(const Arguments&)> oracle = nullptr;
  // Output 1 says where the values of output 0 stand in argument 0, along the
  // dimension that is argument `indices->dim`. Among equal values any place
  // will do, but no place twice. Without it, output 1 is native aten's.
  struct Indices {
    size_t dim;
  };
  std::optional<Indices> indices = std::nullopt;
};

struct ConformanceCase {
  std::string name;
  Kernel kernel;
  Operator op;
  Call call;
  at::ScalarType dtype;
  Layout layout;
  at::Device device = at::Device(at::kCPU);
  enum class Kind { kCall, kSignature, kNoDevice } kind = Kind::kCall;
};

// All cases of the kernels on a device. Each kernel needs at least one operator
// of its name; operators without a kernel are of no interest. On a machine
// without the device, one case that says so and is skipped.
//
// On a GPU a kernel may leave a dtype other than float, half and bfloat16 to
// native aten by throwing NotImplementedError.
std::vector<ConformanceCase> CasesOf(const std::vector<Kernel>& kernels,
                                     const std::vector<Operator>& operators,
                                     at::Device device);

std::string NameOf(const ::testing::TestParamInfo<ConformanceCase>& info);
void PrintTo(const ConformanceCase& c, std::ostream* os);

class ConformanceTest : public ::testing::TestWithParam<ConformanceCase> {
 protected:
  void CheckSignature();
  void CheckThreads();
  void CheckCall();
};

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_CONFORMANCE_H_
