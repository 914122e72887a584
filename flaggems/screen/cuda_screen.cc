// Screens on CUDA devices. Linking this file registers their maker.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/device_failure.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/contract.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/reference_runs.h"
#include "flaggems/judge/row_sample.h"
#include "flaggems/reference/denied_calls.h"
#include "flaggems/screen/call_fingerprint.h"
#include "flaggems/screen/costs.h"
#include "flaggems/screen/cuda_work.h"
#include "flaggems/screen/result_slots.h"
#include "flaggems/screen/screen.h"
#include "flaggems/screen/screened_results.h"

namespace flaggems {
namespace {

// What the screen can compare: an operator whose results are functions of its
// arguments, element by element.
bool IsScreened(OpClass op_class) {
  switch (op_class) {
    case OpClass::kExact:
    case OpClass::kRound:
    case OpClass::kSum:
    case OpClass::kInput:
    case OpClass::kScale:
    case OpClass::kStep:
    case OpClass::kCond:
    case OpClass::kView:
    case OpClass::kMeta:
    case OpClass::kUninit:
      return true;
    case OpClass::kProp:
    case OpClass::kRandom:
    case OpClass::kNone:
      return false;
  }
  return false;
}

// Only shapes and sharing are promised.
bool HasNoNumbers(OpClass op_class) {
  return op_class == OpClass::kView || op_class == OpClass::kMeta ||
         op_class == OpClass::kUninit;
}

bool IsDenied(const OpKey& op) {
  const absl::string_view name = absl::StripSuffix(op.name, "_");
  const auto rows = DeniedRows();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const DeniedRow& row) { return row.op == name; });
}

// The one CUDA device of all tensors, those of one element may be on the CPU,
// and of what says where a result is to be. nullopt: there is none, or a tensor
// that no screen takes.
std::optional<c10::Device> DeviceOfAll(absl::Span<const c10::IValue> values) {
  std::optional<c10::Device> device;
  bool screened = true;
  VisitTensors(values, [&](const at::Tensor& tensor) {
    if (!IsPlainTensor(tensor) || tensor.is_complex() || tensor.is_neg()) {
      screened = false;
    } else if (tensor.device().is_cuda()) {
      screened = screened && (!device || *device == tensor.device());
      device = tensor.device();
    } else if (!tensor.device().is_cpu() || tensor.dim() > 0) {
      screened = false;
    }
  });
  for (const c10::IValue& value : values) {
    if (!value.isDevice()) continue;
    c10::Device of_result = value.toDevice();
    if (!of_result.is_cuda()) return std::nullopt;
    if (!of_result.has_index())
      of_result.set_index(c10::cuda::current_device());
    screened = screened && (!device || *device == of_result);
    device = of_result;
  }
  return screened ? device : std::nullopt;
}

// About what a check of the call holds: copies, and float64 runs on inputs that
// are as they are, magnitudes or perturbed.
int64_t BytesToCheck(absl::Span<const c10::IValue> arguments) {
  int64_t bytes = 0;
  VisitTensors(arguments, [&](const at::Tensor& tensor) {
    // Of a view all that it reaches is copied, of an expanded tensor a result
    // has every element.
    const int64_t numel = std::max(tensor.numel(), Extent(tensor));
    bytes += numel * static_cast<int64_t>(tensor.element_size());
    // Widened, perturbed or as magnitudes, and as much for the results.
    if (tensor.is_floating_point()) bytes += 4 * 8 * numel;
  });
  return bytes;
}

// Makes `stream` the current one, and its device, if they are not: to ask is
// cheaper than to set.
class StreamIfOther {
 public:
  explicit StreamIfOther(const c10::cuda::CUDAStream& stream) {
    if (c10::cuda::current_device() != stream.device_index() ||
        c10::cuda::getCurrentCUDAStream(stream.device_index()) != stream) {
      guard_.emplace(stream);
    }
  }

 private:
  std::optional<c10::cuda::CUDAStreamGuard> guard_;
};

class CudaScreen final : public Screen {
 public:
  // `before`: copies of `arguments`, or of the rows of them that `sample`
  // names.
  CudaScreen(const JudgedOp& op, const BudgetRow& row, ScreenHints& hints,
             absl::Span<const c10::IValue> arguments,
             std::optional<RowSample> sample, Snapshot before,
             c10::cuda::CUDAStream stream)
      : op_(op),
        row_(row),
        hints_(hints),
        sample_(std::move(sample)),
        before_(std::move(before)),
        arguments_(AllWithOwnLists(arguments)),
        after_(arguments_),
        stream_(stream),
        bytes_(before_.nbytes()) {}

  ~CudaScreen() override {
    if (slot_ == nullptr) return;
    if (launching_) {
      // Something may still write it, and not say when.
      StatusOrOf([&] {
        const CaptureTolerance tolerance(true);
        stream_.synchronize();
        return absl::OkStatus();
      }).IgnoreError();
    } else if (!slot_->IsDone()) {
      ResultSlots::Instance().ReturnWhenDone(slot_);
      return;
    }
    ResultSlots::Instance().Return(slot_);
  }

  absl::StatusOr<bool> Enqueue(absl::Span<const c10::IValue> outputs) override {
    return StatusOrOf([&]() -> absl::StatusOr<bool> {
      const StreamIfOther guard(stream_);
      std::chrono::steady_clock::time_point begun;
      if (timed_) {
        begun = std::chrono::steady_clock::now();
        begun_.emplace(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
        begun_->record(stream_.unwrap());
      }
      absl::StatusOr<bool> enqueued =
          sample_ ? EnqueueRows(outputs) : EnqueueCall(outputs);
      // Judged at once, with the program's own results.
      if (enqueued.ok() && !*enqueued && !sample_) after_ = arguments_;
      if (timed_) host_time_ = std::chrono::steady_clock::now() - begun;
      return enqueued;
    });
  }

  bool settled() const override { return !results_ && !shape_; }
  bool Ready() override { return IsDone(); }

  absl::StatusOr<std::optional<Judgement>> Judged() override {
    return StatusOrOf([&]() -> absl::StatusOr<std::optional<Judgement>> {
      const StreamIfOther guard(stream_);
      FG_RETURN_IF_ERROR(AwaitSlot());
      absl::StatusOr<std::optional<Judgement>> judgement = Read();
      if (judgement.ok() && !*judgement && !measured_ && results_) {
        judgement = JudgedByConditions();
      }
      if (sample_ && judgement.ok() && *judgement) {
        sample_->Describe(**judgement);
      }
      return judgement;
    });
  }

  const std::vector<c10::IValue>& before() const override {
    return before_.arguments();
  }
  const std::vector<c10::IValue>& after() const override { return after_; }
  const std::vector<c10::IValue>& outputs() const override { return outputs_; }
  const RowSample* sample() const override {
    return sample_ ? &*sample_ : nullptr;
  }
  int64_t bytes() const override { return bytes_; }
  // What is known to be wrong is kept.
  bool holds_device_memory() const override { return !shape_; }

  void MeasureDeviceTime() override { timed_ = true; }

  // From the end of the kernel to that of the test, less the time in which the
  // host put it together: while that lasts the device waits for the host, which
  // is charged for it.
  std::optional<int64_t> DeviceNs() override {
    if (!begun_ || !ended_) return std::nullopt;
    const absl::StatusOr<double> elapsed_ms =
        StatusOrOf([&]() -> absl::StatusOr<double> {
          // It comes right behind the slot's being done.
          ended_->synchronize();
          return begun_->elapsedTime(*ended_);
        });
    if (!elapsed_ms.ok()) return std::nullopt;
    return std::max(int64_t{0},
                    static_cast<int64_t>(*elapsed_ms * 1e6) -
                        std::chrono::nanoseconds(host_time_).count());
  }

 private:
  bool IsDone() const { return !results_ || slot_->IsDone(); }

  KernelCall Call(absl::Span<const c10::IValue> arguments,
                  absl::Span<const c10::IValue> outputs) const {
    KernelCall call = {
        op_,     op_.device_reference, row_,           before_, arguments,
        outputs, /*on_host=*/false,    /*alone=*/false};
    call.is_sample = sample_.has_value();
    return call;
  }

  // Rows are tensors of their own, which nobody else writes.
  absl::StatusOr<bool> EnqueueRows(absl::Span<const c10::IValue> outputs) {
    absl::StatusOr<RowSample::Results> rows =
        sample_->After(outputs, arguments_);
    if (!rows.ok()) {
      // No kernel may give another number of rows.
      shape_ =
          Differs(Verdict::kFailShape, std::string(rows.status().message()));
      arguments_.clear();
      return true;
    }
    arguments_ = std::move(rows->arguments);
    after_ = arguments_;
    outputs_ = std::move(rows->outputs);
    const std::vector<c10::IValue> all = outputs_;
    return EnqueueCall(all);
  }

  absl::StatusOr<bool> EnqueueCall(absl::Span<const c10::IValue> outputs) {
    call_.emplace(Call(after_, {}));
    runs_.emplace(*call_);
    {
      const CostTimer timer(CostPart::kContract);
      FG_ASSIGN_OR_RETURN(const bool kept, KeepsContract(outputs));
      if (!kept) return false;
    }
    if (HasNoNumbers(row_.op_class)) return true;
    slot_ = ResultSlots::Instance().Take();
    if (slot_ == nullptr) return false;
    // Copies of results, the look for changes and the float64 arguments are one
    // launch.
    DeviceWorkBatch batch(stream_.stream());
    launching_ = true;
    {
      const CostTimer timer(CostPart::kCompare);
      FG_RETURN_IF_ERROR(KeepResults(outputs));
      FG_ASSIGN_OR_RETURN(const bool looked, LookForChanges(batch));
      if (!looked) return false;
    }
    {
      const CostTimer timer(CostPart::kReference);
      const absl::StatusOr<ReferenceRun>& wide = runs_->Wide();
      if (absl::IsResourceExhausted(wide.status())) return wide.status();
      FG_RETURN_IF_ERROR(batch.Launch());
      if (!wide.ok() || runs_->wide_is_native()) return false;
    }
    const CostTimer timer(CostPart::kCompare);
    results_.emplace(*call_, stream_);
    if (!results_->Find(ValuesOf(outputs_, after_, op_.writable), *runs_)) {
      return false;
    }
    measured_ = hints_.measure.load(std::memory_order_relaxed);
    const absl::Status compared = results_->Compare(*runs_, measured_, *slot_);
    if (!compared.ok()) {
      if (absl::IsUnimplemented(compared)) return false;
      return compared;
    }
    launching_ = false;
    if (timed_) {
      ended_.emplace(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
      ended_->record(stream_.unwrap());
    }
    Release();
    return true;
  }

  // False: it does not, or the native kernel refuses the call. Of calls that
  // look the same it is known.
  absl::StatusOr<bool> KeepsContract(absl::Span<const c10::IValue> outputs) {
    // What writes to views may change what its arguments look like.
    const bool looks_alike =
        !(op_.traits.is_mutable && HasNoNumbers(row_.op_class));
    const uint64_t fingerprint =
        looks_alike ? CallFingerprint(after_, outputs).value_or(0) : 0;
    if (fingerprint != 0 && hints_.IsKnown(fingerprint)) {
      ReferenceRun run;
      run.values = ValuesOf(outputs, after_, op_.writable);
      runs_->AssumeNative(std::move(run));
      return true;
    }
    const absl::StatusOr<ReferenceRun>& native = runs_->Native();
    if (absl::IsResourceExhausted(native.status())) return native.status();
    if (!native.ok() || BrokenContract(Call(after_, outputs), *runs_) ||
        !LiesWhereNativeDoes(outputs)) {
      return false;
    }
    if (fingerprint != 0) hints_.Remember(fingerprint);
    return true;
  }

  // Gives back what the stream needs no more once it has come this far: what is
  // allocated behind it there cannot overtake it. So a pending call holds
  // copies of the program's arguments and results, and nothing of the
  // program's.
  void Release() {
    runs_.reset();
    results_->Release();
    for (size_t i = 0; i < after_.size(); ++i) {
      if (!op_.writable[i]) after_[i] = before_.arguments()[i];
    }
    arguments_.clear();
  }

  // A view reaches the elements that the native kernel's does.
  bool LiesWhereNativeDoes(absl::Span<const c10::IValue> outputs) {
    if (row_.op_class != OpClass::kView || op_.traits.is_mutable) return true;
    const std::vector<FlatValue> got = ValuesOf(outputs, {}, {});
    const std::vector<FlatValue> want =
        ValuesOf(runs_->Native()->outputs, {}, {});
    if (got.size() != want.size()) return false;
    for (size_t i = 0; i < got.size(); ++i) {
      if (!got[i].value.isTensor() || !want[i].value.isTensor()) continue;
      const at::Tensor& a = got[i].value.toTensor();
      const at::Tensor& b = want[i].value.toTensor();
      if (!a.defined() || !b.defined() || a.numel() == 0) continue;
      if (!IsPlainTensor(a) || !IsPlainTensor(b) || a.is_neg() != b.is_neg() ||
          a.storage_offset() != b.storage_offset()) {
        return false;
      }
      for (int64_t d = 0; d < a.dim(); ++d) {
        if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
      }
    }
    return true;
  }

  // The quick budget is too small for this call. nullopt: judge in full.
  absl::StatusOr<std::optional<Judgement>> JudgedByConditions() {
    // Nothing may be put into a stream that is being captured meanwhile.
    if (IsCapturing(stream_.device())) return std::nullopt;
    hints_.measure.store(true, std::memory_order_relaxed);
    measured_ = true;
    FG_ASSIGN_OR_RETURN(const bool computed, RunAgain());
    if (!computed) return std::nullopt;
    slot_->done = 0;
    launching_ = true;
    FG_RETURN_IF_ERROR(results_->Compare(*runs_, measured_, *slot_));
    launching_ = false;
    Release();
    FG_RETURN_IF_ERROR(AwaitSlot());
    return Read();
  }

  // After Release(): the float64 results once more. False: they cannot be
  // computed.
  absl::StatusOr<bool> RunAgain() {
    runs_.emplace(*call_);
    ReferenceRun native;
    native.values = ValuesOf(outputs_, after_, op_.writable);
    runs_->AssumeNative(std::move(native));
    const absl::StatusOr<ReferenceRun>& wide = runs_->Wide();
    if (absl::IsResourceExhausted(wide.status())) return wide.status();
    // Native() is the kernel under test here, and no reference.
    if (!wide.ok() || runs_->wide_is_native()) return false;
    results_->Restore(*wide);
    return true;
  }

  // Copies the results and the arguments that were written, which the program
  // may write next.
  absl::Status KeepResults(absl::Span<const c10::IValue> outputs) {
    if (sample_) {
      bytes_ = before_.nbytes();
      VisitTensors(outputs_, [&](const at::Tensor& tensor) {
        bytes_ += static_cast<int64_t>(tensor.nbytes());
      });
      return absl::OkStatus();
    }
    std::vector<c10::IValue> values(outputs.begin(), outputs.end());
    for (size_t i = 0; i < after_.size(); ++i) {
      if (op_.writable[i]) values.push_back(after_[i]);
    }
    FG_ASSIGN_OR_RETURN(Snapshot copies, Snapshot::Take(values, /*margin=*/0,
                                                        CopyPlace::kDevice));
    bytes_ = before_.nbytes() + copies.nbytes();
    std::vector<c10::IValue> kept = std::move(copies).TakeArguments();
    outputs_.assign(kept.begin(),
                    kept.begin() + static_cast<int64_t>(outputs.size()));
    size_t next = outputs.size();
    for (size_t i = 0; i < after_.size(); ++i) {
      if (op_.writable[i]) after_[i] = std::move(kept[next++]);
    }
    return absl::OkStatus();
  }

  // Of arguments that the operator does not write and that fill their memory:
  // between the elements of others something else may be written meanwhile.
  // False: an argument does not have the size that it had.
  absl::StatusOr<bool> LookForChanges(DeviceWorkBatch& batch) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (op_.writable[i] || !arguments_[i].isTensor()) continue;
      const at::Tensor& now = arguments_[i].toTensor();
      if (!now.defined() || !now.device().is_cuda() || now.numel() == 0 ||
          !now.is_non_overlapping_and_dense() || IsWritten(now.storage()) ||
          compared_arguments_.size() == kMaxScreenedArguments) {
        continue;
      }
      if (now.nbytes() != before_.arguments()[i].toTensor().nbytes()) {
        return false;
      }
      DeviceWork work;
      work.kind = DeviceWork::Kind::kSameBytes;
      work.src = now.const_data_ptr();
      work.dst = before_.arguments()[i].toTensor().data_ptr();
      work.n = now.numel() * static_cast<int64_t>(now.element_size());
      work.different = &slot_->changed[compared_arguments_.size()];
      batch.Add(work);
      compared_arguments_.push_back(i);
    }
    return true;
  }

  bool IsWritten(const c10::Storage& storage) const {
    bool written = false;
    for (size_t i = 0; i < op_.writable.size(); ++i) {
      if (!op_.writable[i]) continue;
      VisitTensors(arguments_[i], [&](const at::Tensor& tensor) {
        written = written || tensor.storage().is_alias_of(storage);
      });
    }
    return written;
  }

  // As of the full judge, which sees no memory of the device.
  std::optional<Judgement> ChangedArgument() const {
    for (size_t i = 0; i < compared_arguments_.size(); ++i) {
      if (slot_->changed[i] == 0) continue;
      return flaggems::ChangedArgument(op_, compared_arguments_[i]);
    }
    return std::nullopt;
  }

  // Until the slot is done. kInternal: the device has failed.
  absl::Status AwaitSlot() const {
    using Clock = std::chrono::steady_clock;
    constexpr auto kSpin = std::chrono::microseconds(50);
    constexpr auto kNap = std::chrono::microseconds(20);
    const Clock::time_point begun = Clock::now();
    while (!IsDone()) {
      if (Clock::now() - begun < kSpin) continue;
      // A device that failed writes nothing any more.
      if (const auto failure = DeviceFailure(stream_.device())) {
        return absl::InternalError(*failure);
      }
      std::this_thread::sleep_for(kNap);
    }
    return absl::OkStatus();
  }

  // nullopt: it has to be judged in full.
  absl::StatusOr<std::optional<Judgement>> Read() const {
    if (shape_) return shape_;
    if (!results_) return Judgement{};
    if (auto changed = ChangedArgument()) return changed;
    std::optional<Judgement> judgement = results_->Read(*slot_);
    if (judgement && judgement->verdict == Verdict::kPass &&
        results_->AreZero(*slot_)) {
      // Nothing can be asked of the device.
      if (IsCapturing(stream_.device())) return std::nullopt;
      if (HasOnlyZeros()) judgement->verdict = Verdict::kUntrustedAllZero;
    }
    return judgement;
  }

  // Of the floating arguments; false without one.
  bool HasOnlyZeros() const {
    bool any = false;
    bool zero = true;
    VisitTensors(before_.arguments(), [&](const at::Tensor& tensor) {
      if (!zero || !tensor.is_floating_point()) return;
      any = true;
      zero = tensor.numel() == 0 || !tensor.ne(0).any().item<bool>();
    });
    return any && zero;
  }

  const JudgedOp& op_;
  const BudgetRow& row_;
  ScreenHints& hints_;
  const std::optional<RowSample> sample_;  // all else is of its rows
  const Snapshot before_;
  std::vector<c10::IValue> arguments_;  // the program's, until Release()
  std::vector<c10::IValue> after_;
  std::vector<c10::IValue> outputs_;
  const c10::cuda::CUDAStream stream_;
  std::optional<KernelCall> call_;
  std::optional<ReferenceRuns> runs_;
  std::optional<ScreenedResults> results_;  // of an operator with numbers
  std::optional<Judgement> shape_;  // it is wrong, whatever the rows are
  ResultSlot* slot_ = nullptr;
  std::optional<c10::Event> ended_;  // all is in the slot
  std::optional<c10::Event> begun_;  // the kernel under test has ended
  std::chrono::steady_clock::duration host_time_{};  // of Enqueue()
  bool timed_ = false;
  std::vector<size_t> compared_arguments_;  // those of slot_->changed
  bool measured_ = false;
  bool launching_ = false;  // what writes the slot may not say when it is done
  int64_t bytes_;
};

class CudaScreenMaker final : public ScreenMaker {
 public:
  absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp& op, const BudgetRow& row, ScreenHints& hints,
      absl::Span<const c10::IValue> arguments,
      const ScreenMemory& memory) const override {
    if (op.device_reference == nullptr || !IsScreened(row.op_class) ||
        op.traits.nondeterministic_seeded || IsDenied(op.traits.key)) {
      return nullptr;
    }
    const auto reference = op.reference.Get();
    if (reference != nullptr && !reference->is_operator()) return nullptr;
    const std::optional<c10::Device> device = DeviceOfAll(arguments);
    if (!device) return nullptr;
    return StatusOrOf([&]() -> absl::StatusOr<std::unique_ptr<Screen>> {
      const c10::cuda::CUDAStream stream =
          c10::cuda::getCurrentCUDAStream(device->index());
      if (HasNoNumbers(row.op_class) && !op.traits.is_mutable) {
        return std::make_unique<CudaScreen>(
            op, row, hints, arguments, std::nullopt,
            Snapshot::Borrow(arguments), stream);
      }
      const StreamIfOther guard(stream);
      std::optional<RowSample> sample;
      const int64_t bytes = memory.limit > 0 && !HasNoNumbers(row.op_class)
                                ? BytesToCheck(arguments)
                                : 0;
      if (bytes > memory.limit) {
        // A sample of what little is left would say little.
        if (memory.left < memory.limit / 2) return nullptr;
        sample = RowSample::Choose(
            op, arguments, memory.left,
            hints.samples.fetch_add(1, std::memory_order_relaxed));
        if (!sample) return nullptr;
      } else if (bytes > memory.left) {
        return nullptr;
      }
      absl::StatusOr<Snapshot> before =
          sample ? Snapshot::Take(sample->Arguments(arguments), /*margin=*/0,
                                  CopyPlace::kDevice)
                 : Snapshot::Take(arguments, /*margin=*/0, CopyPlace::kDevice);
      if (absl::IsUnimplemented(before.status())) return nullptr;
      if (!before.ok()) return before.status();
      return std::make_unique<CudaScreen>(op, row, hints, arguments,
                                          std::move(sample), *std::move(before),
                                          stream);
    });
  }
};

[[maybe_unused]] const bool registered = [] {
  // Leaked on purpose, as all that kernels use while the process ends.
  RegisterScreenMaker(new CudaScreenMaker());
  return true;
}();

}  // namespace
}  // namespace flaggems
