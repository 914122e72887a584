#ifndef FLAGGEMS_ATEN_SNAPSHOT_H_
#define FLAGGEMS_ATEN_SNAPSHOT_H_

// Copies of arguments, in host memory or where they are, that behave as the
// originals do.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace flaggems {

// The bytes [begin, end) of a storage that some argument reaches, and their
// copy.
struct CopiedRange {
  c10::Storage storage;
  const void* data = nullptr;  // of the storage when it was copied
  int64_t begin = 0;
  int64_t end = 0;
  at::Tensor copy;  // kByte, 1-d
};

// Where copies lie: in host memory, or on the device of each tensor.
// kHostLater: in host memory, page-locked for a CUDA device, into which the
// copies of a device's tensors are only put into its current stream. Whoever
// frees either side first knows that this stream is done with them.
enum class CopyPlace { kHost, kDevice, kHostLater };

// Elements between the first and the last one of a tensor with plain memory,
// those between that are not its own included.
int64_t Extent(const at::Tensor& tensor);

// Whether all elements of a tensor with plain memory lie in its storage, as
// they do not once that was resized below them.
bool LiesInStorage(const at::Tensor& tensor);

// In place of a margin: the storages of the tensors are copied whole.
inline constexpr int64_t kWholeStorage = std::numeric_limits<int64_t>::max();

// Bytes that a Snapshot of these copies at most, beside margins: each tensor's
// extent, or with kWholeStorage its storage.
int64_t BytesReached(absl::Span<const c10::IValue> values, int64_t margin = 0);

// The arguments of a call as they were when it was taken.
//
// What an operator can see of a tensor is kept: sizes, strides, conjugate and
// negative bits, whether it came from a Python number, and sharing: two
// arguments over one storage share one copy, so that an in-place operator
// writes through both. Numbers, strings and None are taken over; a device
// argument becomes the CPU, but with kDevice. Storage offsets count from the
// start of the copy.
class Snapshot {
 public:
  // Copies what the tensors of `arguments` reach, and of each storage on the
  // CPU up to `margin` bytes on both sides; or all storages (kWholeStorage).
  //
  // Cost:    one copy of that range; from a device to the host (kHost) it waits
  //          for the current stream, else it is put into that stream.
  // Threads: safe, as long as nobody writes the tensors meanwhile.
  // Errors:  kUnimplemented      a tensor without plain memory or with elements
  //                              outside its storage, or a generator
  //          kResourceExhausted  no memory for the copy
  //          kInternal           a copy that the device refused, with its text
  // Needs:   no autograd or wrapper above the current dispatch state: callers
  //          hold a CheckScope.
  static absl::StatusOr<Snapshot> Take(absl::Span<const c10::IValue> arguments,
                                       int64_t margin = 0,
                                       CopyPlace place = CopyPlace::kHost);

  // The arguments themselves, for a call that neither writes nor reads their
  // elements. Costs nothing; ranges() is empty.
  static Snapshot Borrow(absl::Span<const c10::IValue> arguments);

  const std::vector<c10::IValue>& arguments() const { return arguments_; }
  // Gives up the copies.
  std::vector<c10::IValue> TakeArguments() && { return std::move(arguments_); }
  const std::vector<CopiedRange>& ranges() const { return ranges_; }
  int64_t nbytes() const;

 private:
  std::vector<c10::IValue> arguments_;
  std::vector<CopiedRange> ranges_;
};

// Memory that changed since the snapshot was taken although it should not.
struct MemoryChange {
  int argument = -1;  // whose elements changed; -1: memory beside them
  std::string message;
};

// The first change in what `before` copied, but in the elements of the
// arguments for which `writable` is true. `arguments` are the originals, the
// same that were copied. Looks at storages on the CPU whose memory is still
// where it was. With `beside` false only the elements of arguments count.
// Cost: one pass over the copies; one more over what is writable.
std::optional<MemoryChange> FindChange(const Snapshot& before,
                                       absl::Span<const c10::IValue> arguments,
                                       const std::vector<bool>& writable,
                                       bool beside);

// Whether `now` holds as many tensors as `before`, of the same sizes, strides
// and conjugate and negative bits. Elements are not looked at.
bool LookAlike(const c10::IValue& now, const c10::IValue& before);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_SNAPSHOT_H_
