#include "flaggems/kernels/testing/pointwise_cases.h"

#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;

enum class Form { kNew, kInPlace, kOut };

// How the arguments of an operator are made.
struct Shape {
  int tensors = 1;      // before the other arguments
  Arguments rest = {};  // after them
  bool positive = false;
  // The last tensor is not 0, because an integer divided by it is anything.
  bool divides = false;
  // Infinities, NaN and the like among the values.
  bool special = true;
  bool native_specials = false;
};

at::Tensor Make(const Shape& shape, int index, Inputs& in, at::IntArrayRef s) {
  at::Tensor x = shape.positive ? in.Positive(s) : in.Random(s);
  if (shape.positive && !at::isFloatingType(in.dtype())) x = x.abs();
  if (shape.divides && index + 1 == shape.tensors &&
      !at::isFloatingType(in.dtype())) {
    x = x.to(at::kBool).logical_not().to(x.scalar_type()).add(x);
  }
  return x;
}

Arguments Assemble(const Shape& shape, std::vector<at::Tensor> tensors,
                   Form form, Inputs& in) {
  Arguments arguments(tensors.begin(), tensors.end());
  arguments.insert(arguments.end(), shape.rest.begin(), shape.rest.end());
  if (form == Form::kOut) arguments.push_back(in.Mutable(tensors[0].sizes()));
  return arguments;
}

Arguments Same(const Shape& shape, Form form, Inputs& in, at::IntArrayRef s) {
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < shape.tensors; ++i) {
    const bool written = i == 0 && form == Form::kInPlace;
    tensors.push_back(written ? in.Mutable(s) : Make(shape, i, in, s));
  }
  return Assemble(shape, tensors, form, in);
}

// In the other tensors' places: x, and the rest of shape s.
Arguments Mixed(const Shape& shape, Inputs& in, at::IntArrayRef s,
                const at::Tensor& last) {
  std::vector<at::Tensor> tensors;
  for (int i = 0; i + 1 < shape.tensors; ++i) {
    tensors.push_back(Make(shape, i, in, s));
  }
  tensors.push_back(last);
  return Assemble(shape, tensors, Form::kNew, in);
}

std::vector<Call> NewCalls(const Shape& shape) {
  std::vector<Call> calls = {
      {"vector_less_one",
       [shape](Inputs& in) { return Same(shape, Form::kNew, in, {2047}); }},
      {"vector_more_one",
       [shape](Inputs& in) { return Same(shape, Form::kNew, in, {2049}); }},
      {"misaligned",
       [shape](Inputs& in) {
         Arguments arguments = Same(shape, Form::kNew, in, {2050});
         arguments[0] = arguments[0].toTensor().slice(0, 1, 2049);
         for (int i = 1; i < shape.tensors; ++i) {
           arguments[i] = arguments[i].toTensor().slice(0, 2);
         }
         return arguments;
       }},
      {"permuted",
       [shape](Inputs& in) {
         Arguments arguments = Same(shape, Form::kNew, in, {3, 16, 5, 24});
         for (int i = 0; i < shape.tensors; ++i) {
           arguments[i] = arguments[i].toTensor().permute({0, 2, 3, 1});
         }
         return arguments;
       }},
  };
  if (shape.special && !shape.positive && !shape.divides) {
    Call special = {"special", [shape](Inputs& in) {
                      std::vector<at::Tensor> tensors;
                      for (int i = 0; i < shape.tensors; ++i) {
                        const at::Tensor x = in.Special({24, 24});
                        tensors.push_back(i % 2 == 0 ? x : x.t());
                      }
                      return Assemble(shape, tensors, Form::kNew, in);
                    }};
    special.native_specials = shape.native_specials;
    calls.push_back(special);
  }
  if (shape.tensors == 1) return calls;
  const int last = shape.tensors - 1;
  calls = Concat(
      {calls,
       {
           {"row",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {33, 64}, Make(shape, last, in, {64}));
            }},
           {"column",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {33, 64}, Make(shape, last, in, {33, 1}));
            }},
           {"odd_row",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {9, 33}, Make(shape, last, in, {33}));
            }},
           {"one",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {1025}, Make(shape, last, in, {1}));
            }},
           {"transposed",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {72, 136},
                           Make(shape, last, in, {136, 72}).t());
            }},
           {"transposed_odd",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {65, 131},
                           Make(shape, last, in, {131, 65}).t());
            }},
           {"transposed_misaligned",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {64, 72},
                           Make(shape, last, in, {73, 64}).slice(0, 1).t());
            }},
           {"transposed_4d",
            [shape, last](Inputs& in) {
              return Mixed(
                  shape, in, {2, 16, 3, 40},
                  Make(shape, last, in, {2, 40, 3, 16}).permute({0, 3, 2, 1}));
            }},
           {"promotion",
            [shape, last](Inputs& in) {
              const at::Tensor x = in.Of(at::kFloat, {9, 33});
              return Mixed(shape, in, {9, 33}, x.abs().add(0.5));
            }},
           {"shape_mismatch",
            [shape, last](Inputs& in) {
              return Mixed(shape, in, {9}, Make(shape, last, in, {8}));
            },
            /*refused=*/true},
       }});
  return calls;
}

std::vector<Call> CallsOf(const Shape& shape, Form form) {
  std::vector<Call> calls =
      CallsForShapes("random", [shape, form](Inputs& in, at::IntArrayRef s) {
        return Same(shape, form, in, s);
      });
  return form == Form::kNew ? Concat({calls, NewCalls(shape)}) : calls;
}

std::string Scheme(const std::string& name, const std::string& overload) {
  return "aten::" + name + (overload.empty() ? "" : "." + overload);
}

// The operator, in place, and with an output; an empty overload of the first
// two is one without a dot, "-" one that there is not.
void AddForms(const std::string& name, const std::string& overload,
              const std::string& in_place, const std::string& out,
              const Bound& bound, const Shape& shape, bool promotes,
              std::vector<Operator>* operators) {
  operators->push_back(
      {Scheme(name, overload), bound, CallsOf(shape, Form::kNew), promotes});
  if (in_place != "-") {
    operators->push_back({Scheme(name + "_", in_place), bound,
                          CallsOf(shape, Form::kInPlace), promotes});
  }
  if (out != "-") {
    operators->push_back(
        {Scheme(name, out), bound, CallsOf(shape, Form::kOut), promotes});
  }
}

const Bound kExact = {Condition::kExact, 0, 0, ""};
const Bound kRounded = {Condition::kMagnitude, 4, 0, ""};
const Bound kSensitive = {Condition::kSensitivity, 8, 0, ""};
// Two functions, one after the other, or a long formula.
const Bound kLoose = {Condition::kSensitivity, 24, 0, "", 0x1p-50};

c10::Scalar Real(double value) { return c10::Scalar(value); }

}  // namespace

std::vector<Operator> ElementwiseUnaryOperators() {
  std::vector<Operator> all;
  for (const char* name : {"abs", "neg", "logical_not"}) {
    AddForms(name, "", "", "out", kExact, {}, false, &all);
  }
  std::vector<Operator> of_integers;
  AddForms("bitwise_not", "", "", "out", kExact, {}, false, &of_integers);
  for (Operator& op : of_integers) {
    for (Call& call : op.calls) call.refused = true;  // in float32
    all.push_back(op);
  }
  Shape positive;
  positive.positive = true;
  for (const char* name : {"sqrt", "rsqrt", "reciprocal"}) {
    AddForms(name, "", "", "out", kRounded, positive, true, &all);
  }
  AddForms("log", "", "", "out", kSensitive, positive, true, &all);
  for (const char* name : {"cos", "exp", "sigmoid", "sin", "tanh"}) {
    AddForms(name, "", "", "out", kSensitive, {}, true, &all);
  }
  // The polynomial for 16 bits is within 2^-20, far below their rounding.
  AddForms("erf", "", "", "out", kLoose, {}, true, &all);
  return all;
}

std::vector<Operator> ActivationOperators() {
  std::vector<Operator> all;
  for (const char* approximate : {"none", "tanh"}) {
    AddForms("gelu", "", "", "out", kLoose, {1, {approximate}}, false, &all);
    // The derivative of the inner function overflows in float32, and aten's
    // formula multiplies that by 0.
    Shape backward = {2, {approximate}};
    backward.native_specials = true;
    AddForms("gelu_backward", "", "-", "grad_input",
             {Condition::kAbsolute, 24, 0, "", 0x1p-50}, backward, false, &all);
  }
  AddForms("silu", "", "", "out", kSensitive, {}, false, &all);
  AddForms("leaky_relu", "", "", "out", kRounded, {1, {Real(0.125)}}, false,
           &all);
  AddForms("softplus", "", "-", "out", kLoose, {1, {Real(1.5), Real(10)}},
           false, &all);
  AddForms("threshold", "", "", "out", kExact, {1, {Real(1), Real(-2)}}, false,
           &all);
  AddForms("threshold_backward", "", "-", "grad_input", kExact, {2, {Real(1)}},
           false, &all);
  AddForms("silu_backward", "", "-", "grad_input", kLoose, {2}, false, &all);
  // Where these products of three overflow is a matter of their order and of
  // the type between, which is not the same for aten's float16 and float32.
  Shape products = {2};
  products.special = false;
  for (const char* name : {"sigmoid_backward", "tanh_backward"}) {
    AddForms(name, "", "-", "grad_input", kLoose, products, false, &all);
  }
  return all;
}

std::vector<Operator> ArithmeticOperators() {
  const Bound sum = {Condition::kAbsolute, 3, 0, "aten::add.Tensor"};
  std::vector<Operator> all;
  AddForms("add", "Tensor", "Tensor", "out", sum, {2, {Real(1)}}, false, &all);
  AddForms("sub", "Tensor", "Tensor", "out", sum, {2, {Real(1)}}, false, &all);
  AddForms("rsub", "Tensor", "-", "-", sum, {2, {c10::Scalar(2)}}, false, &all);
  AddForms("mul", "Tensor", "Tensor", "out", kRounded, {2}, false, &all);
  AddForms("div", "Tensor", "Tensor", "out", kRounded, {2}, true, &all);
  Shape divides = {2};
  divides.divides = true;
  // Not the bits of native aten: on CUDA that rounds a 16-bit quotient to 16
  // bits before it drops the fraction, and 2.9995 becomes 3.
  AddForms("floor_divide", "", "Tensor", "out", kRounded, divides, false, &all);
  for (const char* mode : {"trunc", "floor"}) {
    divides.rest = {mode};
    AddForms("div", "Tensor_mode", "Tensor_mode", "out_mode", kRounded, divides,
             false, &all);
  }
  AddForms("div", "Tensor_mode", "Tensor_mode", "out_mode", kRounded,
           {2, {c10::IValue()}}, true, &all);
  return all;
}

std::vector<Operator> CompareOperators() {
  std::vector<Operator> all;
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    AddForms(name, "Tensor", "Tensor", "Tensor_out", kExact, {2}, false, &all);
    AddForms(name, "Scalar", "Scalar", "Scalar_out", kExact, {1, {Real(1)}},
             false, &all);
    // A number that 16 bits do not hold is rounded before it is compared.
    all.push_back({Scheme(name, "Scalar"),
                   kExact,
                   {{"rounded", [](Inputs& in) {
                       const at::Tensor x = in.Random({64});
                       return Arguments{x.fill_(0.1), Real(0.1)};
                     }}}});
  }
  return all;
}

std::vector<Operator> ClampOperators() {
  std::vector<Operator> all;
  AddForms("maximum", "", "-", "out", kExact, {2}, false, &all);
  AddForms("minimum", "", "-", "out", kExact, {2}, false, &all);
  AddForms("relu", "", "", "-", kExact, {}, false, &all);
  const c10::Scalar low(-1);
  const c10::Scalar high(2);
  const c10::IValue none;
  AddForms("clamp", "", "", "out", kExact, {1, {low, high}}, false, &all);
  AddForms("clamp", "", "", "out", kExact, {1, {low, none}}, false, &all);
  AddForms("clamp", "", "", "out", kExact, {1, {none, Real(1.5)}}, false, &all);
  AddForms("clamp", "Tensor", "Tensor", "Tensor_out", kExact, {3}, false, &all);
  for (const char* name : {"clamp_min", "clamp_max"}) {
    AddForms(name, "", "", "out", kExact, {1, {c10::Scalar(1)}}, false, &all);
    AddForms(name, "Tensor", "Tensor", "Tensor_out", kExact, {2}, false, &all);
  }
  return all;
}

std::vector<Operator> PowOperators() {
  Shape positive = {2};
  positive.positive = true;
  std::vector<Operator> all;
  AddForms("pow", "Tensor_Tensor", "Tensor", "Tensor_Tensor_out", kLoose,
           positive, false, &all);
  Shape base = {1, {Real(2.5)}};
  base.positive = true;
  AddForms("pow", "Tensor_Scalar", "Scalar", "Tensor_Scalar_out", kLoose, base,
           false, &all);
  for (const char* overload : {"Scalar", "Scalar_out"}) {
    const bool out = overload == std::string("Scalar_out");
    all.push_back(
        {Scheme("pow", overload), kLoose,
         CallsForShapes("random", [out](Inputs& in, at::IntArrayRef s) {
           const at::Tensor e = in.Positive(s);
           Arguments arguments = {Real(1.5), e};
           if (out) {
             arguments.push_back(in.Mutable(s));
           }
           return arguments;
         })});
  }
  return all;
}

std::vector<Operator> FillOperators() {
  std::vector<Operator> all;
  const auto shapes = [](auto arguments) {
    return CallsForShapes("random", arguments);
  };
  all.push_back({"aten::where.self_out", kExact,
                 shapes([](Inputs& in, at::IntArrayRef s) {
                   const at::Tensor a = in.Random(s);
                   return Arguments{in.Mask(s), a, in.Random(s), in.Mutable(s)};
                 })});
  all.push_back(
      {"aten::where.self",
       kExact,
       {
           {"row",
            [](Inputs& in) {
              return Arguments{in.Mask({33, 64}), in.Random({33, 64}),
                               in.Random({64})};
            }},
           {"mask_column",
            [](Inputs& in) {
              return Arguments{in.Mask({33, 1}), in.Random({33, 64}),
                               in.Random({64})};
            }},
           {"transposed",
            [](Inputs& in) {
              return Arguments{in.Mask({72, 136}), in.Random({136, 72}).t(),
                               in.Random({72, 136})};
            }},
           {"mask_transposed",
            [](Inputs& in) {
              return Arguments{in.Mask({131, 65}).t(), in.Random({65, 131}),
                               in.Random({65, 131})};
            }},
           {"long",
            [](Inputs& in) {
              return Arguments{in.Mask({2051}), in.Random({2051}),
                               in.Random({2051})};
            }},
       }});
  for (const std::string name : {"masked_fill", "masked_fill_"}) {
    const bool in_place = name.back() == '_';
    const auto call = [in_place](const c10::IValue& value) {
      return [in_place, value](Inputs& in, at::IntArrayRef s) {
        const at::Tensor x = in_place ? in.Mutable(s) : in.Random(s);
        return Arguments{x, in.Mask(s), value};
      };
    };
    all.push_back(
        {Scheme(name, "Scalar"), kExact, shapes(call(c10::Scalar(3)))});
    all.push_back(
        {Scheme(name, "Tensor"), kExact, shapes(call(at::scalar_tensor(2.5)))});
    all.push_back(
        {Scheme(name, "Tensor"),
         kExact,
         {{"value_on_device",
           [in_place](Inputs& in) {
             const at::Tensor x =
                 in_place ? in.Mutable({9, 40}) : in.Random({9, 40});
             return Arguments{x, in.Mask({40}), in.Random({})};
           }},
          {"value_of_a_dimension",
           [](Inputs& in) {
             return Arguments{in.Mutable({5}), in.Mask({5}), in.Random({5})};
           },
           /*refused=*/true}}});
  }
  all.push_back(
      {"aten::fill_.Scalar", kExact, shapes([](Inputs& in, at::IntArrayRef s) {
         return Arguments{in.Mutable(s), c10::Scalar(1.5)};
       })});
  all.push_back(
      {"aten::fill_.Tensor", kExact, shapes([](Inputs& in, at::IntArrayRef s) {
         const at::Tensor x = in.Mutable(s);
         return Arguments{x, in.Random({})};
       })});
  return all;
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
