#include "core/learners/lp_mkl/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/loss_choice.h"
#include "core/objectives/loss.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/verification.h"

namespace mercer::lp_mkl {
namespace {

struct Point {
  Vector targets;
  Vector costs;
  Vector weights;
  Vector dual;
  double bias = 0;
};

absl::StatusOr<Point> ReadPoint(const LpMklOptions& options, const TrainingProblem& problem,
                                const Witness& witness) {
  const TaskData& task = problem.tasks[0];
  const Matrix* weights = witness.FindArray("weights");
  if (weights == nullptr || weights->cols() != 1 ||
      weights->rows() != static_cast<Index>(problem.kernels.size()) || !weights->allFinite() ||
      weights->minCoeff() < 0) {
    return absl::FailedPreconditionError(
        "the witness holds no kernel weights >= 0 of this problem");
  }
  MERCER_ASSIGN_OR_RETURN(SingleTaskPoint read, ReadSingleTaskPoint(problem, witness));
  Point point{task.targets.col(0), options.C * task.costs, weights->col(0), std::move(read.dual),
              read.bias};
  // Whether |d|_p <= 1 up to rounding. The largest weight is divided out first, so that no power
  // overflows.
  const double largest = point.weights.maxCoeff();
  const double norm =
      std::isinf(options.p) || largest == 0
          ? largest
          : largest *
                std::pow((point.weights / largest).array().pow(options.p).sum(), 1.0 / options.p);
  if (norm > 1.0 + 1e-9) {
    return absl::FailedPreconditionError("the kernel weights of the witness lie outside the ball");
  }
  return point;
}

// |energies|_q, q = p / (p - 1).
double EnergyNorm(const Vector& energies, double p) {
  const double largest = energies.maxCoeff();
  if (!(largest > 0) || p == 1.0) {
    return std::max(largest, 0.0);
  }
  const double q = std::isinf(p) ? 1.0 : p / (p - 1.0);
  return largest * std::pow((energies / largest).array().pow(q).sum(), 1.0 / q);
}

// 1/2 (sum_k norms(k)^r)^(2/r), r = 2p / (p + 1).
double HalfSquaredNorm(const Vector& norms, double p) {
  const double largest = norms.maxCoeff();
  if (!(largest > 0)) {
    return 0;
  }
  const double r = std::isinf(p) ? 2.0 : 2.0 * p / (p + 1.0);
  return 0.5 * largest * largest * std::pow((norms / largest).array().pow(r).sum(), 2.0 / r);
}

// An energy below -1e-8 a'a max_i K_k(i, i) is no rounding: the matrix is no kernel, and the bounds
// would mean nothing (docs/mathematics/README.md, section 3).
absl::Status CheckEnergies(const KernelFamily& family, const std::vector<KernelSpec>& kernels,
                           const Matrix& duals, const Matrix& energies, RunContext& context) {
  Matrix diagonal(family.size(), 1);
  for (Index k = 0; k < energies.rows(); ++k) {
    if (energies.row(k).minCoeff() >= 0) {
      continue;
    }
    MERCER_RETURN_IF_ERROR(family.Diagonals({k}, diagonal, context));
    for (Index j = 0; j < energies.cols(); ++j) {
      if (energies(k, j) < -1e-8 * duals.col(j).squaredNorm() * diagonal.maxCoeff()) {
        return NameKernel(
            static_cast<size_t>(k), kernels[static_cast<size_t>(k)],
            WithReason(absl::InvalidArgumentError("the matrix is not positive semidefinite"),
                       "NOT_PSD"));
      }
    }
  }
  return absl::OkStatus();
}

// The size against which rounding of a value is small. Factors are stored in single precision, so
// that a function on landmarks, in double precision, differs from that of the witness by as much.
absl::StatusOr<double> FunctionScale(const LpMklKernels& kernels, const Point& point,
                                     RunContext& context) {
  constexpr double kSingleOverTolerance = 0x1p-22 / kFunctionTolerance;
  if (kernels.low_rank != nullptr) {
    MERCER_ASSIGN_OR_RETURN(const double scale,
                            kernels.low_rank->FunctionScale(point.weights, point.dual, context));
    return std::abs(point.bias) + kSingleOverTolerance * scale;
  }
  MERCER_ASSIGN_OR_RETURN(const double largest,
                          LargestEntry(*kernels.family, point.weights, context));
  return std::abs(point.bias) + largest * point.dual.lpNorm<1>();
}

// The best value of the dual objective on the ray through a feasible dual.
absl::StatusOr<double> LowerBound(const Loss& loss, const Point& point, const Vector& feasible,
                                  double norm, const RunContext& context) {
  const double largest = LargestScaleInBox(loss, point.targets, point.costs, feasible);
  if (loss.is_piecewise_linear()) {
    MERCER_ASSIGN_OR_RETURN(const double linear,
                            loss.DualValue(point.targets, point.costs, feasible, context));
    return BestValueOnRay(linear, norm, largest);
  }
  return BestConcaveValueOnRay(
      [&](double scale) {
        return loss.DualValue(point.targets, point.costs, scale * feasible, context).value_or(0.0) -
               0.5 * scale * scale * norm;
      },
      largest, context);
}

// Bounds and function of a point with certain kernels.
struct BoundedPoint {
  Certificate certificate;
  Vector scores;  // at the training rows, without the bias
  double half_squared_norm = 0;
};

absl::StatusOr<BoundedPoint> BoundWithKernels(double p, const Loss& loss, const Point& point,
                                              const std::vector<KernelSpec>& kernels,
                                              const KernelFamily& family, RunContext& context) {
  // The coefficients of the function are a dual times a scale: back into the box, then balanced.
  const double shrink =
      std::min(1.0, LargestScaleInBox(loss, point.targets, point.costs, point.dual));
  Vector feasible = shrink * point.dual;
  loss.RepairDual(point.targets, point.costs, true, feasible);
  // When making the dual feasible changes no more than rounding, its energies follow from those of
  // the function, which saves a pass over the pairs of rows.
  const double change = (shrink * point.dual - feasible).cwiseAbs().maxCoeff();
  const bool same = change <= 1e-12 * feasible.cwiseAbs().maxCoeff();
  Matrix duals(point.dual.size(), 2);
  duals << point.dual, feasible;
  Matrix energies(family.num_kernels(), same ? 1 : 2);
  MERCER_RETURN_IF_ERROR(
      family.QuadraticForms(duals.leftCols(same ? 1 : 2), {}, energies, context));
  MERCER_RETURN_IF_ERROR(CheckEnergies(family, kernels, duals, energies, context));
  energies = energies.cwiseMax(0.0);
  Matrix scores(point.dual.size(), 1);
  MERCER_RETURN_IF_ERROR(family.CombinedProduct(point.weights, duals.leftCols(1), scores, context));
  const Vector norms = point.weights.array() * energies.col(0).array().sqrt();
  BoundedPoint bounded;
  bounded.scores = scores.col(0);
  bounded.half_squared_norm = HalfSquaredNorm(norms, p);
  MERCER_ASSIGN_OR_RETURN(const double risk, loss.TotalValue(point.targets, point.costs,
                                                             bounded.scores, point.bias, context));
  const double primal = bounded.half_squared_norm + risk;
  const Vector feasible_energies =
      same ? Vector(shrink * shrink * energies.col(0)) : Vector(energies.col(1));
  MERCER_ASSIGN_OR_RETURN(
      const double lower,
      LowerBound(loss, point, feasible, EnergyNorm(feasible_energies, p), context));
  bounded.certificate = MakeGapCertificate(primal, lower);
  return bounded;
}

// How far the function is from the optimum with the kernels themselves: the bounds of that problem
// at the same dual variables and weights, of which the function g differs from the model at most by
// value_difference at the training rows. For p > 1 the objective is strongly convex in the norm
// |f|^2 = (sum_k |f_k|^r)^(2/r), so that |g - g*| <= sqrt(2 gap / (r - 1)).
absl::StatusOr<std::vector<Metric>> CompareWithExactKernels(LpMklOptions options,
                                                            const TrainingProblem& problem,
                                                            const Loss& loss, const Point& point,
                                                            const Vector& scores,
                                                            RunContext& context) {
  options.approximation = Approximation::kNone;
  MERCER_ASSIGN_OR_RETURN(const LpMklKernels kernels, MakeLpMklKernels(options, problem, context));
  MERCER_ASSIGN_OR_RETURN(
      const BoundedPoint exact,
      BoundWithKernels(options.p, loss, point, problem.kernels, *kernels.family, context));
  std::vector<Metric> metrics = {
      {"exact_kernels.relative_gap", exact.certificate.accuracy},
      {"exact_kernels.value_difference",
       problem.unit.deviation * (exact.scores - scores).cwiseAbs().maxCoeff()}};
  if (options.p > 1 && exact.half_squared_norm > 0) {
    // The modulus r - 1 = (p - 1) / (p + 1) of strong convexity, without the digits that the
    // difference loses where p is next to 1.
    const double modulus = std::isinf(options.p) ? 1.0 : (options.p - 1) / (options.p + 1);
    const double gap = std::max(exact.certificate.gap(), 0.0);
    metrics.push_back(
        {"exact_kernels.relative_distance", std::sqrt(gap / (modulus * exact.half_squared_norm))});
  }
  return metrics;
}

}  // namespace

absl::StatusOr<Verification> Verify(const LpMklOptions& options, const TrainingProblem& problem,
                                    const Witness& witness, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Point point, ReadPoint(options, problem, witness));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeChosenLoss(options, problem.kind));
  Verification verification;
  Vector scores;
  {
    MERCER_ASSIGN_OR_RETURN(const LpMklKernels kernels,
                            MakeLpMklKernels(options, problem, context));
    MERCER_ASSIGN_OR_RETURN(
        BoundedPoint bounded,
        BoundWithKernels(options.p, *loss, point, problem.kernels, *kernels.family, context));
    scores = std::move(bounded.scores);
    verification.certificate = bounded.certificate;
    verification.values = scores.array() + point.bias;
    MERCER_ASSIGN_OR_RETURN(verification.scale, FunctionScale(kernels, point, context));
    if (kernels.low_rank == nullptr) {
      return verification;
    }
    verification.certificate.scope = CertificateScope::kLowRankProblem;
    verification.metrics = {
        {"low_rank.joint_rank", static_cast<double>(kernels.low_rank->joint_rank())},
        {"low_rank.dropped_share", kernels.low_rank->dropped_share()}};
  }
  if (options.exact_certificate) {
    const absl::StatusOr<std::vector<Metric>> exact =
        CompareWithExactKernels(options, problem, *loss, point, scores, context);
    if (exact.ok()) {
      verification.metrics.insert(verification.metrics.end(), exact->begin(), exact->end());
    } else if (!absl::IsInvalidArgument(exact.status())) {
      return exact.status();  // kernels that are none cost the comparison, not the model
    }
  }
  return verification;
}

}  // namespace mercer::lp_mkl
