#include "core/learners/mixed_norm_mkl/problem.h"

#include <utility>
#include <vector>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_labels.h"

namespace mercer::mixed_norm_mkl {

SimplexGroups GroupsFor(const MixedNormMklOptions& options, const TrainingProblem& problem) {
  if (options.regularization != Regularization::kMixedNorm) {
    return {std::vector<Index>(problem.kernels.size(), 0), 1};
  }
  KernelGroups groups = GroupsOf(problem.kernels);
  const Index count = groups.num_groups();
  return {std::move(groups.group_of), count};
}

Vector FirstWeights(const MixedNormMklOptions& options, const TrainingProblem& problem) {
  const auto kernels = static_cast<Index>(problem.kernels.size());
  if (options.regularization == Regularization::kSum) {
    return Vector::Ones(kernels);
  }
  const SimplexGroups groups = GroupsFor(options, problem);
  Vector sizes = Vector::Zero(groups.num_groups);
  for (const Index group : groups.group_of) {
    sizes(group) += 1;
  }
  Vector weights(kernels);
  for (Index k = 0; k < kernels; ++k) {
    weights(k) =
        static_cast<double>(groups.num_groups) / sizes(groups.group_of[static_cast<size_t>(k)]);
  }
  return weights;
}

absl::StatusOr<double> CostFactor(const MixedNormMklOptions& options,
                                  const TrainingProblem& problem, const KernelFamily& family,
                                  RunContext& context) {
  if (options.cost_scale == CostScale::kPlain) {
    return 1.0;
  }
  const Vector weights = FirstWeights(options, problem);
  Matrix diagonal(family.size(), 1);
  double trace = 0;
  for (Index k = 0; k < family.num_kernels(); ++k) {
    MERCER_RETURN_IF_ERROR(family.Diagonals({k}, diagonal, context));
    trace += weights(k) * SumOfRows(diagonal.col(0));
  }
  if (!(trace > 0)) {
    return absl::InvalidArgumentError(
        "cost_scale=comparable: the kernels have the trace 0, of which no unit for C follows");
  }
  return static_cast<double>(family.size()) / trace;
}

}  // namespace mercer::mixed_norm_mkl
