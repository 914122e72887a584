#ifndef FLAGGEMS_CHECK_CALL_RECORDER_H_
#define FLAGGEMS_CHECK_CALL_RECORDER_H_

// The end of one checked call: its verdict is counted, and its record logged.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/check/check_session.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/core/check_record.h"
#include "flaggems/judge/judgement.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/reference/reference.h"

namespace flaggems {

// Of one call, for one thread at a time. A call ends once: Skip(), Conclude()
// or GiveUp(), whichever comes first.
class CallRecorder {
 public:
  // Describes the call. `op` outlives the recorder.
  CallRecorder(const CheckedOp& op, CheckRuntime& runtime,
               std::shared_ptr<CheckSession> session,
               std::shared_ptr<const Reference> reference, int64_t call,
               const CallTraits& traits,
               absl::Span<const c10::IValue> arguments);

  CheckSession& session() const { return *session_; }
  CheckRuntime& runtime() const { return runtime_; }
  const CheckRecord& record() const { return record_; }
  // Of what BudgetSignature() and the ledger are told.
  uint64_t signature() const { return signature_; }
  bool on_device() const { return record_.device != "cpu"; }
  bool ended() const { return ended_; }

  void SetTolerance(double rtol, double atol);
  void SetOutputs(absl::Span<const c10::IValue> outputs);

  // The call was admitted, and is not judged after all.
  void Skip(Verdict verdict, absl::string_view message = "");

  // Counts and logs the judgement; one that is a skip is a Skip(). `dtype` is
  // that of the wrong result (torch's name, "" without one), or follows from
  // all results. May end the process, if the user asked for it.
  void Conclude(Judgement judgement, absl::string_view dtype = "");
  void ConcludeResults(Judgement judgement,
                       absl::Span<const c10::IValue> outputs);

  // Judging threw; ends the call if it has not ended.
  void GiveUp() noexcept;

 private:
  std::string DtypeName(int output_index,
                        absl::Span<const c10::IValue> outputs) const;
  void AddRounding(Judgement& judgement) const;
  [[noreturn]] void Abort();
  void Log();

  const CheckedOp& op_;
  CheckRuntime& runtime_;
  const std::shared_ptr<CheckSession> session_;
  const std::shared_ptr<const Reference> reference_;
  const uint64_t signature_;
  CheckRecord record_;
  // Of the arguments that may be written, as those of results; not the
  // arguments: a call may wait for its verdict longer than they live.
  std::vector<std::string> written_dtypes_;
  bool ended_ = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CALL_RECORDER_H_
