#include "flaggems/judge/random_properties.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/find_argument.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/python_float.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/random_table.h"
#include "flaggems/statistics/kolmogorov_smirnov.h"
#include "flaggems/statistics/tail_bounds.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kPi = 3.14159265358979323846;

constexpr int64_t kBlock = 65536;
constexpr int64_t kMaxBlocks = 64;
// Fewer elements than this repeat by chance too often to say anything.
constexpr int64_t kMinForRepetition = 64;
// Pairs that are compared at each distance, at most.
constexpr int64_t kMaxPairs = int64_t{1} << 19;
// Ranges and classes up to this many are counted one by one.
constexpr int64_t kMaxClasses = 4096;

std::string Number(double value) { return FormatPythonFloat(value); }

// ---- What was found

// A failure of one element is certain; the tests of all draws have p-values.
class Evidence {
 public:
  explicit Evidence(c10::IntArrayRef sizes) : sizes_(sizes.vec()) {}

  // An element that no right kernel gives. The first one counts.
  void FailElement(absl::string_view property, int64_t position, double got,
                   std::string want) {
    if (certain_.has_value()) return;
    certain_.emplace();
    certain_->property = std::string(property);
    certain_->message =
        absl::StrCat("got ", Number(got), " where ", want, " is right");
    certain_->worst_index.emplace(sizes_.size());
    for (size_t d = sizes_.size(); d-- > 0;) {
      (*certain_->worst_index)[d] = position % sizes_[d];
      position /= sizes_[d];
    }
    certain_->got = Number(got);
    certain_->want = std::move(want);
  }
  void Fail(absl::string_view property, std::string message) {
    if (certain_.has_value()) return;
    certain_.emplace();
    certain_->property = std::string(property);
    certain_->message = std::move(message);
  }
  bool failed() const { return certain_.has_value(); }

  // `p_value` bounds the probability of what was found.
  void Test(absl::string_view property, double p_value, std::string message) {
    ++tests_;
    if (p_value >= smallest_) return;
    smallest_ = p_value;
    property_ = std::string(property);
    message_ = std::move(message);
  }

  std::optional<RandomFailure> Result(double false_alarm_rate) const {
    if (certain_.has_value()) return certain_;
    if (tests_ == 0 || !(smallest_ * tests_ < false_alarm_rate)) {
      return std::nullopt;
    }
    RandomFailure failure;
    failure.property = property_;
    failure.message = absl::StrCat(
        message_,
        "; a right kernel gives that with a probability "
        "of at most ",
        Number(smallest_), ", and ", tests_, " properties were tested");
    return failure;
  }

 private:
  const std::vector<int64_t> sizes_;
  std::optional<RandomFailure> certain_;
  int tests_ = 0;
  double smallest_ = 1;
  std::string property_;
  std::string message_;
};

// ---- Access to arguments and elements

// The values of a call's arguments by their names in the schema.
class Arguments {
 public:
  Arguments(const c10::FunctionSchema& schema,
            absl::Span<const c10::IValue> values)
      : schema_(schema), values_(values) {}

  // Null if there is no such argument, or it is None.
  const c10::IValue* Find(absl::string_view name) const {
    if (name.empty()) return nullptr;
    const c10::IValue* const value = FindArgument(schema_, values_, name);
    return value != nullptr && !value->isNone() ? value : nullptr;
  }
  const c10::IValue* Find(const RandomParameter& parameter) const {
    const c10::IValue* value = Find(parameter.argument);
    return value != nullptr ? value : Find(parameter.instead);
  }
  bool Flag(absl::string_view name, bool otherwise) const {
    const c10::IValue* value = Find(name);
    return value != nullptr && value->isBool() ? value->toBool() : otherwise;
  }

 private:
  const c10::FunctionSchema& schema_;
  const absl::Span<const c10::IValue> values_;
};

bool IsOnHost(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && IsPlainTensor(tensor);
}

// One value, or one an element.
struct Parameter {
  double value = 0;
  at::Tensor tensor;  // flat; undefined: `value` for all

  bool varies() const { return tensor.defined(); }
};

// The first and last elements of evenly spread blocks.
std::vector<std::pair<int64_t, int64_t>> Blocks(int64_t numel) {
  std::vector<std::pair<int64_t, int64_t>> blocks;
  const int64_t all = (numel + kBlock - 1) / kBlock;
  const int64_t count = std::min(all, kMaxBlocks);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t block = count == 1 ? 0 : i * (all - 1) / (count - 1);
    blocks.push_back({block * kBlock, std::min(numel, (block + 1) * kBlock)});
  }
  return blocks;
}

// A block of a tensor as doubles.
class Doubles {
 public:
  Doubles(const at::Tensor& flat, std::pair<int64_t, int64_t> block)
      : tensor_(flat.narrow(0, block.first, block.second - block.first)
                    .to(at::kDouble)
                    .contiguous()),
        data_(tensor_.const_data_ptr<double>()) {}
  double operator[](int64_t i) const { return data_[i]; }

 private:
  const at::Tensor tensor_;
  const double* const data_;
};

// The same of a parameter.
class ParameterDoubles {
 public:
  ParameterDoubles(const Parameter& parameter,
                   std::pair<int64_t, int64_t> block)
      : value_(parameter.value) {
    if (parameter.varies()) doubles_.emplace(parameter.tensor, block);
  }
  double operator[](int64_t i) const {
    return doubles_.has_value() ? (*doubles_)[i] : value_;
  }

 private:
  const double value_;
  std::optional<Doubles> doubles_;
};

// How the output's dtype rounds.
struct Rounding {
  explicit Rounding(c10::ScalarType type)
      : format(FloatFormatOf(DTypeOf(type))),
        digits(format.has_value() ? format->fraction_bits + 1 : 63),
        grid(std::ldexp(1.0, -std::min(digits, 24))) {}

  // The spacing of values at x; of integers 0, or what a double loses.
  double UlpAt(double x) const {
    if (format.has_value())
      return std::isfinite(x) ? Ulp(*format, std::abs(x)) : 0;
    return std::abs(x) < 0x1p53 ? 0 : 2048;
  }
  // How far an integer x may be from the integer that was drawn.
  double IntegerError(double x) const {
    return std::abs(x) <= std::ldexp(1.0, std::min(digits, 53)) ? 0 : UlpAt(x);
  }
  double max_finite() const {
    return format.has_value()
               ? std::min(format->overflow, 0x1.fffffffffffffp+1023)
               : kInf;
  }
  bool small() const { return digits < 24; }

  std::optional<FloatFormat> format;
  int digits;
  // Random numbers are multiples of it, as torch's own kernels draw them.
  double grid;
};

struct Call {
  const RandomRow& row;
  const Arguments& before;
  const Arguments* after;  // may be null
  absl::Span<const c10::IValue> outputs;
  at::Tensor output;  // the first; of real numbers
  at::Tensor flat;    // its elements in row-major order
  Parameter first;
  Parameter second;
  Rounding rounding;
  Evidence& evidence;

  int64_t numel() const { return flat.numel(); }
};

// Calls draw(position, x, first, second) for every element that is judged,
// until something is certain.
template <typename Draw>
void ForEachDraw(const Call& call, Draw&& draw) {
  for (const auto& block : Blocks(call.numel())) {
    const Doubles x(call.flat, block);
    const ParameterDoubles first(call.first, block);
    const ParameterDoubles second(call.second, block);
    for (int64_t i = 0; i < block.second - block.first; ++i) {
      const int64_t position = block.first + i;
      if (std::isnan(x[i]) && !std::isnan(first[i]) && !std::isnan(second[i])) {
        call.evidence.FailElement("nan", position, x[i], "a number");
      }
      if (call.evidence.failed()) return;
      draw(position, x[i], first[i], second[i]);
    }
  }
}

// ---- Draws that repeat

// Values that are equal to those at a distance more often than by chance: rows
// that are alike, a second half that is the first, one value everywhere.
// `chance`: at most how probable two draws are to be equal.
//
// At each distance d pairs that share no element are compared: i and i + d for
// i mod 2 d < d. They are independent.
void TestRepetition(Evidence& evidence, const at::Tensor& flat,
                    c10::IntArrayRef sizes, double chance) {
  const int64_t numel = flat.numel();
  if (numel < kMinForRepetition || !(chance < 0.9)) return;
  std::vector<int64_t> distances = {numel / 2};
  int64_t inner = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    distances.push_back(inner);
    inner *= sizes[d];
  }
  for (int64_t d = 1; d <= kMaxPairs; d *= 2) distances.push_back(d);
  std::sort(distances.begin(), distances.end());
  distances.erase(std::unique(distances.begin(), distances.end()),
                  distances.end());
  int tests = 0;
  double smallest = 1;
  std::string message;
  for (const int64_t d : distances) {
    const int64_t rows =
        std::min(numel / (2 * d), std::max<int64_t>(1, kMaxPairs / d));
    if (rows == 0 || d == 0) continue;
    const int64_t columns = std::min(d, kMaxPairs);
    const at::Tensor pairs = flat.narrow(0, 0, rows * 2 * d).view({rows, 2, d});
    const int64_t equal = at::eq(pairs.select(1, 0).narrow(1, 0, columns),
                                 pairs.select(1, 1).narrow(1, 0, columns))
                              .sum()
                              .item<int64_t>();
    const double count = static_cast<double>(rows * columns);
    ++tests;
    // Too few is no fault: chance is an upper bound.
    if (static_cast<double>(equal) <= chance * count) continue;
    const double p_value =
        BoundedSumTwoSided(static_cast<double>(equal), count, chance);
    if (p_value >= smallest) continue;
    smallest = p_value;
    message =
        absl::StrCat(equal, " of ", rows * columns, " elements equal the one ",
                     d, " further on, a share of ", Number(chance), " may");
  }
  evidence.Test("repetition", std::min(1.0, smallest * tests),
                std::move(message));
}

// ---- Distributions with a distribution function

// What an element says about the uniform variable that it was made from.
struct Draw {
  double low = 0;  // as KolmogorovSmirnov::Add()
  double high = 1;
  // At least the probability of a draw as far out; 1 where that is not judged.
  double tail = 1;
  bool counts = true;  // false: nothing is random about it
};

// Collects draws; adds their tests at the end.
class Distribution {
 public:
  explicit Distribution(const Call& call)
      : call_(call), test_(std::min(call.numel(), kBlock * kMaxBlocks)) {
    for (const auto& [begin, end] : Blocks(call.numel())) {
      judged_ += end - begin;
    }
  }

  void Add(const Draw& draw) {
    if (!draw.counts) return;
    const double low = draw.low - call_.rounding.grid;
    const double high = draw.high + call_.rounding.grid;
    test_.Add(low, high);
    widest_ = std::max(widest_, high - low);
    smallest_tail_ = std::min(smallest_tail_, draw.tail);
  }

  double count() const { return static_cast<double>(test_.count()); }

  void Finish() {
    if (test_.count() == 0) return;
    call_.evidence.Test("distribution", test_.PValue(),
                        absl::StrCat("the distribution function is off by ",
                                     Number(test_.Distance()), " over ",
                                     test_.count(), " draws"));
    call_.evidence.Test(
        "tail", std::min(1.0, smallest_tail_ * count()),
        absl::StrCat("the farthest of ", test_.count(),
                     " draws has a probability of ", Number(smallest_tail_)));
    // Two draws are equal with at most the probability of the most frequent
    // value, which the widest interval covers. Twice, because kernels make
    // several draws of one random number.
    if (test_.count() == judged_) {
      TestRepetition(call_.evidence, call_.flat, call_.output.sizes(),
                     2 * widest_);
    }
  }

 private:
  const Call& call_;
  int64_t judged_ = 0;
  KolmogorovSmirnov test_;
  double widest_ = 0;
  double smallest_tail_ = 1;
};

// Whether x is a value of the dtype.
bool IsRepresentable(double x, const Rounding& rounding) {
  const double ulp = rounding.UlpAt(x);
  return ulp == 0 || x / ulp == std::nearbyint(x / ulp);
}

// The uniform distribution on [from, to), as x = from + (to - from) u rounded
// once or twice.
class UniformRule {
 public:
  UniformRule(double from, double to, const Rounding& rounding)
      : from_(from), width_(to - from), rounding_(rounding) {
    const auto slack = [&](double end) {
      return IsRepresentable(end, rounding) ? 0 : rounding.UlpAt(end) / 2;
    };
    rounding_of_product_ = from == 0 ? 0 : rounding.UlpAt(width_);
    lowest_ = from - slack(from);
    end_ = to + slack(to);
    // The largest random number below 1: rounding may carry it to `to`.
    const double top =
        from + (1 - std::ldexp(1.0, -std::min(rounding.digits, 53))) * width_;
    reaches_end_ = to - top <= rounding.UlpAt(top) / 2 + rounding_of_product_ ||
                   end_ != to;
  }

  // The ends are numbers, in order, and their distance does not overflow.
  bool defined() const {
    return width_ >= 0 && width_ <= rounding_.max_finite();
  }
  bool Contains(double x) const {
    return x >= lowest_ && (reaches_end_ ? x <= end_ : x < end_);
  }
  Draw Of(double x) const {
    Draw draw;
    draw.counts = width_ > 0;
    const double error = rounding_.UlpAt(x) / 2 + rounding_of_product_;
    draw.low = (x - error - from_) / width_;
    draw.high = (x + error - from_) / width_;
    return draw;
  }
  std::string Range() const {
    return absl::StrCat("[", Number(from_), ", ", Number(from_ + width_), ")");
  }

 private:
  const double from_;
  const double width_;
  const Rounding rounding_;
  double rounding_of_product_;
  double lowest_;
  double end_;
  bool reaches_end_;
};

void JudgeUniform(const Call& call) {
  Distribution distribution(call);
  std::optional<UniformRule> rule;
  ForEachDraw(call, [&](int64_t position, double x, double from, double to) {
    if (!rule.has_value()) rule.emplace(from, to, call.rounding);
    if (!rule->defined()) return;
    if (!rule->Contains(x)) {
      call.evidence.FailElement("range", position, x,
                                absl::StrCat("a number in ", rule->Range()));
    }
    distribution.Add(rule->Of(x));
  });
  distribution.Finish();
}

double NormalCdf(double z) { return 0.5 * std::erfc(-z * kSqrtHalf); }

// Sums of bounds, and the p-value of the sum in between that suits best.
struct SumBounds {
  double low = 0;
  double high = 0;
  void Add(double a, double b) {
    low += a;
    high += b;
  }
  double Nearest(double expected) const {
    return std::min(std::max(expected, low), high);
  }
};

void JudgeNormal(const Call& call, bool logarithm) {
  const Rounding& rounding = call.rounding;
  Distribution distribution(call);
  SumBounds sum;
  SumBounds squares;
  bool moments = true;
  ForEachDraw(call, [&](int64_t position, double x, double mean, double std) {
    if (!(std >= 0) || !std::isfinite(mean) || !std::isfinite(std)) return;
    if (logarithm && x < 0) {
      call.evidence.FailElement("range", position, x, "a positive number");
    }
    if (std == 0 && !logarithm) {
      if (std::abs(x - mean) > rounding.UlpAt(mean)) {
        call.evidence.FailElement("range", position, x, Number(mean));
      }
      return;
    }
    if (std == 0) return;
    // One rounding of the sum, one of the product before it.
    double low = x - rounding.UlpAt(x) - rounding.UlpAt(x - mean);
    double high = x + rounding.UlpAt(x) + rounding.UlpAt(x - mean);
    if (std::isinf(x)) {  // what is beyond the largest finite number
      low = x > 0 ? rounding.max_finite() : -kInf;
      high = x > 0 ? kInf : -rounding.max_finite();
      moments = false;
    }
    if (logarithm) {
      low = x - rounding.UlpAt(x);
      if (std::isinf(x)) low = rounding.max_finite();
      high = std::isinf(x) ? kInf : x + rounding.UlpAt(x);
      if (low <= 0) moments = false;
      low = low > 0 ? std::log(low) : -kInf;
      high = std::log(high);
    }
    low = (low - mean) / std;
    high = (high - mean) / std;
    const double nearest = low > 0 ? low : std::min(high, 0.0);
    Draw draw;
    // Kernels make normal draws of two random numbers.
    draw.low = NormalCdf(low) - rounding.grid;
    draw.high = NormalCdf(high) + rounding.grid;
    draw.tail = NormalTwoSided(nearest);
    distribution.Add(draw);
    sum.Add(low, high);
    squares.Add(nearest * nearest, std::max(low * low, high * high));
  });
  const double n = distribution.count();
  if (moments && n > 0) {
    // The logarithm of a random number on a grid: in 16 bits torch's normal
    // draws have a variance of 0.986 (bfloat16) and 0.998 (float16).
    const double coarse = rounding.small() ? n * rounding.grid : 0;
    sum.Add(-coarse, coarse);
    squares.Add(-5 * coarse, 5 * coarse);
    const double total = sum.Nearest(0);
    call.evidence.Test(
        "mean", NormalTwoSided(total / std::sqrt(n)),
        absl::StrCat("the mean of ", n, " draws is off by ", Number(total / n),
                     " standard deviations at least"));
    const double total_squares = squares.Nearest(n);
    call.evidence.Test(
        "spread", ChiSquareTwoSided(total_squares, n),
        absl::StrCat("the standard deviation of ", n,
                     " draws is off by the "
                     "factor ",
                     Number(std::sqrt(total_squares / n)), " at least"));
  }
  distribution.Finish();
}

void JudgeCauchy(const Call& call) {
  const Rounding& rounding = call.rounding;
  Distribution distribution(call);
  ForEachDraw(call, [&](int64_t, double x, double median, double sigma) {
    if (!(sigma > 0) || !std::isfinite(sigma) || !std::isfinite(median)) return;
    double low = x - rounding.UlpAt(x) - rounding.UlpAt(x - median);
    double high = x + rounding.UlpAt(x) + rounding.UlpAt(x - median);
    if (std::isinf(x)) {
      low = x > 0 ? rounding.max_finite() : -kInf;
      high = x > 0 ? kInf : -rounding.max_finite();
    }
    Draw draw;
    draw.low = 0.5 + std::atan((low - median) / sigma) / kPi;
    draw.high = 0.5 + std::atan((high - median) / sigma) / kPi;
    distribution.Add(draw);
  });
  distribution.Finish();
}

void JudgeExponential(const Call& call) {
  const Rounding& rounding = call.rounding;
  Distribution distribution(call);
  SumBounds sum;
  ForEachDraw(call, [&](int64_t position, double x, double rate, double) {
    if (!(rate > 0) || !std::isfinite(rate)) return;
    if (!(x >= 0)) {
      call.evidence.FailElement("range", position, x, "a positive number");
    }
    const double low = std::isinf(x) ? rounding.max_finite()
                                     : std::max(0.0, x - rounding.UlpAt(x));
    const double high = std::isinf(x) ? kInf : x + rounding.UlpAt(x);
    Draw draw;
    draw.low = -std::expm1(-rate * low);
    draw.high = -std::expm1(-rate * high);
    draw.tail = std::exp(-rate * low);
    distribution.Add(draw);
    sum.Add(rate * low, rate * high);
  });
  const double n = distribution.count();
  if (n > 0) {
    sum.Add(-4 * n * rounding.grid, 4 * n * rounding.grid);
    const double total = sum.Nearest(n);
    call.evidence.Test("mean", ChiSquareTwoSided(2 * total, 2 * n),
                       absl::StrCat("the mean of ", n,
                                    " draws is off by the "
                                    "factor ",
                                    Number(total / n), " at least"));
  }
  distribution.Finish();
}

void JudgeGeometric(const Call& call) {
  const Rounding& rounding = call.rounding;
  Distribution distribution(call);
  // A draw that the dtype does not hold wraps around or overflows.
  const double largest =
      rounding.format.has_value()
          ? rounding.max_finite()
          : std::ldexp(1.0, static_cast<int>(8 * call.flat.element_size()) - 1);
  ForEachDraw(call, [&](int64_t position, double x, double p, double) {
    if (!(p > 0 && p <= 1)) return;
    const double log_miss = std::log1p(-p);  // -Inf for p = 1
    const auto at_most = [&](double k) {
      return k <= 0 ? 0 : -std::expm1(k * log_miss);
    };
    if ((1 - at_most(largest)) * static_cast<double>(call.numel()) > 1e-9) {
      return;
    }
    if (!(x >= 1) || x != std::nearbyint(x)) {
      call.evidence.FailElement("range", position, x, "an integer from 1 on");
    }
    const double error = rounding.IntegerError(x);
    const double below = std::isinf(x) ? largest : x - 1 - error;
    Draw draw;
    draw.low = at_most(below);
    draw.high = at_most(x + error);
    draw.tail = below <= 0 ? 1 : std::exp(below * log_miss);
    draw.counts = p < 1;
    if (p == 1 && x != 1) {
      call.evidence.FailElement("range", position, x, "1");
    }
    distribution.Add(draw);
  });
  distribution.Finish();
}

// ---- Counts

// How often each class came up, against its probability.
void TestFrequencies(Evidence& evidence, const std::vector<double>& counts,
                     const std::vector<double>& probabilities, double n,
                     double p_slack) {
  double smallest = 1;
  size_t worst = 0;
  for (size_t c = 0; c < counts.size(); ++c) {
    const double p_value =
        BoundedSumTwoSided(counts[c], n, probabilities[c], p_slack);
    if (p_value < smallest) {
      smallest = p_value;
      worst = c;
    }
  }
  evidence.Test(
      "frequency", std::min(1.0, smallest * static_cast<double>(counts.size())),
      absl::StrCat("value ", worst, " (from 0, of ", counts.size(),
                   ") was drawn ", counts[worst], " times in ", n,
                   ", its probability is ", Number(probabilities[worst])));
}

// Integers from low to high, both included.
void JudgeIntegers(const Call& call, double low, double high) {
  const Rounding& rounding = call.rounding;
  const double range = high - low + 1;
  if (!(range >= 1) || !std::isfinite(range)) return;
  // Kernels take a random number modulo the range, of 32 bits below 2^28 and
  // of 64 from there on. With N such numbers the distribution function is off
  // by at most range / (4 N), a probability by 1 / N.
  const double modulo = range / (range < 0x1p28 ? 0x1p34 : 0x1p66);
  const bool counted = range <= static_cast<double>(kMaxClasses) &&
                       rounding.IntegerError(low) == 0 &&
                       rounding.IntegerError(high) == 0;
  std::vector<double> counts(counted ? static_cast<size_t>(range) : 0);
  const double low_error = rounding.IntegerError(low);
  const double high_error = rounding.IntegerError(high);
  Distribution distribution(call);
  ForEachDraw(call, [&](int64_t position, double x, double, double) {
    if (!(x >= low - low_error && x <= high + high_error) ||
        x != std::nearbyint(x)) {
      call.evidence.FailElement(
          "range", position, x,
          absl::StrCat("an integer from ", Number(low), " to ", Number(high)));
      return;
    }
    const double error = rounding.IntegerError(x);
    Draw draw;
    draw.low = (x - error - low) / range - modulo;
    draw.high = (x + error + 1 - low) / range + modulo;
    draw.counts = range > 1;
    distribution.Add(draw);
    if (counted) ++counts[static_cast<size_t>(x - low)];
  });
  if (call.evidence.failed()) return;
  if (counted && range > 1) {
    const std::vector<double> probabilities(counts.size(), 1 / range);
    TestFrequencies(call.evidence, counts, probabilities, distribution.count(),
                    0x1p-32);
  }
  distribution.Finish();
}

void JudgeIntegersUpTo(const Call& call) {
  if (call.first.varies() || call.second.varies()) return;
  JudgeIntegers(call, call.first.value, call.second.value - 1);
}

// random_(): to the largest integer of an integral dtype, to 2^digits of a
// floating one; from the smallest only where `from` says so.
void JudgeFullRange(const Call& call) {
  if (call.before.Find("to") != nullptr) return JudgeIntegersUpTo(call);
  double last = 0;
  switch (call.flat.scalar_type()) {
    case at::kBool:
      last = 1;
      break;
    case at::kByte:
    case at::kUInt16:
    case at::kUInt32:
    case at::kUInt64:
      last =
          std::ldexp(1.0, static_cast<int>(8 * call.flat.element_size())) - 1;
      break;
    default:
      last =
          call.rounding.format.has_value()
              ? std::ldexp(1.0, call.rounding.digits)
              : std::ldexp(1.0,
                           static_cast<int>(8 * call.flat.element_size()) - 1) -
                    1;
  }
  JudgeIntegers(call, call.first.value, last);
}

void JudgeBernoulli(const Call& call) {
  constexpr int kBuckets = 8;
  struct Bucket {
    double n = 0;
    double ones = 0;
    double expected = 0;
    bool random = false;
  };
  Bucket buckets[kBuckets];
  double chance = 0;
  ForEachDraw(call, [&](int64_t position, double x, double p, double) {
    if (!(p >= 0 && p <= 1)) return;
    if (!(x == 0 || x == 1)) {
      call.evidence.FailElement("range", position, x, "0 or 1");
    } else if ((p == 0 && x != 0) || (p == 1 && x != 1)) {
      call.evidence.FailElement("range", position, x, Number(p));
    }
    Bucket& bucket =
        buckets[std::min(static_cast<int>(p * kBuckets), kBuckets - 1)];
    ++bucket.n;
    bucket.ones += x;
    bucket.expected += p;
    bucket.random |= p > 0 && p < 1;
    chance = std::max(chance, p * p + (1 - p) * (1 - p));
  });
  if (call.evidence.failed()) return;
  for (const Bucket& bucket : buckets) {
    if (!bucket.random) continue;
    call.evidence.Test(
        "mean",
        BoundedSumTwoSided(bucket.ones, bucket.n, bucket.expected / bucket.n,
                           call.rounding.small() ? 0x1p-20 : 0x1p-24),
        absl::StrCat(bucket.ones, " of ", bucket.n,
                     " draws are 1, the mean probability is ",
                     Number(bucket.expected / bucket.n)));
  }
  TestRepetition(call.evidence, call.flat, call.output.sizes(), chance);
}

void JudgePoisson(const Call& call) {
  const Rounding& rounding = call.rounding;
  double n = 0;
  double expected = 0;
  double zeros = 0;
  double expected_zeros = 0;
  double smallest_mean = kInf;
  double largest_step = 0;
  SumBounds sum;
  ForEachDraw(call, [&](int64_t position, double x, double mean, double) {
    if (!(mean >= 0) || !std::isfinite(mean)) return;
    if (!(x >= 0) || (std::isfinite(x) && x != std::nearbyint(x)) ||
        (mean == 0 && x != 0)) {
      call.evidence.FailElement("range", position, x,
                                mean == 0 ? "0" : "an integer from 0 on");
    }
    if (std::isinf(x)) return;
    const double error = rounding.IntegerError(x);
    ++n;
    sum.Add(x - error, x + error);
    expected += mean;
    zeros += x == 0;
    expected_zeros += std::exp(-mean);
    smallest_mean = std::min(smallest_mean, mean);
    largest_step = std::max(largest_step, error);
  });
  if (call.evidence.failed() || n == 0) return;
  const double total = sum.Nearest(expected);
  call.evidence.Test("mean", PoissonTwoSided(total, expected),
                     absl::StrCat("the sum of ", n, " draws is ", Number(total),
                                  ", expected is ", Number(expected)));
  call.evidence.Test(
      "frequency", BoundedSumTwoSided(zeros, n, expected_zeros / n, 0x1p-24),
      absl::StrCat(zeros, " of ", n, " draws are 0, expected are ",
                   Number(expected_zeros)));
  // The most frequent value has a probability of at most 1 / sqrt(2 e mean):
  // Barbour, Holst and Janson, Poisson Approximation (1992), appendix.
  const double mode = smallest_mean < 1
                          ? std::exp(-smallest_mean)
                          : 0.42888194248 / std::sqrt(smallest_mean);
  TestRepetition(call.evidence, call.flat, call.output.sizes(),
                 std::min(1.0, mode * (1 + 2 * largest_step)));
}

void JudgeBinomial(const Call& call) {
  double draws = 0;
  double expected = 0;
  SumBounds sum;
  ForEachDraw(call, [&](int64_t position, double x, double count, double p) {
    if (!(count >= 0) || !(p >= 0 && p <= 1)) return;
    if (!(x >= 0 && x <= count) || x != std::nearbyint(x) ||
        (p == 0 && x != 0) || (p == 1 && x != count)) {
      call.evidence.FailElement(
          "range", position, x,
          absl::StrCat("an integer from 0 to ", Number(count)));
    }
    const double error = call.rounding.IntegerError(x);
    draws += count;
    expected += count * p;
    sum.Add(x - error, x + error);
  });
  if (call.evidence.failed() || !(draws > 0)) return;
  const double total = sum.Nearest(expected);
  call.evidence.Test(
      "mean", BoundedSumTwoSided(total, draws, expected / draws, 0x1p-24),
      absl::StrCat("the sum is ", Number(total), ", expected is ",
                   Number(expected)));
}

// ---- Gamma and what is made of it

void JudgeGamma(const Call& call) {
  const Rounding& rounding = call.rounding;
  const double tiny =
      rounding.format.has_value() ? rounding.format->smallest_normal() : 0;
  double expected = 0;
  double zeros = 0;
  double expected_zeros = 0;
  SumBounds sum;
  ForEachDraw(call, [&](int64_t position, double x, double shape, double) {
    if (!(shape > 0) || !std::isfinite(shape)) return;
    if (!(x >= 0 && std::isfinite(x))) {
      call.evidence.FailElement("range", position, x, "a positive number");
    }
    expected += shape;
    sum.Add(x - rounding.UlpAt(x), x + rounding.UlpAt(x) + tiny);
    zeros += x == 0;
    // P(X < tiny) <= tiny^shape / Gamma(shape + 1).
    expected_zeros += std::min(
        1.0, std::exp(shape * std::log(tiny) - std::lgamma(shape + 1)));
  });
  if (call.evidence.failed() || !(expected > 0)) return;
  // A normal draw and a uniform one are behind each.
  sum.Add(-8 * expected * rounding.grid, 8 * expected * rounding.grid);
  const double total = sum.Nearest(expected);
  call.evidence.Test("mean", ChiSquareTwoSided(2 * total, 2 * expected),
                     absl::StrCat("the sum is ", Number(total),
                                  ", expected is ", Number(expected)));
  call.evidence.Test("frequency", PoissonUpper(zeros, expected_zeros),
                     absl::StrCat(zeros, " draws are 0"));
  if (!call.first.varies()) return;
  // Small shapes give many values that underflow and are equal.
  const double smallest = call.first.tensor.min().item<double>();
  if (smallest >= 1) {
    TestRepetition(call.evidence, call.flat, call.output.sizes(),
                   1024 * rounding.grid);
  }
}

void JudgeDirichlet(const Call& call) {
  const int64_t classes =
      call.output.dim() == 0 ? 1 : call.output.sizes().back();
  if (classes == 0 || !call.first.varies()) return;
  const Rounding& rounding = call.rounding;
  ForEachDraw(call, [&](int64_t position, double x, double shape, double) {
    if (!(shape > 0) || !std::isfinite(shape)) return;
    if (!(x >= 0 && x <= 1)) {
      call.evidence.FailElement("range", position, x, "a number in [0, 1]");
    }
  });
  if (call.evidence.failed()) return;
  const at::Tensor x = call.flat.to(at::kDouble).view({-1, classes});
  const at::Tensor shapes =
      call.first.tensor.to(at::kDouble).view({-1, classes});
  if (!shapes.gt(0).all().item<bool>() ||
      !shapes.isfinite().all().item<bool>()) {
    return;
  }
  const double tolerance = (static_cast<double>(classes) + 4) *
                           std::ldexp(1.0, -rounding.digits + 1);
  const double off = (x.sum(1) - 1).abs().max().item<double>();
  if (!(off <= tolerance)) {
    call.evidence.Fail("sum",
                       absl::StrCat("a row sums to 1 but for ", Number(off),
                                    ", more than ", Number(tolerance)));
    return;
  }
  // Elements of one class are independent and in [0, 1].
  const at::Tensor sums = x.sum(0).contiguous();
  const at::Tensor means =
      (shapes / shapes.sum(1, /*keepdim=*/true)).sum(0).contiguous();
  const auto rows = static_cast<double>(x.size(0));
  double smallest = 1;
  int64_t worst = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const double p_value =
        BoundedSumTwoSided(sums.const_data_ptr<double>()[c], rows,
                           means.const_data_ptr<double>()[c] / rows, tolerance);
    if (p_value < smallest) {
      smallest = p_value;
      worst = c;
    }
  }
  call.evidence.Test(
      "mean", std::min(1.0, smallest * static_cast<double>(classes)),
      absl::StrCat("class ", worst, " sums to ",
                   Number(sums.const_data_ptr<double>()[worst]), " over ", rows,
                   " rows, expected is ",
                   Number(means.const_data_ptr<double>()[worst])));
}

// ---- Indices

void JudgeMultinomial(const Call& call, const at::Tensor& input) {
  const at::Tensor weights =
      input.to(at::kDouble).contiguous().view({-1, input.size(-1)});
  const int64_t rows = weights.size(0);
  const int64_t classes = weights.size(1);
  if (rows == 0 || classes == 0 || call.numel() % rows != 0) return;
  const int64_t draws = call.numel() / rows;
  const at::Tensor indices =
      call.flat.to(at::kLong).contiguous().view({rows, draws});
  const bool replacement = call.before.Flag("replacement", false);
  const bool independent = replacement || draws == 1;
  // Cumulative sums of float32.
  const double p_slack = (static_cast<double>(classes) + 4) * 0x1p-24;
  KolmogorovSmirnov test(call.numel());
  std::vector<double> counts(classes);
  std::vector<double> expected(classes);
  std::vector<double> cumulative(classes + 1);
  double smallest = 1;  // of the rows
  std::string message;
  std::vector<int64_t> last_row(classes, -1);
  for (int64_t row = 0; row < rows; ++row) {
    const double* weight = weights.const_data_ptr<double>() + row * classes;
    const int64_t* index = indices.const_data_ptr<int64_t>() + row * draws;
    int64_t possible = 0;
    for (int64_t c = 0; c < classes; ++c) {
      if (!(weight[c] >= 0) || !std::isfinite(weight[c])) return;
      possible += weight[c] > 0;
      cumulative[c + 1] = cumulative[c] + weight[c];
    }
    const double total = cumulative[classes];
    if (!(total > 0) || !std::isfinite(total)) return;
    std::vector<double> row_counts(rows > 1 ? classes : 0);
    for (int64_t i = 0; i < draws; ++i) {
      const int64_t c = index[i];
      const auto fail = [&](absl::string_view property, std::string want) {
        call.evidence.FailElement(property, row * draws + i,
                                  static_cast<double>(c), std::move(want));
      };
      if (c < 0 || c >= classes) {
        fail("range", absl::StrCat("an index from 0 to ", classes - 1));
        return;
      }
      // Without replacement there may be too few others.
      if (weight[c] == 0 && (replacement || draws <= possible)) {
        fail("frequency", "an index of a positive weight");
        return;
      }
      if (!replacement) {
        if (last_row[c] == row) {
          fail("duplicate", "an index that was not drawn yet");
          return;
        }
        last_row[c] = row;
      }
      ++counts[c];
      if (rows > 1) ++row_counts[c];
      test.Add(cumulative[c] / total - p_slack,
               cumulative[c + 1] / total + p_slack);
    }
    for (int64_t c = 0; c < classes; ++c) {
      expected[c] += weight[c] / total;
      if (!independent || rows == 1) continue;
      const double p_value =
          BoundedSumTwoSided(row_counts[c], static_cast<double>(draws),
                             weight[c] / total, p_slack);
      if (p_value < smallest) {
        smallest = p_value;
        message =
            absl::StrCat("class ", c, " of row ", row, " was drawn ",
                         row_counts[c], " times in ", draws,
                         ", its probability is ", Number(weight[c] / total));
      }
    }
  }
  if (!independent) return;
  for (double& p : expected) p /= static_cast<double>(rows);
  TestFrequencies(call.evidence, counts, expected,
                  static_cast<double>(call.numel()), p_slack);
  if (rows > 1) {
    call.evidence.Test(
        "frequency",
        std::min(1.0, smallest * static_cast<double>(rows * classes)),
        std::move(message));
  }
  call.evidence.Test(
      "distribution", test.PValue(),
      absl::StrCat("the distribution function is off by ",
                   Number(test.Distance()), " over ", test.count(), " draws"));
  double chance = 0;
  if (rows == 1) {
    for (const double p : expected) chance += (p + p_slack) * (p + p_slack);
    TestRepetition(call.evidence, call.flat, call.output.sizes(), chance);
  }
}

void JudgePermutation(const Call& call) {
  const int64_t n = call.numel();
  const at::Tensor x = call.flat.to(at::kDouble).contiguous();
  const double* values = x.const_data_ptr<double>();
  // Which integers a float dtype cannot tell apart.
  if (call.rounding.IntegerError(static_cast<double>(n)) != 0) return;
  std::vector<bool> seen(n);
  double fixed = 0;
  double successors = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double value = values[i];
    if (!(value >= 0 && value < static_cast<double>(n)) ||
        value != std::nearbyint(value)) {
      call.evidence.FailElement("permutation", i, value,
                                absl::StrCat("an integer from 0 to ", n - 1));
      return;
    }
    const auto k = static_cast<int64_t>(value);
    if (seen[k]) {
      call.evidence.FailElement("permutation", i, value,
                                "a number that is not there yet");
      return;
    }
    seen[k] = true;
    fixed += k == i;
    successors += i > 0 && value == values[i - 1] + 1;
  }
  // Of fixed points, and of neighbours that follow each other, the number of
  // sets of k has an expectation of at most 1 / k!, which by Markov's
  // inequality bounds the probability of k or more.
  call.evidence.Test(
      "order", std::exp(-std::lgamma(fixed + 1)),
      absl::StrCat(fixed, " of ", n, " elements are where they were"));
  call.evidence.Test("order", std::exp(-std::lgamma(successors + 1)),
                     absl::StrCat(successors, " of ", n,
                                  " elements follow their predecessor"));
}

// ---- Dropout

// The relation of a kept element and its input: scaled with at most two
// roundings in the output's dtype.
bool IsScaled(double got, double input, double scale,
              const Rounding& rounding) {
  if (std::isnan(input)) return std::isnan(got);
  const double want = input * scale;
  if (got == want) return true;
  if (std::abs(want) >= rounding.max_finite() * (1 - 4 * rounding.grid)) {
    return std::isinf(got) ? (got > 0) == (want > 0)
                           : std::abs(got - want) <= 2 * rounding.UlpAt(want);
  }
  return std::abs(got - want) <= 2 * rounding.UlpAt(want);
}

void JudgeDropout(const Call& call, const at::Tensor& input, double keep) {
  if (!(keep >= 0 && keep <= 1) || input.numel() != call.numel()) return;
  Evidence& evidence = call.evidence;
  const at::Tensor in = input.contiguous().view(-1);
  const bool train = call.before.Flag("train", true);
  at::Tensor mask;
  if (call.outputs.size() > 1 && call.outputs[1].isTensor() &&
      IsOnHost(call.outputs[1].toTensor()) &&
      call.outputs[1].toTensor().numel() == call.numel()) {
    mask = call.outputs[1].toTensor().contiguous().view(-1);
  }
  const double scale = !train ? 1 : keep == 0 ? 0 : 1 / keep;
  const double tiny = call.rounding.format.has_value()
                          ? call.rounding.format->smallest_normal()
                          : 1;
  double counted = 0;
  double kept = 0;
  for (const auto& block : Blocks(call.numel())) {
    const Doubles x(in, block);
    const Doubles y(call.flat, block);
    std::optional<Doubles> m;
    if (mask.defined()) m.emplace(mask, block);
    for (int64_t i = 0; i < block.second - block.first; ++i) {
      const int64_t position = block.first + i;
      const bool scaled = IsScaled(y[i], x[i], scale, call.rounding);
      // 0 times Inf or NaN is NaN.
      const bool dropped =
          y[i] == 0 || (!std::isfinite(x[i]) && std::isnan(y[i]));
      if (!train) {
        if (!(y[i] == x[i] || (std::isnan(x[i]) && std::isnan(y[i])))) {
          evidence.FailElement("scale", position, y[i], Number(x[i]));
        } else if (m.has_value() && (*m)[i] != 1) {
          evidence.FailElement("mask", position, (*m)[i], "1");
        }
      } else if (m.has_value()) {
        const bool keeps = (*m)[i] != 0;
        if (keeps ? !scaled : !dropped) {
          evidence.FailElement(
              (keeps ? dropped : scaled) ? "mask" : "scale", position, y[i],
              keeps ? Number(x[i] * scale) : "0, as the mask says,");
        }
        ++counted;
        kept += keeps;
      } else if (!scaled && !dropped) {
        evidence.FailElement("scale", position, y[i],
                             absl::StrCat("0 or ", Number(x[i] * scale)));
      } else if (std::abs(x[i] * scale) >= tiny && std::isfinite(x[i])) {
        ++counted;  // the two can be told apart
        kept += !dropped;
      }
      if (evidence.failed()) return;
    }
  }
  if (!train || counted == 0) return;
  evidence.Test(
      "kept share",
      BoundedSumTwoSided(kept, counted, keep,
                         keep == 0 || keep == 1 ? 0 : 0x1p-20),
      absl::StrCat(kept, " of ", counted, " elements are kept, a share of ",
                   Number(keep), " is right"));
  const at::Tensor pattern = mask.defined() ? mask : call.flat.ne(0);
  if (mask.defined() || counted == static_cast<double>(call.numel())) {
    TestRepetition(evidence, pattern, call.output.sizes(),
                   keep * keep + (1 - keep) * (1 - keep));
  }
}

// ---- Leaky ReLU with random slopes

void JudgeLeakyRelu(const Call& call, const at::Tensor& input,
                    const at::Tensor& noise) {
  if (input.numel() != call.numel() || call.first.varies() ||
      call.second.varies()) {
    return;
  }
  Evidence& evidence = call.evidence;
  const Rounding& rounding = call.rounding;
  const double lower = call.first.value;
  const double upper = call.second.value;
  const bool training = call.before.Flag("training", false);
  const UniformRule rule(lower, upper, rounding);
  if (!rule.defined()) return;
  const at::Tensor in = input.contiguous().view(-1);
  KolmogorovSmirnov test(call.numel());
  for (const auto& block : Blocks(call.numel())) {
    const Doubles x(in, block);
    const Doubles y(call.flat, block);
    std::optional<Doubles> r;
    if (training && noise.defined()) r.emplace(noise, block);
    for (int64_t i = 0; i < block.second - block.first; ++i) {
      const int64_t position = block.first + i;
      if (std::isnan(x[i])) continue;
      if (x[i] > 0) {
        if (y[i] != x[i]) {
          evidence.FailElement("scale", position, y[i], Number(x[i]));
        } else if (r.has_value() && (*r)[i] != 1) {
          evidence.FailElement("noise", position, (*r)[i], "1");
        }
      } else if (!training) {
        if (!IsScaled(y[i], x[i], (lower + upper) / 2, rounding)) {
          evidence.FailElement("scale", position, y[i],
                               Number(x[i] * (lower + upper) / 2));
        }
      } else if (r.has_value()) {
        if (!rule.Contains((*r)[i])) {
          evidence.FailElement("noise", position, (*r)[i],
                               absl::StrCat("a number in ", rule.Range()));
        } else if (!IsScaled(y[i], x[i], (*r)[i], rounding)) {
          evidence.FailElement("scale", position, y[i], Number(x[i] * (*r)[i]));
        }
        const Draw draw = rule.Of((*r)[i]);
        if (draw.counts) {
          test.Add(draw.low - rounding.grid, draw.high + rounding.grid);
        }
      } else if (std::isfinite(x[i]) && rounding.format.has_value() &&
                 std::abs(y[i]) >= rounding.format->smallest_normal()) {
        const double slope = y[i] / x[i];
        const double error = 2 * std::abs(rounding.UlpAt(y[i]) / x[i]) +
                             2 * rounding.UlpAt(upper);
        if (!(slope >= lower - error && slope <= upper + error)) {
          evidence.FailElement(
              "scale", position, y[i],
              absl::StrCat(Number(x[i]), " times a number in ", rule.Range()));
        }
        const Draw draw = rule.Of(slope);
        if (draw.counts) {
          const double relative = error / (upper - lower) + rounding.grid;
          test.Add(draw.low - relative, draw.high + relative);
        }
      }
      if (evidence.failed()) return;
    }
  }
  if (test.count() == 0) return;
  evidence.Test("distribution", test.PValue(),
                absl::StrCat("the distribution function of the slopes is off "
                             "by ",
                             Number(test.Distance()), " over ", test.count()));
}

// ---- All of it

// Tensors in the shape of the output; numbers as they are.
absl::StatusOr<Parameter> ReadParameter(const RandomParameter& rule,
                                        const Arguments& arguments,
                                        const at::Tensor& output) {
  Parameter parameter;
  const c10::IValue* value = arguments.Find(rule);
  if (value == nullptr) {
    parameter.value = rule.value;
  } else if (value->isTensor()) {
    const at::Tensor tensor = value->toTensor();
    if (!IsOnHost(tensor)) {
      return absl::UnimplementedError(
          absl::StrCat("argument ", rule.argument,
                       " is not plain memory on the CPU; copy it there first"));
    }
    if (tensor.numel() == 1) {
      parameter.value = tensor.to(at::kDouble).item<double>();
    } else {
      parameter.tensor = tensor.expand(output.sizes()).reshape({-1});
    }
  } else if (value->isScalar()) {
    parameter.value = value->toScalar().toDouble();
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "argument ", rule.argument, " is neither a number nor a tensor"));
  }
  return parameter;
}

// A tensor argument; undefined if there is none on the CPU.
at::Tensor TensorArgument(const Arguments& arguments, absl::string_view name,
                          absl::string_view instead) {
  const c10::IValue* value = arguments.Find({name, instead, 0});
  if (value == nullptr || !value->isTensor() || !IsOnHost(value->toTensor())) {
    return at::Tensor();
  }
  return value->toTensor();
}

// The tensor whose elements are judged, real numbers.
at::Tensor RealOutput(const at::Tensor& output, double& scale_of_std) {
  scale_of_std = 1;
  at::Tensor real = output.detach();
  if (real.is_neg()) real = real.resolve_neg();
  if (!real.is_complex()) return real;
  // The two parts share the variance.
  scale_of_std = kSqrtHalf;
  return at::view_as_real(real.resolve_conj());
}

absl::Status JudgeFamily(Call& call, double scale_of_std) {
  const RandomRow& row = call.row;
  switch (row.family) {
    case RandomFamily::kMultinomial: {
      const at::Tensor weights =
          TensorArgument(call.before, row.first.argument, row.first.instead);
      if (!weights.defined() || weights.dim() == 0) {
        return absl::UnimplementedError("the weights are not on the CPU");
      }
      JudgeMultinomial(call, weights);
      return absl::OkStatus();
    }
    case RandomFamily::kPermutation:
      JudgePermutation(call);
      return absl::OkStatus();
    case RandomFamily::kShape: {
      const at::Tensor input =
          TensorArgument(call.before, row.first.argument, row.first.instead);
      if (input.defined() && input.sizes() != call.output.sizes()) {
        call.evidence.Fail("shape", "the output has not the input's sizes");
      }
      return absl::OkStatus();
    }
    case RandomFamily::kDropout:
    case RandomFamily::kKeep: {
      const at::Tensor input =
          TensorArgument(call.before, row.first.argument, row.first.instead);
      const c10::IValue* p = call.before.Find(row.second);
      if (!input.defined() || p == nullptr || !p->isScalar()) {
        return absl::UnimplementedError("the input is not on the CPU");
      }
      if (input.is_complex()) {
        return absl::UnimplementedError("dropout of complex numbers");
      }
      const double value = p->toScalar().toDouble();
      JudgeDropout(call, input,
                   row.family == RandomFamily::kKeep ? value : 1 - value);
      return absl::OkStatus();
    }
    default:
      break;
  }
  FG_ASSIGN_OR_RETURN(call.first,
                      ReadParameter(row.first, call.before, call.output));
  FG_ASSIGN_OR_RETURN(call.second,
                      ReadParameter(row.second, call.before, call.output));
  switch (row.family) {
    case RandomFamily::kUniform:
      JudgeUniform(call);
      break;
    case RandomFamily::kNormal:
      if (call.second.varies()) {
        if (scale_of_std != 1) {
          return absl::UnimplementedError("complex normal with tensor std");
        }
      } else {
        call.second.value *= scale_of_std;
      }
      JudgeNormal(call, /*logarithm=*/false);
      break;
    case RandomFamily::kLogNormal:
      JudgeNormal(call, /*logarithm=*/true);
      break;
    case RandomFamily::kCauchy:
      JudgeCauchy(call);
      break;
    case RandomFamily::kExponential:
      JudgeExponential(call);
      break;
    case RandomFamily::kGeometric:
      JudgeGeometric(call);
      break;
    case RandomFamily::kIntegers:
      JudgeIntegersUpTo(call);
      break;
    case RandomFamily::kFullRange:
      JudgeFullRange(call);
      break;
    case RandomFamily::kBernoulli:
      JudgeBernoulli(call);
      break;
    case RandomFamily::kPoisson:
      JudgePoisson(call);
      break;
    case RandomFamily::kBinomial:
      JudgeBinomial(call);
      break;
    case RandomFamily::kGamma:
      JudgeGamma(call);
      break;
    case RandomFamily::kDirichlet:
      JudgeDirichlet(call);
      break;
    case RandomFamily::kLeakyRelu: {
      const at::Tensor input = TensorArgument(call.before, "self", "");
      if (!input.defined()) {
        return absl::UnimplementedError("the input is not on the CPU");
      }
      at::Tensor noise;
      if (call.outputs.size() > 1 && call.outputs[1].isTensor()) {
        noise = call.outputs[1].toTensor();
      } else if (call.after != nullptr) {
        noise = TensorArgument(*call.after, "noise", "");
      }
      if (noise.defined()) {
        noise = IsOnHost(noise) && noise.numel() == call.numel()
                    ? noise.contiguous().view(-1)
                    : at::Tensor();
      }
      JudgeLeakyRelu(call, input, noise);
      break;
    }
    default:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

bool HasRandomProperties(const OpKey& op) {
  return FindRandomRow(op) != nullptr;
}

absl::StatusOr<std::optional<RandomFailure>> JudgeRandom(
    const c10::OperatorHandle& op,
    absl::Span<const c10::IValue> arguments_before,
    absl::Span<const c10::IValue> outputs,
    absl::Span<const c10::IValue> arguments_after, double false_alarm_rate) {
  return StatusOrOf([&]() -> absl::StatusOr<std::optional<RandomFailure>> {
    const OpKey key = OpKeyOf(op);
    const RandomRow* row = FindRandomRow(key);
    if (row == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          key.ToString(), " has no row in flaggems/judge/random_table.cc"));
    }
    const size_t count = op.schema().arguments().size();
    if (arguments_before.size() != count ||
        (!arguments_after.empty() && arguments_after.size() != count) ||
        outputs.empty() || !outputs[0].isTensor()) {
      return absl::InvalidArgumentError(
          absl::StrCat(key.ToString(),
                       ": arguments or outputs are not those of its schema"));
    }
    const at::Tensor output = outputs[0].toTensor();
    if (!IsOnHost(output)) {
      return absl::UnimplementedError(absl::StrCat(
          key.ToString(),
          ": the output is not plain memory on the CPU; copy it there first"));
    }
    if (output.numel() == 0) return std::nullopt;
    const Arguments before(op.schema(), arguments_before);
    const Arguments after(op.schema(), arguments_after);
    double scale_of_std = 1;
    const at::Tensor real = RealOutput(output, scale_of_std);
    Evidence evidence(real.sizes());
    Call call{*row,    before, arguments_after.empty() ? nullptr : &after,
              outputs, real,   real.contiguous().view(-1),
              {},      {},     Rounding(real.scalar_type()),
              evidence};
    FG_RETURN_IF_ERROR(JudgeFamily(call, scale_of_std));
    return evidence.Result(false_alarm_rate);
  });
}

}  // namespace flaggems
