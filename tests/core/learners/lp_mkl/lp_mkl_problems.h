// Problems and runs for the tests of lp_mkl.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "core/training/run/run_training.h"

namespace mercer::lp_mkl {

// Gram matrices as precomputed kernels over all rows; classification unless said otherwise;
// costs 1.
TrainingProblem GramProblem(const std::vector<Matrix>& grams, const Vector& targets);
// Gaussian kernels of the given bandwidths on the rows of `x`.
TrainingProblem GaussianProblem(const RowMatrix& x, const Vector& targets,
                                const std::vector<double>& bandwidths);
// exp(-|x - z|^2 / (2 bandwidth^2)).
Matrix GaussianGram(const RowMatrix& x, const RowMatrix& z, double bandwidth);

// Two overlapping clouds in `columns` dimensions with labels -1 and +1; the first columns matter.
struct Cloud {
  RowMatrix x;
  Vector labels;
};
Cloud OverlappingClouds(Index rows, Index columns, uint64_t seed);

struct Fit {
  TrainedPoint point;
  Certificate certificate;  // of the verifier
  StopReason stop_reason = StopReason::kConverged;

  Vector weights() const { return point.summary.kernel_weights.col(0); }
  Vector dual() const { return point.witness.tasks[0].dual.col(0); }
  double bias() const { return point.witness.tasks[0].bias(0); }
};

absl::StatusOr<Fit> Train(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap, int num_threads = 1);
// The same; a run that fails fails the test and is empty.
Fit MustTrain(const TrainingProblem& problem, const OptionValues& options, double relative_gap);

nlohmann::json ReadFixture(const std::string& name);
double FixtureNumber(const nlohmann::json& value);  // "inf" too
Vector FixtureVector(const nlohmann::json& values);
Matrix FixtureMatrix(const nlohmann::json& rows);

}  // namespace mercer::lp_mkl
