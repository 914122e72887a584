#include "flaggems/judge/contract.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/guarded_allocator.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/unread_results.h"

namespace flaggems {
namespace {

bool SharesStorage(const at::Tensor& a, const at::Tensor& b) {
  return IsPlainTensor(a) && IsPlainTensor(b) && a.storage().nbytes() > 0 &&
         a.storage().is_alias_of(b.storage());
}

bool SharesWith(const at::Tensor& result, const c10::IValue& argument) {
  bool shares = false;
  VisitTensors(argument, [&](const at::Tensor& tensor) {
    shares = shares || SharesStorage(result, tensor);
  });
  return shares;
}

using Storages = absl::flat_hash_set<const c10::StorageImpl*>;

Storages StoragesOf(const c10::IValue& value) {
  Storages storages;
  VisitTensors(value, [&](const at::Tensor& tensor) {
    if (IsPlainTensor(tensor) && tensor.storage().nbytes() > 0) {
      storages.insert(tensor.storage().unsafeGetStorageImpl());
    }
  });
  return storages;
}

bool IsIn(const Storages& storages, const at::Tensor& tensor) {
  return IsPlainTensor(tensor) &&
         storages.count(tensor.storage().unsafeGetStorageImpl()) > 0;
}

// Some tensor of `value` is in memory that was none of the arguments' when the
// snapshot was taken; `copied` are the storages of the snapshot.
bool HasOtherMemory(const c10::IValue& value, const Snapshot& before,
                    const Storages& copied) {
  bool other = false;
  VisitTensors(value, [&](const at::Tensor& tensor) {
    if (!IsPlainTensor(tensor) || tensor.numel() == 0 || IsIn(copied, tensor)) {
      return;
    }
    // It may still be a lazy copy of one.
    other = other ||
            std::none_of(before.ranges().begin(), before.ranges().end(),
                         [&](const CopiedRange& range) {
                           return range.storage.is_alias_of(tensor.storage());
                         });
  });
  return other;
}

bool SameStrides(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() <= 1) return true;
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

std::string StridesOf(const at::Tensor& tensor) {
  return absl::StrCat(
      "(",
      absl::StrJoin(tensor.strides().begin(), tensor.strides().end(), ", "),
      ")");
}

// The type that torch's promotion gives, of tensors and a dtype argument.
// nullopt without one, and for tensors of several types on a device: norms take
// statistics in float32 beside 16-bit data there, and give gradients of either.
std::optional<c10::ScalarType> PromotedType(const KernelCall& call) {
  const auto& schema = call.op.handle.schema();
  const auto& arguments = call.before.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (schema.arguments()[i].name() == "dtype" && arguments[i].isInt()) {
      return static_cast<c10::ScalarType>(arguments[i].toInt());
    }
  }
  std::optional<c10::ScalarType> of_dims;
  std::optional<c10::ScalarType> of_scalars;
  bool mixed = false;
  VisitTensors(arguments, [&](const at::Tensor& tensor) {
    if (!tensor.is_floating_point() && !tensor.is_complex()) return;
    auto& type = tensor.dim() > 0 ? of_dims : of_scalars;
    mixed = mixed || (type && *type != tensor.scalar_type());
    type = type ? c10::promoteTypes(*type, tensor.scalar_type())
                : tensor.scalar_type();
  });
  if (mixed && !call.on_host) return std::nullopt;
  return of_dims ? of_dims : of_scalars;
}

class ContractCheck {
 public:
  // `runs` may be null for RunMemory().
  ContractCheck(const KernelCall& call, ReferenceRuns* runs)
      : call_(call), runs_(runs) {}

  std::optional<Judgement> RunMemory() {
    CheckMemory();
    return std::move(worst_);
  }

  std::optional<Judgement> Run() {
    if (!call_.is_sample) CheckMemory();
    const absl::StatusOr<ReferenceRun>& native = runs_->Native();
    const absl::StatusOr<ReferenceRun>& model =
        native.ok() ? native : runs_->Wide();
    if (model.ok()) CheckResults(*model, native.ok());
    return std::move(worst_);
  }

 private:
  void Report(Judgement judgement) {
    if (!worst_ || IsWorse(judgement, *worst_)) worst_ = std::move(judgement);
  }
  void Report(Verdict verdict, int output, std::string message) {
    Judgement judgement = Differs(verdict, std::move(message));
    judgement.output_index = output;
    Report(std::move(judgement));
  }

  // What the reference returns is what the operator promises. A golden function
  // is held to its schema alone: where its results have other dtypes or sizes
  // than the kernel's, nobody knows which of them is wrong.
  bool Binds() const { return call_.reference->is_operator(); }

  // Of results that cannot be compared.
  void Differ(Verdict verdict, int output, std::string message) {
    Report(Binds() ? verdict : Verdict::kErrorReference, output,
           std::move(message));
  }

  std::string ArgumentName(size_t i) const {
    return call_.op.handle.schema().arguments()[i].name();
  }

  void CheckMemory() {
    const std::optional<MemoryChange> change = FindChange(
        call_.before, call_.arguments, call_.op.writable, call_.alone);
    if (change && change->argument >= 0) {
      Report(ChangedArgument(call_.op, static_cast<size_t>(change->argument)));
    } else if (change) {
      Report(Verdict::kFailArgument, 0, change->message);
    }
    if (!call_.on_host) CheckCopies();
    // Of host tensors the snapshot knows the memory, not a copy of it.
    if (call_.on_host && !call_.before.ranges().empty()) {
      Storages copied;
      for (const CopiedRange& range : call_.before.ranges()) {
        copied.insert(range.storage.unsafeGetStorageImpl());
      }
      for (size_t a = 0; a < call_.arguments.size(); ++a) {
        if (!call_.op.writable[a] &&
            HasOtherMemory(call_.arguments[a], call_.before, copied)) {
          Report(Verdict::kFailArgument, 0,
                 absl::StrCat("argument ", ArgumentName(a),
                              " was given other memory; the schema does not "
                              "say that it is written"));
        }
      }
    }
    int index = 0;
    VisitTensors(call_.outputs, [&](const at::Tensor& tensor) {
      const int output = index++;
      if (!IsPlainTensor(tensor) || !tensor.device().is_cpu()) return;
      if (const auto damage = DamagedGuard(tensor.storage())) {
        Report(Verdict::kFailArgument, output,
               absl::StrCat("memory beside output ", output,
                            " was overwritten: ", *damage));
      }
    });
  }

  // Of a call on a device whose arguments as they were have been copied to the
  // host: the elements of those that fill their memory. Between others
  // something else may be written meanwhile.
  void CheckCopies() {
    Storages written;
    for (size_t a = 0; a < call_.arguments.size(); ++a) {
      if (!call_.op.writable[a]) continue;
      const Storages more = StoragesOf(call_.arguments[a]);
      written.insert(more.begin(), more.end());
    }
    const std::vector<c10::IValue>& before = call_.before.arguments();
    for (size_t a = 0; a < before.size() && a < call_.arguments.size(); ++a) {
      if (call_.op.writable[a]) continue;
      std::vector<at::Tensor> was;
      VisitTensors(before[a], [&](const at::Tensor& t) { was.push_back(t); });
      size_t i = 0;
      bool changed = false;
      VisitTensors(call_.arguments[a], [&](const at::Tensor& is) {
        const size_t k = i++;
        changed = changed || (k < was.size() && !IsIn(written, is) &&
                              DifferAsCopies(was[k], is));
      });
      if (changed) Report(ChangedArgument(call_.op, a));
    }
  }

  static bool DifferAsCopies(const at::Tensor& was, const at::Tensor& is) {
    if (!IsPlainTensor(was) || !IsPlainTensor(is) || !was.device().is_cpu() ||
        was.numel() == 0 || was.scalar_type() != is.scalar_type() ||
        was.sizes() != is.sizes() || was.strides() != is.strides() ||
        !was.is_non_overlapping_and_dense()) {
      return false;
    }
    return !HaveSameBytes(was, is);
  }

  void CheckResults(const ReferenceRun& model, bool native) {
    const std::vector<FlatValue> got =
        ValuesOf(call_.outputs, call_.arguments, call_.op.writable);
    const std::vector<FlatValue>& want = model.values;
    const bool same_count =
        got.size() == want.size() &&
        std::equal(got.begin(), got.end(), want.begin(),
                   [](const FlatValue& a, const FlatValue& b) {
                     return a.list_size == b.list_size;
                   });
    if (!same_count) {
      Differ(Verdict::kFailCount, 0,
             absl::StrCat(got.size(), " results and lists, the reference has ",
                          want.size()));
      return;
    }
    int output = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].list_size >= 0) continue;
      const int index = output++;
      if (IsUnread(call_.op, call_.before.arguments(), index)) continue;
      CheckResult(got[i].value, want[i].value, index, native);
    }
    if (call_.is_sample) return;
    CheckArguments(model);
    CheckSharing(model);
  }

  // What is not marked as written looks as it did, unless the native kernel
  // changes that, too.
  void CheckArguments(const ReferenceRun& model) {
    const std::vector<c10::IValue>& before = call_.before.arguments();
    for (size_t a = 0; a < before.size(); ++a) {
      if (call_.op.writable[a] || a >= model.arguments.size() ||
          LookAlike(call_.arguments[a], before[a]) ||
          !LookAlike(model.arguments[a], before[a])) {
        continue;
      }
      Report(Verdict::kFailArgument, 0,
             absl::StrCat("argument ", ArgumentName(a),
                          " has other sizes or strides than before the call; "
                          "the schema does not say that it is written"));
    }
  }

  void CheckResult(const c10::IValue& got, const c10::IValue& want, int output,
                   bool native) {
    if (IsNothing(got) || IsNothing(want)) {
      if (IsNothing(got) != IsNothing(want)) {
        Differ(Verdict::kFailCount, output,
               IsNothing(got) ? "no result where the reference has one"
                              : "a result where the reference has none");
      }
      return;
    }
    if (!got.isTensor() || !want.isTensor()) {
      if (got.tagKind() != want.tagKind()) {
        Report(Verdict::kFailDtype, output,
               absl::StrCat("got ", got.tagKind(), ", the reference has ",
                            want.tagKind()));
      }
      return;
    }
    const at::Tensor& got_tensor = got.toTensor();
    const at::Tensor& want_tensor = want.toTensor();
    CheckPlace(got_tensor, output);
    CheckType(got_tensor, want_tensor, output, native);
    if (got_tensor.sizes() != want_tensor.sizes()) {
      Differ(Verdict::kFailShape, output,
             absl::StrCat("got ", TypeAndShape(got_tensor),
                          ", the reference has ", TypeAndShape(want_tensor)));
      return;
    }
    if (!IsPlainTensor(got_tensor) || !IsPlainTensor(want_tensor)) {
      if (got_tensor.layout() != want_tensor.layout()) {
        Differ(Verdict::kFailLayout, output,
               "a result of another layout than the reference's");
      }
      return;
    }
    if (!LiesInStorage(got_tensor)) {
      Report(
          Verdict::kFailShape, output,
          absl::StrCat("sizes and strides of ", TypeAndShape(got_tensor), ", ",
                       StridesOf(got_tensor), " reach outside its memory of ",
                       got_tensor.storage().nbytes(), " bytes"));
      return;
    }
    // Other devices lay out some results otherwise; only of contiguous
    // arguments do all agree.
    if (call_.is_sample) return;
    if (!call_.on_host && !ContiguousArguments()) return;
    if (Binds() && !SameStrides(got_tensor, want_tensor)) {
      Report(Verdict::kFailLayout, output,
             absl::StrCat("strides ", StridesOf(got_tensor),
                          ", the reference has ", StridesOf(want_tensor),
                          " for sizes ", TypeAndShape(got_tensor)));
    }
    if (got_tensor.scalar_type() == c10::kBool &&
        got_tensor.device().is_cpu() && IsGuarded(got_tensor.storage()) &&
        call_.row.op_class != OpClass::kUninit &&
        call_.row.op_class != OpClass::kView && !IsView(got_tensor)) {
      if (const auto position = FirstInvalidBool(got_tensor)) {
        Judgement judgement = Differs(
            Verdict::kFailValue, "never written by the kernel, or no bool");
        judgement.output_index = output;
        judgement.worst_index = IndexOf(*position, got_tensor.sizes());
        judgement.got = "(no bool)";
        judgement.want = "(a bool)";
        if (!worst_ || IsWorse(judgement, *worst_)) {
          worst_ = std::move(judgement);
        }
      }
    }
  }

  // The first result of tensors on one device is there, too, wherever numbers
  // of 0 dimensions are. Of other results nothing is promised: random states of
  // attention are on the host.
  void CheckPlace(const at::Tensor& got, int output) {
    if (output > 0 || got.dim() == 0 || !Binds()) return;
    std::optional<at::Device> device;
    bool one = true;
    VisitTensors(call_.arguments, [&](const at::Tensor& tensor) {
      if (tensor.dim() == 0) return;
      one = one && (!device || *device == tensor.device());
      device = tensor.device();
    });
    for (const c10::IValue& argument : call_.arguments) {
      one = one && !argument.isDevice();
    }
    if (!device || !one || got.device() == *device) return;
    // These may be copies.
    if (!call_.on_host && device->is_cpu()) return;
    Report(Verdict::kFailLayout, output,
           absl::StrCat("a result on ", got.device().str(),
                        ", the arguments are on ", device->str()));
  }

  // Its memory is an argument's, whatever is in there.
  bool IsView(const at::Tensor& result) const {
    for (size_t a = 0; a < call_.arguments.size(); ++a) {
      if (!call_.op.writable[a] && SharesWith(result, call_.arguments[a])) {
        return true;
      }
    }
    return false;
  }

  bool ContiguousArguments() const {
    bool contiguous = true;
    VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
      contiguous = contiguous && tensor.is_contiguous();
    });
    return contiguous;
  }

  void CheckType(const at::Tensor& got, const at::Tensor& want, int output,
                 bool native) {
    c10::ScalarType type = want.scalar_type();
    if (!native && (type == c10::kDouble || type == c10::kComplexDouble)) {
      // The float64 run says only that the result is floating.
      const std::optional<c10::ScalarType> promoted = PromotedType(call_);
      if (promoted) {
        type = *promoted;
      } else if (got.is_floating_point() == want.is_floating_point() &&
                 got.is_complex() == want.is_complex()) {
        return;
      }
    }
    if (got.scalar_type() == type) return;
    if (got.scalar_type() == c10::kFloat &&
        IsStatistic(call_.op.traits.key, output)) {
      return;
    }
    if (!Binds() && !native) return;
    Differ(Verdict::kFailDtype, output,
           absl::StrCat("got ", c10::toString(got.scalar_type()),
                        Binds() ? ", aten's rules give "
                                : ", the golden function gives ",
                        c10::toString(type)));
  }

  // Whether the schema says that this return is (a view of) an argument.
  bool MustAlias(size_t output) const {
    const auto& returns = call_.op.handle.schema().returns();
    return output < returns.size() && returns[output].alias_info() != nullptr;
  }

  // Whether the schema says that result `i` is (a view of) argument `a`.
  bool SchemaShares(size_t i, size_t a) const {
    const c10::FunctionSchema& schema = call_.op.handle.schema();
    return i < schema.returns().size() &&
           schema.may_contain_alias({c10::SchemaArgType::output, i},
                                    {c10::SchemaArgType::input, a});
  }

  // As CheckSharing(), of the tensors of a list.
  void CheckSharingOfList(const ReferenceRun& model, size_t i) {
    std::vector<at::Tensor> got;
    std::vector<at::Tensor> want;
    VisitTensors(call_.outputs[i],
                 [&](const at::Tensor& tensor) { got.push_back(tensor); });
    VisitTensors(model.outputs[i],
                 [&](const at::Tensor& tensor) { want.push_back(tensor); });
    if (got.size() != want.size()) return;
    // Of which argument, a schema does not say of lists.
    const bool may = MustAlias(i);
    for (size_t a = 0; a < call_.arguments.size(); ++a) {
      const Storages got_memory = StoragesOf(call_.arguments[a]);
      const Storages want_memory = StoragesOf(model.arguments[a]);
      for (size_t k = 0; k < got.size(); ++k) {
        if (got[k].numel() == 0) continue;
        const bool shares = IsIn(got_memory, got[k]);
        const bool should =
            Binds() ? IsIn(want_memory, want[k]) : may && shares;
        if (shares == should) continue;
        if (shares && !may) {
          ReportSharing(i, absl::StrCat("tensor ", k, " of output ", i), a);
        } else if (should && may) {
          ReportNoSharing(i, absl::StrCat("tensor ", k, " of output ", i), a);
        } else {
          continue;
        }
        return;
      }
    }
  }

  void ReportSharing(size_t output, absl::string_view what, size_t argument) {
    Report(Verdict::kFailAlias, static_cast<int>(output),
           absl::StrCat(what, " shares memory with argument ",
                        ArgumentName(argument)));
  }

  void ReportNoSharing(size_t output, absl::string_view what, size_t argument) {
    Report(Verdict::kFailAlias, static_cast<int>(output),
           absl::StrCat(what, " does not share the memory of argument ",
                        ArgumentName(argument), ", which the schema demands"));
  }

  void CheckSharing(const ReferenceRun& model) {
    for (size_t i = 0; i < call_.outputs.size(); ++i) {
      if (i >= model.outputs.size()) return;
      if (call_.outputs[i].isList() && model.outputs[i].isList()) {
        CheckSharingOfList(model, i);
        continue;
      }
      if (!call_.outputs[i].isTensor() || !model.outputs[i].isTensor() ||
          !call_.outputs[i].toTensor().defined() ||
          !model.outputs[i].toTensor().defined()) {
        continue;
      }
      const at::Tensor& got = call_.outputs[i].toTensor();
      const at::Tensor& want = model.outputs[i].toTensor();
      if (got.numel() == 0) continue;
      for (size_t a = 0; a < call_.arguments.size(); ++a) {
        const bool shares = SharesWith(got, call_.arguments[a]);
        const bool should =
            Binds() ? SharesWith(want, model.arguments[a]) : SchemaShares(i, a);
        if (shares == should) continue;
        if (shares) {
          // The reference of a view may have made a copy.
          if (SchemaShares(i, a)) continue;
          ReportSharing(i, absl::StrCat("output ", i), a);
        } else if (MustAlias(i)) {
          ReportNoSharing(i, absl::StrCat("output ", i), a);
        }
      }
      for (size_t j = 0; j < i; ++j) {
        if (!call_.outputs[j].isTensor() || !model.outputs[j].isTensor() ||
            !call_.outputs[j].toTensor().defined() ||
            !model.outputs[j].toTensor().defined()) {
          continue;
        }
        if (SharesStorage(got, call_.outputs[j].toTensor()) &&
            !SharesStorage(want, model.outputs[j].toTensor()) &&
            (Binds() || !MustAlias(i) || !MustAlias(j))) {
          Report(Verdict::kFailAlias, static_cast<int>(i),
                 absl::StrCat("outputs ", j, " and ", i, " share memory"));
        }
      }
    }
  }

  const KernelCall& call_;
  ReferenceRuns* const runs_;
  std::optional<Judgement> worst_;
};

}  // namespace

std::optional<Judgement> BrokenContract(const KernelCall& call,
                                        ReferenceRuns& runs) {
  return ContractCheck(call, &runs).Run();
}

std::optional<Judgement> BrokenMemory(const KernelCall& call) {
  return ContractCheck(call, nullptr).RunMemory();
}

Judgement ChangedArgument(const JudgedOp& op, size_t argument) {
  return Differs(
      Verdict::kFailArgument,
      absl::StrCat("argument ", op.handle.schema().arguments()[argument].name(),
                   " was changed; the schema does not say that it is written"));
}

bool HaveSameBytes(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = ToHost(a).contiguous();
  const at::Tensor y = ToHost(b).contiguous();
  return x.nbytes() == y.nbytes() &&
         std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

}  // namespace flaggems
