#include "flaggems/kernels/testing/loss_cases.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

using Condition = Bound::Condition;
using Shape = std::vector<int64_t>;

constexpr int64_t kIgnored = 2;

Bound BoundOf(Condition condition, double a, double b = 0) {
  Bound bound;
  bound.condition = condition;
  bound.a = a;
  bound.b = b;
  return bound;
}

// Class indices, at times the ignored one.
at::Tensor Target(Inputs& in, Shape shape, int64_t classes) {
  return in.Index(shape, classes);
}

Shape TargetShape(const Shape& self) {
  if (self.size() == 1) return {};
  Shape shape = self;
  shape.erase(shape.begin() + 1);
  return shape;
}

struct LossCase {
  std::string name;
  Shape self;
  int64_t ignore_index = kIgnored;
  bool weighted = true;
};

int64_t SamplesOf(const LossCase& c) {
  int64_t samples = 1;
  for (const int64_t size : TargetShape(c.self)) samples *= size;
  return samples < 1 ? 1 : samples;
}

const std::vector<LossCase>& Cases(bool spatial) {
  static const std::vector<LossCase> flat = {
      {"few", {5, 7}},
      {"classes_of_vectors", {9, 64}},
      {"one_class", {9, 1}, -100},
      {"one_row", {1, 33}, -100},
      {"block", {513, 3}},
      {"blocks", {5000, 5}},
      {"no_weight", {33, 17}, kIgnored, false},
      {"no_weight_vectors", {33, 32}, -100, false},
      {"sample", {7}, -100},
      {"no_samples", {0, 7}},
      // Class 0 only, which is ignored: 0 / 0.
      {"all_ignored", {5, 1}, 0},
      {"sample_ignored", {1}, 0},
  };
  static const std::vector<LossCase> images = {
      {"few", {2, 5, 3, 4}},
      {"vectors", {2, 5, 8, 8}, -100},
      {"blocks", {2, 3, 50, 60}},
      {"no_weight", {2, 5, 3, 4}, kIgnored, false},
      {"no_samples", {0, 5, 3, 4}},
      {"no_positions", {2, 5, 0, 4}},
  };
  return spatial ? images : flat;
}

c10::IValue WeightOf(Inputs& in, const LossCase& c) {
  if (!c.weighted) return c10::IValue();
  return in.Positive({c.self.size() == 1 ? c.self[0] : c.self[1]});
}

std::vector<Call> ForwardCalls(bool spatial) {
  std::vector<Call> calls;
  for (const LossCase& c : Cases(spatial)) {
    for (const int64_t reduction : {0, 1, 2}) {
      Call call = {
          c.name + "_" + std::to_string(reduction), [c, reduction](Inputs& in) {
            const at::Tensor self = in.Random(c.self);
            const at::Tensor target = Target(
                in, TargetShape(c.self), c.self[c.self.size() == 1 ? 0 : 1]);
            return Arguments{self, target, WeightOf(in, c), reduction,
                             c.ignore_index};
          }};
      call.terms = SamplesOf(c);
      // Backends differ in the mean of no sample: NaN or 0.
      call.native_specials = c.self.size() == 1;
      calls.push_back(call);
    }
  }
  if (spatial) return calls;
  const auto refused = [&](const std::string& name,
                           std::function<Arguments(Inputs&)> arguments) {
    calls.push_back({name, std::move(arguments), /*refused=*/true});
  };
  refused("sizes", [](Inputs& in) {
    const at::Tensor self = in.Random({5, 7});
    return Arguments{self, in.Index({4}, 7), c10::IValue(), 1, -100};
  });
  refused("weights", [](Inputs& in) {
    const at::Tensor self = in.Random({5, 7});
    const at::Tensor target = in.Index({5}, 7);
    return Arguments{self, target, in.Positive({6}), 1, -100};
  });
  refused("dims", [](Inputs& in) {
    const at::Tensor self = in.Random({5, 7, 3});
    return Arguments{self, in.Index({5}, 7), c10::IValue(), 1, -100};
  });
  refused("target_int32", [](Inputs& in) {
    const at::Tensor self = in.Random({5, 7});
    return Arguments{self, in.Index({5}, 7, at::kInt), c10::IValue(), 1, -100};
  });
  return calls;
}

std::vector<Call> BackwardCalls(bool spatial) {
  std::vector<Call> calls;
  for (const LossCase& c : Cases(spatial)) {
    for (const int64_t reduction : {0, 1, 2}) {
      calls.push_back(
          {c.name + "_" + std::to_string(reduction),
           [c, reduction](Inputs& in) {
             const Shape target_shape = TargetShape(c.self);
             const at::Tensor grad =
                 in.Random(reduction == 0 ? target_shape : Shape());
             // native aten takes no other layout here.
             const at::Tensor self = in.Random(c.self).contiguous();
             const at::Tensor target =
                 Target(in, target_shape, c.self[c.self.size() == 1 ? 0 : 1])
                     .contiguous();
             return Arguments{
                 grad,      self,           target,         WeightOf(in, c),
                 reduction, c.ignore_index, in.Positive({})};
           }});
    }
  }
  return calls;
}

}  // namespace

std::vector<Operator> LossOperators() {
  const Bound sums = BoundOf(Condition::kAbsolute, 4, 1);
  const Bound product = BoundOf(Condition::kMagnitude, 4);
  return {
      {"aten::nll_loss_forward", sums, ForwardCalls(false)},
      {"aten::nll_loss_backward", product, BackwardCalls(false)},
      {"aten::nll_loss2d_forward", sums, ForwardCalls(true)},
      {"aten::nll_loss2d_backward", product, BackwardCalls(true)},
  };
}

std::vector<Operator> DropoutOperators() {
  const auto call = [](double p, c10::IValue train) {
    return CallsForShapes("p_" + std::to_string(static_cast<int>(p * 10)) +
                              (train.isNone() ? "" : "_given"),
                          [=](Inputs& in, at::IntArrayRef s) {
                            return Arguments{in.Random(s), p, train};
                          });
  };
  const auto backward = [](Inputs& in, at::IntArrayRef s) {
    const at::Tensor grad = in.Random(s);
    return Arguments{grad, in.Mask(s), 1.25};
  };
  return {
      {"aten::native_dropout",
       {},
       Concat({call(0, true), call(0, c10::IValue()), call(1, true),
               call(0.5, false), call(1.5, true)})},
      {"aten::native_dropout_backward", BoundOf(Condition::kMagnitude, 2),
       Concat({CallsForShapes("random", backward),
               {{"special",
                 [](Inputs& in) {
                   const at::Tensor grad = in.Special({33, 31});
                   return Arguments{grad, in.Mask({33, 31}), 1.0};
                 }},
                {"mask_of_bytes",
                 [](Inputs& in) {
                   const at::Tensor grad = in.Random({5});
                   return Arguments{grad, in.Mask({5}).to(at::kByte), 1.0};
                 },
                 /*refused=*/true}}})},
  };
}

std::vector<Operator> TriangularOperators() {
  const auto calls = [](int kind) {  // 0: new, 1: in place, 2: out
    std::vector<Call> all;
    const Shape shapes[] = {{1, 1},   {7, 5},      {5, 7},        {33, 64},
                            {64, 33}, {3, 17, 16}, {2, 3, 4, 32}, {0, 5},
                            {3, 0},   {300, 8}};
    for (const Shape& shape : shapes) {
      for (const int64_t diagonal : {0, 1, -2, 40, -400}) {
        std::string name = "shape";
        for (const int64_t s : shape) name += "_" + std::to_string(s);
        name += diagonal < 0 ? "_below_" + std::to_string(-diagonal)
                             : "_above_" + std::to_string(diagonal);
        all.push_back({name, [=](Inputs& in) {
                         Arguments arguments{
                             kind == 1 ? in.Mutable(shape) : in.Random(shape),
                             diagonal};
                         if (kind == 2) arguments.push_back(in.Mutable(shape));
                         return arguments;
                       }});
      }
    }
    all.push_back(
        {"special", [=](Inputs& in) {
           const at::Tensor self = in.Special({17, 19});
           Arguments arguments{kind == 1 ? self.contiguous() : self, 0};
           if (kind == 2) {
             arguments.push_back(in.Mutable({17, 19}));
           }
           return arguments;
         }});
    if (kind == 0) {
      all.push_back({"vector",
                     [](Inputs& in) {
                       return Arguments{in.Random({5}), 0};
                     },
                     /*refused=*/true});
    }
    return all;
  };
  return {
      {"aten::triu", {}, calls(0)},     {"aten::triu_", {}, calls(1)},
      {"aten::triu.out", {}, calls(2)}, {"aten::tril", {}, calls(0)},
      {"aten::tril_", {}, calls(1)},    {"aten::tril.out", {}, calls(2)},
  };
}

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
