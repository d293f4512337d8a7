#include "core/solvers/factor/ridge.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/objectives/loss.h"

namespace mercer {
namespace {

constexpr Index kColumnsPerBlock = 64;
constexpr int kMaxRefinements = 3;
constexpr double kGapGoal = 1e-13;

absl::Status CheckInput(const KernelOperator& kernel, ConstMatrixRef targets,
                        ConstVectorRef costs) {
  if (targets.rows() != kernel.size() || costs.size() != kernel.size() || targets.cols() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the kernel has ", kernel.size(),
                                                   " samples, targets ", targets.rows(), " x ",
                                                   targets.cols(), ", costs ", costs.size()));
  }
  if (!targets.allFinite() || !costs.allFinite() || (costs.array() < 0).any() ||
      !(costs.array() > 0).any()) {
    return absl::InvalidArgumentError("targets and costs must be finite, costs >= 0 and not all 0");
  }
  return absl::OkStatus();
}

// The linear system on the samples of positive cost.
class RidgeSystem {
 public:
  RidgeSystem(const KernelOperator& kernel, ConstVectorRef costs, bool with_bias)
      : kernel_(kernel), with_bias_(with_bias) {
    for (Index i = 0; i < costs.size(); ++i) {
      if (costs(i) > 0) {
        rows_.push_back(i);
      }
    }
    ridge_ = 0.5 * costs(rows_).cwiseInverse();
  }

  absl::Status Factor(RunContext& context) {
    const auto n = static_cast<Index>(rows_.size());
    factor_.resize(n, n);
    for (Index begin = 0; begin < n; begin += kColumnsPerBlock) {
      const Index count = std::min(kColumnsPerBlock, n - begin);
      MERCER_RETURN_IF_ERROR(
          kernel_.Block(rows_,
                        absl::MakeConstSpan(rows_).subspan(static_cast<size_t>(begin),
                                                           static_cast<size_t>(count)),
                        factor_.middleCols(begin, count), context));
    }
    factor_.diagonal() += ridge_;
    MERCER_RETURN_IF_ERROR(FactorCholesky(factor_, context));
    if (with_bias_) {
      ones_solved_ = Vector::Ones(n);
      MERCER_RETURN_IF_ERROR(SolveCholesky(factor_, ones_solved_, context));
    }
    return absl::OkStatus();
  }

  // Adds to `solution` that of the right-hand side `residual` (all samples), where the dual must
  // change by the sums `sums`. A call with the residuals of the solution so far is a step of
  // iterative refinement.
  absl::Status AddSolution(const Matrix& residual, const Eigen::RowVectorXd& sums,
                           RidgeSolution& solution, RunContext& context) const {
    Matrix part = residual(rows_, Eigen::all);
    MERCER_RETURN_IF_ERROR(SolveCholesky(factor_, part, context));
    if (with_bias_) {
      const Eigen::RowVectorXd bias = (part.colwise().sum() - sums) / ones_solved_.sum();
      part -= ones_solved_ * bias;
      solution.bias += bias.transpose();
    }
    solution.dual(rows_, Eigen::all) += part;
    return absl::OkStatus();
  }

  // The residual of the system, y - K dual - dual / (2 c) - b, on its samples; 0 on the others.
  Matrix Residual(ConstMatrixRef targets, const RidgeSolution& solution) const {
    Matrix residual = Matrix::Zero(targets.rows(), targets.cols());
    for (Index o = 0; o < targets.cols(); ++o) {
      for (size_t r = 0; r < rows_.size(); ++r) {
        const Index i = rows_[r];
        residual(i, o) = targets(i, o) - solution.scores(i, o) - solution.bias(o) -
                         ridge_(static_cast<Index>(r)) * solution.dual(i, o);
      }
    }
    return residual;
  }

 private:
  const KernelOperator& kernel_;
  bool with_bias_;
  std::vector<Index> rows_;
  Vector ridge_;  // 1 / (2 c)
  Matrix factor_;
  Vector ones_solved_;  // (K + diag(ridge))^{-1} 1
};

absl::Status Certify(ConstMatrixRef targets, ConstVectorRef costs, bool with_bias,
                     RidgeSolution& solution) {
  solution.certificates.clear();
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kSquare));
  for (Index o = 0; o < targets.cols(); ++o) {
    MERCER_ASSIGN_OR_RETURN(SvmCertificate certificate,
                            CertifySvm(*loss, targets.col(o), costs, solution.dual.col(o),
                                       solution.scores.col(o), with_bias));
    solution.certificates.push_back(certificate);
  }
  return absl::OkStatus();
}

double WorstGap(const RidgeSolution& solution) {
  double worst = 0;
  for (const SvmCertificate& certificate : solution.certificates) {
    worst = std::max(worst, certificate.RelativeGap());
  }
  return worst;
}

}  // namespace

absl::StatusOr<RidgeSolution> SolveKernelRidge(const KernelOperator& kernel, ConstMatrixRef targets,
                                               ConstVectorRef costs, bool with_bias,
                                               RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckInput(kernel, targets, costs));
  RidgeSystem system(kernel, costs, with_bias);
  MERCER_RETURN_IF_ERROR(system.Factor(context));
  RidgeSolution best;
  best.dual = Matrix::Zero(targets.rows(), targets.cols());
  best.bias = Vector::Zero(targets.cols());
  best.scores = Matrix::Zero(targets.rows(), targets.cols());
  double best_gap = kInfinity;
  for (int pass = 0; pass <= kMaxRefinements && best_gap > kGapGoal; ++pass) {
    RidgeSolution refined = best;
    MERCER_RETURN_IF_ERROR(system.AddSolution(system.Residual(targets, best),
                                              -best.dual.colwise().sum(), refined, context));
    MERCER_RETURN_IF_ERROR(kernel.Apply(refined.dual, refined.scores, context));
    MERCER_RETURN_IF_ERROR(Certify(targets, costs, with_bias, refined));
    const double gap = WorstGap(refined);
    if (!(gap < best_gap)) {
      break;
    }
    best = std::move(refined);
    best_gap = gap;
  }
  if (best.certificates.empty()) {
    return absl::InvalidArgumentError("the kernel holds values that are not finite");
  }
  return best;
}

}  // namespace mercer
