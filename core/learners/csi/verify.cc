#include "core/learners/csi/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_columns.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/row_products.h"
#include "core/objectives/loss.h"
#include "core/training/run/verification.h"

namespace mercer::csi {
namespace {

constexpr Index kKernelColumns = 16;   // at a time
constexpr Index kSolvedColumns = 256;  // columns of a factor at a time
constexpr Index kProductRows = 256;    // at a time

absl::Status Mismatch(std::string_view what) {
  return WithReason(absl::FailedPreconditionError(std::string(what)), "WITNESS_MISMATCH");
}

struct Expansion {
  std::vector<Index> pivots;  // rows of the task
  Matrix coefficients;        // pivots x outputs
};

absl::StatusOr<Expansion> ReadExpansion(const Witness& witness, const TaskData& task) {
  const Matrix* pivots = witness.FindArray("pivots");
  const Matrix* coefficients = witness.FindArray("coefficients");
  if (pivots == nullptr || coefficients == nullptr || coefficients->rows() != pivots->rows() ||
      coefficients->cols() != task.targets.cols() || !coefficients->allFinite() ||
      (pivots->rows() > 0 && pivots->cols() != 1)) {
    return Mismatch("the witness holds no coefficients of pivots");
  }
  Expansion expansion{{}, *coefficients};
  std::set<Index> seen;
  for (Index p = 0; p < pivots->rows(); ++p) {
    const double row = (*pivots)(p, 0);
    if (!(row >= 0) || !(row < static_cast<double>(task.targets.rows())) ||
        row != std::floor(row) || !seen.insert(static_cast<Index>(row)).second) {
      return Mismatch("the pivots of the witness are no training rows");
    }
    expansion.pivots.push_back(static_cast<Index>(row));
  }
  return expansion;
}

// A factor of the kernel that the pivots span: the rows of K_I L^-T, L the Cholesky factor of K_II.
// Primal and dual value are both made of it, so that rounding of K_II, which its inverse magnifies,
// is the same in both and widens no gap.
struct SpanFactor {
  Matrix rows;      // task rows x pivots
  Matrix cholesky;  // L: the lower triangle
};

// The matrix K_II: the rows of the pivots.
absl::StatusOr<Matrix> RowsOfPivots(const Matrix& rows, const std::vector<Index>& pivots,
                                    RunContext& context) {
  const Index count = rows.cols();
  Matrix of_pivots(count, count);
  MERCER_RETURN_IF_ERROR(
      ForRowBlocks(count, kSolvedColumns, context, [&](Index begin, Index width) {
        of_pivots.middleCols(begin, width) = rows(pivots, Eigen::seqN(begin, width));
      }));
  return of_pivots;
}

// Restores the lower triangle from the strict upper triangle and `diagonal`.
absl::Status RestoreLower(const Vector& diagonal, Matrix& a, RunContext& context) {
  MERCER_RETURN_IF_ERROR(
      ForRowBlocks(a.cols(), kSolvedColumns, context, [&](Index begin, Index width) {
        for (Index col = begin; col < begin + width; ++col) {
          const Index below = a.rows() - col - 1;
          a.col(col).tail(below) = a.row(col).tail(below).transpose();
        }
      }));
  a.diagonal() = diagonal;
  return absl::OkStatus();
}

// Pivots that are nearly dependent may leave a matrix that rounding made indefinite: as much as
// that is added to its diagonal, which makes norms, and so the primal value, larger by no more.
// Only the lower triangle of the result is the factor.
absl::StatusOr<Matrix> CholeskyOf(Matrix of_pivots, RunContext& context) {
  Vector diagonal = of_pivots.diagonal();
  const double trace = diagonal.sum();
  for (const double added : {0.0, 1e-14, 1e-13, 1e-12, 1e-11}) {
    diagonal.array() += added * trace;
    MERCER_RETURN_IF_ERROR(RestoreLower(diagonal, of_pivots, context));
    const absl::Status factored = FactorCholesky(of_pivots, context);
    if (factored.ok()) {
      return of_pivots;
    }
    if (!absl::IsInvalidArgument(factored)) {
      return factored;
    }
  }
  return Mismatch("the kernel between the pivots of the witness is not positive semidefinite");
}

absl::StatusOr<SpanFactor> FactorSpan(const KernelColumns& kernel, const std::vector<Index>& pivots,
                                      RunContext& context) {
  const auto count = static_cast<Index>(pivots.size());
  SpanFactor span{Matrix(kernel.size(), count), Matrix(count, count)};
  if (count == 0) {
    return span;
  }
  for (Index begin = 0; begin < count; begin += kKernelColumns) {
    const Index width = std::min(kKernelColumns, count - begin);
    auto columns = span.rows.middleCols(begin, width);
    MERCER_RETURN_IF_ERROR(kernel.Columns(
        {&pivots[static_cast<size_t>(begin)], static_cast<size_t>(width)}, columns, context));
  }
  MERCER_ASSIGN_OR_RETURN(Matrix of_pivots, RowsOfPivots(span.rows, pivots, context));
  MERCER_ASSIGN_OR_RETURN(span.cholesky, CholeskyOf(std::move(of_pivots), context));
  MERCER_RETURN_IF_ERROR(SubstituteRows(span.cholesky, span.rows, context));
  return span;
}

// The weights w = L'a.
absl::StatusOr<Matrix> WeightsOf(const Matrix& cholesky, const Matrix& coefficients,
                                 RunContext& context) {
  const Index count = cholesky.rows();
  Matrix weights(count, coefficients.cols());
  MERCER_RETURN_IF_ERROR(
      ForRowBlocks(count, kSolvedColumns, context, [&](Index begin, Index width) {
        const Index below = count - begin - width;
        auto of_panel = weights.middleRows(begin, width);
        of_panel =
            cholesky.block(begin, begin, width, width).triangularView<Eigen::Lower>().transpose() *
            coefficients.middleRows(begin, width);
        of_panel.noalias() += cholesky.block(begin + width, begin, below, width).transpose() *
                              coefficients.bottomRows(below);
      }));
  return weights;
}

struct Products {
  Matrix values;   // rows x outputs: G w
  Matrix reduced;  // pivots x outputs: G'u
};

absl::StatusOr<Products> MultiplyRows(const Matrix& rows, const Matrix& weights, const Matrix& dual,
                                      RunContext& context) {
  Products products{Matrix(rows.rows(), weights.cols()), {}};
  MERCER_RETURN_IF_ERROR(
      ForRowBlocks(rows.rows(), kProductRows, context, [&](Index begin, Index count) {
        products.values.middleRows(begin, count) =
            ProductOfBlock(rows.middleRows(begin, count), weights);
      }));
  MERCER_ASSIGN_OR_RETURN(products.reduced, ProductOverRows(rows, dual, context));
  return products;
}

}  // namespace

absl::StatusOr<Verification> Verify(const CsiLearnerOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  const TaskData& task = problem.tasks[0];
  const Index outputs = task.targets.cols();
  MERCER_ASSIGN_OR_RETURN(const Expansion expansion, ReadExpansion(witness, task));
  MERCER_ASSIGN_OR_RETURN(
      const std::unique_ptr<Loss> loss,
      MakeLoss(problem.kind == TargetKind::kClassification ? LossKind::kSquaredHinge
                                                           : LossKind::kSquare));
  // The problem divided by lambda, in which the norm has the weight 1/2; the bounds are multiplied
  // by lambda again.
  const Vector costs = task.costs / options.lambda;
  Matrix dual = witness.tasks[0].dual;
  for (Index o = 0; o < outputs; ++o) {
    loss->RepairDual(task.targets.col(o), costs, /*balanced=*/true, dual.col(o));
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelSumColumns> kernel,
                          KernelSumColumns::Make(task.inputs, task.rows, problem.kernels, context));
  MERCER_ASSIGN_OR_RETURN(const SpanFactor span, FactorSpan(*kernel, expansion.pivots, context));
  MERCER_ASSIGN_OR_RETURN(const Matrix weights,
                          WeightsOf(span.cholesky, expansion.coefficients, context));
  MERCER_ASSIGN_OR_RETURN(const Products products, MultiplyRows(span.rows, weights, dual, context));
  double primal = 0;
  double lower = 0;
  Verification verification;
  verification.values = products.values;
  for (Index o = 0; o < outputs; ++o) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const double bias = witness.tasks[0].bias(o);
    const Vector targets = task.targets.col(o);
    verification.values.col(o).array() += bias;
    MERCER_ASSIGN_OR_RETURN(
        const double risk, loss->TotalValue(targets, costs, products.values.col(o), bias, context));
    primal += 0.5 * weights.col(o).squaredNorm() + risk;
    const double quadratic = products.reduced.col(o).squaredNorm();
    const Vector u = dual.col(o);
    MERCER_ASSIGN_OR_RETURN(
        const double of_output,
        BestConcaveValueOnRay(
            [&](double scale) {
              return loss->DualValue(targets, costs, scale * u, context).value_or(0.0) -
                     0.5 * scale * scale * quadratic;
            },
            LargestScaleInBox(*loss, targets, costs, u), context));
    lower += of_output;
    verification.scale = std::max(
        verification.scale,
        std::abs(bias) + kernel->diagonal().maxCoeff() * expansion.coefficients.col(o).lpNorm<1>());
  }
  verification.certificate = MakeGapCertificate(options.lambda * primal, options.lambda * lower);
  verification.certificate.scope = CertificateScope::kLowRankProblem;
  verification.metrics = {{"csi.pivots", static_cast<double>(expansion.pivots.size())}};
  const double* criterion = witness.FindValue("criterion");
  if (criterion != nullptr && std::isfinite(*criterion)) {
    verification.metrics.push_back({"csi.criterion", *criterion});
  }
  return verification;
}

}  // namespace mercer::csi
