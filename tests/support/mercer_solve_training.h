// Training and evaluation as the kinds of mercer-solve share them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/status/options.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"
#include "core/training/model/certificate.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/run_training.h"

namespace mercer::solve {

// Precomputed kernels (test rows x training rows) as square blocks named "0", "1", ...
PreparedData SquareData(const std::vector<Matrix>& grams);
// A dense block.
PreparedData FeatureData(const Matrix& values);

// Binary classification on all rows of `inputs`, unit costs. Precomputed kernels 0 .. m - 1, or
// Gaussians of the bandwidths.
TrainingProblem GramProblem(const std::vector<Matrix>& grams, const Vector& targets);
TrainingProblem GaussianProblem(const Matrix& values, const Vector& bandwidths,
                                const Vector& targets);

// Nobody watches a run of mercer-solve.
class QuietObserver : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& /*event*/) override {}
};

struct Solution {
  TrainedPoint point;
  Certificate certificate;
  std::vector<Metric> metrics;
};

// By the learner of that name, to `relative_gap` as verified.
absl::StatusOr<Solution> Train(const std::string& learner, const OptionValues& options,
                               TrainingProblem& problem, double relative_gap);

// A run of the whole path from a data set to a model, without scaling, and what the model says of
// test rows.
struct Coded {
  Model model;
  Prediction test;
};
absl::StatusOr<Coded> TrainCoded(TrainingRecipe recipe, const Dataset& dataset,
                                 const Dataset& test);

// f(x) + bias of one-output functions, by the evaluator of models.
absl::StatusOr<Vector> DecisionValues(const ModelFunction& function, const PreparedData& rows);

// dual'K_k dual of every kernel.
absl::StatusOr<Vector> Energies(const TrainingProblem& problem, const Vector& dual);

}  // namespace mercer::solve
