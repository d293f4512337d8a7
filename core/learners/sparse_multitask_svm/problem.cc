#include "core/learners/sparse_multitask_svm/problem.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/spec/normalization.h"
#include "core/solvers/multitask/column_kernels.h"
#include "core/training/contract/single_task.h"

namespace mercer::sparse_multitask_svm {
namespace {

constexpr double kMaxRisk = 1e120;  // energies are its square and more

// The columns of the layout at the rows of a task.
absl::StatusOr<Matrix> GatherColumns(const ColumnLayout& layout, const TaskData& task,
                                     RunContext& context) {
  const auto rows = static_cast<Index>(task.rows.size());
  Matrix values(rows, static_cast<Index>(layout.columns.size()));
  for (Index i = 0; i < rows; ++i) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (size_t c = 0; c < layout.columns.size(); ++c) {
      const auto& [block, column] = layout.columns[c];
      values(i, static_cast<Index>(c)) =
          task.inputs->blocks[static_cast<size_t>(block)].values.view()(
              task.rows[static_cast<size_t>(i)], column);
    }
  }
  return values;
}

absl::StatusOr<Vector> ScalesAt(const ColumnLayout& layout, const TaskData& rows,
                                const std::vector<KernelSpec>& kernels, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Matrix values, GatherColumns(layout, rows, context));
  std::vector<GramSums> sums(kernels.size(), GramSums{values.rows(), 0, 0});
  for (size_t c = 0; c < layout.block_of.size(); ++c) {
    const auto column = values.col(static_cast<Index>(c));
    GramSums& of_block = sums[static_cast<size_t>(layout.block_of[c])];
    const double total = SumOfRows(column);
    of_block.trace += SquaredNormOfRows(column);
    of_block.total += total * total;
  }
  Vector scales(static_cast<Index>(kernels.size()));
  for (size_t k = 0; k < kernels.size(); ++k) {
    const absl::StatusOr<double> factor = ScalingFactor(kernels[k].normalization.scaling, sums[k]);
    if (!factor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernels[", k, "]: ", std::string(factor.status().message())));
    }
    scales(static_cast<Index>(k)) = *factor;
  }
  return scales;
}

}  // namespace

std::vector<Index> ColumnLayout::Inputs(const PreparedData& inputs) const {
  std::vector<Index> begin = {0};
  for (const PreparedBlock& block : inputs.blocks) {
    begin.push_back(begin.back() + block.values.cols());
  }
  std::vector<Index> places;
  for (const auto& [block, column] : columns) {
    places.push_back(begin[static_cast<size_t>(block)] + column);
  }
  return places;
}

absl::StatusOr<std::optional<ColumnLayout>> FindColumns(const TrainingProblem& problem) {
  ColumnLayout layout;
  std::set<std::pair<Index, Index>> seen;
  const SourceFinder finder(*problem.tasks[0].inputs);
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    const KernelSpec& kernel = problem.kernels[k];
    if (kernel.type != KernelType::kLinear || kernel.normalization.unit_diagonal) {
      return std::optional<ColumnLayout>();
    }
    MERCER_ASSIGN_OR_RETURN(const KernelSource source, finder.Find(kernel));
    for (const auto& column : source.columns) {
      if (!seen.insert(column).second) {
        return std::optional<ColumnLayout>();
      }
      layout.columns.push_back(column);
      layout.block_of.push_back(static_cast<Index>(k));
    }
  }
  return std::optional<ColumnLayout>(std::move(layout));
}

absl::StatusOr<Vector> SharedScales(const SparseMultitaskSvmOptions& options,
                                    const TrainingProblem& problem,
                                    const std::optional<ColumnLayout>& layout,
                                    RunContext& context) {
  if (options.normalization_scope == NormalizationScope::kTask) {
    return Vector();
  }
  std::set<Index> rows;  // of which classes that are tasks have the same
  for (const TaskData& task : problem.tasks) {
    rows.insert(task.rows.begin(), task.rows.end());
  }
  TaskData all;
  all.inputs = problem.tasks[0].inputs;
  all.rows.assign(rows.begin(), rows.end());
  if (layout.has_value()) {
    return ScalesAt(*layout, all, problem.kernels, context);
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeExactKernelFamily(all.inputs, all.rows, problem.kernels, context));
  return family->scales();
}

absl::StatusOr<Vector> ScalesOfColumns(const ColumnLayout& layout, const Vector& shared,
                                       const TaskData& task, const std::vector<KernelSpec>& kernels,
                                       RunContext& context) {
  if (shared.size() > 0) {
    return shared;
  }
  absl::StatusOr<Vector> scales = ScalesAt(layout, task, kernels, context);
  MERCER_RETURN_IF_ERROR(InTask(task, scales.status()));
  return scales;
}

absl::StatusOr<std::unique_ptr<KernelFamily>> KernelsOfTask(const TaskData& task,
                                                            const Vector& shared,
                                                            const std::vector<KernelSpec>& kernels,
                                                            RunContext& context) {
  return shared.size() > 0 ? MakeExactKernelFamily(task.inputs, task.rows, kernels, shared, context)
                           : MakeExactKernelFamily(task.inputs, task.rows, kernels, context);
}

absl::Status CheckOptions(const SparseMultitaskSvmOptions& options,
                          const TrainingProblem& problem) {
  FieldViolations violations;
  violations.Check(options.sharing == Sharing::kJoint || options.q == 2, "q",
                   "is for sharing=joint: of a task alone all exponents are the same");
  const bool selects = options.p <= 1 && options.q == 2;
  const bool joint = options.p == 1 && options.q == 2 && options.form == Form::kSquared;
  const size_t kernels = problem.kernels.size();
  violations.Check(options.p >= 1 || options.q == 2, "p", "below 1 it is for q=2");
  violations.Check(options.form == Form::kSquared || selects, "form",
                   "plain is for p at most 1 and q=2");
  switch (options.method) {
    case Method::kAuto:
      break;
    case Method::kInteriorPoint:
      violations.Check(selects, "method", "interior_point is for p at most 1 and q=2");
      break;
    case Method::kClosedForm:
      violations.Check(options.p >= 1, "method", "closed_form is for p from 1 on");
      break;
    case Method::kCoordinateDescent:
      violations.Check(options.p >= 1, "method", "coordinate_descent is for p from 1 on");
      break;
    case Method::kNewton:
      violations.Check(joint, "method", "newton is for p=1, q=2 and form=squared");
      break;
    case Method::kReducedGradient:
      violations.Check(joint, "method", "reduced_gradient is for p=1, q=2 and form=squared");
      break;
  }
  if (!options.block_weights.empty()) {
    violations.Check(options.p >= 1, "block_weights", "is for p from 1 on");
    violations.Check(options.block_weights.size() == kernels, "block_weights",
                     absl::StrCat("must have one factor for each of the ", kernels,
                                  " kernels, has ", options.block_weights.size()));
  }
  double costs = 0;
  for (const TaskData& task : problem.tasks) {
    costs += SumOfRows(task.costs);
  }
  violations.Check(options.C * costs <= kMaxRisk, "C",
                   absl::StrCat("is ", options.C, ", too large: sums of squares overflow"));
  return violations.ToStatus();
}

Vector CostFactors(const SparseMultitaskSvmOptions& options, const TrainingProblem& problem) {
  const auto tasks = static_cast<Index>(problem.tasks.size());
  Vector factors = Vector::Constant(tasks, options.C);
  if (options.task_weighting == TaskWeighting::kRows) {
    return factors;
  }
  Vector sums(tasks);
  for (Index t = 0; t < tasks; ++t) {
    sums(t) = SumOfRows(problem.tasks[static_cast<size_t>(t)].costs);
  }
  return factors.array() * sums.mean() / sums.array();
}

absl::StatusOr<TaskNorm> NormOf(const SparseMultitaskSvmOptions& options) {
  const std::vector<double>& factors = options.block_weights;
  Vector weights = Eigen::Map<const Vector>(factors.data(), static_cast<Index>(factors.size()));
  return TaskNorm::Make(
      options.form == Form::kPlain ? TaskNormForm::kPlain : TaskNormForm::kSquared,
      std::max(options.p, 1.0), options.q, std::move(weights));
}

absl::StatusOr<PreparedProblem> PrepareProblem(const SparseMultitaskSvmOptions& options,
                                               const TrainingProblem& problem,
                                               RunContext& context) {
  PreparedProblem prepared;
  MERCER_ASSIGN_OR_RETURN(prepared.problem.norm, NormOf(options));
  MERCER_ASSIGN_OR_RETURN(prepared.problem.loss, MakeLoss(LossKind::kHinge));
  MERCER_ASSIGN_OR_RETURN(prepared.layout, FindColumns(problem));
  std::shared_ptr<const ColumnBlocks> blocks;
  if (prepared.layout.has_value()) {
    blocks = std::make_shared<const ColumnBlocks>(prepared.layout->block_of);
  }
  MERCER_ASSIGN_OR_RETURN(const Vector shared,
                          SharedScales(options, problem, prepared.layout, context));
  const auto kernels = static_cast<Index>(problem.kernels.size());
  prepared.scales.resize(static_cast<Index>(problem.tasks.size()), kernels);
  const Vector costs = CostFactors(options, problem);
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    const TaskData& task = problem.tasks[t];
    MultitaskTask& of_problem = prepared.problem.tasks.emplace_back();
    of_problem.targets = task.targets.col(0);
    of_problem.costs = costs(static_cast<Index>(t)) * task.costs;
    if (blocks == nullptr) {
      MERCER_ASSIGN_OR_RETURN(of_problem.blocks,
                              KernelsOfTask(task, shared, problem.kernels, context));
      prepared.scales.row(static_cast<Index>(t)) = of_problem.blocks->scales().transpose();
      continue;
    }
    MERCER_ASSIGN_OR_RETURN(const Vector scales, ScalesOfColumns(*prepared.layout, shared, task,
                                                                 problem.kernels, context));
    prepared.scales.row(static_cast<Index>(t)) = scales.transpose();
    MERCER_ASSIGN_OR_RETURN(Matrix values, GatherColumns(*prepared.layout, task, context));
    for (Index c = 0; c < values.cols(); ++c) {
      values.col(c) *= std::sqrt(scales(blocks->BlockOf(c)));
    }
    of_problem.blocks = std::make_shared<const ColumnKernels>(
        std::make_shared<const Matrix>(std::move(values)), blocks);
  }
  return prepared;
}

}  // namespace mercer::sparse_multitask_svm
