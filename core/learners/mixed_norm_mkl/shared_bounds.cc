#include "core/learners/mixed_norm_mkl/shared_bounds.h"

#include <algorithm>
#include <vector>

#include "core/base/process/row_vectors.h"
#include "core/base/process/side_by_side.h"
#include "core/base/status/status_macros.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/split_outputs.h"
#include "core/training/run/verification.h"

namespace mercer::mixed_norm_mkl {
namespace {

// The point of an output, at its rows.
struct OutputPoint {
  std::vector<Index> rows;
  Vector targets;
  Vector costs;
  Vector feasible;
};

absl::StatusOr<const Matrix*> FindDuals(const Witness& witness, const TrainingProblem& problem) {
  const Matrix* duals = witness.FindArray("lower_dual");
  duals = duals == nullptr ? &witness.tasks[0].dual : duals;
  const Matrix& targets = problem.tasks[0].targets;
  if (duals->rows() != targets.rows() || duals->cols() != targets.cols() || !duals->allFinite()) {
    return absl::FailedPreconditionError("the lower dual of the witness is not of these rows");
  }
  return duals;
}

absl::Status CheckDuals(const Matrix& duals, const Matrix& targets) {
  if ((targets.array() == 0 && duals.array() != 0).any()) {
    return absl::FailedPreconditionError(
        "the witness has dual variables of rows that an output does not see");
  }
  return absl::OkStatus();
}

OutputPoint PointOf(const TrainingProblem& problem, Index output, const Loss& loss, double C,
                    const Matrix& lower) {
  const TaskData& task = problem.tasks[0];
  OutputPoint point;
  point.rows = RowsOfOutput(problem, output);
  point.targets = task.targets.col(output)(point.rows);
  point.costs = C * task.costs(point.rows);
  point.feasible = lower.col(output)(point.rows);
  point.feasible *=
      std::min(1.0, LargestScaleInBox(loss, point.targets, point.costs, point.feasible));
  loss.RepairDual(point.targets, point.costs, true, point.feasible);
  return point;
}

}  // namespace

absl::StatusOr<Verification> BoundSharedPoint(const KernelNorms& norms, const Loss& loss, double C,
                                              const TrainingProblem& problem,
                                              const Witness& witness, const KernelFamily& family,
                                              RunContext& context) {
  const Matrix& targets = problem.tasks[0].targets;
  const Matrix& dual = witness.tasks[0].dual;
  const Vector& bias = witness.tasks[0].bias;
  MERCER_ASSIGN_OR_RETURN(const Vector weights, ReadKernelWeights(problem, witness));
  MERCER_ASSIGN_OR_RETURN(const Matrix* lower, FindDuals(witness, problem));
  MERCER_RETURN_IF_ERROR(CheckDuals(dual, targets));
  MERCER_RETURN_IF_ERROR(CheckDuals(*lower, targets));

  // Of each output the energies of the function and of the feasible dual.
  const Index outputs = targets.cols();
  std::vector<OutputPoint> points(static_cast<size_t>(outputs));
  Matrix of_function(family.num_kernels(), outputs);
  Matrix of_dual(family.num_kernels(), outputs);
  const auto find_energies = [&](Index output, RunContext& own) -> absl::Status {
    OutputPoint& point = points[static_cast<size_t>(output)];
    point = PointOf(problem, output, loss, C, *lower);
    Matrix duals = Matrix::Zero(targets.rows(), 2);
    duals.col(0) = dual.col(output);
    duals.col(1)(point.rows) = point.feasible;
    Matrix energies(family.num_kernels(), 2);
    MERCER_RETURN_IF_ERROR(family.QuadraticForms(duals, {}, energies, own));
    MERCER_RETURN_IF_ERROR(CheckEnergies(family, problem.kernels, duals, energies, own));
    of_function.col(output) = energies.col(0).cwiseMax(0.0);
    of_dual.col(output) = energies.col(1).cwiseMax(0.0);
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(SideBySide(outputs, context, find_energies));

  Verification verified;
  verified.values.resize(targets.rows(), outputs);
  MERCER_RETURN_IF_ERROR(family.CombinedProduct(weights, dual, verified.values, context));
  verified.values.rowwise() += bias.transpose();
  const Vector parts = weights.array() * Vector(of_function.rowwise().sum()).array().sqrt();
  double primal = norms.half_squared_norm(parts);
  double largest_scale = kInfinity;
  double largest_sum = 0;
  for (Index output = 0; output < outputs; ++output) {
    const OutputPoint& point = points[static_cast<size_t>(output)];
    const Vector values = verified.values.col(output)(point.rows);
    MERCER_ASSIGN_OR_RETURN(const double risk,
                            loss.TotalValue(point.targets, point.costs, values, 0.0, context));
    primal += risk;
    largest_scale = std::min(largest_scale,
                             LargestScaleInBox(loss, point.targets, point.costs, point.feasible));
    largest_sum = std::max(largest_sum, AbsoluteSumOfRows(dual.col(output)));
  }
  const auto dual_value = [&](double scale) {
    double linear = 0;
    for (const OutputPoint& point : points) {
      linear += loss.DualValue(point.targets, point.costs, scale * point.feasible, context)
                    .value_or(-kInfinity);
    }
    return linear;
  };
  const double support = norms.support(of_dual.rowwise().sum());
  double best = 0;
  if (loss.is_piecewise_linear()) {
    best = BestValueOnRay(dual_value(1.0), support, largest_scale);
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  } else {
    MERCER_ASSIGN_OR_RETURN(
        best, BestConcaveValueOnRay(
                  [&](double scale) { return dual_value(scale) - 0.5 * scale * scale * support; },
                  largest_scale, context));
  }
  verified.certificate = MakeGapCertificate(primal, best);
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(family, weights, context));
  verified.scale = bias.cwiseAbs().maxCoeff() + largest * largest_sum;
  return verified;
}

}  // namespace mercer::mixed_norm_mkl
