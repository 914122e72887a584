// Screens on CUDA devices. Linking this file registers their maker, and what
// widens arguments in a device's memory.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/fmax.h>
#include <ATen/ops/nan_to_num.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/array_view_of.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/flat_memory.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/contract.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/reference_runs.h"
#include "flaggems/judge/unread_results.h"
#include "flaggems/judge/value_budget.h"
#include "flaggems/reference/denied_calls.h"
#include "flaggems/reference/device_widener.h"
#include "flaggems/screen/call_fingerprint.h"
#include "flaggems/screen/costs.h"
#include "flaggems/screen/result_slots.h"
#include "flaggems/screen/screen.h"
#include "flaggems/screen/screen_kernels_launch.h"

namespace flaggems {
namespace {

absl::Status StatusOfLaunch(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return absl::OkStatus();
  if (error == cudaErrorNotSupported) {
    return absl::UnimplementedError(absl::StrCat(what, ": no such dtype"));
  }
  return absl::InternalError(
      absl::StrCat(what, ": ", cudaGetErrorString(error)));
}

class CudaWidener final : public DeviceWidener {
 public:
  absl::Status Widen(absl::Span<const WidenRequest> requests) const override {
    std::vector<WidenItem> items;
    items.reserve(requests.size());
    for (const WidenRequest& request : requests) {
      if (!request.to.device().is_cuda() || request.to.is_complex()) {
        return absl::UnimplementedError(
            "complex numbers, or a device that is not CUDA");
      }
      WidenItem& item = items.emplace_back();
      item.src = request.from.const_data_ptr();
      item.dtype = DTypeOf(request.from.scalar_type());
      item.mode = ModeOf(request);
      item.dst = static_cast<double*>(request.to.mutable_data_ptr());
      item.n = request.to.numel();
      item.step = request.step;
      item.seed = request.seed;
    }
    return StatusOfLaunch(
        LaunchWiden(items, c10::cuda::getCurrentCUDAStream(
                               requests[0].to.device().index())
                               .stream()),
        "float64 copies");
  }

 private:
  static WidenItem::Mode ModeOf(const WidenRequest& request) {
    switch (request.elements) {
      case ReferenceArgumentOptions::Elements::kMagnitude:
        return request.negative ? WidenItem::Mode::kMinusMagnitude
                                : WidenItem::Mode::kMagnitude;
      case ReferenceArgumentOptions::Elements::kPerturb:
        return WidenItem::Mode::kPerturb;
      case ReferenceArgumentOptions::Elements::kKeep:
        break;
    }
    return WidenItem::Mode::kKeep;
  }
};

class CudaCopier final : public DeviceCopier {
 public:
  void Copy(absl::Span<const DeviceCopy> copies,
            c10::Device device) const override {
    std::vector<CopyItem> items;
    items.reserve(copies.size());
    for (const DeviceCopy& copy : copies) {
      CopyItem& item = items.emplace_back();
      item.src = copy.from;
      item.dst = copy.to;
      item.nbytes = copy.nbytes;
    }
    C10_CUDA_CHECK(LaunchCopy(
        items, c10::cuda::getCurrentCUDAStream(device.index()).stream()));
  }
};

// Memory that comparisons of one stream share: they follow each other.
void* CompareScratch(const c10::cuda::CUDAStream& stream) {
  static Mutex& mutex = *new Mutex();
  // Every device has a default stream of the same handle.
  using Key = std::pair<c10::DeviceIndex, cudaStream_t>;
  static auto& scratch = *new std::map<Key, at::Tensor>();
  const MutexLock lock(&mutex);
  const Key key(stream.device_index(), stream.stream());
  const auto found = scratch.find(key);
  if (found != scratch.end()) return found->second.mutable_data_ptr();
  const at::Tensor bytes =
      EmptyFlat(DeviceCompareScratchBytes(), at::kByte,
                at::Device(at::kCUDA, stream.device_index()));
  bytes.zero_();
  return scratch.emplace(key, bytes).first->second.mutable_data_ptr();
}

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
    const int64_t numel = tensor.numel();
    bytes += numel * static_cast<int64_t>(tensor.element_size());
    // Widened, perturbed or as magnitudes, and as much for the results.
    if (tensor.is_floating_point()) bytes += 4 * 8 * numel;
  });
  return bytes;
}

class CudaScreen final : public Screen {
 public:
  CudaScreen(const JudgedOp& op, const BudgetRow& row, ScreenHints& hints,
             absl::Span<const c10::IValue> arguments, Snapshot before,
             c10::cuda::CUDAStream stream)
      : op_(op),
        row_(row),
        hints_(hints),
        before_(std::move(before)),
        arguments_(AllWithOwnLists(arguments)),
        after_(arguments_),
        stream_(stream) {}

  ~CudaScreen() override {
    if (slot_ == nullptr) return;
    // The device may still write it.
    StatusOrOf([&] {
      const CaptureTolerance tolerance(true);
      if (launching_) {
        stream_.synchronize();
      } else if (!read_) {
        event_->synchronize();
      }
      return absl::OkStatus();
    }).IgnoreError();
    ResultSlots::Instance().Return(slot_);
  }

  absl::StatusOr<bool> Enqueue(absl::Span<const c10::IValue> outputs) override {
    return StatusOrOf([&]() -> absl::StatusOr<bool> {
      const c10::cuda::CUDAStreamGuard guard(stream_);
      const auto begun = std::chrono::steady_clock::now();
      if (timed_) {
        begun_.emplace(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
        begun_->record(stream_.unwrap());
      }
      absl::StatusOr<bool> enqueued = EnqueueOrThrow(outputs);
      // Judged at once, with the program's own results.
      if (enqueued.ok() && !*enqueued) after_ = arguments_;
      host_time_ = std::chrono::steady_clock::now() - begun;
      return enqueued;
    });
  }

  bool Ready() override {
    if (!event_) return true;
    // An error of the device shows in Judged().
    const absl::StatusOr<bool> done =
        StatusOrOf([&]() -> absl::StatusOr<bool> { return event_->query(); });
    return !done.ok() || *done;
  }

  absl::StatusOr<std::optional<Judgement>> Judged() override {
    return StatusOrOf([&]() -> absl::StatusOr<std::optional<Judgement>> {
      const c10::cuda::CUDAStreamGuard guard(stream_);
      if (event_) event_->synchronize();
      read_ = true;
      // Nothing may be put into a stream that is being captured meanwhile.
      const bool capturing = IsCapturing(stream_.device());
      std::optional<Judgement> judgement = Read(capturing);
      if (judgement || measured_ || items_.empty() || capturing) {
        return judgement;
      }
      // The quick budget is too small for this operator.
      hints_.measure.store(true, std::memory_order_relaxed);
      measured_ = true;
      FG_ASSIGN_OR_RETURN(const bool computed, RunAgain());
      if (!computed) return std::nullopt;
      launching_ = true;
      FG_RETURN_IF_ERROR(Compare());
      event_->record(stream_.unwrap());
      launching_ = false;
      Release();
      event_->synchronize();
      return Read(/*capturing=*/false);
    });
  }

  const std::vector<c10::IValue>& before() const override {
    return before_.arguments();
  }
  const std::vector<c10::IValue>& after() const override { return after_; }
  const std::vector<c10::IValue>& outputs() const override { return outputs_; }
  int64_t bytes() const override { return bytes_; }

  void MeasureDeviceTime() override { timed_ = true; }

  // From the end of the kernel to that of the test, less the time in which the
  // host put it together: while that lasts the device waits for the host, which
  // is charged for it.
  std::optional<int64_t> DeviceNs() override {
    if (!begun_ || !event_) return std::nullopt;
    const absl::StatusOr<double> elapsed_ms =
        StatusOrOf([&]() -> absl::StatusOr<double> {
          return begun_->elapsedTime(*event_);
        });
    if (!elapsed_ms.ok()) return std::nullopt;
    return std::max(int64_t{0},
                    static_cast<int64_t>(*elapsed_ms * 1e6) -
                        std::chrono::nanoseconds(host_time_).count());
  }

 private:
  // A result that is compared.
  struct Item {
    size_t index;     // in ReferenceRun::values
    at::Tensor got;   // nobody else writes it
    at::Tensor want;  // float64, or of got's dtype
    at::Tensor conditions;
    bool exact;  // integers and bools
  };

  KernelCall Call(absl::Span<const c10::IValue> arguments,
                  absl::Span<const c10::IValue> outputs) const {
    return {op_,     op_.device_reference, row_,           before_, arguments,
            outputs, /*on_host=*/false,    /*alone=*/false};
  }

  absl::StatusOr<bool> EnqueueOrThrow(absl::Span<const c10::IValue> outputs) {
    call_.emplace(Call(after_, {}));
    runs_.emplace(*call_);
    {
      const CostTimer timer(CostPart::kContract);
      const std::optional<uint64_t> fingerprint =
          op_.traits.is_mutable && HasNoNumbers(row_.op_class)
              ? std::nullopt  // it may change what its arguments look like
              : CallFingerprint(after_, outputs);
      if (fingerprint && hints_.IsKnown(*fingerprint)) {
        ReferenceRun run;
        run.values = ValuesOf(outputs, after_, op_.writable);
        runs_->AssumeNative(std::move(run));
      } else {
        const absl::StatusOr<ReferenceRun>& native = runs_->Native();
        if (absl::IsResourceExhausted(native.status())) return native.status();
        if (!native.ok() || BrokenContract(Call(after_, outputs), *runs_)) {
          return false;
        }
        if (!LiesWhereNativeDoes(outputs)) return false;
        if (fingerprint) hints_.Remember(*fingerprint);
      }
    }
    if (HasNoNumbers(row_.op_class)) return true;
    {
      const CostTimer timer(CostPart::kReference);
      const absl::StatusOr<ReferenceRun>& wide = runs_->Wide();
      if (absl::IsResourceExhausted(wide.status())) return wide.status();
      if (!wide.ok() || runs_->wide_is_native()) return false;
    }
    const CostTimer timer(CostPart::kCompare);
    FG_RETURN_IF_ERROR(KeepResults(outputs));
    if (!FindItems()) return false;
    slot_ = ResultSlots::Instance().Take();
    if (slot_ == nullptr) return false;
    launching_ = true;
    const absl::StatusOr<bool> looked = LookForChanges();
    if (!looked.ok() || !*looked) return looked;
    measured_ = hints_.measure.load(std::memory_order_relaxed);
    const absl::Status compared = Compare();
    event_.emplace(c10::DeviceType::CUDA,
                   timed_ ? c10::EventFlag::BACKEND_DEFAULT
                          : c10::EventFlag::PYTORCH_DEFAULT);
    event_->record(stream_.unwrap());
    launching_ = false;
    if (absl::IsUnimplemented(compared)) return false;
    FG_RETURN_IF_ERROR(compared);
    Release();
    return true;
  }

  // Gives back what the stream needs no more once it has come this far: what is
  // allocated behind it there cannot overtake it. So a pending call holds
  // copies of the program's arguments and results, and nothing of the
  // program's.
  void Release() {
    runs_.reset();
    perturbed_.clear();
    for (Item& item : items_) {
      item.want = at::Tensor();
      item.conditions = at::Tensor();
    }
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
    for (Item& item : items_) {
      item.want = WantFor(item.got, wide->values[item.index].value.toTensor());
    }
    return true;
  }

  // The reference's result in the dtype that `got` is compared in.
  static at::Tensor WantFor(const at::Tensor& got, const at::Tensor& wide) {
    const c10::ScalarType type =
        got.is_floating_point() ? c10::kDouble : got.scalar_type();
    return wide.scalar_type() == type ? wide : wide.to(type);
  }

  // Copies the results and the arguments that were written, which the program
  // may write next.
  absl::Status KeepResults(absl::Span<const c10::IValue> outputs) {
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

  // False: a result that no screen compares.
  bool FindItems() {
    const std::vector<FlatValue> got = ValuesOf(outputs_, after_, op_.writable);
    const ReferenceRun& native = *runs_->Native();
    const ReferenceRun& wide = *runs_->Wide();
    if (got.size() != wide.values.size() ||
        got.size() != native.values.size()) {
      return false;
    }
    int output = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].list_size >= 0) continue;
      const int index = output++;
      if (got[i].steps) return false;
      if (IsUnread(op_, before_.arguments(), index) ||
          IsNothing(got[i].value)) {
        continue;
      }
      if (!got[i].value.isTensor()) {
        if (got[i].value != native.values[i].value) return false;
        continue;
      }
      const at::Tensor& tensor = got[i].value.toTensor();
      if (!wide.values[i].value.isTensor() || !tensor.device().is_cuda() ||
          !IsPlainTensor(tensor) || tensor.is_complex() || tensor.is_neg() ||
          items_.size() == kMaxScreenedValues) {
        return false;
      }
      Item item{i, tensor, wide.values[i].value.toTensor(), {}, false};
      if (item.want.sizes() != tensor.sizes()) return false;
      item.exact = !tensor.is_floating_point();
      item.want = WantFor(tensor, item.want);
      items_.push_back(std::move(item));
    }
    return !items_.empty();
  }

  // Of arguments that the operator does not write and that fill their memory:
  // between the elements of others something else may be written meanwhile.
  // False: an argument does not have the size that it had.
  absl::StatusOr<bool> LookForChanges() {
    std::vector<SameBytesItem> items;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (op_.writable[i] || !arguments_[i].isTensor()) continue;
      const at::Tensor& now = arguments_[i].toTensor();
      if (!now.defined() || !now.device().is_cuda() || now.numel() == 0 ||
          !now.is_non_overlapping_and_dense() || IsWritten(now.storage()) ||
          items.size() == kMaxScreenedArguments) {
        continue;
      }
      if (now.nbytes() != before_.arguments()[i].toTensor().nbytes()) {
        return false;
      }
      SameBytesItem& item = items.emplace_back();
      item.a = now.const_data_ptr();
      item.b = before_.arguments()[i].toTensor().const_data_ptr();
      item.nbytes = now.numel() * static_cast<int64_t>(now.element_size());
      compared_arguments_.push_back(i);
    }
    if (items.empty()) return true;
    FG_RETURN_IF_ERROR(
        StatusOfLaunch(LaunchSameBytes(items, slot_->changed, stream_.stream()),
                       "comparing arguments"));
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

  absl::Status Compare() {
    for (size_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      DeviceComparison* const result = &slot_->values[i];
      void* const scratch = CompareScratch(stream_);
      if (item.exact) {
        FG_RETURN_IF_ERROR(StatusOfLaunch(
            LaunchCompareExactly(ArrayViewOf(item.got), ArrayViewOf(item.want),
                                 scratch, result, stream_.stream()),
            "comparing results"));
        continue;
      }
      FG_ASSIGN_OR_RETURN(const Budget budget, BudgetOf(item));
      FG_RETURN_IF_ERROR(StatusOfLaunch(
          LaunchCompareBudget(ArrayViewOf(item.got), ArrayViewOf(item.want),
                              budget, scratch, result, stream_.stream()),
          "comparing results"));
    }
    return absl::OkStatus();
  }

  // What the full judge would accept too: its budget, or less.
  absl::StatusOr<Budget> BudgetOf(Item& item) {
    const Budget base = BaseBudget(*call_, item.got, /*wide_is_native=*/false);
    Budget budget = QuickBudget(*call_, base);
    if (measured_ && HasBudget(row_.op_class) &&
        row_.op_class != OpClass::kRound) {
      FG_RETURN_IF_ERROR(MakeConditions(item, base));
      if (item.conditions.defined()) {
        budget = base;
        budget.condition = Budget::Condition::kArray;
        budget.conditions = ArrayViewOf(item.conditions);
      }
    }
    const double loss = NativeLoss(*call_, item.got, base);
    const bool narrow =
        IsReducedPrecision(item.got.scalar_type()) ||
        InputRoundoff(*call_, item.got.scalar_type()) >= 0x1p-12;
    if (MayLoseAsNative(*call_) && narrow && loss < 1) {
      budget.a += loss / budget.unit_roundoff;
    }
    return budget;
  }

  // The condition of the class (AddCondition() of judge/numbers.cc).
  absl::Status MakeConditions(Item& item, const Budget& base) {
    switch (row_.op_class) {
      case OpClass::kSum: {
        const absl::StatusOr<ReferenceRun>& sums = runs_->Magnitudes();
        if (absl::IsResourceExhausted(sums.status())) return sums.status();
        if (!sums.ok()) return Measure(item, base);
        item.conditions =
            sums->values[item.index].value.toTensor().contiguous();
        return absl::OkStatus();
      }
      case OpClass::kInput: {
        at::Tensor conditions = item.want.abs();
        VisitTensors(before_.arguments(), [&](const at::Tensor& tensor) {
          if (tensor.is_floating_point() && tensor.device().is_cuda() &&
              tensor.sizes() == conditions.sizes()) {
            conditions = conditions.fmax(tensor.to(c10::kDouble).abs());
          }
        });
        item.conditions = conditions.contiguous();
        return absl::OkStatus();
      }
      case OpClass::kScale:
        // What overflows excuses nothing.
        item.conditions = item.want.square()
                              .mean()
                              .sqrt()
                              .nan_to_num(/*nan=*/0, /*posinf=*/0, /*neginf=*/0)
                              .expand(item.want.sizes())
                              .contiguous();
        return absl::OkStatus();
      default:
        return Measure(item, base);
    }
  }

  absl::Status Measure(Item& item, const Budget& base) {
    const Measurement how = MeasurementOf(*call_, item.got, base);
    const at::Tensor want = item.want.contiguous();
    at::Tensor conditions =
        EmptyFlat(want.numel(), at::kDouble, want.device()).view(want.sizes());
    auto* const c = static_cast<double*>(conditions.mutable_data_ptr());
    const auto* const w = static_cast<const double*>(want.const_data_ptr());
    bool first = true;
    for (int draw = 0; draw < DrawsOf(how, want.numel()); ++draw) {
      const ReferenceRun* const run = PerturbedRun(how.step, draw);
      if (run == nullptr) continue;
      const at::Tensor moved =
          WantFor(item.got, run->values[item.index].value.toTensor())
              .contiguous();
      if (moved.sizes() != want.sizes()) continue;
      FG_RETURN_IF_ERROR(StatusOfLaunch(
          LaunchEffect(w, static_cast<const double*>(moved.const_data_ptr()), c,
                       want.numel(), first, stream_.stream()),
          "measuring the condition"));
      first = false;
    }
    if (first) return absl::OkStatus();  // the quick budget has to do
    ConditionsFormula formula;
    formula.scale = how.scale;
    formula.underflow = how.underflow;
    formula.unit_roundoff = base.unit_roundoff;
    formula.pointwise = how.pointwise;
    const at::Tensor quantiles = EmptyFlat(3, at::kDouble, want.device());
    FG_RETURN_IF_ERROR(StatusOfLaunch(
        LaunchConditions(w, c, want.numel(), formula,
                         static_cast<double*>(quantiles.mutable_data_ptr()),
                         stream_.stream()),
        "measuring the condition"));
    item.conditions = std::move(conditions);
    return absl::OkStatus();
  }

  // No more than the full judge's, which find no smaller effects. Where
  // elements have something in common, those that one draw leaves without an
  // effect have the quantile of the others.
  static int DrawsOf(const Measurement& how, int64_t numel) {
    constexpr int64_t kMany = 64;
    return std::min(how.draws, how.pointwise || numel < kMany ? 3 : 1);
  }

  // One of the runs that all results share; null if the operator refuses it.
  const ReferenceRun* PerturbedRun(double step, int draw) {
    const auto [it, inserted] = perturbed_.try_emplace({step, draw});
    if (inserted) it->second.emplace(runs_->Perturbed(step, draw));
    return it->second->ok() ? &**it->second : nullptr;
  }

  // As of the full judge, which sees no memory of the device.
  std::optional<Judgement> ChangedArgument() const {
    for (size_t i = 0; i < compared_arguments_.size(); ++i) {
      if (slot_->changed[i] == 0) continue;
      return Differs(
          Verdict::kFailArgument,
          absl::StrCat(
              "argument ",
              op_.handle.schema().arguments()[compared_arguments_[i]].name(),
              " was changed; the schema does not say that it is "
              "written"));
    }
    return std::nullopt;
  }

  // `capturing`: nothing more can be asked of the device.
  std::optional<Judgement> Read(bool capturing) const {
    if (items_.empty()) return Judgement{};
    if (auto changed = ChangedArgument()) return changed;
    std::optional<Judgement> worst;
    bool nonzero = false;
    for (size_t i = 0; i < items_.size(); ++i) {
      const DeviceComparison& found = slot_->values[i];
      nonzero = nonzero || found.got_nonzero != 0;
      const Comparison comparison = Finish(found.partial);
      if (OutcomeOf(comparison.verdict) == Outcome::kFail) return std::nullopt;
      Judgement judgement;
      judgement.verdict = comparison.verdict;
      judgement.max_abs_diff = comparison.max_abs_diff;
      judgement.max_rel_diff = comparison.max_rel_diff;
      judgement.score = comparison.score;
      judgement.output_index = static_cast<int>(i);
      if (!worst || IsWorse(judgement, *worst)) worst = std::move(judgement);
    }
    if (!nonzero && worst->verdict == Verdict::kPass) {
      if (capturing) return std::nullopt;
      if (HasOnlyZeros()) worst->verdict = Verdict::kUntrustedAllZero;
    }
    return worst;
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
  const Snapshot before_;
  std::vector<c10::IValue> arguments_;  // the program's, until Release()
  std::vector<c10::IValue> after_;
  std::vector<c10::IValue> outputs_;
  const c10::cuda::CUDAStream stream_;
  std::optional<KernelCall> call_;
  std::optional<ReferenceRuns> runs_;
  std::map<std::pair<double, int>, std::optional<absl::StatusOr<ReferenceRun>>>
      perturbed_;
  std::vector<Item> items_;
  ResultSlot* slot_ = nullptr;
  std::optional<c10::Event> event_;  // all is in the slot
  std::optional<c10::Event> begun_;  // the kernel under test has ended
  std::chrono::steady_clock::duration host_time_{};  // of Enqueue()
  bool timed_ = false;
  std::vector<size_t> compared_arguments_;  // those of slot_->changed
  bool measured_ = false;
  bool launching_ = false;  // something may write the slot that no event covers
  bool read_ = false;       // the event has been waited for
  int64_t bytes_ = 0;
};

class CudaScreenMaker final : public ScreenMaker {
 public:
  absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp& op, const BudgetRow& row, ScreenHints& hints,
      absl::Span<const c10::IValue> arguments,
      int64_t memory_limit) const override {
    if (op.device_reference == nullptr || !IsScreened(row.op_class) ||
        op.traits.nondeterministic_seeded || IsDenied(op.traits.key)) {
      return nullptr;
    }
    const auto reference = op.reference.Get();
    if (reference != nullptr && !reference->is_operator()) return nullptr;
    const std::optional<c10::Device> device = DeviceOfAll(arguments);
    if (!device) return nullptr;
    if (memory_limit > 0 && !HasNoNumbers(row.op_class) &&
        BytesToCheck(arguments) > memory_limit) {
      return nullptr;
    }
    return StatusOrOf([&]() -> absl::StatusOr<std::unique_ptr<Screen>> {
      const c10::cuda::CUDAStream stream =
          c10::cuda::getCurrentCUDAStream(device->index());
      const c10::cuda::CUDAStreamGuard guard(stream);
      absl::StatusOr<Snapshot> before =
          HasNoNumbers(row.op_class) && !op.traits.is_mutable
              ? Snapshot::Borrow(arguments)
              : Snapshot::Take(arguments, /*margin=*/0, CopyPlace::kDevice);
      if (absl::IsUnimplemented(before.status())) return nullptr;
      if (!before.ok()) return before.status();
      return std::make_unique<CudaScreen>(op, row, hints, arguments,
                                          *std::move(before), stream);
    });
  }
};

[[maybe_unused]] const bool registered = [] {
  // Leaked on purpose, as all that kernels use while the process ends.
  RegisterDeviceCopier(c10::DeviceType::CUDA, new CudaCopier());
  RegisterDeviceWidener(new CudaWidener());
  RegisterScreenMaker(new CudaScreenMaker());
  return true;
}();

}  // namespace
}  // namespace flaggems
