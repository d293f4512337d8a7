#include "core/learners/lp_mkl/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/objectives/loss.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/kernel_point_bounds.h"
#include "core/training/run/verification.h"

namespace mercer::lp_mkl {
namespace {

absl::StatusOr<WeightedKernelPoint> ReadPoint(const LpMklOptions& options,
                                              const TrainingProblem& problem,
                                              const Witness& witness) {
  MERCER_ASSIGN_OR_RETURN(WeightedKernelPoint point,
                          ReadWeightedKernelPoint(problem, options.C, witness));
  // Whether |d|_p <= 1 up to rounding. The largest weight is divided out first, so that no power
  // overflows.
  const double largest = point.weights.maxCoeff();
  const double norm =
      std::isinf(options.p) || largest == 0
          ? largest
          : largest *
                std::pow((point.weights / largest).array().pow(options.p).sum(), 1.0 / options.p);
  if (options.penalty() == 0 && norm > 1.0 + 1e-9) {
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

// With a penalty the weights are those that are best for a function of the half squared norm h:
// min_t h / t + penalty / 2 t^2 = 3/2 penalty^(1/3) h^(2/3), t the norm of the weights.
KernelNorms NormsOf(const LpMklOptions& options) {
  const double p = options.p;
  const double penalty = options.penalty();
  KernelNorms norms;
  norms.support = [p](const Vector& energies) { return EnergyNorm(energies, p); };
  if (penalty == 0) {
    norms.half_squared_norm = [p](const Vector& parts) { return HalfSquaredNorm(parts, p); };
    return norms;
  }
  norms.half_squared_norm = [p, penalty](const Vector& parts) {
    return 1.5 * std::cbrt(penalty) * std::pow(HalfSquaredNorm(parts, p), 2.0 / 3.0);
  };
  norms.dual_cost = [penalty](double support) { return support * support / (8 * penalty); };
  return norms;
}

// The size against which rounding of a value is small. Factors are stored in single precision, so
// that a function on landmarks, in double precision, differs from that of the witness by as much.
absl::StatusOr<double> FunctionScale(const LpMklKernels& kernels, const WeightedKernelPoint& point,
                                     RunContext& context) {
  constexpr double kSingleOverTolerance = 0x1p-22 / kFunctionTolerance;
  if (kernels.low_rank != nullptr) {
    MERCER_ASSIGN_OR_RETURN(const double scale,
                            kernels.low_rank->FunctionScale(point.weights, point.dual, context));
    return std::abs(point.bias) + kSingleOverTolerance * scale;
  }
  MERCER_ASSIGN_OR_RETURN(const double largest,
                          LargestEntry(*kernels.family, point.weights, context));
  return std::abs(point.bias) + largest * AbsoluteSumOfRows(point.dual);
}

// How far the function is from the optimum with the kernels themselves: the bounds of that problem
// at the same dual variables and weights, of which the function g differs from the model at most by
// value_difference at the training rows. For p > 1 the objective is strongly convex in the norm
// |f|^2 = (sum_k |f_k|^r)^(2/r), so that |g - g*| <= sqrt(2 gap / (r - 1)).
absl::StatusOr<std::vector<Metric>> CompareWithExactKernels(
    LpMklOptions options, const TrainingProblem& problem, const Loss& loss,
    const WeightedKernelPoint& point, const Vector& scores, RunContext& context) {
  options.approximation = Approximation::kNone;
  MERCER_ASSIGN_OR_RETURN(const LpMklKernels kernels, MakeLpMklKernels(options, problem, context));
  MERCER_ASSIGN_OR_RETURN(
      const BoundedKernelPoint exact,
      BoundKernelPoint(NormsOf(options), loss, point, problem.kernels, *kernels.family, context));
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
  MERCER_ASSIGN_OR_RETURN(const WeightedKernelPoint point, ReadPoint(options, problem, witness));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss,
                          MakeChosenLoss(options.loss, options.epsilon, problem.kind));
  Verification verification;
  Vector scores;
  {
    MERCER_ASSIGN_OR_RETURN(const LpMklKernels kernels,
                            MakeLpMklKernels(options, problem, context));
    MERCER_ASSIGN_OR_RETURN(BoundedKernelPoint bounded,
                            BoundKernelPoint(NormsOf(options), *loss, point, problem.kernels,
                                             *kernels.family, context));
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
