#include "flaggems/kernels/testing/select_cases.h"

#include <cmath>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

std::vector<Call> WhereCalls() {
  return Concat({
      CallsForShapes("random",
                     [](Inputs& in, at::IntArrayRef s) {
                       const at::Tensor a = in.Random(s);
                       return Arguments{in.Mask(s), a, in.Random(s)};
                     }),
      {
          {"special",
           [](Inputs& in) {
             const at::Tensor a = in.Special({7, 33});
             return Arguments{in.Mask({7, 33}), a, in.Random({7, 33})};
           }},
          {"broadcast",
           [](Inputs& in) {
             const at::Tensor a = in.Random({4, 1});
             return Arguments{in.Mask({3, 1, 37}), a, in.Random({4, 37})};
           }},
          {"scalar_other",
           [](Inputs& in) {
             return Arguments{in.Mask({5, 37}), in.Random({5, 37}),
                              in.Of(at::kDouble, {})};
           }},
          {"scalar_self",
           [](Inputs& in) {
             return Arguments{in.Mask({5, 37}), in.Random({}),
                              in.Random({5, 37})};
           }},
          {"promotion",
           [](Inputs& in) {
             return Arguments{in.Mask({5, 37}), in.Random({5, 37}),
                              in.Of(at::kInt, {5, 37})};
           }},
          {"byte_condition",
           [](Inputs& in) {
             return Arguments{in.Mask({5, 37}).to(at::kByte),
                              in.Random({5, 37}), in.Random({5, 37})};
           }},
          {"int_condition",
           [](Inputs& in) {
             return Arguments{in.Mask({5}).to(at::kInt), in.Random({5}),
                              in.Random({5})};
           },
           /*refused=*/true},
          {"shape_mismatch",
           [](Inputs& in) {
             return Arguments{in.Mask({5}), in.Random({5}), in.Random({4})};
           },
           /*refused=*/true},
      },
  });
}

std::vector<Call> MaskedFillCalls() {
  const auto call = [](const c10::Scalar& value) {
    return [value](Inputs& in) {
      const at::Tensor a = in.Random({6, 35});
      return Arguments{a, in.Mask({6, 35}), value};
    };
  };
  return Concat({
      CallsForShapes("random",
                     [](Inputs& in, at::IntArrayRef s) {
                       const at::Tensor a = in.Random(s);
                       return Arguments{a, in.Mask(s), c10::Scalar(2)};
                     }),
      {
          {"special",
           [](Inputs& in) {
             const at::Tensor a = in.Special({7, 33});
             return Arguments{a, in.Mask({7, 33}), c10::Scalar(-INFINITY)};
           }},
          {"fraction", call(c10::Scalar(1.5))},
          {"beyond_int8_and_half", call(c10::Scalar(70000.0))},
          {"bool_value", call(c10::Scalar(true))},
          {"complex_value", call(c10::Scalar(c10::complex<double>(1, 2))),
           /*refused=*/true},
          {"mask_expands",
           [](Inputs& in) {
             const at::Tensor a = in.Random({3, 4, 9});
             return Arguments{a, in.Mask({9}), c10::Scalar(1)};
           }},
          {"self_expands",
           [](Inputs& in) {
             const at::Tensor a = in.Random({4, 1});
             return Arguments{a, in.Mask({3, 4, 9}), c10::Scalar(1)};
           }},
          {"byte_mask",
           [](Inputs& in) {
             const at::Tensor a = in.Random({4});
             return Arguments{a, in.Mask({4}).to(at::kByte), c10::Scalar(1)};
           },
           /*refused=*/true},
          {"shape_mismatch",
           [](Inputs& in) {
             const at::Tensor a = in.Random({4});
             return Arguments{a, in.Mask({5}), c10::Scalar(1)};
           },
           /*refused=*/true},
      },
  });
}

}  // namespace

std::vector<Operator> SelectOperators() {
  return {
      {"aten::where.self", {}, WhereCalls()},
      {"aten::masked_fill.Scalar", {}, MaskedFillCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
