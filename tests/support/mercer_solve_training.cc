#include "tests/support/mercer_solve_training.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/registry.h"
#include "core/training/model/predictor.h"
#include "core/training/run/run_training.h"

namespace mercer::solve {
namespace {

TrainingProblem MakeProblem(PreparedData inputs, const Vector& targets) {
  TrainingProblem problem;
  TaskData& task = problem.tasks.emplace_back();
  task.rows = IndexRange(0, inputs.rows);
  task.targets = targets;
  task.costs = Vector::Ones(targets.size());
  task.inputs = std::make_shared<const PreparedData>(std::move(inputs));
  return problem;
}

}  // namespace

PreparedData SquareData(const std::vector<Matrix>& grams) {
  PreparedData data;
  for (size_t k = 0; k < grams.size(); ++k) {
    data.rows = grams[k].rows();
    data.squares.push_back(
        {absl::StrCat(k), SquareKind::kKernel, SharedMatrix(RowMatrix(grams[k]))});
  }
  return data;
}

PreparedData FeatureData(const Matrix& values) {
  PreparedData data;
  data.rows = values.rows();
  PreparedBlock& block = data.blocks.emplace_back();
  block.name = std::string(kDefaultBlock);
  for (Index j = 0; j < values.cols(); ++j) {
    block.sources.push_back(absl::StrCat("x", j + 1));
  }
  block.values = SharedMatrix(RowMatrix(values));
  return data;
}

TrainingProblem GramProblem(const std::vector<Matrix>& grams, const Vector& targets) {
  TrainingProblem problem = MakeProblem(SquareData(grams), targets);
  for (size_t k = 0; k < grams.size(); ++k) {
    KernelSpec& kernel = problem.kernels.emplace_back();
    kernel.type = KernelType::kPrecomputed;
    kernel.block = absl::StrCat(k);
  }
  return problem;
}

TrainingProblem GaussianProblem(const Matrix& values, const Vector& bandwidths,
                                const Vector& targets) {
  TrainingProblem problem = MakeProblem(FeatureData(values), targets);
  for (const double bandwidth : bandwidths) {
    problem.kernels.emplace_back().bandwidth = bandwidth;
  }
  return problem;
}

absl::StatusOr<Solution> Train(const std::string& learner, const OptionValues& options,
                               TrainingProblem& problem, double relative_gap) {
  const LearnerEntry* entry = FindLearner(learner);
  if (entry == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no learner '", learner, "'"));
  }
  problem.relative_gap = relative_gap;
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> run, entry->create(options));
  RunLimits limits;
  limits.relative_gap = relative_gap;
  RunContext context;
  QuietObserver observer;
  MERCER_ASSIGN_OR_RETURN(TrainingOutcome outcome, RunTraining(*entry, options, *run, problem,
                                                               limits, {}, context, observer));
  return Solution{std::move(outcome.point), std::move(outcome.certificate),
                  std::move(outcome.metrics)};
}

absl::StatusOr<Coded> TrainCoded(TrainingRecipe recipe, const Dataset& dataset,
                                 const Dataset& test) {
  recipe.preprocessing.scaling = Scaling::kNone;
  RunContext context;
  QuietObserver observer;
  const RecipeRun run{FindLearner(recipe.learner), &recipe, &dataset, "", "mercer-solve"};
  MERCER_ASSIGN_OR_RETURN(TrainedModel trained, RunRecipe(run, {}, context, observer));
  Coded coded{std::move(trained.model), {}};
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                          Predictor::Make(std::make_shared<const Model>(coded.model)));
  MERCER_ASSIGN_OR_RETURN(coded.test, predictor->Predict(test, {}, context));
  return coded;
}

absl::StatusOr<Vector> DecisionValues(const ModelFunction& function, const PreparedData& rows) {
  auto model = std::make_shared<Model>();
  model->function = function;
  if (!rows.squares.empty()) {
    model->num_square_columns = rows.squares[0].values.cols();
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                          Predictor::Make(std::move(model)));
  RunContext context;
  MERCER_ASSIGN_OR_RETURN(const Prediction prediction,
                          predictor->PredictPrepared(rows, {}, context));
  return Vector(prediction.decision_values.col(0));
}

absl::StatusOr<Vector> Energies(const TrainingProblem& problem, const Vector& dual) {
  RunContext context;
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context));
  Matrix energies(family->num_kernels(), 1);
  MERCER_RETURN_IF_ERROR(family->QuadraticForms(dual, {}, energies, context));
  return Vector(energies.col(0).cwiseMax(0.0));
}

}  // namespace mercer::solve
