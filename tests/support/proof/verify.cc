#include "tests/support/proof/verify.h"

#include <algorithm>
#include <vector>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/training/contract/single_task.h"
#include "tests/support/proof/pairs.h"

namespace mercer::pair_ridge {
namespace {

// Adds weight x_i'sum_j a_j x_j for the dual variables of each task, and the largest
// weight x_i'x_i.
absl::Status AddPlanes(const FeatureRows& inputs, double weight, const Matrix& duals,
                       Matrix& products, double& largest, RunContext& context) {
  const Index columns = inputs.num_inputs();
  if (columns == 0) {
    return absl::OkStatus();
  }
  Matrix sums = Matrix::Zero(columns, duals.cols());
  double largest_square = 0;
  RowMatrix buffer;
  const auto for_rows = [&](const auto& visit) -> absl::Status {
    for (Index begin = 0; begin < inputs.size(); begin += inputs.chunk_rows()) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index end = std::min(begin + inputs.chunk_rows(), inputs.size());
      const RowMatrix chunk = inputs.Read(begin, end, buffer);
      for (Index i = begin; i < end; ++i) {
        visit(i, Vector(chunk.row(i - begin)));
      }
    }
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(for_rows([&](Index i, const Vector& row) {
    sums += row * duals.row(i);
    largest_square = std::max(largest_square, row.squaredNorm());
  }));
  MERCER_RETURN_IF_ERROR(for_rows(
      [&](Index i, const Vector& row) { products.row(i) += weight * (row.transpose() * sums); }));
  largest += weight * largest_square;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Verification> Verify(const PairRidgeOptions& options, const TrainingProblem& problem,
                                    const Witness& witness, RunContext& context) {
  const AllRows all(problem);
  const std::vector<Pair> pairs = MakePairs(all);
  const Matrix* coefficients = witness.FindArray("pairs");
  const Matrix* bias = witness.FindArray("bias");
  if (coefficients == nullptr || bias == nullptr || coefficients->cols() != 1 ||
      coefficients->rows() != static_cast<Index>(pairs.size()) || bias->cols() != 1 ||
      bias->rows() != all.num_tasks() || !coefficients->allFinite() || !bias->allFinite()) {
    return WithReason(absl::FailedPreconditionError("the witness is not of these pairs of rows"),
                      "WITNESS_MISMATCH");
  }
  const Vector a = DualOfPairs(pairs, coefficients->col(0), all.size());
  Matrix duals = Matrix::Zero(all.size(), all.num_tasks());
  for (Index i = 0; i < all.size(); ++i) {
    duals(i, all.task[static_cast<size_t>(i)]) = a(i);
  }
  const std::shared_ptr<const PreparedData>& inputs = problem.tasks[0].inputs;
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeExactKernelFamily(inputs, all.rows, problem.kernels, context));
  const Vector weights = KernelWeights(problem.kernels);
  Matrix products(all.size(), all.num_tasks());
  MERCER_RETURN_IF_ERROR(family->CombinedProduct(weights, duals, products, context));
  MERCER_ASSIGN_OR_RETURN(double largest, LargestEntry(*family, weights, context));
  const FeatureRows rows(inputs, all.rows);
  MERCER_RETURN_IF_ERROR(AddPlanes(rows, PlaneWeight(problem.kernels, rows.num_inputs()), duals,
                                   products, largest, context));
  double squared_norm = 0;
  double loss = 0;
  double conjugate = 0;
  double linear = 0;
  Verification verified;
  verified.values.resize(all.size(), 1);
  Index next = 0;
  for (Index t = 0; t < all.num_tasks(); ++t) {
    for (const Index i : all.places[static_cast<size_t>(t)]) {
      const double value = options.sharing * products.row(i).sum() + products(i, t);
      const double cost = options.C * all.costs(i);
      const double error = all.targets(i) - value - (*bias)(t, 0);
      squared_norm += a(i) * value;
      linear += a(i) * all.targets(i);
      loss += cost * error * error;
      conjugate += cost > 0 ? a(i) * a(i) / (4 * cost) : 0;
      verified.values(next++, 0) = value + (*bias)(t, 0);
    }
  }
  verified.certificate =
      MakeGapCertificate(squared_norm / 2 + loss, linear - squared_norm / 2 - conjugate);
  verified.scale =
      (1 + options.sharing) * largest * a.lpNorm<1>() + bias->lpNorm<Eigen::Infinity>();
  return verified;
}

}  // namespace mercer::pair_ridge
