#include "core/training/contract/single_task.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_errors.h"

namespace mercer {
namespace {

constexpr double kMaxRisk = 1e300;
// The largest slope of losses whose duals grow with the slope: squares of such numbers are finite.
constexpr double kMaxSlope = 1e140;

// An error about one row, which is named as in the data set, of which a task may hold some rows
// only.
absl::Status RowError(const TaskData& task, Index i, std::string_view reason,
                      std::string_view message) {
  const Index row = task.rows[static_cast<size_t>(i)];
  const Index number = (task.inputs == nullptr ? row : task.inputs->RowNumber(row)) + 1;
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("row ", number, ": ", std::string(message))), reason,
      {{"row", absl::StrCat(number)}});
}

absl::Status CheckRow(const TaskData& task, Index row, bool classification) {
  for (Index output = 0; output < task.targets.cols(); ++output) {
    const double target = task.targets(row, output);
    if (!std::isfinite(target) || (classification && std::abs(target) != 1.0)) {
      return RowError(
          task, row, "BAD_LABEL",
          absl::StrCat("the target ", target, " is not ", classification ? "-1 or +1" : "finite"));
    }
  }
  if (!(task.costs(row) >= 0) || !std::isfinite(task.costs(row))) {
    return RowError(task, row, "BAD_WEIGHT",
                    absl::StrCat("the cost ", task.costs(row), " must be >= 0 and finite"));
  }
  return absl::OkStatus();
}

absl::Status NoRows() {
  return WithReason(absl::InvalidArgumentError("there are no training rows"), "NO_ROWS");
}

absl::Status CheckRowsOf(const TaskData& task, TargetKind kind) {
  if (task.rows.empty()) {
    return NoRows();
  }
  const auto rows = static_cast<Index>(task.rows.size());
  if (task.targets.rows() != rows || task.targets.cols() < 1 || task.costs.size() != rows) {
    return absl::InvalidArgumentError("targets and costs must have one entry per training row");
  }
  for (Index i = 0; i < rows; ++i) {
    MERCER_RETURN_IF_ERROR(CheckRow(task, i, kind == TargetKind::kClassification));
  }
  if (!(task.costs.array() > 0).any()) {
    return WithReason(absl::InvalidArgumentError("all training rows have weight 0"), "NO_ROWS");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InTask(const TaskData& task, const absl::Status& status) {
  if (status.ok() || task.name.empty()) {
    return status;
  }
  ErrorMetadata metadata = GetErrorMetadata(status);
  metadata.emplace_back("task", task.name);
  return WithReason(
      absl::Status(status.code(), absl::StrCat("task '", task.name, "': ", status.message())),
      GetReason(status), metadata);
}

absl::Status CheckTaskRows(const TrainingProblem& problem) {
  if (problem.tasks.empty()) {
    return NoRows();
  }
  for (const TaskData& task : problem.tasks) {
    MERCER_RETURN_IF_ERROR(InTask(task, CheckRowsOf(task, problem.kind)));
    if (problem.tasks.size() > 1 &&
        (task.inputs != problem.tasks[0].inputs || task.targets.cols() != 1)) {
      return InTask(task, absl::InvalidArgumentError(
                              "several tasks must have rows of one table and one output each"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRowsAndKernels(const TrainingProblem& problem) {
  MERCER_RETURN_IF_ERROR(CheckTaskRows(problem));
  FieldViolations violations;
  violations.Check(!problem.kernels.empty(), "kernels", "at least one kernel is needed");
  return violations.ToStatus();
}

absl::Status CheckBothClasses(const ConstMatrixRef& targets, const ConstVectorRef& costs) {
  for (Index output = 0; output < targets.cols(); ++output) {
    const auto has = [&](double label) {
      return (targets.col(output).array() == label && costs.array() > 0).any();
    };
    if (!(has(1.0) && has(-1.0))) {
      return WithReason(absl::InvalidArgumentError("rows of weight > 0 of both classes are needed"),
                        "ONE_CLASS");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SvmProblem> ReadSvmProblem(const TrainingProblem& problem,
                                          std::shared_ptr<const Loss> loss, double C) {
  MERCER_RETURN_IF_ERROR(CheckRowsAndKernels(problem));
  const TaskData& task = problem.tasks[0];
  const bool classification = problem.kind == TargetKind::kClassification;
  SvmProblem svm{std::move(loss), task.targets.col(0), C * task.costs};
  const double largest_target = std::max(1.0, svm.targets.lpNorm<Eigen::Infinity>());
  FieldViolations violations;
  const double total_cost = SumOfRows(svm.costs);
  const double largest_cost =
      svm.loss->is_piecewise_linear() ? kMaxRisk / largest_target : kMaxSlope / largest_target;
  if (!(total_cost <= largest_cost)) {
    violations.Add(
        "C", absl::StrCat("is ", C, ", too large: the sum of the losses of the rows overflows"));
  } else if (svm.loss->epsilon() > kMaxRisk / std::max(1.0, total_cost)) {
    violations.Add("epsilon", absl::StrCat("is ", svm.loss->epsilon(),
                                           ", too large: its sum over the rows overflows"));
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  if (classification) {
    MERCER_RETURN_IF_ERROR(CheckBothClasses(svm.targets, svm.costs));
  }
  return svm;
}

absl::StatusOr<SvmProblem> ReadSvmProblem(const TrainingProblem& problem, double C,
                                          double epsilon) {
  const bool classification = problem.kind == TargetKind::kClassification;
  MERCER_ASSIGN_OR_RETURN(
      std::unique_ptr<Loss> loss,
      MakeLoss(classification ? LossKind::kHinge : LossKind::kEpsilonInsensitive, epsilon));
  return ReadSvmProblem(problem, std::move(loss), C);
}

namespace {

ExactFamilyShape FamilyOf(const ProblemShape& shape) {
  return {.rows = shape.rows,
          .kernels = shape.kernels,
          .unit_diagonals = shape.unit_diagonals,
          .stored_sources = shape.sources,
          .recomputed_sources = shape.recomputed_sources,
          .columns = shape.source_columns};
}

}  // namespace

std::vector<SvmProblem> MakeMachines(const TaskData& task, const std::shared_ptr<const Loss>& loss,
                                     double C) {
  std::vector<SvmProblem> machines;
  for (Index o = 0; o < task.targets.cols(); ++o) {
    SvmProblem& machine =
        machines.emplace_back(SvmProblem{loss, task.targets.col(o), C * task.costs});
    for (Index i = 0; i < machine.targets.size(); ++i) {
      if (machine.targets(i) == 0) {
        machine.targets(i) = 1;
        machine.costs(i) = 0;
      }
    }
  }
  return machines;
}

ByteCount LearnerFamilyBytes(const ProblemShape& shape) {
  return ByteCount(ExactKernelFamilyBytes(FamilyOf(shape)));
}

ByteCount VerifierFamilyBytes(const ProblemShape& shape) {
  return ByteCount(ExactKernelSourceBytes(FamilyOf(shape)));
}

double CountPairs(const ProblemShape& shape) {
  return 0.5 * static_cast<double>(shape.rows) * static_cast<double>(shape.rows);
}

double CountPassValues(const ProblemShape& shape, double kernels) {
  // A pass over few rows costs as much for each kernel as one over so many pairs.
  constexpr double kLeastPairs = 2500;
  return std::max(CountPairs(shape), kLeastPairs) *
         (kernels + static_cast<double>(shape.recomputed_sources));
}

WorkCount KernelSumWork(const ProblemShape& shape) {
  WorkCount work;
  work[WorkKind::kFamilies] = 1;
  work[WorkKind::kKernelValues] = CountPassValues(shape, static_cast<double>(shape.kernels));
  work[WorkKind::kEntries] = 2 * CountPairs(shape);
  return work;
}

LearnerWork SharedSumWork(const ProblemShape& shape) {
  LearnerWork work;
  work.shared = KernelSumWork(shape);
  work.verification[WorkKind::kFamilies] = 1;
  work.verification[WorkKind::kReads] = 2 * CountPairs(shape);
  return work;
}

double SupportShare(const ProblemShape& shape) {
  return 0.3 + 0.7 * std::min(1.0, 3 / static_cast<double>(shape.classes_against_rest));
}

WorkCount SmoWork(const ProblemShape& shape, double C, double largest_entry) {
  // Iterations per row, a fit to Gaussian kernels on noisy classes, C = 0.01 .. 1000: as many as
  // rows near the margin, and nearly in proportion to C once it is large. Every further digit of
  // the gap costs a third more.
  const double digits = std::clamp(-std::log10(shape.relative_gap), 1.0, 12.0);
  const double per_row = (0.5 + 0.15 * std::pow(C * largest_entry, 0.8)) * digits / 3;
  // Most iterations look at the samples that are not shrunk.
  constexpr double kActiveShare = 0.4;
  const double rows = static_cast<double>(shape.rows);
  WorkCount work;
  // The count is at most what the solver allows.
  work[WorkKind::kPairSteps] =
      std::min(per_row * rows, std::max(1e7, 100 * rows)) * rows * kActiveShare;
  // Columns as float, which are half as large, in the order of the samples under work, of about as
  // many samples as are active; products for the certificates.
  work[WorkKind::kEntries] = 0.5 * CountPairs(shape);
  work[WorkKind::kReads] = 2 * CountPairs(shape);
  // Iterations are about the rows near the margin, and read the columns of these among them.
  work *= SupportShare(shape) * SupportShare(shape);
  return work;
}

double FractionOfGap(double accuracy, double relative_gap) {
  const double goal = std::log(std::min(0.5, relative_gap));
  return std::isfinite(accuracy) ? std::clamp(std::log(std::max(accuracy, 1e-300)) / goal, 0.0, 1.0)
                                 : 0.0;
}

Vector CarriedDual(const TrainingProblem& problem, const WarmStart* warm_start) {
  if (warm_start == nullptr || warm_start->point == nullptr || warm_start->problem == nullptr ||
      warm_start->point->witness.tasks.empty() || warm_start->problem->tasks.empty()) {
    return {};
  }
  const std::vector<Index>& old_rows = warm_start->problem->tasks[0].rows;
  const Matrix& old_dual = warm_start->point->witness.tasks[0].dual;
  if (old_dual.cols() != 1 || old_dual.rows() != static_cast<Index>(old_rows.size())) {
    return {};
  }
  std::map<Index, double> by_row;
  for (size_t i = 0; i < old_rows.size(); ++i) {
    by_row[old_rows[i]] = old_dual(static_cast<Index>(i), 0);
  }
  const std::vector<Index>& rows = problem.tasks[0].rows;
  Vector dual = Vector::Zero(static_cast<Index>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto found = by_row.find(rows[i]);
    dual(static_cast<Index>(i)) = found == by_row.end() ? 0.0 : found->second;
  }
  return dual;
}

Vector CarriedWeights(const Vector& first, const WarmStart* warm_start) {
  const Matrix* weights = warm_start == nullptr || warm_start->point == nullptr
                              ? nullptr
                              : warm_start->point->witness.FindArray("weights");
  if (weights == nullptr || weights->rows() != first.size() || weights->cols() != 1 ||
      !weights->allFinite()) {
    return {};
  }
  Vector mixed = 0.99 * weights->col(0) + 0.01 * first;
  const bool usable = mixed.minCoeff() >= 0 && mixed.maxCoeff() > 0;
  return usable ? mixed : Vector();
}

TrainedPoint MakeConstantPoint(const TrainingProblem& problem, ConstVectorRef weights,
                               double bias) {
  TrainedPoint point;
  point.function.bias = Vector::Constant(1, bias);
  point.witness.tasks.push_back(
      {Vector::Zero(problem.tasks[0].targets.rows()), point.function.bias});
  point.summary.SetKernels(problem.kernels);
  point.summary.kernel_weights = weights;
  return point;
}

TrainedPoint MakeKernelSumPoint(const TrainingProblem& problem, ConstVectorRef scales,
                                const Vector& dual, double bias) {
  const TaskData& task = problem.tasks[0];
  TrainedPoint point;
  point.function = MakeKernelFunction(*task.inputs, task.rows, problem.kernels, scales, dual, bias);
  point.witness.tasks.push_back({dual, Vector::Constant(1, bias)});
  point.summary.SetKernels(problem.kernels);
  point.summary.kernel_weights = Matrix::Ones(static_cast<Index>(problem.kernels.size()), 1);
  point.summary.num_support_vectors = (dual.array() != 0).count();
  return point;
}

absl::StatusOr<SingleTaskPoint> ReadSingleTaskPoint(const TrainingProblem& problem,
                                                    const Witness& witness) {
  const auto rows = static_cast<Index>(problem.tasks[0].rows.size());
  if (witness.tasks.size() != 1 || witness.tasks[0].dual.rows() != rows ||
      witness.tasks[0].dual.cols() != 1 || witness.tasks[0].bias.size() != 1 ||
      !witness.tasks[0].dual.allFinite() || !witness.tasks[0].bias.allFinite()) {
    return absl::FailedPreconditionError("the witness holds no dual variables of these rows");
  }
  return SingleTaskPoint{witness.tasks[0].dual.col(0), witness.tasks[0].bias(0)};
}

absl::StatusOr<double> LargestEntry(const KernelFamily& family, ConstVectorRef weights,
                                    RunContext& context) {
  Vector total = Vector::Zero(family.size());
  Matrix diagonal(family.size(), 1);
  for (Index k = 0; k < family.num_kernels(); ++k) {
    if (weights(k) != 0) {
      MERCER_RETURN_IF_ERROR(family.Diagonals({k}, diagonal, context));
      total += weights(k) * diagonal.col(0);
    }
  }
  return total.maxCoeff();
}

absl::Status NotPsdError(const TrainingProblem& problem) {
  const std::string subject =
      problem.kernels.size() == 1 ? KernelText(0, problem.kernels[0]) : "the sum of the kernels";
  const absl::Status error =
      absl::InvalidArgumentError(absl::StrCat(subject, " is not positive semidefinite"));
  const bool given =
      std::any_of(problem.kernels.begin(), problem.kernels.end(),
                  [](const KernelSpec& kernel) { return kernel.type == KernelType::kPrecomputed; });
  return given ? WithReason(error, "NOT_PSD", {{"remedy", "preprocessing.square_repair"}})
               : WithReason(error, "NOT_PSD");
}

absl::Status CheckSquaredNorms(const TrainingProblem& problem, ConstMatrixRef duals,
                               ConstVectorRef squared_norms, double largest) {
  for (Index j = 0; j < duals.cols(); ++j) {
    if (squared_norms(j) < -1e-8 * SquaredNormOfRows(duals.col(j)) * largest) {
      return NotPsdError(problem);
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
