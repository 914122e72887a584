#include "flaggems/screen/host_copy_screen.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pthread.h>

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

// What all screens of the process hold. The child of a fork() holds nothing:
// what it has of its parent's is leaked.
std::atomic<int64_t> calls_under_way{0};
std::atomic<int64_t> bytes_under_way{0};
[[maybe_unused]] const int forget_parent = pthread_atfork(nullptr, nullptr, [] {
  calls_under_way.store(0, std::memory_order_relaxed);
  bytes_under_way.store(0, std::memory_order_relaxed);
});

// Of the memory that a check may hold, what arguments may take that are copied
// once more to see whether they were overwritten.
constexpr int64_t kShareCopiedAgain = 8;

// One device copy and one host copy of each byte.
int64_t BytesHeld(int64_t copied) { return 2 * copied; }

class HostCopyScreen final : public Screen {
 public:
  HostCopyScreen(const JudgedOp& op, absl::Span<const c10::IValue> arguments,
                 Snapshot before, c10::Stream copy_stream, bool copies_again)
      : op_(op),
        copy_stream_(copy_stream),
        copies_again_(copies_again),
        device_before_(std::move(before)),
        before_(device_before_->arguments()),
        after_(AllWithOwnLists(arguments)) {
    calls_under_way.fetch_add(1, std::memory_order_relaxed);
    Hold(device_before_->nbytes());
  }

  ~HostCopyScreen() override {
    // The device may still read and write the copies.
    WaitForCopies().IgnoreError();
    calls_under_way.fetch_sub(1, std::memory_order_relaxed);
    bytes_under_way.fetch_sub(bytes_, std::memory_order_relaxed);
  }

  absl::StatusOr<bool> Enqueue(absl::Span<const c10::IValue> outputs) override {
    return StatusOrOf([&]() -> absl::StatusOr<bool> {
      // The current device need not be the tensors'.
      const c10::DeviceGuard guard(copy_stream_.device());
      // Such a failure is judged by the arguments, not by copies.
      if (!ArgumentsLookAlike()) return false;
      const std::vector<size_t> reached = ReachedWith(outputs);
      std::vector<c10::IValue> values(outputs.begin(), outputs.end());
      for (const size_t i : reached) values.push_back(after_[i]);
      // Nobody knows when such a kernel has written the host's memory.
      if (!IsOnDevice(values) || !LieInStorage(values)) return false;
      FG_ASSIGN_OR_RETURN(Snapshot results, Snapshot::Take(values, /*margin=*/0,
                                                           CopyPlace::kDevice));
      values.clear();
      Hold(results.nbytes());
      device_after_ = std::move(results);
      FG_RETURN_IF_ERROR(CopyToHost(outputs.size(), reached));
      return true;
    });
  }

  bool Ready() override {
    // An error of the device shows in Judged().
    if (done_ || !copied_) return true;
    const absl::StatusOr<bool> done =
        StatusOrOf([&]() -> absl::StatusOr<bool> { return copied_->query(); });
    if (done.value_or(false)) Finish();
    return done_ || !done.ok();
  }

  absl::StatusOr<std::optional<Judgement>> Judged() override {
    FG_RETURN_IF_ERROR(WaitForCopies());
    return std::nullopt;
  }

  const std::vector<c10::IValue>& before() const override { return before_; }
  const std::vector<c10::IValue>& after() const override { return after_; }
  const std::vector<c10::IValue>& outputs() const override { return outputs_; }
  int64_t bytes() const override { return bytes_; }
  bool holds_device_memory() const override {
    return device_before_.has_value();
  }

 private:
  // The device has come past the copies. It would be possible to leave them to
  // its allocator before, which knows of streams; but on a device that failed
  // meanwhile that does not survive the free of what two streams have used.
  void Finish() {
    done_ = true;
    device_before_.reset();
    device_after_.reset();
  }

  absl::Status WaitForCopies() {
    if (done_ || !device_after_) return absl::OkStatus();
    return StatusOrOf([&] {
      if (copied_) {
        copied_->synchronize();
      } else {
        copy_stream_.synchronize();
      }
      Finish();
      return absl::OkStatus();
    });
  }

  void Hold(int64_t copied) {
    bytes_ += BytesHeld(copied);
    bytes_under_way.fetch_add(BytesHeld(copied), std::memory_order_relaxed);
  }

  // What is not marked as written has the sizes and strides that it had.
  bool ArgumentsLookAlike() const {
    for (size_t i = 0; i < after_.size(); ++i) {
      if (!op_.writable[i] && !LookAlike(after_[i], before_[i])) return false;
    }
    return true;
  }

  // The arguments that are copied after the kernel, too: those whose memory it
  // may have written or returned, and others of the device, for it may have
  // written what it must not.
  std::vector<size_t> ReachedWith(absl::Span<const c10::IValue> outputs) const {
    std::vector<const c10::StorageImpl*> storages;
    const auto add = [&](const at::Tensor& tensor) {
      if (tensor.has_storage()) {
        storages.push_back(tensor.storage().unsafeGetStorageImpl());
      }
    };
    VisitTensors(outputs, add);
    for (size_t i = 0; i < after_.size(); ++i) {
      if (op_.writable[i]) VisitTensors(after_[i], add);
    }
    std::vector<size_t> reached;
    for (size_t i = 0; i < after_.size(); ++i) {
      bool shares = op_.writable[i];
      bool has_tensor = false;
      bool on_device = true;
      VisitTensors(after_[i], [&](const at::Tensor& tensor) {
        has_tensor = true;
        on_device = on_device && tensor.device() == copy_stream_.device();
        shares =
            shares || (tensor.has_storage() &&
                       absl::c_linear_search(
                           storages, tensor.storage().unsafeGetStorageImpl()));
      });
      if (shares || (copies_again_ && has_tensor && on_device)) {
        reached.push_back(i);
      }
    }
    return reached;
  }

  bool IsOnDevice(absl::Span<const c10::IValue> values) const {
    bool on_device = true;
    VisitTensors(values, [&](const at::Tensor& tensor) {
      on_device = on_device && tensor.device() == copy_stream_.device();
    });
    return on_device;
  }

  static bool LieInStorage(absl::Span<const c10::IValue> values) {
    bool inside = true;
    VisitTensors(values, [&](const at::Tensor& tensor) {
      inside = inside && IsPlainTensor(tensor) && LiesInStorage(tensor);
    });
    return inside;
  }

  // device_after_ are the outputs and the arguments `reached`.
  absl::Status CopyToHost(size_t outputs, const std::vector<size_t>& reached) {
    const c10::Device device = copy_stream_.device();
    c10::Event taken(device.type());
    taken.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    taken.block(copy_stream_);
    const c10::StreamGuard guard(copy_stream_);
    FG_ASSIGN_OR_RETURN(Snapshot before,
                        Snapshot::Take(device_before_->arguments(),
                                       MarginOf(op_), CopyPlace::kHostLater));
    before_ = std::move(before).TakeArguments();
    FG_ASSIGN_OR_RETURN(Snapshot after,
                        Snapshot::Take(device_after_->arguments(), /*margin=*/0,
                                       CopyPlace::kHostLater));
    copied_.emplace(device.type());
    copied_->record(copy_stream_);
    outputs_ = std::move(after).TakeArguments();
    // What was not reached is as it was before.
    after_ = before_;
    for (size_t i = 0; i < reached.size(); ++i) {
      after_[reached[i]] = std::move(outputs_[outputs + i]);
    }
    outputs_.resize(outputs);
    return absl::OkStatus();
  }

  const JudgedOp& op_;
  const c10::Stream copy_stream_;
  const bool copies_again_;  // arguments that the kernel must not write
  std::optional<Snapshot> device_before_;
  std::optional<Snapshot> device_after_;
  std::vector<c10::IValue> before_;
  std::vector<c10::IValue> after_;
  std::vector<c10::IValue> outputs_;
  std::optional<c10::Event> copied_;
  bool done_ = false;  // copied_ is known to be
  int64_t bytes_ = 0;
};

// The one device of all tensors; those of one element may be on the CPU.
// nullopt: there is none.
std::optional<c10::Device> DeviceOfAll(absl::Span<const c10::IValue> values) {
  std::optional<c10::Device> device;
  bool one = true;
  VisitTensors(values, [&](const at::Tensor& tensor) {
    if (tensor.device().is_cpu()) {
      one = one && tensor.dim() == 0;
    } else {
      one = one && (!device || *device == tensor.device());
      device = tensor.device();
    }
  });
  const bool known =
      device && (device->is_cuda() || device->is_privateuseone());
  return one && known ? device : std::nullopt;
}

class HostCopyScreenMaker final : public ScreenMaker {
 public:
  absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp& op, const BudgetRow& /*row*/, ScreenHints& /*hints*/,
      absl::Span<const c10::IValue> arguments,
      const ScreenMemory& memory) const override {
    const auto reference = op.reference.Get();
    if (reference == nullptr || !reference->is_operator()) return nullptr;
    const std::optional<c10::Device> device = DeviceOfAll(arguments);
    if (!device) return nullptr;
    const std::optional<c10::Stream> stream = CopyStream(*device);
    if (!stream) return nullptr;
    const int64_t margin = MarginOf(op);
    const int64_t bytes = BytesReached(arguments, margin);
    if ((memory.limit > 0 && bytes > memory.limit) ||
        BytesHeld(bytes) > kMaxHostCopyBytes) {
      return nullptr;
    }
    const int64_t calls = calls_under_way.load(std::memory_order_relaxed);
    if (calls >= kMaxHostCopies ||
        (calls > 0 &&
         bytes_under_way.load(std::memory_order_relaxed) + BytesHeld(bytes) >
             kMaxHostCopyBytes)) {
      return absl::UnavailableError(
          absl::StrCat(calls, " calls wait to be judged on the host already"));
    }
    return StatusOrOf([&]() -> absl::StatusOr<std::unique_ptr<Screen>> {
      const c10::DeviceGuard guard(*device);
      FG_ASSIGN_OR_RETURN(Snapshot before, Snapshot::Take(arguments, margin,
                                                          CopyPlace::kDevice));
      const bool copies_again =
          memory.limit == 0 || bytes <= memory.limit / kShareCopiedAgain;
      return std::make_unique<HostCopyScreen>(op, arguments, std::move(before),
                                              *stream, copies_again);
    });
  }
};

}  // namespace

std::optional<c10::Stream> CopyStream(const c10::Device& device) {
  static Mutex& mutex = *new Mutex();
  static auto& streams =
      *new std::map<c10::DeviceIndex, std::optional<c10::Stream>>();
  const MutexLock lock(&mutex);
  const auto [it, inserted] = streams.try_emplace(device.index());
  if (inserted) {
    const absl::Status status = StatusOrOf([&] {
      it->second = c10::impl::VirtualGuardImpl(device.type())
                       .getStreamFromGlobalPool(device);
      return absl::OkStatus();
    });
    if (!status.ok()) it->second.reset();
  }
  return it->second;
}

const ScreenMaker& HostCopyScreens() {
  static const auto& maker = *new HostCopyScreenMaker();  // leaked on purpose
  return maker;
}

}  // namespace flaggems
