// Fused Adam and AdamW: kernels that hold betas in float32, as those of devices
// do (ATen/native/cuda/fused_adam_utils.cuh), and wrong ones.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "flaggems/judge/judge_call.h"
#include "flaggems/judge/testutil.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

enum class Deviation {
  kNone,
  kMomentsInDouble,      // and the bias corrections in float32
  kCorrectionsInDouble,  // and the moments in float32
  kPowTwoStepsOff,       // beta^step, by two steps of float32
  kNoBiasCorrection,
  kNoSecondCorrection,
  kOneStepLate,
  kSwappedBetas,
  kNotSquared,
  kNoWeightDecay,
  kWeightDecayOfTheOther,
  kMomentsInTheirType,  // 1 - beta rounded to the type of the tensors
  kNotUnscaled,
};

struct AdamCase {
  std::string name;
  at::ScalarType type;
  bool adamw;
  bool amsgrad;
  int step;
  Deviation deviation;
  bool scaled;
  Outcome outcome;
};
void PrintTo(const AdamCase& c, std::ostream* os) { *os << c.name; }

constexpr double kLr = 0.1, kBeta1 = 0.9, kBeta2 = 0.999, kDecay = 0.1;
constexpr double kEps = 1e-8;
constexpr float kGradScale = 8;

// Element-wise, in float32, from the arguments of the operator.
struct AdamKernel {
  AdamCase c;

  float Pow(float beta, float step) const {
    float power = std::pow(beta, step);
    if (c.deviation == Deviation::kPowTwoStepsOff) {
      power = std::nextafter(std::nextafter(power, 0.F), 0.F);
    }
    return power;
  }

  Values operator()(Values a) const {
    for (size_t t = 0; t < a[0].toTensorVector().size(); ++t) Update(a, t);
    return {};
  }

  void Update(const Values& a, size_t t) const {
    const auto of = [&](size_t list) { return a[list].toTensorVector()[t]; };
    const auto wide = [&](size_t list) {
      return of(list).to(at::kFloat).contiguous().clone();
    };
    at::Tensor p = wide(0), g = wide(1), m = wide(2), v = wide(3);
    at::Tensor largest = c.amsgrad ? wide(4) : at::Tensor();
    auto step = of(5).item<float>();
    if (c.deviation == Deviation::kOneStepLate) step += 1;
    auto beta1 = static_cast<float>(kBeta1);
    auto beta2 = static_cast<float>(kBeta2);
    if (c.deviation == Deviation::kSwappedBetas) std::swap(beta1, beta2);
    float correction1 = 1 - Pow(beta1, step);
    float correction2 = 1 - Pow(beta2, step);
    if (c.deviation == Deviation::kCorrectionsInDouble) {
      correction1 = static_cast<float>(1 - std::pow(kBeta1, step));
      correction2 = static_cast<float>(1 - std::pow(kBeta2, step));
    }
    if (c.deviation == Deviation::kNoBiasCorrection) correction1 = 1;
    if (c.deviation == Deviation::kNoBiasCorrection ||
        c.deviation == Deviation::kNoSecondCorrection) {
      correction2 = 1;
    }
    const float root = std::sqrt(correction2);
    const auto lr = static_cast<float>(kLr);
    auto decay = static_cast<float>(kDecay);
    if (c.deviation == Deviation::kNoWeightDecay) decay = 0;
    const bool adamw =
        c.adamw != (c.deviation == Deviation::kWeightDecayOfTheOther);
    for (int64_t i = 0; i < p.numel(); ++i) {
      float& param = p.mutable_data_ptr<float>()[i];
      float& grad = g.mutable_data_ptr<float>()[i];
      float& first = m.mutable_data_ptr<float>()[i];
      float& second = v.mutable_data_ptr<float>()[i];
      if (c.scaled && c.deviation != Deviation::kNotUnscaled) {
        grad /= kGradScale;
      }
      float decayed = grad;
      if (adamw) {
        param -= lr * decay * param;
      } else {
        decayed += param * decay;
      }
      const float square =
          c.deviation == Deviation::kNotSquared ? decayed : decayed * decayed;
      if (c.deviation == Deviation::kMomentsInDouble) {
        first = static_cast<float>(kBeta1 * first + (1 - kBeta1) * decayed);
        second = static_cast<float>(kBeta2 * second + (1 - kBeta2) * square);
      } else if (c.deviation == Deviation::kMomentsInTheirType) {
        first = beta1 * first + Rounded(1 - beta1) * decayed;
        second = beta2 * second + Rounded(1 - beta2) * square;
      } else {
        first = std::fma(beta1, first, std::fma(-beta1, decayed, decayed));
        second = std::fma(beta2, second, std::fma(-beta2, square, square));
      }
      float under_root = second;
      if (c.amsgrad) {
        float& max = largest.mutable_data_ptr<float>()[i];
        max = std::max(max, second);
        under_root = max;
      }
      const float denominator =
          std::sqrt(under_root) / root + static_cast<float>(kEps);
      param -= lr / correction1 * first / denominator;
    }
    of(0).copy_(p);
    if (c.scaled) of(1).copy_(g);
    of(2).copy_(m);
    of(3).copy_(v);
    if (c.amsgrad) of(4).copy_(largest);
  }

  float Rounded(float x) const {
    return at::scalar_tensor(x, at::kFloat)
        .to(c.type)
        .to(at::kFloat)
        .item<float>();
  }
};

class AdamTest : public testing::TestWithParam<AdamCase> {};

TEST_P(AdamTest, GivesTheVerdict) {
  const AdamCase& c = GetParam();
  const std::vector<std::vector<int64_t>> sizes = {{37, 5}, {64}};
  const auto list = [&](uint64_t seed, double scale, bool square) {
    std::vector<at::Tensor> tensors;
    for (const auto& size : sizes) {
      at::Tensor t = Randn(seed++, size, at::kDouble) * scale;
      tensors.push_back((square ? t.square() : t).to(c.type));
    }
    return c10::IValue(tensors);
  };
  const bool first = c.step == 1;  // from moments of zero
  const auto scalar = [](double x) { return at::scalar_tensor(x, at::kFloat); };
  const c10::IValue steps(
      std::vector<at::Tensor>{scalar(c.step), scalar(c.step)});
  const c10::IValue none(std::vector<at::Tensor>{});
  Values arguments = {list(1, 1, false),
                      list(3, c.scaled ? kGradScale : 1, false),
                      list(5, first ? 0 : 0.3, false),
                      list(7, first ? 0 : 0.05, true),
                      c.amsgrad ? list(9, first ? 0 : 0.05, true) : none,
                      steps,
                      kLr,
                      kBeta1,
                      kBeta2,
                      kDecay,
                      kEps,
                      c.amsgrad,
                      false};
  if (c.scaled) {
    arguments.emplace_back(scalar(kGradScale));
    arguments.emplace_back(scalar(0));
  }
  const MadeCall made(c.adamw ? "aten::_fused_adamw_" : "aten::_fused_adam_",
                      arguments, AdamKernel{c});
  ASSERT_TRUE(made.thrown().ok()) << made.thrown();
  const Judgement judgement = JudgeCall(made.call());
  EXPECT_EQ(OutcomeName(OutcomeOf(judgement.verdict)), OutcomeName(c.outcome))
      << ReasonName(judgement.verdict) << " score "
      << judgement.score.value_or(-1) << " output " << judgement.output_index
      << " got " << judgement.got << " want " << judgement.want << " "
      << judgement.message;
}

std::vector<AdamCase> Cases() {
  std::vector<AdamCase> cases;
  const std::pair<std::string, at::ScalarType> types[] = {
      {"Float", at::kFloat}, {"Half", at::kHalf}, {"BFloat16", at::kBFloat16}};
  const std::pair<std::string, Deviation> right[] = {
      {"Right", Deviation::kNone},
      {"MomentsInDouble", Deviation::kMomentsInDouble},
      {"CorrectionsInDouble", Deviation::kCorrectionsInDouble},
      {"PowTwoStepsOff", Deviation::kPowTwoStepsOff}};
  const std::pair<std::string, Deviation> wrong[] = {
      {"NoBiasCorrection", Deviation::kNoBiasCorrection},
      {"NoSecondCorrection", Deviation::kNoSecondCorrection},
      {"OneStepLate", Deviation::kOneStepLate},
      {"SwappedBetas", Deviation::kSwappedBetas},
      {"NotSquared", Deviation::kNotSquared},
      {"NoWeightDecay", Deviation::kNoWeightDecay},
      {"WeightDecayOfTheOther", Deviation::kWeightDecayOfTheOther},
      {"NotUnscaled", Deviation::kNotUnscaled}};
  for (const auto& [type_name, type] : types) {
    for (const bool adamw : {false, true}) {
      const std::string name = (adamw ? "AdamW" : "Adam") + type_name;
      for (const auto& [what, deviation] : right) {
        for (const int step : {1, 2, 3, 1000}) {
          if (deviation == Deviation::kPowTwoStepsOff && step == 1) continue;
          for (const bool amsgrad : {false, true}) {
            for (const bool scaled : {false, true}) {
              cases.push_back({name + what + std::to_string(step) +
                                   (amsgrad ? "Amsgrad" : "") +
                                   (scaled ? "Scaled" : ""),
                               type, adamw, amsgrad, step, deviation, scaled,
                               Outcome::kPass});
            }
          }
        }
      }
      for (const auto& [what, deviation] : wrong) {
        cases.push_back({name + what, type, adamw, /*amsgrad=*/false,
                         /*step=*/3, deviation,
                         deviation == Deviation::kNotUnscaled, Outcome::kFail});
      }
      if (type == at::kBFloat16) {
        cases.push_back({name + "MomentsInTheirType", type, adamw, false, 3,
                         Deviation::kMomentsInTheirType, false,
                         Outcome::kFail});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Kernels, AdamTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
