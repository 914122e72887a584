#include "flaggems/kernels/testing/binary_cases.h"

#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

// Calls of an operator of two tensors; `rest` follows them.
std::vector<Call> BinaryCalls(const Arguments& rest) {
  const auto with = [rest](const at::Tensor& a, const at::Tensor& b) {
    Arguments arguments = {a, b};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return arguments;
  };
  return Concat({
      CallsForShapes("random",
                     [with](Inputs& in, at::IntArrayRef s) {
                       const at::Tensor a = in.Random(s);
                       return with(a, in.Random(s));
                     }),
      {
          {"special",
           [with](Inputs& in) {
             const at::Tensor a = in.Special({19, 19});
             return with(a, a.t());
           }},
          {"broadcast",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({3, 1, 37});
             return with(a, in.Random({4, 37}));
           }},
          {"broadcast_column",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({5, 2050});
             return with(a, in.Random({5, 1}));
           }},
          {"scalar_tensor",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({1025});
             // Of few digits: it is converted to the dtype of a.
             return with(a, in.Of(at::kBFloat16, {}).to(at::kDouble));
           }},
          {"scalar_left",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({});
             return with(a, in.Random({65}));
           }},
          {"promotion_float",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({4, 9});
             return with(a, in.Of(at::kFloat, {4, 9}));
           }},
          {"promotion_int",
           [with](Inputs& in) {
             const at::Tensor a = in.Of(at::kInt, {4, 9});
             return with(a, in.Random({4, 9}));
           }},
          {"shape_mismatch",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({4, 9});
             return with(a, in.Random({4, 8}));
           },
           /*refused=*/true},
          {"threads",
           [with](Inputs& in) {
             const at::Tensor a = in.Random({301, 333});
             return with(a, in.Random({301, 333}));
           },
           false, 1, false, /*threads=*/true},
      },
  });
}

// self and other of an in-place operator.
std::vector<Call> InPlaceCalls(const Arguments& rest) {
  const auto with = [rest](const at::Tensor& a, const at::Tensor& b) {
    Arguments arguments = {a, b};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return arguments;
  };
  return Concat({
      CallsForShapes("random",
                     [with](Inputs& in, at::IntArrayRef s) {
                       const at::Tensor a = in.Mutable(s);
                       return with(a, in.Random(s));
                     }),
      {
          {"broadcast",
           [with](Inputs& in) {
             const at::Tensor a = in.Mutable({3, 4, 37});
             return with(a, in.Random({4, 37}));
           }},
          {"of_float",
           [with](Inputs& in) {
             const at::Tensor a = in.Mutable({5, 7});
             return with(a, in.Of(at::kFloat, {5, 7}));
           }},
          {"self_too_small",
           [with](Inputs& in) {
             const at::Tensor a = in.Mutable({1, 7});
             return with(a, in.Random({5, 7}));
           },
           /*refused=*/true},
          {"self_overlaps_itself",
           [with](Inputs& in) {
             const at::Tensor a = in.Mutable({1, 7}).expand({5, 7});
             return with(a, in.Random({5, 7}));
           },
           /*refused=*/true},
      },
  });
}

std::vector<Call> AlphaCalls() {
  std::vector<Call> calls;
  for (const double alpha : {0.0, -1.0, 2.0, 0.3}) {
    calls.push_back({"alpha_" + std::to_string(alpha), [alpha](Inputs& in) {
                       const at::Tensor a = in.Random({5, 33});
                       const at::Tensor b = in.Random({5, 33});
                       return Arguments{a, b, c10::Scalar(alpha)};
                     }});
  }
  calls.push_back({"alpha_int", [](Inputs& in) {
                     const at::Tensor a = in.Random({5, 33});
                     const at::Tensor b = in.Random({5, 33});
                     return Arguments{a, b, c10::Scalar(int64_t{3})};
                   }});
  calls.push_back({"alpha_bool",
                   [](Inputs& in) {
                     const at::Tensor a = in.Random({5, 33});
                     const at::Tensor b = in.Random({5, 33});
                     return Arguments{a, b, c10::Scalar(true)};
                   },
                   /*refused=*/true});
  calls.push_back(
      {"alpha_complex",
       [](Inputs& in) {
         const at::Tensor a = in.Random({5, 33});
         const at::Tensor b = in.Random({5, 33});
         return Arguments{a, b, c10::Scalar(c10::complex<double>(1.0, 2.0))};
       },
       /*refused=*/true});
  return calls;
}

std::vector<Call> OutCalls() {
  const c10::Scalar two(int64_t{2});
  return {
      {"out",
       [two](Inputs& in) {
         const at::Tensor a = in.Random({5, 33});
         const at::Tensor b = in.Random({33});
         return Arguments{a, b, two, in.Mutable({5, 33})};
       }},
      {"out_empty_is_resized",
       [two](Inputs& in) {
         const at::Tensor a = in.Random({5, 33});
         const at::Tensor b = in.Random({33});
         return Arguments{a, b, two, in.Mutable({0})};
       }},
      {"out_of_int",
       [two](Inputs& in) {
         const at::Tensor a = in.Random({5, 33});
         const at::Tensor b = in.Random({33});
         return Arguments{a, b, two, in.Of(at::kInt, {5, 33})};
       },
       /*refused=*/true},
      {"out_overlaps_itself",
       [two](Inputs& in) {
         const at::Tensor a = in.Random({5, 33});
         const at::Tensor b = in.Random({33});
         return Arguments{a, b, two, in.Mutable({1, 33}).expand({5, 33})};
       },
       /*refused=*/true},
  };
}

// Computed in the dtype of the inputs, then converted.
std::vector<Call> WideOutCalls() {
  return {{"out_of_double",
           [](Inputs& in) {
             const at::Tensor a = in.Random({5, 33});
             const at::Tensor b = in.Random({33});
             return Arguments{a, b, c10::Scalar(int64_t{1}),
                              in.Of(at::kDouble, {5, 33})};
           },
           false, 1, /*contiguous_only=*/true}};
}

}  // namespace

std::vector<Operator> BinaryOperators() {
  const c10::Scalar one(int64_t{1});
  const c10::Scalar two(int64_t{2});
  // C of a sum is the sum of the magnitudes.
  const Bound sum = {Condition::kAbsolute, 2, 0, "aten::add.Tensor"};
  const Bound product = {Condition::kMagnitude, 2, 0, ""};
  const Bound quotient = {Condition::kMagnitude, 4, 0, ""};
  return {
      {"aten::add.Tensor", sum, Concat({BinaryCalls({one}), AlphaCalls()})},
      {"aten::add_.Tensor", sum, InPlaceCalls({two})},
      {"aten::add.out", sum, OutCalls()},
      {"aten::add.out", {}, WideOutCalls()},
      {"aten::sub.Tensor", sum, Concat({BinaryCalls({one}), AlphaCalls()})},
      {"aten::mul.Tensor", product, BinaryCalls({})},
      {"aten::mul_.Tensor", product, InPlaceCalls({})},
      {"aten::div.Tensor", quotient, BinaryCalls({}),
       /*promotes_integers=*/true},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
