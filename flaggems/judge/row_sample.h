#ifndef FLAGGEMS_JUDGE_ROW_SAMPLE_H_
#define FLAGGEMS_JUDGE_ROW_SAMPLE_H_

// Calls that are too large to be computed again as a whole: some rows of the
// kernel's full result.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Bytes that judging the call as a whole takes for copies and references,
// about.
int64_t JudgingBytes(const KernelCall& call);

// Rows of a call: slices of the result along one dimension that depend on the
// same slices of the arguments alone. The first, the last, and of each of equal
// parts between them some at a random place, next to each other.
//
// Immutable. The functions throw what torch throws; the caller holds a
// CheckScope.
class RowSample {
 public:
  // As many rows as are judged within `memory_limit` bytes. `arguments` as they
  // are before the call. Deterministic in `seed`.
  // nullopt: the operator has no such dimension (a table in the .cc and the tag
  // pointwise say which have), or not even two rows fit.
  static std::optional<RowSample> Choose(
      const JudgedOp& op, absl::Span<const c10::IValue> arguments,
      int64_t memory_limit, uint64_t seed);

  // The rows of the arguments, as tensors of their own on the same device; what
  // is not sliced is the argument itself.
  std::vector<c10::IValue> Arguments(
      absl::Span<const c10::IValue> arguments) const;

  struct Results {
    std::vector<c10::IValue> outputs;
    std::vector<c10::IValue> arguments;  // after the call
  };
  // The same of results, and of the arguments that the kernel wrote. An
  // argument that is a result is so in the sample too.
  // kInvalidArgument: a result has not as many rows as the arguments say.
  absl::StatusOr<Results> After(absl::Span<const c10::IValue> outputs,
                                absl::Span<const c10::IValue> arguments) const;

  // Makes the judgement of the sample one of the call: the worst element is
  // counted in the whole, and the message says how much was judged.
  void Describe(Judgement& judgement) const;

  // Rows that are judged, and that there are.
  int64_t count() const { return runs() * run_; }
  int64_t size() const { return size_; }

 private:
  RowSample() = default;

  int64_t runs() const { return static_cast<int64_t>(starts_.size()); }
  c10::IValue Slice(const c10::IValue& value, int64_t dim) const;
  int64_t DimensionOf(int64_t rank) const;

  int64_t size_ = 0;       // rows of the call
  int64_t dimension_ = 0;  // of a result
  // Of a result of a lower rank than this, so many dimensions before it are
  // taken away.
  int64_t input_rank_ = 0;
  int64_t reduced_before_ = 0;
  std::vector<int64_t> argument_dimensions_;  // -1: taken whole
  std::vector<int64_t> starts_;               // of runs of rows
  int64_t run_ = 1;                           // rows of each
  std::vector<bool> is_out_;                  // by argument
};

// Judges the call by a sample of rows. What the kernel changed beside its
// results is looked for in the whole too, strides and aliases are not.
// nullopt: no sample fits. Does not throw but for lack of memory.
std::optional<Judgement> JudgeRows(const KernelCall& call, int64_t memory_limit,
                                   uint64_t seed);

// Judges a sample of a call: `before` are RowSample::Arguments(), copied before
// the kernel ran.
Judgement JudgeSample(const KernelCall& call, const RowSample& sample,
                      const Snapshot& before);

// The same where all of `rows` is rows already.
Judgement JudgeSampledRows(KernelCall rows, const RowSample& sample);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_ROW_SAMPLE_H_
