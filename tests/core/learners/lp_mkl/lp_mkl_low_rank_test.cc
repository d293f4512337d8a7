// lp-norm MKL with kernels of low rank, against the exact learner on the same kernels.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/model/predictor.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

const std::vector<double> kBandwidths = {0.3, 1.0, 3.0, 10.0, 30.0};

OptionValues LowRank(OptionValues options, int64_t landmarks) {
  options["approximation"] = std::string("nystrom");
  options["landmarks"] = landmarks;
  return options;
}

TrainingProblem CloudProblem(Index rows, double relative_gap) {
  const Cloud cloud = OverlappingClouds(rows, 3, 21);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, kBandwidths);
  problem.relative_gap = relative_gap;
  problem.seed = 5;
  return problem;
}

// The Gram matrices of the kernels that the low-rank options define.
std::vector<Matrix> LowRankGrams(const TrainingProblem& problem, const OptionValues& values) {
  const LpMklOptions options = *LpMklOptions::Fields().Parse(values);
  RunContext context;
  const LpMklKernels kernels = *MakeLpMklKernels(options, problem, context);
  const Index n = kernels.family->size();
  std::vector<Matrix> grams;
  for (Index k = 0; k < kernels.family->num_kernels(); ++k) {
    Matrix gram(n, n);
    EXPECT_TRUE(kernels.family
                    ->CombinedProduct(Vector::Unit(kernels.family->num_kernels(), k),
                                      Matrix::Identity(n, n), gram, context)
                    .ok());
    grams.push_back(0.5 * (gram + gram.transpose()));
  }
  return grams;
}

TEST(LpMklLowRankTest, AgreesWithTheExactLearnerOnTheSameKernels) {
  const TrainingProblem problem = CloudProblem(160, 1e-6);
  for (const double p : {1.0, 1.1, 2.0, 4.0, kInfinity}) {
    for (const double C : {0.1, 10.0, 1000.0}) {
      const OptionValues options = LowRank({{"p", p}, {"C", C}}, 25);
      const Fit low_rank = MustTrain(problem, options, 1e-6);
      TrainingProblem exact =
          GramProblem(LowRankGrams(problem, options), problem.tasks[0].targets.col(0));
      exact.relative_gap = 1e-6;
      const Fit reference = MustTrain(exact, {{"p", p}, {"C", C}}, 1e-6);
      const std::string what = "p " + std::to_string(p) + ", C " + std::to_string(C);
      EXPECT_LE(low_rank.certificate.accuracy, 1e-6) << what;
      EXPECT_EQ(low_rank.certificate.scope, CertificateScope::kLowRankProblem);
      EXPECT_LE(low_rank.certificate.dual, reference.certificate.primal * (1 + 1e-9)) << what;
      EXPECT_GE(low_rank.certificate.primal, reference.certificate.dual * (1 - 1e-9)) << what;
    }
  }
}

TEST(LpMklLowRankTest, AllRowsAsLandmarksAreTheKernelsThemselves) {
  const TrainingProblem problem = CloudProblem(90, 1e-6);
  OptionValues options = LowRank({{"p", 1.5}, {"C", 10.0}}, 1000);
  options["eigenvalue_threshold"] = 1e-15;
  options["compression_tolerance"] = 0.0;
  const Fit low_rank = MustTrain(problem, options, 1e-6);
  const Fit exact = MustTrain(problem, {{"p", 1.5}, {"C", 10.0}}, 1e-6);
  EXPECT_NEAR(low_rank.certificate.primal, exact.certificate.primal,
              3e-6 * exact.certificate.primal);
  EXPECT_LT((low_rank.weights() - exact.weights()).cwiseAbs().maxCoeff(), 5e-3);
}

TEST(LpMklLowRankTest, EveryOuterLoopAndInnerSolverReachesTheSameOptimum) {
  const TrainingProblem problem = CloudProblem(120, 1e-5);
  const OptionValues options = LowRank({{"p", 1.3}, {"C", 10.0}}, 20);
  const Fit reference = MustTrain(problem, options, 1e-5);
  for (const char* outer : {"over_relaxed", "alternation"}) {
    OptionValues other = options;
    other["outer_loop"] = std::string(outer);
    EXPECT_NEAR(MustTrain(problem, other, 1e-5).certificate.primal, reference.certificate.primal,
                2e-5 * reference.certificate.primal)
        << outer;
  }
  for (const char* inner : {"newton", "smo", "interior_point", "gfb", "gfb_merged"}) {
    OptionValues other = options;
    other["inner_solver"] = std::string(inner);
    EXPECT_NEAR(MustTrain(problem, other, 1e-5).certificate.primal, reference.certificate.primal,
                2e-5 * reference.certificate.primal)
        << inner;
  }
}

TEST(LpMklLowRankTest, EveryInnerSolverAgreesForClassesAndNumbers) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    TrainingProblem problem = CloudProblem(120, 1e-4);
    problem.kind = kind;
    if (kind == TargetKind::kRegression) {
      const RowMatrix x = problem.tasks[0].inputs->blocks[0].values.view();
      problem.tasks[0].targets.col(0) = x.col(0).array().sin() + 0.5 * x.col(1).array();
    }
    const OptionValues options = LowRank({{"p", 1.5}, {"C", 1.0}}, 20);
    const Fit reference = MustTrain(problem, options, 1e-4);
    for (const char* inner : {"interior_point", "gfb", "gfb_merged", "coordinate_descent"}) {
      OptionValues other = options;
      other["inner_solver"] = std::string(inner);
      const Fit fit = MustTrain(problem, other, 1e-4);
      EXPECT_LE(fit.certificate.accuracy, 1e-4) << inner;
      EXPECT_NEAR(fit.certificate.primal, reference.certificate.primal,
                  2e-4 * reference.certificate.primal)
          << inner;
    }
  }
}

// Coordinate descent gets nowhere at such costs: the run must say so.
TEST(LpMklLowRankTest, SolverThatCannotReachTheGapEndsAtANumericalLimit) {
  const TrainingProblem problem = CloudProblem(60, 1e-9);
  OptionValues options = LowRank({{"C", 1e7}}, 15);
  options["inner_solver"] = std::string("coordinate_descent");
  const std::unique_ptr<Learner> learner = *Entry().create(options);
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  RunContext context;
  std::optional<StopReason> stop;
  for (int step = 0; step < 1000 && !stop.has_value(); ++step) {
    const auto report = learner->Step(context, problem.relative_gap);
    ASSERT_TRUE(report.ok()) << report.status();
    stop = report->stop;
  }
  EXPECT_EQ(stop, StopReason::kNumericalLimit);
}

TEST(LpMklLowRankTest, SolversOfLowRankKernelsAreRefusedForOthers) {
  for (const char* inner : {"interior_point", "gfb", "gfb_merged", "coordinate_descent"}) {
    const absl::Status status = Entry().create({{"inner_solver", std::string(inner)}}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << inner;
    ASSERT_EQ(GetFieldViolations(status).size(), 1u) << inner;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "inner_solver");
  }
}

TEST(LpMklLowRankTest, RegressionAgreesWithTheExactLearner) {
  TrainingProblem problem = CloudProblem(150, 1e-6);
  const RowMatrix x = problem.tasks[0].inputs->blocks[0].values.view();
  problem.kind = TargetKind::kRegression;
  problem.tasks[0].targets.col(0) = x.col(0).array().sin() + 0.5 * x.col(1).array();
  const OptionValues options = LowRank({{"C", 5.0}, {"epsilon", 0.05}}, 30);
  const Fit low_rank = MustTrain(problem, options, 1e-6);
  TrainingProblem exact =
      GramProblem(LowRankGrams(problem, options), problem.tasks[0].targets.col(0));
  exact.kind = TargetKind::kRegression;
  exact.relative_gap = 1e-6;
  const Fit reference = MustTrain(exact, {{"C", 5.0}, {"epsilon", 0.05}}, 1e-6);
  EXPECT_LE(low_rank.certificate.dual, reference.certificate.primal * (1 + 1e-9));
  EXPECT_GE(low_rank.certificate.primal, reference.certificate.dual * (1 - 1e-9));
}

// The model's values on landmarks are those of the witness at training rows, and go on smoothly
// between them.
TEST(LpMklLowRankTest, ModelOnLandmarksIsTheFunctionOfTheWitness) {
  for (const char* selection : {"uniform", "k_means"}) {
    const TrainingProblem problem = CloudProblem(200, 1e-5);
    OptionValues options = LowRank({{"C", 100.0}}, 30);
    options["landmark_selection"] = std::string(selection);
    const Fit fit = MustTrain(problem, options, 1e-5);
    ASSERT_EQ(fit.point.function.bases.size(), 1u);
    EXPECT_EQ(fit.point.function.bases[0].data->rows, 30);
    EXPECT_EQ(fit.point.function.bases[0].training_rows.empty(),
              std::string(selection) == "k_means");
    RunContext context;
    const auto values = EvaluateFunction(fit.point.function, *problem.tasks[0].inputs, context);
    ASSERT_TRUE(values.ok()) << values.status();
    const std::vector<Matrix> grams = LowRankGrams(problem, options);
    Vector expected = Vector::Constant(200, fit.bias());
    for (size_t k = 0; k < grams.size(); ++k) {
      expected += fit.weights()(static_cast<Index>(k)) * (grams[k] * fit.dual());
    }
    EXPECT_LT((values->col(0) - expected).cwiseAbs().maxCoeff(),
              1e-4 * expected.cwiseAbs().maxCoeff())
        << selection;
  }
}

TEST(LpMklLowRankTest, RestoredRunGivesTheSameBitsAfterEveryStep) {
  const TrainingProblem problem = CloudProblem(150, 1e-6);
  const OptionValues options = LowRank({{"p", 1.2}, {"C", 300.0}}, 20);
  RunContext context;
  const std::unique_ptr<Learner> whole = *Entry().create(options);
  ASSERT_TRUE(whole->Start(problem, nullptr).ok());
  std::string state = whole->SaveState();
  for (int step = 0; step < 100; ++step) {
    const auto report = whole->Step(context, problem.relative_gap);
    ASSERT_TRUE(report.ok()) << report.status();
    RunContext two_threads(CancellationToken(), 2, nullptr);
    const std::unique_ptr<Learner> relay = *Entry().create(options);
    ASSERT_TRUE(relay->RestoreState(problem, state, two_threads).ok());
    ASSERT_TRUE(relay->Step(two_threads, problem.relative_gap).ok());
    state = relay->SaveState();
    ASSERT_TRUE(whole->SaveState() == state) << "step " << step;
    if (report->accuracy <= 1e-6 || report->stop.has_value()) {
      EXPECT_LE(report->accuracy, 1e-6);
      return;
    }
  }
  FAIL() << "not finished after 100 steps";
}

TEST(LpMklLowRankTest, DegenerateRowsLandmarksAndBandwidthsTrain) {
  const Cloud cloud = OverlappingClouds(60, 2, 3);
  RowMatrix twice(120, 2);
  twice << cloud.x, cloud.x;  // every row is there twice
  Vector labels(120);
  labels << cloud.labels, cloud.labels;
  const RowMatrix equal = RowMatrix::Ones(120, 2);
  for (const std::vector<double>& bandwidths :
       {std::vector<double>{1e-6, 1.0}, std::vector<double>{1e6, 1.0}, std::vector<double>{1e-9}}) {
    for (const RowMatrix& x : {twice, equal}) {
      for (const int64_t landmarks : {1, 40, 500}) {
        TrainingProblem problem = GaussianProblem(x, labels, bandwidths);
        problem.relative_gap = 1e-4;
        const Fit fit = MustTrain(problem, LowRank({{"C", 10.0}}, landmarks), 1e-4);
        EXPECT_LE(fit.certificate.accuracy, 1e-4) << bandwidths[0] << ", " << landmarks;
        EXPECT_TRUE(fit.weights().allFinite());
      }
    }
  }
}

TEST(LpMklLowRankTest, ExtremeCostsEndWithBoundsThatHold) {
  const TrainingProblem problem = CloudProblem(120, 1e-4);
  for (const double C : {1e-6, 1e8}) {
    const Fit fit = MustTrain(problem, LowRank({{"C", C}}, 20), 1e-4);
    EXPECT_GE(fit.certificate.accuracy, -1e-9) << C;
    EXPECT_LE(fit.certificate.accuracy, C < 1 ? 1e-4 : 1e-2) << C;
  }
}

TEST(LpMklLowRankTest, CancellationEndsEveryStage) {
  const TrainingProblem problem = CloudProblem(400, 1e-4);
  for (const std::string stage : {"compression", "factor"}) {
    const CancellationToken token;
    RunContext context(token, 1, nullptr);
    context.set_stage_callback([&](std::string_view reached, std::optional<double>) {
      if (reached == stage) {
        token.Cancel();
      }
    });
    const std::unique_ptr<Learner> learner = *Entry().create(LowRank({{"C", 1.0}}, 50));
    ASSERT_TRUE(learner->Start(problem, nullptr).ok());
    const std::string before = learner->SaveState();
    EXPECT_TRUE(absl::IsCancelled(learner->Step(context, problem.relative_gap).status())) << stage;
    EXPECT_EQ(learner->SaveState(), before) << stage;
  }
}

TEST(LpMklLowRankTest, MemoryGrowsWithTheRowsAndNotWithTheirSquare) {
  const LearnerEntry entry = Entry();
  const OptionValues options = LowRank({}, 100);
  const auto bytes = [&](Index rows) {
    ProblemShape shape;
    shape.rows = rows;
    shape.columns = 20;
    shape.kernels = 50;
    return static_cast<double>(*entry.estimate_memory(options, shape));
  };
  EXPECT_LT(bytes(2'000'000) / bytes(1'000'000), 2.01);
  EXPECT_LT(bytes(100'000), 3e9);
}

TEST(LpMklLowRankTest, SquareBlocksAreRefused) {
  const Cloud cloud = OverlappingClouds(20, 2, 3);
  const TrainingProblem problem = GramProblem({GaussianGram(cloud.x, cloud.x, 1.0)}, cloud.labels);
  const std::unique_ptr<Learner> learner = *Entry().create(LowRank({}, 5));
  const absl::Status status = learner->Start(problem, nullptr);
  ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
  EXPECT_EQ(GetFieldViolations(status)[0].field, "approximation");
}

TEST(LpMklLowRankTest, OptionsOutOfRangeAreNamed) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, OptionValue>>{
           {"landmarks", int64_t{0}},
           {"rank", int64_t{-1}},
           {"eigenvalue_threshold", 0.5},
           {"compression_tolerance", -1e-9},
           {"landmark_selection", std::string("random")}}) {
    const absl::Status status = Entry().create({{name, value}}).status();
    ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
    EXPECT_EQ(GetFieldViolations(status)[0].field, name);
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
