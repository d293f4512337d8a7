// Problems and runs for the tests of sparse_multitask_svm.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include <nlohmann/json.hpp>

#include "core/data/table/dataset.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/run_training.h"

namespace mercer::sparse_multitask_svm {

// A fixture file as a problem of the learner: blocks are linear kernels of columns, or matrices.
struct FixtureProblem {
  TrainingProblem problem;
  OptionValues options;
  std::vector<PreparedData> tests;  // of columns, the rows to predict of each task
};
nlohmann::json ReadSparseFixture(const std::string& name);
FixtureProblem ReadSparseProblem(const nlohmann::json& fixture);

// Tasks "task 1", "task 2", ... of these columns, in blocks.
TrainingProblem ColumnProblem(const std::vector<Matrix>& inputs, const std::vector<Index>& block_of,
                              const std::vector<Vector>& targets);
// Of the problem one task alone.
TrainingProblem OneTask(const TrainingProblem& problem, size_t task);

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem, const OptionValues& options,
                                      double relative_gap,
                                      const std::string& learner = "sparse_multitask_svm");
// The same; a run that fails fails the test and is empty.
TrainingOutcome MustTrain(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap, const std::string& learner = "sparse_multitask_svm");

// Joint norms of the blocks.
Vector BlockNorms(const ModelSummary& summary);
// Values of all outputs.
Matrix ValuesOf(const ModelFunction& function, const PreparedData& rows);

// Rows of three subjects in turn, of which the columns x1 and x2 alone tell the classes apart, by
// signs of their own for each subject.
Dataset SubjectData(Index rows, Index columns, uint64_t seed);
absl::StatusOr<TrainedModel> TrainRecipe(const TrainingRecipe& recipe, const Dataset& dataset,
                                         const std::string& learner = "sparse_multitask_svm");
// Of a model of several tasks for rows that say theirs. What fails, fails the test.
Prediction MustPredict(const Model& model, const Dataset& rows);

}  // namespace mercer::sparse_multitask_svm
