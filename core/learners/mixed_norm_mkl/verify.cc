#include "core/learners/mixed_norm_mkl/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/mixed_norm_mkl/problem.h"
#include "core/learners/mixed_norm_mkl/shared_bounds.h"
#include "core/objectives/loss.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/kernel_point_bounds.h"

namespace mercer::mixed_norm_mkl {
namespace {

// 1/2 max_j (sum_{k in j} norms(k))^2 and (sum_j sqrt(max_{k in j} energies(k)))^2.
KernelNorms MixedNorms(const SimplexGroups& groups) {
  KernelNorms norms;
  norms.half_squared_norm = [groups](const Vector& parts) {
    Vector sums = Vector::Zero(groups.num_groups);
    for (Index k = 0; k < parts.size(); ++k) {
      sums(groups.group_of[static_cast<size_t>(k)]) += parts(k);
    }
    return 0.5 * sums.maxCoeff() * sums.maxCoeff();
  };
  norms.support = [groups](const Vector& energies) {
    Vector largest = Vector::Zero(groups.num_groups);
    for (Index k = 0; k < energies.size(); ++k) {
      double& of_group = largest(groups.group_of[static_cast<size_t>(k)]);
      of_group = std::max(of_group, energies(k));
    }
    double root = 0;
    for (const double of_group : largest) {
      root += std::sqrt(of_group);
    }
    return root * root;
  };
  return norms;
}

KernelNorms SumNorms() {
  return {[](const Vector& parts) { return 0.5 * parts.squaredNorm(); },
          [](const Vector& energies) { return energies.sum(); }};
}

}  // namespace

absl::StatusOr<Verification> Verify(const MixedNormMklOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context));
  MERCER_ASSIGN_OR_RETURN(const Vector traces, TracesOf(*family, context));
  MERCER_ASSIGN_OR_RETURN(const double factor, CostFactor(options, problem, traces));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss,
                          MakeChosenLoss(options.loss, options.epsilon, problem.kind));
  const KernelNorms norms = options.regularization == Regularization::kSum
                                ? SumNorms()
                                : MixedNorms(GroupsFor(options, problem));
  if (task.targets.cols() > 1) {
    return BoundSharedPoint(norms, *loss, options.C * factor, problem, witness, *family, context);
  }
  MERCER_ASSIGN_OR_RETURN(const WeightedKernelPoint point,
                          ReadWeightedKernelPoint(problem, options.C * factor, witness));
  MERCER_ASSIGN_OR_RETURN(const BoundedKernelPoint bounded,
                          BoundKernelPoint(norms, *loss, point, problem.kernels, *family, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(*family, point.weights, context));
  return Verification{bounded.certificate, bounded.scores.array() + point.bias,
                      std::abs(point.bias) + largest * AbsoluteSumOfRows(point.dual)};
}

}  // namespace mercer::mixed_norm_mkl
