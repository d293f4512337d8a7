// The kernels of low rank that the options define: what they are made of, and who shares them.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/memory/shared_cache.h"
#include "core/base/numeric/random.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/run/verification.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

TrainingProblem NamedProblem(const std::string& cache_key, uint64_t seed = 2) {
  const Cloud cloud = OverlappingClouds(80, 3, seed);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 1.0, 2.0});
  auto inputs = std::make_shared<PreparedData>(*problem.tasks[0].inputs);
  inputs->cache_key = cache_key;
  problem.tasks[0].inputs = std::move(inputs);
  return problem;
}

class SharedKernelsTest : public testing::Test {
 protected:
  const LowRankKernelFamily* Make(const LpMklOptions& options, const TrainingProblem& problem) {
    const absl::StatusOr<LpMklKernels> kernels = MakeLpMklKernels(options, problem, context_);
    EXPECT_TRUE(kernels.ok()) << kernels.status();
    kept_.push_back(*kernels);  // two families at one address would look like one
    return kernels->low_rank;
  }

  LpMklOptions LowRank() {
    LpMklOptions options;
    options.approximation = Approximation::kNystrom;
    options.landmarks = 12;
    return options;
  }

  RunContext context_{CancellationToken(), 1, std::make_shared<SharedCache>(size_t{1} << 26)};
  std::vector<LpMklKernels> kept_;
};

TEST_F(SharedKernelsTest, OneFactorForAllProblemsThatDifferInTargetsAndCosts) {
  TrainingProblem problem = NamedProblem("data");
  LpMklOptions options = LowRank();
  const LowRankKernelFamily* first = Make(options, problem);
  problem.tasks[0].targets *= -1;
  problem.tasks[0].costs *= 3;
  problem.relative_gap = 1e-7;
  options.C = 17;
  options.p = 1.1;
  EXPECT_EQ(Make(options, problem), first);
}

TEST_F(SharedKernelsTest, AnotherFactorForAllElse) {
  const TrainingProblem problem = NamedProblem("data");
  const LowRankKernelFamily* first = Make(LowRank(), problem);
  const std::vector<std::function<void(LpMklOptions&)>> options_changes = {
      [](LpMklOptions& options) { options.landmarks = 11; },
      [](LpMklOptions& options) { options.landmark_selection = LandmarkSelection::kKMeans; },
      [](LpMklOptions& options) { options.landmark_selection = LandmarkSelection::kLeverage; },
      [](LpMklOptions& options) {
        options.landmark_selection = LandmarkSelection::kLeverage;
        options.own_landmarks = true;
      },
      [](LpMklOptions& options) { options.approximation = Approximation::kPivotedCholesky; },
      [](LpMklOptions& options) { options.rank = 5; },
      [](LpMklOptions& options) { options.eigenvalue_threshold = 1e-6; },
      [](LpMklOptions& options) { options.compression_tolerance = 1e-4; }};
  for (size_t i = 0; i < options_changes.size(); ++i) {
    LpMklOptions changed = LowRank();
    options_changes[i](changed);
    EXPECT_NE(Make(changed, problem), first) << "option " << i;
  }
  const std::vector<std::function<void(TrainingProblem&)>> problem_changes = {
      [](TrainingProblem& changed) { changed = NamedProblem("other data"); },
      [](TrainingProblem& changed) { changed.seed = 9; },
      [](TrainingProblem& changed) { changed.kernels[1].bandwidth = 1.5; },
      [](TrainingProblem& changed) { changed.kernels.pop_back(); },
      [](TrainingProblem& changed) { changed.tasks[0].rows.pop_back(); }};
  for (size_t i = 0; i < problem_changes.size(); ++i) {
    TrainingProblem changed = problem;
    problem_changes[i](changed);
    EXPECT_NE(Make(LowRank(), changed), first) << "problem " << i;
  }
  EXPECT_EQ(Make(LowRank(), problem), first);
}

// Of kernels that few landmarks represent badly the basis leaves out more than the tolerance, a
// thousandth of what the landmarks lose at most; less with a smaller tolerance.
TEST_F(SharedKernelsTest, TheBasisKeepsWhatLandmarksLoseNoBetterThanNeeded) {
  TrainingProblem problem = NamedProblem("data");
  for (int i = 1; i < 10; ++i) {
    problem.kernels.push_back(problem.kernels[0]);
    problem.kernels.back().bandwidth *= std::pow(1.2, i);
  }
  LpMklOptions options = LowRank();
  const LowRankKernelFamily* family = Make(options, problem);
  EXPECT_GT(family->dropped_share(), 10 * options.compression_tolerance);
  EXPECT_LE(family->dropped_share(), 1e-3);
  options.compression_tolerance = 1e-13;
  const LowRankKernelFamily* closer = Make(options, problem);
  EXPECT_LE(closer->dropped_share(), 1e-8);
  EXPECT_GT(closer->joint_rank(), family->joint_rank());
}

TEST_F(SharedKernelsTest, InputsWithoutANameShareNothing) {
  const TrainingProblem problem = NamedProblem("");
  EXPECT_NE(Make(LowRank(), problem), Make(LowRank(), problem));
}

// A factor that memory has damaged, say, is the training's and its verifier's alike.
TEST_F(SharedKernelsTest, AWrongFactorInTheCacheIsFoundByTheFunctionOfTheModel) {
  const TrainingProblem problem = NamedProblem("data");
  Make(LowRank(), NamedProblem("data", 3));
  const absl::StatusOr<LpMklKernels> kernels = MakeLpMklKernels(LowRank(), problem, context_);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  const Vector dual = 0.1 * problem.tasks[0].targets.col(0);
  const absl::StatusOr<TrainedPoint> point =
      MakeLpMklPoint(*kernels, problem, {Vector::Constant(3, 1.0 / 3), dual, 0.0}, context_);
  ASSERT_TRUE(point.ok()) << point.status();
  const absl::StatusOr<VerifiedFunction> verified = VerifyFunction(
      Entry(), {{"approximation", std::string("nystrom")}, {"landmarks", int64_t{12}}, {"p", 1.0}},
      problem, point->function, point->witness, context_);
  EXPECT_EQ(verified.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(verified.status()), "WITNESS_MISMATCH");
}

// A factor of one's own: a block of features for each kernel, which is linear. Landmarks that are no fewer than its columns keep it.
TEST(GivenFactorsTest, LinearKernelsOfBlocksAreKeptExactly) {
  const Index rows = 150;
  RandomStream random(4, "factors");
  TrainingProblem problem;
  auto inputs = std::make_shared<PreparedData>();
  inputs->rows = rows;
  std::vector<Matrix> grams;
  for (const Index columns : {1, 4, 9, 20}) {
    RowMatrix factor(rows, columns);
    for (Index i = 0; i < factor.size(); ++i) {
      factor.data()[i] = random.Normal();
    }
    grams.push_back(factor * factor.transpose());
    PreparedBlock block;
    block.name = "factor" + std::to_string(columns);
    for (Index c = 0; c < columns; ++c) {
      block.sources.push_back(block.name + "_" + std::to_string(c));
    }
    block.values = SharedMatrix(std::move(factor));
    KernelSpec kernel;
    kernel.type = KernelType::kLinear;
    kernel.block = block.name;
    problem.kernels.push_back(kernel);
    inputs->blocks.push_back(std::move(block));
  }
  Vector labels(rows);
  for (Index i = 0; i < rows; ++i) {
    labels(i) = inputs->blocks[1].values.view()(i, 0) + 0.5 * random.Normal() > 0 ? 1.0 : -1.0;
  }
  problem.relative_gap = 1e-7;
  TaskData task;
  task.inputs = std::move(inputs);
  for (Index i = 0; i < rows; ++i) {
    task.rows.push_back(i);
  }
  task.targets = labels;
  task.costs = Vector::Ones(rows);
  problem.tasks.push_back(std::move(task));
  TrainingProblem exact = GramProblem(grams, labels);
  exact.relative_gap = 1e-7;
  for (const double p : {1.0, 1.5, 2.0}) {
    const OptionValues options = {{"p", p}, {"C", 2.0}};
    OptionValues low_rank = options;
    low_rank["approximation"] = std::string("nystrom");
    low_rank["landmarks"] = int64_t{40};
    low_rank["compression_tolerance"] = 1e-14;
    const Fit fit = MustTrain(problem, low_rank, 1e-7);
    const Fit reference = MustTrain(exact, options, 1e-7);
    EXPECT_NEAR(fit.certificate.primal, reference.certificate.primal,
                2e-6 * reference.certificate.primal)
        << p;
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
