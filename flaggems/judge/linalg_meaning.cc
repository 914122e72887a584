#include "flaggems/judge/linalg_meaning.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/real.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "flaggems/judge/meaning_view.h"

namespace flaggems {
namespace {

class LinalgJudge : private MeaningView {
 public:
  LinalgJudge(const KernelCall& call, ReferenceRuns& runs, Meaning meaning)
      : MeaningView(call, runs), meaning_(meaning) {}

  std::optional<BrokenMeaning> Judge() {
    switch (meaning_) {
      case Meaning::kEigen:
      case Meaning::kGeneralEigen:
        return Eigen();
      case Meaning::kUnordered:
        return Unordered();
      case Meaning::kSingular:
        return Singular();
      case Meaning::kOrthogonalTriangular:
        return OrthogonalTriangular();
      default:
        return std::nullopt;
    }
  }

 private:
  // What n roundings of products of this size may leave, generously: LAPACK's
  // backward errors are modest polynomials of n times u (Higham, Accuracy and
  // Stability, ch. 19 to 21).
  static double Residual(const at::Tensor& a, c10::ScalarType type) {
    const double u =
        c10::toRealValueType(type) == c10::kDouble ? 0x1p-53 : 0x1p-24;
    const double n = static_cast<double>(std::max(a.size(-1), a.size(-2)));
    return 32 * u * n;
  }

  static at::Tensor Wide(const at::Tensor& t) {
    return t.to(t.is_complex() ? c10::kComplexDouble : c10::kDouble);
  }

  static at::Tensor Adjoint(const at::Tensor& t) {
    return t.transpose(-2, -1).conj().resolve_conj();
  }

  static bool Finite(const at::Tensor& t) {
    return t.isfinite().all().item<bool>();
  }

  static bool IsSmall(const at::Tensor& difference, const at::Tensor& scale,
                      double bound) {
    if (difference.numel() == 0) return true;
    const double largest = difference.abs().max().item<double>();
    const double size = scale.abs().max().item<double>();
    return largest <= bound * std::max(size, 1e-300);
  }

  static bool IsOrthonormal(const at::Tensor& q, double bound) {
    const at::Tensor gram = at::matmul(Adjoint(q), q);
    return IsSmall(gram - at::eye(q.size(-1), gram.options()),
                   at::ones_like(gram), bound);
  }

  // Whether the eigenvalues have the sum and the sum of squares that the trace
  // of A and of A A says. That finds one taken twice in place of another, and
  // is well conditioned where single eigenvalues are not.
  static bool HaveTraces(const at::Tensor& w, const at::Tensor& a,
                         double bound) {
    const at::Tensor values = Wide(w).to(c10::kComplexDouble);
    const at::Tensor matrix = Wide(a).to(c10::kComplexDouble);
    const at::Tensor scale = matrix.abs().sum(-1);
    const double n = static_cast<double>(matrix.size(-1));
    const at::Tensor trace = matrix.diagonal(0, -2, -1).sum(-1);
    const at::Tensor squares =
        (matrix * matrix.transpose(-2, -1)).sum({-2, -1});
    return IsSmall(values.sum(-1) - trace, scale, n * bound) &&
           IsSmall(values.square().sum(-1) - squares, scale.square(),
                   2 * n * bound);
  }

  std::optional<BrokenMeaning> Eigen() {
    const at::Tensor a = Input(Argument("A") != nullptr ? "A" : "self");
    const at::Tensor w = Got(0);
    const at::Tensor v = Got(1);
    if (!a.defined() || !w.defined() || !Finite(a)) return std::nullopt;
    const double bound = Residual(a, a.scalar_type());
    const bool general = meaning_ == Meaning::kGeneralEigen;
    if (!general &&
        !IsSmall(Wide(w) - Wide(Want(0)), Wide(a).abs().sum(-1), bound)) {
      return Wrong("eigenvalues beyond what rounding of the matrix explains");
    }
    if (!v.defined() || v.numel() == 0) return Right();
    if (!Finite(v)) return Wrong("eigenvectors that are not finite");
    at::Tensor wide_a = Wide(a);
    if (!general) {
      // Only one triangle is read, and of the diagonal the real parts.
      const c10::IValue* const uplo = Argument("UPLO");
      const bool upper = uplo != nullptr && uplo->isString() &&
                         absl::EqualsIgnoreCase(uplo->toStringRef(), "U");
      const at::Tensor strict = upper ? wide_a.triu(1) : wide_a.tril(-1);
      at::Tensor diagonal = wide_a.diagonal(0, -2, -1);
      if (diagonal.is_complex()) diagonal = at::real(diagonal);
      wide_a = strict + Adjoint(strict) + diagonal.diag_embed(0, -2, -1);
    }
    const at::Tensor wide_v = Wide(v);
    const at::Tensor left = at::matmul(wide_a.to(wide_v.scalar_type()), wide_v);
    const at::Tensor right =
        wide_v * Wide(w).to(wide_v.scalar_type()).unsqueeze(-2);
    if (!IsSmall(left - right, wide_a.abs().sum(-1), bound)) {
      return Wrong("A V is not V diag(w)");
    }
    if (!general && !IsOrthonormal(wide_v, bound)) {
      return Wrong("the eigenvectors are not orthonormal");
    }
    if (general) {
      const at::Tensor lengths = wide_v.abs().square().sum(-2).sqrt();
      if (!IsSmall(lengths - 1, at::ones_like(lengths), bound)) {
        return Wrong("an eigenvector that is not of length 1");
      }
      if (!HaveTraces(w, wide_a, bound)) {
        return Wrong("not the eigenvalues of A, each as often as it is one");
      }
    }
    return Right();
  }

  std::optional<BrokenMeaning> Unordered() {
    const at::Tensor got = Got(0);
    const at::Tensor want = Want(0);
    const at::Tensor a = Input();
    if (!got.defined() || !want.defined() || !a.defined() || got.dim() < 1) {
      return std::nullopt;
    }
    const double bound = 100 * Residual(a, a.scalar_type());
    // Every value has a partner near it, both ways.
    const at::Tensor distance =
        (Wide(got).unsqueeze(-1) - Wide(want).unsqueeze(-2)).abs();
    const at::Tensor scale = Wide(a).abs().sum(-1);
    if (!IsSmall(std::get<0>(distance.min(-1)), scale, bound) ||
        !IsSmall(std::get<0>(distance.min(-2)), scale, bound)) {
      return Wrong("not the reference's values in any order");
    }
    if (!HaveTraces(got, a, Residual(a, a.scalar_type()))) {
      return Wrong("not the eigenvalues of A, each as often as it is one");
    }
    return Right();
  }

  std::optional<BrokenMeaning> Singular() {
    const at::Tensor a = Input("A");
    const at::Tensor u = Got(0);
    const at::Tensor s = Got(1);
    const at::Tensor vh = Got(2);
    if (!a.defined() || !s.defined() || !Finite(a)) return std::nullopt;
    const double bound = Residual(a, a.scalar_type());
    if (!IsSmall(Wide(s) - Wide(Want(1)), Wide(s), bound)) {
      return Wrong("singular values beyond what rounding explains");
    }
    if (!u.defined() || u.numel() == 0 || !vh.defined()) return Right();
    if (!Finite(u) || !Finite(vh)) return Wrong("vectors that are not finite");
    const int64_t k = s.size(-1);
    const at::Tensor product =
        at::matmul(Wide(u).narrow(-1, 0, k) *
                       Wide(s).to(Wide(u).scalar_type()).unsqueeze(-2),
                   Wide(vh).narrow(-2, 0, k));
    if (!IsSmall(product - Wide(a), Wide(s), bound)) {
      return Wrong("U diag(S) Vh is not A");
    }
    if (!IsOrthonormal(Wide(u), bound) ||
        !IsOrthonormal(Adjoint(Wide(vh)), bound)) {
      return Wrong("U or V is not orthonormal");
    }
    return Right();
  }

  std::optional<BrokenMeaning> OrthogonalTriangular() {
    const at::Tensor a = Input("A");
    const at::Tensor q = Got(0);
    const at::Tensor r = Got(1);
    if (!a.defined() || !q.defined() || !r.defined() || !Finite(a)) {
      return std::nullopt;
    }
    if (q.numel() == 0) return std::nullopt;  // mode "r"
    const double bound = Residual(a, a.scalar_type());
    if (!Finite(q) || !Finite(r)) return Wrong("Q or R is not finite");
    if (!IsSmall(at::matmul(Wide(q), Wide(r)) - Wide(a), Wide(a).abs().sum(-2),
                 bound)) {
      return Wrong("Q R is not A");
    }
    if (!IsOrthonormal(Wide(q), bound)) return Wrong("Q is not orthonormal");
    if (r.tril(-1).ne(0).any().item<bool>()) {
      return Wrong("R is not upper triangular");
    }
    return Right();
  }

  const Meaning meaning_;
};

}  // namespace

std::optional<BrokenMeaning> JudgeLinalgMeaning(const KernelCall& call,
                                                ReferenceRuns& runs,
                                                Meaning meaning) {
  return LinalgJudge(call, runs, meaning).Judge();
}

}  // namespace flaggems
