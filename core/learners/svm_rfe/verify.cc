#include "core/learners/svm_rfe/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/base/process/row_sums.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/objectives/loss.h"
#include "core/training/run/verification.h"

namespace mercer::svm_rfe {
namespace {

constexpr Index kPieceRows = 1024;

absl::Status Mismatch() {
  return WithReason(absl::FailedPreconditionError("the witness is not of these rows and columns"),
                    "WITNESS_MISMATCH");
}

// The columns that the witness names, ascending.
absl::StatusOr<std::vector<Index>> ReadKept(const Witness& witness, Index inputs) {
  const Matrix* named = witness.FindArray("columns");
  if (named == nullptr || named->cols() != 1) {
    return Mismatch();
  }
  std::vector<Index> kept;
  double last = -1;
  for (const double column : named->reshaped()) {
    if (!(column > last && column < static_cast<double>(inputs)) || column != std::floor(column)) {
      return Mismatch();
    }
    kept.push_back(static_cast<Index>(column));
    last = column;
  }
  return kept;
}

// Of some rows: sum_i a_i x_i, columns x outputs, and the largest |x_il| of each column.
struct Sums {
  Sums& operator+=(const Sums& other) {
    products += other.products;
    largest = largest.cwiseMax(other.largest);
    return *this;
  }

  Matrix products;
  Vector largest;
};

}  // namespace

absl::StatusOr<Verification> Verify(const SvmRfeOptions& options, const TrainingProblem& problem,
                                    const Witness& witness, RunContext& context) {
  const TaskData& task = problem.tasks[0];
  const FeatureRows rows(task.inputs, task.rows);
  const Index outputs = task.targets.cols();
  const Matrix* weights = witness.FindArray("weights");
  MERCER_ASSIGN_OR_RETURN(const std::vector<Index> kept, ReadKept(witness, rows.num_inputs()));
  const auto count = static_cast<Index>(kept.size());
  if (weights == nullptr || weights->rows() != count || weights->cols() != outputs ||
      !weights->allFinite()) {
    return Mismatch();
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  const Vector& bias = witness.tasks[0].bias;
  Matrix feasible = witness.tasks[0].dual;
  Matrix targets = task.targets;
  Matrix costs(task.costs.size(), outputs);
  for (Index o = 0; o < outputs; ++o) {
    for (Index i = 0; i < costs.rows(); ++i) {
      costs(i, o) = targets(i, o) == 0 ? 0 : options.C * task.costs(i);
      targets(i, o) = targets(i, o) == 0 ? 1 : targets(i, o);
    }
    loss->RepairDual(targets.col(o), costs.col(o), true, feasible.col(o));
  }
  Verification verified;
  verified.values.resize(rows.size(), outputs);
  MERCER_ASSIGN_OR_RETURN(
      const Sums sums,
      SumOverRows(rows.size(), kPieceRows, Sums{Matrix::Zero(count, outputs), Vector::Zero(count)},
                  context, [&](Index begin, Index end, Sums& sum) {
                    RowMatrix buffer;
                    for (Index first = begin; first < end && !context.cancelled();
                         first += rows.chunk_rows()) {
                      const Index last = std::min(first + rows.chunk_rows(), end);
                      const RowMatrix some = rows.Read(first, last, buffer)(Eigen::all, kept);
                      sum.products.noalias() +=
                          some.transpose() * feasible.middleRows(first, last - first);
                      sum.largest =
                          sum.largest.cwiseMax(some.cwiseAbs().colwise().maxCoeff().transpose());
                      verified.values.middleRows(first, last - first) =
                          (some * *weights).rowwise() + bias.transpose();
                    }
                  }));
  double primal = 0;
  double dual = 0;
  for (Index o = 0; o < outputs; ++o) {
    MERCER_ASSIGN_OR_RETURN(
        const double risk,
        loss->TotalValue(targets.col(o), costs.col(o), verified.values.col(o), 0.0, context));
    MERCER_ASSIGN_OR_RETURN(const double linear, loss->DualValue(targets.col(o), costs.col(o),
                                                                 feasible.col(o), context));
    primal += 0.5 * weights->col(o).squaredNorm() + risk;
    dual += BestValueOnRay(linear, sums.products.col(o).squaredNorm(),
                           LargestScaleInBox(*loss, targets.col(o), costs.col(o), feasible.col(o)));
    verified.scale =
        std::max(verified.scale, std::abs(bias(o)) + weights->col(o).cwiseAbs().dot(sums.largest));
  }
  verified.certificate = MakeGapCertificate(primal, dual);
  return verified;
}

}  // namespace mercer::svm_rfe
