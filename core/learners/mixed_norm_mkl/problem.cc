#include "core/learners/mixed_norm_mkl/problem.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/objectives/mixed_norm.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/split_outputs.h"

namespace mercer::mixed_norm_mkl {
namespace {

// Beyond, squares of scores and of violations are out of range.
constexpr double kLargestTrace = 1e140;

}  // namespace

SimplexGroups GroupsFor(const MixedNormMklOptions& options, const TrainingProblem& problem) {
  if (options.regularization != Regularization::kMixedNorm) {
    return {std::vector<Index>(problem.kernels.size(), 0), 1};
  }
  KernelGroups groups = GroupsOf(problem.kernels);
  const Index count = groups.num_groups();
  return {std::move(groups.group_of), count};
}

std::vector<MachineRows> MachinesOf(const TrainingProblem& problem) {
  std::vector<MachineRows> machines;
  const Index outputs = problem.tasks.empty() ? 0 : problem.tasks[0].targets.cols();
  for (Index output = 0; output < outputs && outputs > 1; ++output) {
    machines.push_back(RowsOfOutput(problem, output));
  }
  return machines;
}

absl::StatusOr<SvmProblem> ReadMachines(const TrainingProblem& problem,
                                        const std::vector<MachineRows>& machines,
                                        std::shared_ptr<const Loss> loss, double C) {
  if (machines.empty()) {
    return ReadSvmProblem(problem, std::move(loss), C);
  }
  SvmProblem all{loss, Vector(problem.num_samples()), Vector(problem.num_samples())};
  Index first = 0;
  for (size_t m = 0; m < machines.size(); ++m) {
    const TrainingProblem part = Narrow(problem, machines[m], static_cast<Index>(m));
    MERCER_ASSIGN_OR_RETURN(const SvmProblem one, ReadSvmProblem(part, loss, C));
    all.targets.segment(first, one.targets.size()) = one.targets;
    all.costs.segment(first, one.targets.size()) = one.costs;
    first += one.targets.size();
  }
  return all;
}

Vector FirstWeights(const MixedNormMklOptions& options, const TrainingProblem& problem) {
  if (options.regularization == Regularization::kSum) {
    return Vector::Ones(static_cast<Index>(problem.kernels.size()));
  }
  return MixedNorm(GroupsFor(options, problem), 0).Uniform();
}

absl::StatusOr<Vector> TracesOf(const KernelFamily& family, RunContext& context) {
  Matrix diagonal(family.size(), 1);
  Vector traces(family.num_kernels());
  for (Index k = 0; k < family.num_kernels(); ++k) {
    MERCER_RETURN_IF_ERROR(family.Diagonals({k}, diagonal, context));
    traces(k) = SumOfRows(diagonal.col(0));
  }
  return traces;
}

absl::Status CheckGroups(const MixedNormMklOptions& options, const TrainingProblem& problem,
                         const Vector& traces) {
  for (Index k = 0; k < traces.size(); ++k) {
    if (!(std::abs(traces(k)) <= kLargestTrace)) {
      const auto place = static_cast<size_t>(k);
      return NameKernel(place, problem.kernels[place],
                        absl::InvalidArgumentError(absl::StrCat(
                            "its trace at the training rows is ", traces(k), ", more than ",
                            kLargestTrace, ": rescale it, as scaling=trace does")));
    }
  }
  if (!(traces.cwiseAbs().maxCoeff() > 0)) {
    return absl::InvalidArgumentError("every kernel is 0 at the training rows");
  }
  if (options.regularization != Regularization::kMixedNorm) {
    return absl::OkStatus();
  }
  const KernelGroups groups = GroupsOf(problem.kernels);
  std::vector<double> largest(groups.names.size(), 0.0);
  for (size_t k = 0; k < groups.group_of.size(); ++k) {
    double& of_group = largest[static_cast<size_t>(groups.group_of[k])];
    of_group = std::max(of_group, std::abs(traces(static_cast<Index>(k))));
  }
  for (size_t j = 0; j < largest.size(); ++j) {
    if (!(largest[j] > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "every kernel of the group \"", groups.names[j],
          "\" is 0 at the training rows: the mixed norm uses every group, so leave it out"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CostFactor(const MixedNormMklOptions& options,
                                  const TrainingProblem& problem, const Vector& traces) {
  if (options.cost_scale == CostScale::kPlain) {
    return 1.0;
  }
  const double trace = FirstWeights(options, problem).dot(traces);
  if (!(trace > 0)) {
    return absl::InvalidArgumentError(
        "cost_scale=comparable: the kernels have the trace 0, of which no unit for C follows");
  }
  return static_cast<double>(problem.tasks[0].rows.size()) / trace;
}

}  // namespace mercer::mixed_norm_mkl
