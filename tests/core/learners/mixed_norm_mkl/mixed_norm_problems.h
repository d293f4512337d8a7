// Problems and runs for the tests of mixed_norm_mkl.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "core/training/run/run_training.h"

namespace mercer::mixed_norm_mkl {

// A fixture of one binary problem. Kernels enter as precomputed Gram matrices, made here by
// explicit formulas; their normalisation is the learner's.
struct FixtureProblem {
  TrainingProblem problem;
  OptionValues options;
  std::vector<Matrix> grams;       // not normalised
  std::vector<Matrix> test_grams;  // test rows x training rows; empty without test rows
};

nlohmann::json ReadMixedFixture(const std::string& name);
FixtureProblem ReadMixedProblem(const nlohmann::json& inputs);

// Of the targets that the loss of this name is for.
TargetKind KindOfLoss(const std::string& loss);

// Grams in groups named "g0", "g1", ...; costs 1.
TrainingProblem GroupedProblem(const std::vector<Matrix>& grams, const std::vector<int>& groups,
                               const Vector& targets);
// Unit-trace Gaussian kernels of `widths` on each of `groups` pairs of columns, of which only the
// first two matter; two overlapping classes, the signs of the numbers.
struct RandomKernels {
  std::vector<Matrix> grams;
  std::vector<int> groups;
  Vector targets;
  Vector numbers;
};
RandomKernels MakeRandomKernels(Index rows, int groups, const std::vector<double>& widths,
                                uint64_t seed);

struct Fit {
  TrainedPoint point;
  Certificate certificate;  // of the verifier
  StopReason stop_reason = StopReason::kConverged;

  Vector weights() const { return point.summary.kernel_weights.col(0); }
  Vector dual() const { return point.witness.tasks[0].dual.col(0); }
  double bias() const { return point.witness.tasks[0].bias(0); }
  double objective() const { return 0.5 * (certificate.primal + certificate.dual); }
};

absl::StatusOr<Fit> Train(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap);
// The same; a run that fails fails the test and is empty.
Fit MustTrain(const TrainingProblem& problem, const OptionValues& options, double relative_gap);

// a'K_k a for every kernel.
Vector EnergiesOf(const std::vector<Matrix>& grams, const Vector& dual);

// f + bias on rows, for Gram matrices that are normalised.
Vector DecisionOf(const Fit& fit, const std::vector<Matrix>& rows);

}  // namespace mercer::mixed_norm_mkl
