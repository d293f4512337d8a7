#include "core/learners/coordinate_gradients/own_gradient.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numeric/index_range.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/coordinate_gradients/tables.h"
#include "core/linalg/matrix_products.h"
#include "core/solvers/gradients/gradient_results.h"
#include "core/training/contract/input_columns.h"
#include "core/training/terms/differentiable_term.h"

namespace mercer::coordinate_gradients {
namespace {

bool IsLinear(const TrainingProblem& problem) {
  return problem.kernels[0].type == KernelType::kLinear;
}

// w = sum_i v_i x_i.
Vector SlopesOf(const PreparedProblem& prepared, const Vector& dual) {
  const GradientProblem& gradients = prepared.problem;
  Vector slopes(gradients.num_columns());
  const double sum = SumOfRows(dual);
  for (Index l = 0; l < slopes.size(); ++l) {
    slopes(l) = DotOfRows(gradients.rows.col(l), dual) + sum * gradients.means(l);
  }
  return slopes;
}

// What a dual says: norms of the derivatives in all columns, and the gradient at the kept rows.
struct OwnGradient {
  Vector slopes;             // of a linear kernel: the gradient at all rows
  HessianFunction function;  // of a Gaussian
  Vector norms;
  Matrix gradients;  // of a Gaussian over the root of their number, kept rows x columns
};

absl::StatusOr<OwnGradient> MakeOwnGradient(const TrainingProblem& problem,
                                            const PreparedProblem& prepared, const Vector& dual,
                                            RunContext& context) {
  const GradientProblem& gradients = prepared.problem;
  OwnGradient own;
  if (IsLinear(problem)) {
    own.slopes = SlopesOf(prepared, dual);
    own.norms = own.slopes.cwiseAbs();
    return own;
  }
  own.function = MakeHessianFunction(gradients, problem.kernels[0].bandwidth, dual);
  own.norms = DerivativeNorms(own.function, gradients.gram);
  MERCER_ASSIGN_OR_RETURN(GradientValues values,
                          ValuesAt(own.function, own.function.rows, context));
  own.gradients = std::move(values.gradients);
  own.gradients *= 1 / std::sqrt(static_cast<double>(gradients.num_rows()));
  return own;
}

// Orthonormal directions of the gradients at the rows, columns x directions; empty: there are none.
absl::StatusOr<Matrix> DirectionsOf(const OwnGradient& own, Index most, RunContext& context) {
  if (own.slopes.size() == 0) {
    return LeadingDirectionsOfRows(own.gradients, most, context);
  }
  Index largest = 0;
  own.norms.maxCoeff(&largest);
  return own.norms(largest) > 0
             ? Matrix(std::copysign(1.0, own.slopes(largest)) * own.slopes.normalized())
             : Matrix();
}

Matrix CovarianceAmong(const OwnGradient& own, const std::vector<Index>& columns) {
  const Matrix some = own.slopes.size() > 0 ? Matrix(own.slopes(columns).transpose())
                                            : Matrix(own.gradients(Eigen::all, columns));
  return some.transpose() * some;
}

std::shared_ptr<DifferentiableTerm> TermOfDual(const TrainingProblem& problem,
                                               const PreparedProblem& prepared,
                                               const OwnGradient& own, ModelFunction& function) {
  auto term = std::make_shared<DifferentiableTerm>();
  term->outputs = {0};
  term->num_inputs = prepared.problem.num_columns();
  term->columns = IndexRange(0, term->num_inputs);
  term->names = InputNames(problem);
  term->center = prepared.problem.means;
  if (IsLinear(problem)) {
    term->slopes = own.slopes;
    return term;
  }
  const TaskData& task = problem.tasks[0];
  std::vector<Index> kept;  // of the prepared rows
  std::vector<Index> rows;
  for (Index j = 0; j < own.function.sums.size(); ++j) {
    if (own.function.sums(j) != 0 || (own.function.moments.row(j).array() != 0).any()) {
      kept.push_back(j);
      rows.push_back(task.rows[static_cast<size_t>(prepared.kept[static_cast<size_t>(j)])]);
    }
  }
  function.bases.push_back(
      {SelectBasis(*task.inputs, rows, BlocksOfKernels(*task.inputs, problem.kernels)), rows});
  term->anchors = IndexRange(0, static_cast<Index>(kept.size()));
  term->width = own.function.width;
  term->sums = own.function.sums(kept);
  term->moments = own.function.moments(kept, Eigen::all);
  return term;
}

}  // namespace

void CheckOwnGradient(const TrainingProblem& problem, FieldViolations& violations) {
  const auto is_whole = [&](const KernelSpec& kernel) {
    const bool every_block = kernel.block.empty() || problem.tasks[0].inputs->blocks.size() == 1;
    return kernel.columns.empty() && every_block && !kernel.normalization.unit_diagonal &&
           kernel.normalization.scaling == KernelScaling::kNone;
  };
  violations.Check(problem.kernels.size() == 1 &&
                       (problem.kernels[0].type == KernelType::kGaussian ||
                        problem.kernels[0].type == KernelType::kLinear) &&
                       is_whole(problem.kernels[0]),
                   "own_gradient",
                   "is for one Gaussian or one linear kernel of all columns, without a "
                   "normalization");
}

absl::StatusOr<OwnGradientMachine> MakeOwnGradientMachine(const TrainingProblem& problem,
                                                          const PreparedProblem& prepared,
                                                          RunContext& context) {
  const GradientProblem& gradients = prepared.problem;
  if (!IsLinear(problem)) {
    MERCER_ASSIGN_OR_RETURN(Matrix of_pairs,
                            HessianPairMatrix(gradients, problem.kernels[0].bandwidth, context));
    return OwnGradientMachine{{*gradients.loss, gradients.pair_targets, gradients.pair_costs},
                              std::make_unique<MatrixPairKernel>(std::move(of_pairs))};
  }
  const Vector targets = problem.tasks[0].targets.col(0)(prepared.kept);
  return OwnGradientMachine{CollapsedMachine(gradients, targets),
                            std::make_unique<MatrixPairKernel>(gradients.gram)};
}

absl::StatusOr<TrainedPoint> OwnGradientPoint(const CoordinateGradientsOptions& options,
                                              const TrainingProblem& problem,
                                              const PreparedProblem& prepared, const Vector& dual,
                                              RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const OwnGradient own, MakeOwnGradient(problem, prepared, dual, context));
  TrainedPoint point;
  point.function.bias = Vector::Zero(1);
  auto term = TermOfDual(problem, prepared, own, point.function);
  if (options.directions > 0) {
    MERCER_ASSIGN_OR_RETURN(term->directions, DirectionsOf(own, options.directions, context));
  }
  point.function.terms = {std::move(term)};
  MERCER_ASSIGN_OR_RETURN(
      point.summary.tables,
      TablesOfNorms(options, problem, own.norms, 0.5 * own.norms.cwiseAbs2(),
                    [&](const std::vector<Index>& columns) -> absl::StatusOr<Matrix> {
                      return CovarianceAmong(own, columns);
                    }));
  point.witness.arrays = {{"pair_dual", dual}};
  return point;
}

// Scales bound what is added up: G |x - z| is at most s.
absl::StatusOr<Verification> VerifyOwnGradient(const TrainingProblem& problem,
                                               const PreparedProblem& prepared, Vector dual,
                                               RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const OwnGradientMachine machine,
                          MakeOwnGradientMachine(problem, prepared, context));
  MERCER_ASSIGN_OR_RETURN(const MachinePoint at, EvaluateMachine(machine.machine, *machine.kernel,
                                                                 std::move(dual), context));
  MERCER_ASSIGN_OR_RETURN(const Matrix rows, ReadColumns(problem, problem.tasks[0].rows, context));
  Verification verification;
  verification.certificate = MakeGapCertificate(at.upper, at.lower);
  if (IsLinear(problem)) {
    const Vector slopes = SlopesOf(prepared, at.dual);
    verification.values = rows * slopes;
    verification.scale = rows.cwiseAbs().rowwise().sum().maxCoeff() * slopes.cwiseAbs().maxCoeff();
    verification.gradients = slopes.transpose().replicate(rows.rows(), 1);
    verification.gradient_scales = Vector::Constant(rows.cols(), slopes.cwiseAbs().maxCoeff());
    return verification;
  }
  const HessianFunction function =
      MakeHessianFunction(prepared.problem, problem.kernels[0].bandwidth, at.dual);
  MERCER_ASSIGN_OR_RETURN(GradientValues values, ValuesAt(function, rows, context));
  const double s = function.width;
  const double sums = function.sums.cwiseAbs().sum();
  const double moments = function.moments.rowwise().norm().sum();
  verification.values = std::move(values.base);
  verification.scale = sums + moments / s;
  verification.gradients = std::move(values.gradients);
  verification.gradient_scales = Vector::Constant(rows.cols(), (sums + 2 * moments / s) / s);
  return verification;
}

}  // namespace mercer::coordinate_gradients
