// Costs from next to nothing to next to infinite, for every loss and solver of kernels of low rank.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/learners/lp_mkl/low_rank_problems.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kCostsGap = 1e-4;

TrainingProblem ProblemForLoss(const std::string& loss) {
  const Cloud cloud = OverlappingClouds(60, 2, 21);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0, 10.0});
  if (loss == "square" || loss == "epsilon_insensitive") {
    problem.kind = TargetKind::kRegression;
    problem.tasks[0].targets.col(0) = cloud.x.col(0).array().sin() + 0.5 * cloud.x.col(1).array();
  }
  return problem;
}

// The optimum grows with the cost, and the optimum for a unit of cost falls: it is the least of functions that are linear in it.
void ExpectOptimaInOrder(const std::vector<std::pair<double, Certificate>>& fits,
                         const std::string& what) {
  for (size_t i = 1; i < fits.size(); ++i) {
    const auto& [cost, smaller] = fits[i - 1];
    const auto& [next_cost, larger] = fits[i];
    EXPECT_LE(smaller.dual, larger.primal * (1 + 1e-12)) << what << ", " << next_cost;
    EXPECT_LE(larger.dual / next_cost, smaller.primal / cost * (1 + 1e-12))
        << what << ", " << next_cost;
  }
}

TEST(LowRankCostsTest, EveryLossEndsWithBoundsThatHold) {
  for (const char* loss : {"hinge", "squared_hinge", "logistic", "epsilon_insensitive", "square"}) {
    const TrainingProblem problem = ProblemForLoss(loss);
    for (const double p : {1.0, 2.0}) {
      std::vector<std::pair<double, Certificate>> fits;
      for (const double C : {1e-6, 1e-3, 1.0, 1e3, 1e6, 1e8}) {
        const std::string what =
            std::string(loss) + ", p " + std::to_string(p) + ", C " + std::to_string(C);
        const Fit fit = MustTrain(
            problem, OnLandmarks(20, {{"C", C}, {"p", p}, {"loss", std::string(loss)}}), kCostsGap);
        ExpectHonest(fit, problem, kCostsGap, what);
        EXPECT_LE(fit.certificate.accuracy, C <= 1e3 ? kCostsGap : 0.1) << what;
        fits.emplace_back(C, fit.certificate);
      }
      ExpectOptimaInOrder(fits, loss);
    }
  }
}

TEST(LowRankCostsTest, EverySolverEndsWithBoundsThatHold) {
  for (const char* loss : {"hinge", "epsilon_insensitive"}) {
    const TrainingProblem problem = ProblemForLoss(loss);
    for (const char* solver :
         {"smo", "newton", "interior_point", "gfb", "gfb_merged", "coordinate_descent"}) {
      std::vector<std::pair<double, Certificate>> fits;
      for (const double C : {1e-6, 1.0, 1e8}) {
        const std::string what = std::string(solver) + ", " + loss + ", C " + std::to_string(C);
        OptionValues options = OnLandmarks(10, {{"C", C}, {"loss", std::string(loss)}});
        options["inner_solver"] = std::string(solver);
        const Fit fit = MustTrain(problem, options, 1e-2);
        ExpectHonest(fit, problem, 1e-2, what);
        fits.emplace_back(C, fit.certificate);
      }
      ExpectOptimaInOrder(fits, std::string(solver) + ", " + loss);
    }
  }
}

// Interpolation is possible: all rows are landmarks of a narrow kernel. The optimum no longer depends on the cost.
TEST(LowRankCostsTest, SeparableRowsHaveOneOptimumForAllLargeCosts) {
  const Cloud cloud = OverlappingClouds(60, 2, 21);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.05});
  const double expected =
      MustTrain(problem, OnLandmarks(60, {{"C", 100.0}}), 1e-6).certificate.primal;
  for (const double C : {1e4, 1e6, 1e8}) {
    const Fit fit = MustTrain(problem, OnLandmarks(60, {{"C", C}}), 1e-6);
    ExpectHonest(fit, problem, 1e-6, std::to_string(C));
    EXPECT_LE(fit.certificate.dual, expected * (1 + 1e-5)) << C;
    EXPECT_GE(fit.certificate.primal, expected * (1 - 1e-5)) << C;
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
