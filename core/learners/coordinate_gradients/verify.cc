#include "core/learners/coordinate_gradients/verify.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/coordinate_gradients/problem.h"
#include "core/training/contract/single_task.h"

namespace mercer::coordinate_gradients {
namespace {

constexpr double kSumRounding = 1e-9;  // of weights whose sum is 1

absl::Status Mismatch() {
  return WithReason(absl::FailedPreconditionError("the witness is not of these rows and columns"),
                    "WITNESS_MISMATCH");
}

}  // namespace

// The pairs are made anew from the rows. Without dual variables, as of the functions 0, all are 0. What the weights miss of the sum 1 by rounding is mended.
absl::StatusOr<Verification> Verify(const CoordinateGradientsOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const PreparedProblem prepared,
                          PrepareProblem(options, problem, context));
  const GradientProblem& gradients = prepared.problem;
  const Matrix* weights = witness.FindArray("weights");
  const Matrix* dual = witness.FindArray("pair_dual");
  if (weights == nullptr || dual == nullptr || weights->rows() != gradients.num_columns() ||
      weights->cols() != 1 || dual->cols() != 1 ||
      (dual->rows() > 0 && dual->rows() != gradients.num_pairs()) || !weights->allFinite() ||
      !dual->allFinite() || !(weights->array() >= 0).all()) {
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
  Vector of_pairs = dual->col(0);
  if (of_pairs.size() == 0) {
    of_pairs.setZero(gradients.num_pairs());
  }
  MERCER_ASSIGN_OR_RETURN(
      const GradientPoint at,
      EvaluateGradients(gradients, KindOf(options), std::move(beta), std::move(of_pairs), context));
  const Matrix coefficients = CoefficientsOf(prepared, at.dual);
  const KernelFamily& family = *prepared.family;
  const Vector ones = Vector::Ones(family.num_kernels());
  Matrix values(coefficients.rows(), 1);
  MERCER_RETURN_IF_ERROR(family.CombinedProduct(ones, coefficients, values, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(family, ones, context));
  const Vector squared = Vector::Constant(1, DotOfRows(coefficients.col(0), values.col(0)));
  MERCER_RETURN_IF_ERROR(CheckSquaredNorms(problem, coefficients, squared, largest));
  return Verification{MakeGapCertificate(at.upper, at.lower), values,
                      largest * AbsoluteSumOfRows(coefficients.col(0))};
}

}  // namespace mercer::coordinate_gradients
