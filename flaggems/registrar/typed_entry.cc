#include "flaggems/registrar/typed_entry.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/infer_schema.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace flaggems {
namespace {

using T = const at::Tensor&;
using W = at::Tensor&;
using S = const at::Scalar&;
using R = at::Tensor;
using Size = c10::SymInt;
using Sizes = c10::SymIntArrayRef;
using OptT = const std::optional<at::Tensor>&;
using OptSize = std::optional<c10::SymInt>;
using Dtype = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Device = std::optional<at::Device>;
using Pin = std::optional<bool>;
using Format = std::optional<at::MemoryFormat>;

template <typename... All>
struct List {};

// Those of the operators that models call most, in the forms that aten
// generates from schemas.
using Signatures =
    List<R(T),                                      // neg, relu, t, detach
         R(T, T),                                   // mm, bmm, mul.Tensor
         R(T, T, S),                                // add.Tensor, sub.Tensor
         R(T, S), R(T, S, S),                       // mul.Scalar, add.Scalar
         R(T, T, T),                                // where.self
         R(T, T, T, S), R(T, T, T, S, S),           // addcmul, addmm
         W(W), W(W, T), W(W, T, S), W(W, S),        // relu_, mul_, add_
         W(W, S, S), W(W, T, T, S), W(W, T, bool),  // addcmul_, copy_
         R(T, Sizes), R(T, Sizes, bool),            // view, expand
         R(T, Sizes, Sizes, OptSize),               // as_strided
         R(T, int64_t), R(T, int64_t, int64_t),     // unsqueeze, transpose
         R(T, int64_t, Size),                       // select
         R(T, int64_t, OptSize, OptSize, Size),     // slice
         R(T, at::IntArrayRef),                     // permute
         R(T, int64_t, bool),                       // _softmax
         R(T, at::OptionalIntArrayRef, bool,
           Dtype),                                  // sum.dim_IntList, mean.dim
         R(T, Dtype),                               // sum
         R(T, std::string_view),                    // gelu
         R(T, T, std::string_view),                 // gelu_backward
         R(T, T, Size, bool, bool),                 // embedding
         R(T, Format),                              // clone
         R(T, Dtype, Layout, Device, Pin, Format),  // empty_like
         R(T, Dtype, Layout, Device, Pin, bool, Format),  // _to_copy
         R(Sizes, Dtype, Layout, Device, Pin, Format),    // empty.memory_format
         R(Sizes, Sizes, Dtype, Layout, Device, Pin),     // empty_strided
         R(const at::ITensorListRef&, int64_t),           // cat
         std::vector<R>(T, Size, int64_t),                // split.Tensor
         std::vector<R>(T, Sizes, int64_t),               // split_with_sizes
         // native_layer_norm
         std::tuple<R, R, R>(T, Sizes, OptT, OptT, double)>;

template <typename Signature>
struct Entry;

template <typename Return, typename... Args>
struct Entry<Return(Args...)> {
  using Signature = Return(Args...);
  using Plain = typename c10::fn_remove_symint<Signature>::type;

  static Return Enter(c10::OperatorKernel* functor, c10::DispatchKeySet keys,
                      Args... args) {
    const Observation& observation = ObservationOf(functor);
    if (observation.gate->TryForward()) {
      using Kernel = Return(c10::OperatorKernel*, c10::DispatchKeySet, Args...);
      return (*reinterpret_cast<Kernel*>(observation.unboxed))(
          functor, keys, std::forward<Args>(args)...);
    }
    return c10::impl::BoxedKernelWrapper<Signature>::call(
        observation.gate->checked_kernel(), observation.op->judged.handle, keys,
        std::forward<Args>(args)...);
  }

  // Whether the operator may have this signature: cheap, and so often no that
  // the exception of a wrong guess is rare.
  static bool MayFit(const c10::FunctionSchema& schema) {
    static const c10::FunctionSchema& inferred = *new c10::FunctionSchema(
        c10::detail::infer_schema::
            createFunctionSchemaFromTraitsFlattenedReturns<
                c10::guts::infer_function_traits_t<Plain>>());
    const auto writes = [](const c10::FunctionSchema& of) {
      return !of.arguments().empty() &&
             of.arguments()[0].alias_info() != nullptr &&
             of.arguments()[0].alias_info()->isWrite();
    };
    return inferred.arguments().size() == schema.arguments().size() &&
           inferred.returns().size() == schema.returns().size() &&
           std::is_same_v<Return, W> == writes(schema) &&
           !c10::findSchemaDifferences(inferred, schema).has_value();
  }

  // torch's own word: it compares with the signature of the kernels.
  template <typename Exact>
  static bool Fits(const c10::OperatorHandle& op) {
    try {
      op.typed<Exact>();
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

  static void* For(const c10::OperatorHandle& op, bool symbolic) {
    if (!MayFit(op.schema())) return nullptr;
    if constexpr (std::is_same_v<Signature, Plain>) {
      return !symbolic && Fits<Signature>(op) ? reinterpret_cast<void*>(&Enter)
                                              : nullptr;
    } else {
      if (!symbolic) return Entry<Plain>::For(op, false);
      return Fits<Signature>(op) ? reinterpret_cast<void*>(&Enter) : nullptr;
    }
  }
};

template <typename... All>
void* FirstOf(const c10::OperatorHandle& op, bool symbolic, List<All...>) {
  void* entry = nullptr;
  const auto is_it = [&](void* candidate) {
    entry = candidate;
    return entry != nullptr;
  };
  static_cast<void>((is_it(Entry<All>::For(op, symbolic)) || ...));
  return entry;
}

}  // namespace

void* TypedEntryFor(const c10::OperatorHandle& op, bool symbolic) {
  return FirstOf(op, symbolic, Signatures());
}

}  // namespace flaggems
