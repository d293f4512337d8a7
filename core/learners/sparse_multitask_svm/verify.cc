#include "core/learners/sparse_multitask_svm/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/process/row_sums.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/sparse_multitask_svm/problem.h"
#include "core/objectives/loss.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/kernel_point_bounds.h"
#include "core/training/run/verification.h"

namespace mercer::sparse_multitask_svm {
namespace {

absl::Status Mismatch() {
  return WithReason(absl::FailedPreconditionError("the witness is not of these rows and kernels"),
                    "WITNESS_MISMATCH");
}

// What the blocks say of a dual of one task.
struct BlockSums {
  Vector energies;
  Vector scores;  // of the weights
  double scale = 0;
};

// Of columns, one row after the other: sums of a_i x_i, then what they give at every row.
absl::StatusOr<BlockSums> SumColumns(const ColumnLayout& layout, const Vector& scales,
                                     const TaskData& task, const Vector& weights,
                                     const Vector& dual, RunContext& context) {
  const auto value = [&](Index i, size_t c) {
    const auto& [block, column] = layout.columns[c];
    return task.inputs->blocks[static_cast<size_t>(block)].values.view()(
        task.rows[static_cast<size_t>(i)], column);
  };
  const size_t columns = layout.columns.size();
  constexpr Index kPiece = 64;
  MERCER_ASSIGN_OR_RETURN(
      Vector sums,
      SumOverRows(dual.size(), kPiece, Vector(Vector::Zero(static_cast<Index>(columns))), context,
                  [&](Index first, Index end, Vector& sum) {
                    for (Index i = first; i < end; ++i) {
                      for (size_t c = 0; dual(i) != 0 && c < columns; ++c) {
                        sum(static_cast<Index>(c)) += dual(i) * value(i, c);
                      }
                    }
                  }));
  BlockSums found{Vector::Zero(weights.size()), Vector::Zero(dual.size())};
  for (size_t c = 0; c < columns; ++c) {
    const Index k = layout.block_of[c];
    double& sum = sums(static_cast<Index>(c));
    found.energies(k) += scales(k) * sum * sum;
    sum *= scales(k) * weights(k);
  }
  for (Index i = 0; i < dual.size(); ++i) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    double size = 0;
    for (size_t c = 0; c < columns; ++c) {
      const double term = sums(static_cast<Index>(c)) * value(i, c);
      found.scores(i) += term;
      size += std::abs(term);
    }
    found.scale = std::max(found.scale, size);
  }
  return found;
}

absl::StatusOr<BlockSums> SumKernels(const KernelFamily& family,
                                     const std::vector<KernelSpec>& kernels, const Vector& weights,
                                     const Vector& dual, RunContext& context) {
  Matrix energies(weights.size(), 1);
  MERCER_RETURN_IF_ERROR(family.QuadraticForms(dual, {}, energies, context));
  MERCER_RETURN_IF_ERROR(CheckEnergies(family, kernels, dual, energies, context));
  Matrix scores(dual.size(), 1);
  MERCER_RETURN_IF_ERROR(family.CombinedProduct(weights, dual, scores, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(family, weights, context));
  return BlockSums{energies.col(0).cwiseMax(0.0), scores.col(0), largest * AbsoluteSumOfRows(dual)};
}

// |v|_exponent of numbers >= 0, whose powers do not overflow.
double PowerNorm(const Vector& values, double exponent) {
  if (!values.allFinite()) {
    return kInfinity;
  }
  const double largest = values.maxCoeff();
  if (!(largest > 0) || std::isinf(exponent)) {
    return std::max(largest, 0.0);
  }
  return largest * std::pow((values / largest).array().pow(exponent).sum(), 1 / exponent);
}

double Conjugate(double exponent) { return exponent == 1 ? kInfinity : exponent / (exponent - 1); }

Vector NormsOfBlocks(const Matrix& values, double exponent) {
  Vector of_blocks(values.cols());
  for (Index k = 0; k < values.cols(); ++k) {
    of_blocks(k) = PowerNorm(values.col(k), exponent);
  }
  return of_blocks;
}

// What a point is bounded by: the penalty of its function, that of the convex problem (the same for
// p >= 1), and the factors of that problem.
struct Penalty {
  double value = 0;
  double convex = 0;
  Vector factors;
};

Penalty ConvexPenalty(const SparseMultitaskSvmOptions& options, const Vector& joint) {
  Penalty penalty;
  penalty.factors = Vector::Ones(joint.size());
  for (size_t k = 0; k < options.block_weights.size(); ++k) {
    penalty.factors(static_cast<Index>(k)) = options.block_weights[k];
  }
  const double norm = PowerNorm(joint.cwiseProduct(penalty.factors), std::max(options.p, 1.0));
  penalty.value = options.form == Form::kPlain ? norm : 0.5 * norm * norm;
  penalty.convex = penalty.value;
  return penalty;
}

// S = sum_k (v_k + e)^p - e^p, and the slopes of its terms at v; half the square lies below that of
// sum_k slope_k u_k divided by the root of theta = sum_k slope_k v_k / S.
Penalty ConcavePenalty(const SparseMultitaskSvmOptions& options, const Vector& joint,
                       double smoothing) {
  Penalty penalty;
  penalty.factors.resize(joint.size());
  const auto p = static_cast<long double>(options.p);
  const auto e = static_cast<long double>(smoothing);
  long double sum = 0;
  long double linear = 0;
  for (Index k = 0; k < joint.size(); ++k) {
    const auto v = static_cast<long double>(joint(k));
    const long double slope = p * std::pow(v + e, p - 1);
    sum += std::pow(v + e, p) - std::pow(e, p);
    linear += slope * v;
    penalty.factors(k) = static_cast<double>(slope);
  }
  if (options.form == Form::kPlain) {
    penalty.value = static_cast<double>(sum);
    penalty.convex = static_cast<double>(linear);
    return penalty;
  }
  const long double theta = sum > 0 ? linear / sum : 1;
  penalty.factors /= static_cast<double>(std::sqrt(theta));
  penalty.value = static_cast<double>(sum * sum / 2);
  penalty.convex = static_cast<double>(linear * linear / theta / 2);
  return penalty;
}

// Of the tasks that share a norm. For p < 1 `lower` is the primal less the gap of the convex problem
// that touches at the function.
struct Bounds {
  double primal = 0;
  double lower = 0;
};

// From the norms of functions and the roots of the dual's energies, tasks x blocks. For p < 1 the
// convex problem is that of p = 1 that touches at the function. Of the function 0 where nothing was
// learned it is p = 1 itself: optimal there, it is stationary for p as well.
absl::StatusOr<Bounds> BoundsOf(const SparseMultitaskSvmOptions& options, const Matrix& norms,
                                const Matrix& roots, double risk, double linear, double smoothing) {
  const double q = options.q;
  const Vector joint = NormsOfBlocks(norms, q);
  const bool concave = options.p < 1 && smoothing > 0;
  if (options.p < 1 && !concave && joint.maxCoeff() > 0) {
    return Mismatch();
  }
  const Penalty penalty =
      concave ? ConcavePenalty(options, joint, smoothing) : ConvexPenalty(options, joint);
  const double dual_norm =
      PowerNorm(NormsOfBlocks(roots, Conjugate(q)).cwiseQuotient(penalty.factors),
                Conjugate(std::max(options.p, 1.0)));
  const double bound = !std::isfinite(dual_norm * dual_norm) ? 0
                       : options.form == Form::kPlain
                           ? linear / std::max(dual_norm, 1.0)
                           : BestValueOnRay(linear, dual_norm * dual_norm, 1.0);
  const double primal = risk + penalty.value;
  const double gap = risk + penalty.convex - bound;
  return Bounds{primal, concave ? primal - gap : bound};
}

}  // namespace

absl::StatusOr<Verification> Verify(const SparseMultitaskSvmOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  const auto tasks = static_cast<Index>(problem.tasks.size());
  const auto kernels = static_cast<Index>(problem.kernels.size());
  const Matrix* weights = witness.FindArray("weights");
  const Matrix* lower = witness.FindArray("lower_dual");
  if (weights == nullptr || lower == nullptr || weights->rows() != tasks ||
      weights->cols() != kernels || !weights->allFinite() || !(weights->array() >= 0).all() ||
      lower->rows() != problem.num_rows() || lower->cols() != 1 || !lower->allFinite()) {
    return Mismatch();
  }
  const Matrix* smoothing = witness.FindArray("smoothing");
  if (options.p < 1 && (smoothing == nullptr || smoothing->cols() != 1 ||
                        smoothing->rows() != (options.sharing == Sharing::kSeparate ? tasks : 1) ||
                        !smoothing->allFinite() || !(smoothing->array() >= 0).all())) {
    return Mismatch();
  }
  MERCER_ASSIGN_OR_RETURN(const std::optional<ColumnLayout> layout, FindColumns(problem));
  MERCER_ASSIGN_OR_RETURN(const Vector shared, SharedScales(options, problem, layout, context));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  const Vector factors = CostFactors(options, problem);
  Matrix norms(tasks, kernels);
  Matrix roots(tasks, kernels);
  Vector risks(tasks);
  Vector linears(tasks);
  Verification verified;
  verified.values.resize(problem.num_rows(), 1);
  Index begin = 0;
  for (Index t = 0; t < tasks; ++t) {
    const TaskData& task = problem.tasks[static_cast<size_t>(t)];
    const TaskWitness& own = witness.tasks[static_cast<size_t>(t)];
    const Index rows = task.targets.rows();
    const Vector costs = factors(t) * task.costs;
    const Vector of_task = weights->row(t);
    const Vector dual = own.dual.col(0);
    Vector feasible = lower->col(0).segment(begin, rows);
    loss->RepairDual(task.targets.col(0), costs, /*balanced=*/true, feasible);
    std::unique_ptr<KernelFamily> family;
    Vector scales;
    if (layout.has_value()) {
      MERCER_ASSIGN_OR_RETURN(scales,
                              ScalesOfColumns(*layout, shared, task, problem.kernels, context));
    } else {
      MERCER_ASSIGN_OR_RETURN(family, KernelsOfTask(task, shared, problem.kernels, context));
    }
    const auto sums_of = [&](const Vector& of) {
      return layout.has_value() ? SumColumns(*layout, scales, task, of_task, of, context)
                                : SumKernels(*family, problem.kernels, of_task, of, context);
    };
    MERCER_ASSIGN_OR_RETURN(const BlockSums at, sums_of(dual));
    MERCER_ASSIGN_OR_RETURN(const BlockSums below, sums_of(feasible));
    norms.row(t) = (of_task.array() * at.energies.array().sqrt()).transpose();
    roots.row(t) = below.energies.cwiseSqrt().transpose();
    MERCER_ASSIGN_OR_RETURN(
        risks(t), loss->TotalValue(task.targets.col(0), costs, at.scores, own.bias(0), context));
    MERCER_ASSIGN_OR_RETURN(linears(t),
                            loss->DualValue(task.targets.col(0), costs, feasible, context));
    verified.values.col(0).segment(begin, rows) = at.scores.array() + own.bias(0);
    verified.scale = std::max(verified.scale, at.scale + std::abs(own.bias(0)));
    begin += rows;
  }
  // Tasks that share nothing have a penalty each.
  const bool separate = options.sharing == Sharing::kSeparate;
  Bounds bounds;
  for (Index first = 0; first < tasks; first += separate ? 1 : tasks) {
    const Index count = separate ? 1 : tasks;
    MERCER_ASSIGN_OR_RETURN(
        const Bounds of_norm,
        BoundsOf(options, norms.middleRows(first, count), roots.middleRows(first, count),
                 risks.segment(first, count).sum(), linears.segment(first, count).sum(),
                 options.p < 1 ? (*smoothing)(separate ? first : 0, 0) : 0));
    bounds.primal += of_norm.primal;
    bounds.lower += of_norm.lower;
  }
  verified.certificate = MakeGapCertificate(bounds.primal, bounds.lower);
  if (options.p < 1) {
    verified.certificate.kind = CertificateKind::kStationarity;
  }
  return verified;
}

}  // namespace mercer::sparse_multitask_svm
