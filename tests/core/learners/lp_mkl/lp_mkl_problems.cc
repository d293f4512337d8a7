#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"

namespace mercer::lp_mkl {

TrainingProblem GramProblem(const std::vector<Matrix>& grams, const Vector& targets) {
  return PrecomputedProblem(TargetKind::kClassification, grams, targets);
}

TrainingProblem GaussianProblem(const RowMatrix& x, const Vector& targets,
                                const std::vector<double>& bandwidths) {
  return MakeProblem(TargetKind::kClassification, x, targets, bandwidths);
}

Matrix GaussianGram(const RowMatrix& x, const RowMatrix& z, double bandwidth) {
  Matrix gram(x.rows(), z.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < z.rows(); ++j) {
      gram(i, j) = std::exp(-(x.row(i) - z.row(j)).squaredNorm() / (2 * bandwidth * bandwidth));
    }
  }
  return gram;
}

Cloud OverlappingClouds(Index rows, Index columns, uint64_t seed) {
  Cloud cloud{RowMatrix(rows, columns), Vector(rows)};
  RandomStream random(seed, "overlapping clouds");
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      cloud.x(i, j) = random.Normal();
    }
    const double score = std::sin(1.5 * cloud.x(i, 0)) + 0.5 * cloud.x(i, columns > 1 ? 1 : 0) +
                         0.4 * random.Normal();
    cloud.labels(i) = score > 0 ? 1.0 : -1.0;
  }
  return cloud;
}

absl::StatusOr<Fit> Train(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap, int num_threads) {
  const LearnerEntry entry = Entry();
  TrainingProblem asked = problem;
  asked.relative_gap = relative_gap;
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, entry.create(options));
  RunLimits limits;
  limits.relative_gap = relative_gap;
  limits.max_iterations = 20'000;
  RunContext context(CancellationToken(), num_threads, nullptr);
  QuietObserver observer;
  MERCER_ASSIGN_OR_RETURN(TrainingOutcome outcome, RunTraining(entry, options, *learner, asked,
                                                               limits, "", context, observer));
  return Fit{std::move(outcome.point), outcome.certificate, outcome.stop_reason};
}

Fit MustTrain(const TrainingProblem& problem, const OptionValues& options, double relative_gap) {
  absl::StatusOr<Fit> fit = Train(problem, options, relative_gap);
  EXPECT_TRUE(fit.ok()) << fit.status();
  return fit.ok() ? *std::move(fit) : Fit{};
}

nlohmann::json ReadFixture(const std::string& name) {
  return ReadFixtureFile("lowrank-lp-mkl/" + name + ".json");
}

double FixtureNumber(const nlohmann::json& value) {
  return value.is_string() ? kInfinity : value.get<double>();
}

Vector FixtureVector(const nlohmann::json& values) {
  Vector read(static_cast<Index>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    read(static_cast<Index>(i)) = FixtureNumber(values[i]);
  }
  return read;
}

Matrix FixtureMatrix(const nlohmann::json& rows) {
  Matrix read(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    read.row(static_cast<Index>(i)) = FixtureVector(rows[i]).transpose();
  }
  return read;
}

}  // namespace mercer::lp_mkl
