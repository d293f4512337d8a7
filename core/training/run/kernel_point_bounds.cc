#include "core/training/run/kernel_point_bounds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/verification.h"

namespace mercer {
namespace {

// The smallest eigenvalue of a matrix is a'K a / a'a or less.
absl::Status IndefiniteError(const KernelSpec& kernel, double quotient, double diagonal) {
  ErrorMetadata metadata = {{"eigenvalue_at_most", absl::StrCat(quotient)}};
  if (kernel.type == KernelType::kPrecomputed) {
    metadata.push_back({"remedy", "preprocessing.square_repair"});
  }
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the matrix is not positive semidefinite: it has an eigenvalue of ",
                        quotient, " or less, its diagonal is at most ", diagonal)),
                    "NOT_PSD", metadata);
}

// The best value of the dual objective on the ray through a feasible dual.
absl::StatusOr<double> LowerBound(const KernelNorms& norms, const Loss& loss,
                                  const WeightedKernelPoint& point, const Vector& feasible,
                                  double norm, const RunContext& context) {
  const double largest = LargestScaleInBox(loss, point.targets, point.costs, feasible);
  if (loss.is_piecewise_linear() && norms.dual_cost == nullptr) {
    MERCER_ASSIGN_OR_RETURN(const double linear,
                            loss.DualValue(point.targets, point.costs, feasible, context));
    return BestValueOnRay(linear, norm, largest);
  }
  return BestConcaveValueOnRay(
      [&](double scale) {
        const double scaled = scale * scale * norm;
        return loss.DualValue(point.targets, point.costs, scale * feasible, context).value_or(0.0) -
               (norms.dual_cost != nullptr ? norms.dual_cost(scaled) : 0.5 * scaled);
      },
      largest, context);
}

}  // namespace

absl::Status CheckEnergies(const KernelFamily& family, const std::vector<KernelSpec>& kernels,
                           const Matrix& duals, const Matrix& energies, RunContext& context) {
  Matrix diagonal(family.size(), 1);
  for (Index k = 0; k < energies.rows(); ++k) {
    if (energies.row(k).minCoeff() >= 0) {
      continue;
    }
    MERCER_RETURN_IF_ERROR(family.Diagonals({k}, diagonal, context));
    for (Index j = 0; j < energies.cols(); ++j) {
      const double squared_norm = SquaredNormOfRows(duals.col(j));
      if (energies(k, j) < -1e-8 * squared_norm * diagonal.maxCoeff()) {
        const KernelSpec& kernel = kernels[static_cast<size_t>(k)];
        return NameKernel(
            static_cast<size_t>(k), kernel,
            IndefiniteError(kernel, energies(k, j) / squared_norm, diagonal.maxCoeff()));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Vector> ReadKernelWeights(const TrainingProblem& problem, const Witness& witness) {
  const Matrix* weights = witness.FindArray("weights");
  if (weights == nullptr || weights->cols() != 1 ||
      weights->rows() != static_cast<Index>(problem.kernels.size()) || !weights->allFinite() ||
      weights->minCoeff() < 0) {
    return absl::FailedPreconditionError(
        "the witness holds no kernel weights >= 0 of this problem");
  }
  return Vector(weights->col(0));
}

absl::StatusOr<WeightedKernelPoint> ReadWeightedKernelPoint(const TrainingProblem& problem,
                                                            double C, const Witness& witness) {
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(const Vector weights, ReadKernelWeights(problem, witness));
  MERCER_ASSIGN_OR_RETURN(SingleTaskPoint read, ReadSingleTaskPoint(problem, witness));
  WeightedKernelPoint point{task.targets.col(0), C * task.costs, weights, std::move(read.dual),
                            read.bias};
  if (const Matrix* lower_dual = witness.FindArray("lower_dual"); lower_dual != nullptr) {
    if (lower_dual->cols() != 1 || lower_dual->rows() != point.dual.size() ||
        !lower_dual->allFinite()) {
      return absl::FailedPreconditionError("the lower dual of the witness is not of these rows");
    }
    point.lower_dual = lower_dual->col(0);
  }
  return point;
}

absl::StatusOr<BoundedKernelPoint> BoundKernelPoint(const KernelNorms& norms, const Loss& loss,
                                                    const WeightedKernelPoint& point,
                                                    const std::vector<KernelSpec>& kernels,
                                                    const KernelFamily& family,
                                                    RunContext& context) {
  // The coefficients of the function are a dual times a scale: back into the box, then balanced.
  const bool one = point.lower_dual.size() == 0;
  const Vector& lower_dual = one ? point.dual : point.lower_dual;
  const double shrink =
      std::min(1.0, LargestScaleInBox(loss, point.targets, point.costs, lower_dual));
  Vector feasible = shrink * lower_dual;
  loss.RepairDual(point.targets, point.costs, true, feasible);
  // When making the dual feasible changes no more than rounding, its energies follow from those of
  // the function, which saves a pass over the pairs of rows.
  const double change = (shrink * point.dual - feasible).cwiseAbs().maxCoeff();
  const bool same = one && change <= 1e-12 * feasible.cwiseAbs().maxCoeff();
  Matrix duals(point.dual.size(), 2);
  duals << point.dual, feasible;
  Matrix energies(family.num_kernels(), same ? 1 : 2);
  MERCER_RETURN_IF_ERROR(
      family.QuadraticForms(duals.leftCols(same ? 1 : 2), {}, energies, context));
  MERCER_RETURN_IF_ERROR(CheckEnergies(family, kernels, duals, energies, context));
  energies = energies.cwiseMax(0.0);
  Matrix scores(point.dual.size(), 1);
  MERCER_RETURN_IF_ERROR(family.CombinedProduct(point.weights, duals.leftCols(1), scores, context));
  const Vector parts = point.weights.array() * energies.col(0).array().sqrt();
  BoundedKernelPoint bounded;
  bounded.scores = scores.col(0);
  bounded.half_squared_norm = norms.half_squared_norm(parts);
  MERCER_ASSIGN_OR_RETURN(const double risk, loss.TotalValue(point.targets, point.costs,
                                                             bounded.scores, point.bias, context));
  const double primal = bounded.half_squared_norm + risk;
  const Vector feasible_energies =
      same ? Vector(shrink * shrink * energies.col(0)) : Vector(energies.col(1));
  MERCER_ASSIGN_OR_RETURN(
      const double lower,
      LowerBound(norms, loss, point, feasible, norms.support(feasible_energies), context));
  bounded.certificate = MakeGapCertificate(primal, lower);
  return bounded;
}

}  // namespace mercer
