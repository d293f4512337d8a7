#include "core/learners/coordinate_gradients/verify.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/coordinate_gradients/own_gradient.h"
#include "core/learners/coordinate_gradients/problem.h"
#include "core/training/contract/single_task.h"

namespace mercer::coordinate_gradients {
namespace {

constexpr double kSumRounding = 1e-9;  // of weights whose sum is 1

absl::Status Mismatch() {
  return WithReason(absl::FailedPreconditionError("the witness is not of these rows and columns"),
                    "WITNESS_MISMATCH");
}

// The values of f_0, and the gradients, at all rows.
absl::StatusOr<Verification> VerifyValues(const TrainingProblem& problem,
                                          const PreparedProblem& prepared, const GradientPoint& at,
                                          Certificate certificate, RunContext& context) {
  const KernelFamily& family = *prepared.family;
  const Vector ones = Vector::Ones(family.num_kernels());
  MERCER_ASSIGN_OR_RETURN(const Matrix coefficients, CoefficientsOf(prepared, at, context));
  Matrix values(coefficients.rows(), coefficients.cols());
  MERCER_RETURN_IF_ERROR(family.CombinedProduct(ones, coefficients, values, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(family, ones, context));
  const Vector squared = Vector::Constant(1, DotOfRows(coefficients.col(0), values.col(0)));
  MERCER_RETURN_IF_ERROR(CheckSquaredNorms(problem, coefficients.leftCols(1), squared, largest));
  Verification verification{std::move(certificate), values.leftCols(1),
                            largest * AbsoluteSumOfRows(coefficients.col(0))};
  verification.gradients = Matrix::Zero(values.rows(), prepared.problem.num_columns());
  verification.gradient_scales = Vector::Zero(prepared.problem.num_columns());
  const std::vector<Index> columns = ColumnsOf(at);
  for (size_t c = 0; c < columns.size(); ++c) {
    const auto function = static_cast<Index>(c) + 1;
    verification.gradients.col(columns[c]) = values.col(function);
    verification.gradient_scales(columns[c]) =
        largest * AbsoluteSumOfRows(coefficients.col(function));
  }
  return verification;
}

}  // namespace

// The pairs are made anew from the rows. The lower bound may be that of other dual variables,
// `bound_dual`. Without dual variables, as of the functions 0, all are 0. What the weights miss of
// the sum 1 by rounding is mended.
absl::StatusOr<Verification> Verify(const CoordinateGradientsOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const PreparedProblem prepared,
                          PrepareProblem(options, problem, context));
  const GradientProblem& gradients = prepared.problem;
  const Matrix* dual = witness.FindArray("pair_dual");
  if (options.own_gradient) {
    const Index size = NumDuals(problem, prepared, options);
    const bool fits = dual != nullptr &&
                      (dual->size() == 0 || (dual->rows() == size && dual->cols() == 1)) &&
                      dual->allFinite();
    return !fits ? Mismatch()
                 : VerifyOwnGradient(
                       problem, prepared,
                       dual->size() == 0 ? Vector(Vector::Zero(size)) : Vector(dual->col(0)),
                       context);
  }
  const Matrix* weights = witness.FindArray("weights");
  const Matrix* bound = witness.FindArray("bound_dual");
  const auto of_pairs = [&](const Matrix& array) {
    return array.rows() == gradients.num_pairs() && array.cols() == 1 && array.allFinite();
  };
  const bool is_zero = dual != nullptr && dual->size() == 0;
  if (weights == nullptr || dual == nullptr || (!is_zero && !of_pairs(*dual)) ||
      (bound != nullptr && !of_pairs(*bound)) || weights->rows() != gradients.num_columns() ||
      weights->cols() != 1 || !weights->allFinite() || !(weights->array() >= 0).all()) {
    return Mismatch();
  }
  Vector beta = weights->col(0);
  if (options.column_weights == ColumnWeights::kFixed) {
    beta.setOnes();
  } else if (!(std::abs(beta.sum() - 1) <= kSumRounding)) {
    return Mismatch();
  } else {
    beta /= beta.sum();
  }
  Vector pair_dual = is_zero ? Vector::Zero(gradients.num_pairs()) : Vector(dual->col(0));
  MERCER_ASSIGN_OR_RETURN(
      const GradientPoint at,
      EvaluateGradients(gradients, KindOf(options), beta, std::move(pair_dual), context));
  double lower = at.lower;
  if (bound != nullptr) {
    MERCER_ASSIGN_OR_RETURN(
        const GradientPoint other,
        EvaluateGradients(gradients, KindOf(options), std::move(beta), bound->col(0), context));
    lower = std::max(lower, other.lower);
  }
  return VerifyValues(problem, prepared, at, MakeGapCertificate(at.upper, lower), context);
}

}  // namespace mercer::coordinate_gradients
