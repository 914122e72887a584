#include "flaggems/reference/reference_arguments.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "flaggems/aten/flat_memory.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/split_mix.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/device_widener.h"
#include "flaggems/reference/perturbation.h"

namespace flaggems {
namespace {

using Options = ReferenceArgumentOptions;

void Perturb(double* x, int64_t count, double step, uint64_t seed) {
  for (int64_t i = 0; i < count; ++i) x[i] *= 1 + step * Draw(seed, i);
}

void TakeMagnitudes(const at::Tensor& flat) {
  if (flat.is_complex()) {
    auto* x = static_cast<c10::complex<double>*>(flat.mutable_data_ptr());
    for (int64_t i = 0; i < flat.numel(); ++i) x[i] = std::abs(x[i]);
  } else {
    auto* x = static_cast<double*>(flat.mutable_data_ptr());
    for (int64_t i = 0; i < flat.numel(); ++i) x[i] = std::fabs(x[i]);
  }
}

std::optional<c10::ScalarType> Widened(c10::ScalarType type,
                                       const Options& options) {
  if (!options.widen) return std::nullopt;
  if (c10::isFloatingType(type)) return c10::kDouble;
  if (c10::isComplexType(type)) return c10::kComplexDouble;
  if (options.widen_integers &&
      c10::isIntegralType(type, /*includeBool=*/false)) {
    return c10::kDouble;
  }
  return std::nullopt;
}

// All of a storage as one row of elements.
at::Tensor FlatView(const at::Tensor& tensor) {
  const c10::DispatchKeySet keys(c10::computeDispatchKey(
      tensor.scalar_type(), c10::kStrided, tensor.device()));
  at::Tensor flat = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(tensor.storage()), keys, tensor.dtype());
  flat.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<int64_t>(
      tensor.storage().nbytes() / tensor.element_size())});
  return flat;
}

// What is made of an expanded tensor may be as large as a call's other tensors.
constexpr int64_t kMaxExpanded = int64_t{1} << 24;

bool IsExpanded(const at::Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) > 1 && tensor.stride(d) == 0) return true;
  }
  return false;
}

// Copies of storages, each made once per element type.
class StorageCopies {
 public:
  StorageCopies(const Options& options, absl::Span<const c10::IValue> arguments)
      : options_(options), arena_(MakeArena(arguments, options)) {}

  at::Tensor Copy(const at::Tensor& given, bool negative) {
    const std::optional<c10::ScalarType> widened =
        Widened(given.scalar_type(), options_);
    const at::Tensor tensor = widened ? ToPerturb(given) : given;
    const bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    if (!widened && !options_.copy) return tensor;
    const at::Tensor flat = Flat(tensor, widened, negative, wrapped);
    const c10::DispatchKeySet keys(c10::computeDispatchKey(
        flat.scalar_type(), c10::kStrided, flat.device()));
    at::Tensor copy = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(flat.storage()), keys, flat.dtype());
    c10::TensorImpl* const impl = copy.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                tensor.storage_offset());
    if (wrapped) impl->set_wrapped_number(true);
    // Magnitudes have no sign to flip.
    const bool keep_bits =
        !(widened && options_.elements == Options::Elements::kMagnitude);
    copy._set_conj(keep_bits && tensor.is_conj());
    copy._set_neg(keep_bits && tensor.is_neg());
    if (!widened && tensor.requires_grad()) copy.set_requires_grad(true);
    return copy;
  }

  // Does what is left to do on a device; the copies have their elements then.
  absl::Status Finish() {
    if (on_device_.empty()) return absl::OkStatus();
    const DeviceWidener* const widener = RegisteredDeviceWidener();
    if (widener == nullptr) {
      return absl::UnimplementedError(
          "nothing in this program widens elements in a device's memory");
    }
    return widener->Widen(on_device_);
  }

 private:
  using Key = std::tuple<const void*, c10::ScalarType, bool>;

  // Elements that an expanded tensor has several times over are perturbed each
  // by its own step: a kernel that reads one of them twice rounds twice. (None
  // is written: operators refuse that.)
  at::Tensor ToPerturb(const at::Tensor& tensor) {
    if (options_.elements != Options::Elements::kPerturb ||
        !tensor.device().is_cpu() || tensor.numel() > kMaxExpanded ||
        !IsExpanded(tensor)) {
      return tensor;
    }
    // copies_ knows storages by their addresses.
    return dense_.emplace_back(
        at::empty(tensor.sizes(), tensor.options()).copy_(tensor));
  }

  const at::Tensor& Flat(const at::Tensor& tensor,
                         std::optional<c10::ScalarType> widened, bool negative,
                         bool wrapped) {
    const Key key(tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type(),
                  negative);
    const auto [it, inserted] = copies_.try_emplace(key);
    if (!inserted) return it->second;
    const at::Tensor flat = FlatView(tensor);
    if (!widened) {
      it->second = at::empty(flat.sizes(), flat.options());
      it->second.copy_(flat);
      return it->second;
    }
    at::Tensor& wide = it->second =
        arena_ && arena_->device() == flat.device()
            ? arena_->Take(flat.numel(), *widened)
            : EmptyFlat(flat.numel(), *widened, flat.device());
    if (!flat.device().is_cpu()) {
      on_device_.push_back({flat, wide, options_.elements, negative,
                            options_.step, SeedOf(copies_.size())});
      return wide;
    }
    if (wrapped && options_.scalar_type && tensor.is_floating_point()) {
      wide.copy_(
          at::empty(flat.sizes(), flat.options().dtype(*options_.scalar_type))
              .copy_(flat));
    } else {
      wide.copy_(flat);
    }
    switch (options_.elements) {
      case Options::Elements::kKeep:
        break;
      case Options::Elements::kMagnitude:
        TakeMagnitudes(wide);
        if (negative) wide.neg_();
        break;
      case Options::Elements::kPerturb:
        if (!wrapped) {
          Perturb(static_cast<double*>(wide.mutable_data_ptr()),
                  wide.numel() * (wide.is_complex() ? 2 : 1), options_.step,
                  SeedOf(copies_.size()));
        }
        break;
    }
    return wide;
  }

  // For what is widened on the first argument's device, if that is none of the
  // host.
  static std::optional<FlatArena> MakeArena(
      absl::Span<const c10::IValue> arguments, const Options& options) {
    std::optional<c10::Device> device;
    int64_t room = 0;
    absl::InlinedVector<const void*, 8> seen;
    VisitTensors(arguments, [&](const at::Tensor& tensor) {
      if (!tensor.has_storage()) return;
      if (!device) device = tensor.device();
      const void* const storage = tensor.storage().unsafeGetStorageImpl();
      if (tensor.device() != *device || absl::c_linear_search(seen, storage)) {
        return;
      }
      seen.push_back(storage);
      if (const auto widened = Widened(tensor.scalar_type(), options)) {
        room += FlatArena::RoomFor(static_cast<int64_t>(
            tensor.storage().nbytes() / tensor.element_size() *
            c10::elementSize(*widened)));
      }
    });
    if (!device || device->is_cpu()) return std::nullopt;
    return std::make_optional<FlatArena>(room, *device);
  }

  // Of the n-th copy.
  uint64_t SeedOf(size_t n) const { return SplitMix(options_.seed + n); }

  const Options& options_;
  std::optional<FlatArena> arena_;
  std::vector<at::Tensor> dense_;
  std::map<Key, at::Tensor> copies_;
  std::vector<WidenRequest> on_device_;  // not done yet
};

c10::IValue CopyValue(const c10::IValue& value, bool negative,
                      StorageCopies& copies) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? c10::IValue(copies.Copy(tensor, negative))
                            : value;
  }
  if (value.isList()) {
    const c10::List<c10::IValue> items = value.toList();
    c10::impl::GenericList result(items.elementType());
    result.reserve(items.size());
    for (const c10::IValue& item : value.toListRef()) {
      result.push_back(CopyValue(item, negative, copies));
    }
    return c10::IValue(std::move(result));
  }
  return value;
}

// Of the type inside an Optional.
c10::TypeKind KindOf(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
  }
  return type->kind();
}

double RoundedTo(double x, c10::ScalarType type) {
  switch (type) {
    case c10::kFloat:
      return static_cast<double>(static_cast<float>(x));
    case c10::kHalf:
      return static_cast<double>(
          static_cast<float>(c10::Half(static_cast<float>(x))));
    case c10::kBFloat16:
      return static_cast<double>(
          static_cast<float>(c10::BFloat16(static_cast<float>(x))));
    default:
      return x;
  }
}

// `negative`: of a magnitude, the one with a minus sign. `position`: of the
// argument.
c10::IValue ScalarValue(const c10::IValue& value, bool negative,
                        size_t position, const Options& options) {
  const c10::Scalar scalar = value.toScalar();
  const bool magnitude = options.elements == Options::Elements::kMagnitude;
  if (options.elements == Options::Elements::kPerturb &&
      options.perturb_numbers && !scalar.isComplex()) {
    double x = scalar.toDouble();
    Perturb(&x, 1, options.step,
            SplitMix(options.seed + (static_cast<uint64_t>(position) << 32)));
    return c10::IValue(x);
  }
  if (!scalar.isFloatingPoint()) {
    if (magnitude && scalar.isIntegral(/*includeBool=*/false)) {
      const int64_t size = std::abs(scalar.toLong());
      return c10::IValue(negative ? -size : size);
    }
    return value;
  }
  double x = scalar.toDouble();
  if (options.scalar_type) x = RoundedTo(x, *options.scalar_type);
  if (magnitude) x = negative ? -std::fabs(x) : std::fabs(x);
  return c10::IValue(x);
}

// Of an argument of the schema's type float.
c10::IValue FloatValue(double x, const Options& options) {
  return c10::IValue(options.scalar_type ? RoundedTo(x, c10::kFloat) : x);
}

// CPU kernels of fused optimisers read them as float32, whatever the type of
// the parameters.
bool StaysFloat32(const c10::FunctionSchema& schema,
                  const c10::Argument& argument) {
  return absl::StartsWith(schema.name(), "aten::_fused_") &&
         (argument.name() == "grad_scale" || argument.name() == "found_inf");
}

// A list of Python numbers.
bool IsScalarList(const c10::Argument& argument) {
  const auto list = argument.real_type()->cast<c10::ListType>();
  return list != nullptr &&
         list->getElementType()->kind() == c10::TypeKind::NumberType;
}

// The floating type of the first floating tensor, whose finfo the defaults of
// an operator come from.
struct FirstFloating {
  c10::ScalarType type = c10::kFloat;
  int64_t longest_side = 1;
};

std::optional<FirstFloating> FirstFloatingOf(
    absl::Span<const c10::IValue> arguments) {
  for (const c10::IValue& value : arguments) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.is_floating_point() && !tensor.is_complex()) continue;
    FirstFloating first{c10::toRealValueType(tensor.scalar_type()), 1};
    for (int64_t d = std::max<int64_t>(0, tensor.dim() - 2); d < tensor.dim();
         ++d) {
      first.longest_side = std::max(first.longest_side, tensor.size(d));
    }
    return first;
  }
  return std::nullopt;
}

struct Finfo {
  double max;
  double eps;
};

Finfo FinfoOf(c10::ScalarType type) {
  switch (type) {
    case c10::kHalf:
      return {65504.0, 0x1p-10};
    case c10::kBFloat16:
      return {static_cast<double>(std::numeric_limits<c10::BFloat16>::max()),
              0x1p-7};
    case c10::kFloat:
      return {static_cast<double>(std::numeric_limits<float>::max()), 0x1p-23};
    default:
      return {std::numeric_limits<double>::max(), 0x1p-52};
  }
}

// What an operator takes for an argument that is None, if that depends on the
// dtype (nan_to_num, rms_norm, pinv, matrix_rank, lstsq).
std::optional<double> DtypeDefault(const std::string& argument,
                                   const FirstFloating& first) {
  const Finfo finfo = FinfoOf(first.type);
  if (argument == "posinf") return finfo.max;
  if (argument == "neginf") return -finfo.max;
  // rms_norm takes it of the type that it computes in.
  if (argument == "eps") return std::min(finfo.eps, FinfoOf(c10::kFloat).eps);
  if (argument == "rtol" || argument == "rcond") {
    return finfo.eps * static_cast<double>(first.longest_side);
  }
  return std::nullopt;
}

bool HasTensor(absl::Span<const c10::IValue> arguments) {
  return std::any_of(
      arguments.begin(), arguments.end(), [](const c10::IValue& value) {
        return (value.isTensor() && value.toTensor().defined()) ||
               value.isTensorList();
      });
}

}  // namespace

absl::StatusOr<std::vector<c10::IValue>> ReferenceArguments(
    const c10::FunctionSchema& schema, absl::Span<const c10::IValue> arguments,
    const ReferenceArgumentOptions& options) {
  return StatusOrOf([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
    StorageCopies copies(options, arguments);
    Options as_they_are;
    as_they_are.widen = false;
    as_they_are.copy = options.copy;
    StorageCopies unwidened(as_they_are, {});
    const std::optional<FirstFloating> first = FirstFloatingOf(arguments);
    const bool has_tensor = HasTensor(arguments);
    std::vector<c10::IValue> result;
    result.reserve(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue& value = arguments[i];
      const c10::Argument& argument = schema.arguments()[i];
      const c10::TypeKind kind = KindOf(argument);
      const bool negative = options.negative_argument == static_cast<int>(i);
      if (kind == c10::TypeKind::NumberType && value.isScalar()) {
        result.push_back(ScalarValue(value, negative, i, options));
      } else if (value.isList() && IsScalarList(argument)) {
        c10::impl::GenericList numbers(c10::NumberType::get());
        for (const c10::IValue& number : value.toListRef()) {
          numbers.push_back(ScalarValue(number, negative, i, options));
        }
        result.emplace_back(std::move(numbers));
      } else if (kind == c10::TypeKind::FloatType && value.isDouble()) {
        result.push_back(FloatValue(value.toDouble(), options));
      } else if (StaysFloat32(schema, argument)) {
        result.push_back(CopyValue(value, false, unwidened));
      } else if (argument.name() == "pin_memory" && value.isBool()) {
        result.emplace_back(false);
      } else if (!options.widen) {
        result.push_back(CopyValue(value, false, copies));
      } else if (kind == c10::TypeKind::ScalarTypeType) {
        if (value.isInt()) {
          const auto type = static_cast<c10::ScalarType>(value.toInt());
          result.emplace_back(
              static_cast<int64_t>(Widened(type, options).value_or(type)));
        } else if (!has_tensor && options.factory_dtype) {
          result.emplace_back(static_cast<int64_t>(*options.factory_dtype));
        } else {
          result.push_back(value);
        }
      } else if (argument.name() == "half_to_float" && value.isBool()) {
        result.emplace_back(false);
      } else if (value.isNone() && first &&
                 options.widening == Widening::kFillDtypeDefaults &&
                 DtypeDefault(argument.name(), *first)) {
        result.emplace_back(*DtypeDefault(argument.name(), *first));
      } else {
        result.push_back(CopyValue(value, negative, copies));
      }
    }
    FG_RETURN_IF_ERROR(copies.Finish());
    return result;
  });
}

}  // namespace flaggems
