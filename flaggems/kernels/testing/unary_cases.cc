#include "flaggems/kernels/testing/unary_cases.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

Arguments With(const at::Tensor& t, const Arguments& rest) {
  Arguments arguments = {t};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return arguments;
}

std::vector<Call> UnaryCalls(const Arguments& rest = {}) {
  return Concat({
      CallsForShapes("random",
                     [rest](Inputs& in, at::IntArrayRef s) {
                       return With(in.Random(s), rest);
                     }),
      {
          {"positive",
           [rest](Inputs& in) {
             return With(in.Positive({7, 65}), rest);
           }},
          {"special",
           [rest](Inputs& in) {
             return With(in.Special({3, 57}), rest);
           }},
          {"wide_range",
           [rest](Inputs& in) {
             return With(in.Random({9, 65}).mul(12), rest);
           },
           false, 1, /*contiguous_only=*/true},
          {"block_boundary",
           [rest](Inputs& in) { return With(in.Random({2049}), rest); }},
          {"threads",
           [rest](Inputs& in) {
             return With(in.Random({301, 333}), rest);
           },
           false, 1, false, /*threads=*/true},
      },
  });
}

std::vector<Call> InPlaceCalls() {
  return CallsForShapes("random", [](Inputs& in, at::IntArrayRef s) {
    return Arguments{in.Mutable(s)};
  });
}

std::vector<Call> PowCalls() {
  std::vector<std::vector<Call>> all;
  for (const double e : {2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 0.0, 1.0, 2.5, 0.1}) {
    std::vector<Call> calls = UnaryCalls({c10::Scalar(e)});
    for (Call& call : calls) {
      call.name += "_to_" + std::to_string(e);
      // Of float16, aten takes the power, not the root, of -Inf and -0.
      call.native_specials = std::fabs(e) == 0.5;
    }
    all.push_back(calls);
  }
  for (const int64_t e : {2, 3, 5, 0, 1, -3}) {
    all.push_back(
        {{"int_exponent_" + std::to_string(e),
          [e](Inputs& in) {
            return With(in.Random({5, 33}), {c10::Scalar(e)});
          }},
         {"int_exponent_special_" + std::to_string(e), [e](Inputs& in) {
            return With(in.Special({5, 33}), {c10::Scalar(e)});
          }}});
  }
  all.push_back({{"bool_exponent", [](Inputs& in) {
                    return With(in.Random({5, 33}), {c10::Scalar(true)});
                  }}});
  return Concat(all);
}

}  // namespace

std::vector<Operator> UnaryOperators() {
  const Bound exact = {Condition::kExact, 0, 0, ""};
  const Bound rounded = {Condition::kMagnitude, 4, 0, ""};
  const Bound sensitive = {Condition::kSensitivity, 8, 0, ""};
  // aten forms 1 + erf(x), which is rounded to 2^-53, times x, up to 8 where
  // the sum is not 0.
  const Bound gelu = {Condition::kSensitivity, 16, 0, "", 0x1p-50};
  Operator gelu_none = {"aten::gelu", gelu, UnaryCalls({"none"})};
  std::vector<Call> tanh_calls = UnaryCalls({"tanh"});
  for (Call& call : tanh_calls) call.name += "_tanh";
  gelu_none.calls =
      Concat({gelu_none.calls,
              tanh_calls,
              {{"bad_approximate",
                [](Inputs& in) { return With(in.Random({3}), {"erf"}); },
                /*refused=*/true}}});
  return {
      {"aten::neg", exact, UnaryCalls()},
      {"aten::relu", exact, UnaryCalls()},
      {"aten::relu_", exact, InPlaceCalls()},
      {"aten::exp", sensitive, UnaryCalls(), true},
      {"aten::log", sensitive, UnaryCalls(), true},
      {"aten::sqrt", rounded, UnaryCalls(), true},
      {"aten::rsqrt", rounded, UnaryCalls(), true},
      {"aten::sigmoid", sensitive, UnaryCalls(), true},
      {"aten::tanh", sensitive, UnaryCalls(), true},
      {"aten::silu", sensitive, UnaryCalls()},
      gelu_none,
      {"aten::pow.Tensor_Scalar", sensitive, PowCalls()},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
