// Machines of several outputs that share one combination of kernels.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/training/model/predictor.h"
#include "core/training/run/split_outputs.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_shared_problems.h"
#include "tests/support/learner_runs.h"

namespace mercer::mixed_norm_mkl {
namespace {

// The sum of the optima of machines with weights of their own.
double SumOfOptima(const TrainingProblem& problem, OptionValues options) {
  options["shared_weights"] = false;
  double sum = 0;
  for (const TrainingProblem& part : SplitOutputs(problem)) {
    sum += MustTrain(part, options, kSharedGap).objective();
  }
  return sum;
}

// By the definition, at f_ko = weights(k) K_k duals(:, o).
double PrimalOf(const ThreeClasses& given, const TrainingProblem& problem, const Vector& weights,
                const Matrix& duals, const Vector& biases) {
  Vector sums = Vector::Zero(2);
  Matrix values = biases.transpose().replicate(45, 1);
  for (size_t k = 0; k < given.kernels.grams.size(); ++k) {
    const double weight = weights(static_cast<Index>(k));
    const Matrix products = given.kernels.grams[k] * duals;
    sums(given.kernels.groups[k]) +=
        weight * std::sqrt(std::max(0.0, duals.cwiseProduct(products).sum()));
    values += weight * products;
  }
  double primal = 0.5 * std::pow(sums.maxCoeff(), 2);
  const Matrix& targets = problem.tasks[0].targets;
  for (Index o = 0; o < targets.cols(); ++o) {
    for (Index i = 0; i < targets.rows(); ++i) {
      if (targets(i, o) != 0) {
        primal += kSharedCost * std::max(0.0, 1 - targets(i, o) * values(i, o));
      }
    }
  }
  return primal;
}

double DualOf(const ThreeClasses& given, const TrainingProblem& problem, const Matrix& duals) {
  Vector largest = Vector::Zero(2);
  for (size_t k = 0; k < given.kernels.grams.size(); ++k) {
    double& of_group = largest(given.kernels.groups[k]);
    of_group = std::max(of_group, duals.cwiseProduct(given.kernels.grams[k] * duals).sum());
  }
  return problem.tasks[0].targets.cwiseProduct(duals).sum() -
         0.5 * std::pow(largest.cwiseSqrt().sum(), 2);
}

class SharedWeightsTest : public ::testing::TestWithParam<bool> {};

TEST_P(SharedWeightsTest, CertificateIsThatOfTheDefinition) {
  const ThreeClasses given;
  const TrainingProblem problem = given.Problem(GetParam());
  const Fit fit = MustTrain(problem, Shared(), kSharedGap);
  ASSERT_EQ(fit.stop_reason, StopReason::kConverged);
  const TaskWitness& witness = fit.point.witness.tasks[0];
  const Matrix lower = *fit.point.witness.FindArray("lower_dual");
  EXPECT_NEAR(PrimalOf(given, problem, fit.weights(), witness.dual, witness.bias),
              fit.certificate.primal, 1e-9 * fit.certificate.primal);
  EXPECT_LE(lower.colwise().sum().cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_GE(lower.cwiseProduct(problem.tasks[0].targets).minCoeff(), -1e-12);
  EXPECT_LE(lower.cwiseAbs().maxCoeff(), kSharedCost * (1 + 1e-12));
  EXPECT_NEAR(DualOf(given, problem, lower), fit.certificate.dual, 1e-9 * fit.certificate.dual);
  EXPECT_GE(fit.certificate.primal, fit.certificate.dual);
  // One combination for all outputs.
  const Matrix& weights = fit.point.summary.kernel_weights;
  ASSERT_EQ(weights.cols(), 3);
  EXPECT_EQ(weights.col(0), weights.col(1));
  EXPECT_EQ(weights.col(0), weights.col(2));
  EXPECT_TRUE(fit.point.witness.children.empty());
}

TEST_P(SharedWeightsTest, NoRandomPointIsBetterThanTheBounds) {
  const ThreeClasses given;
  const TrainingProblem problem = given.Problem(GetParam());
  const Fit fit = MustTrain(problem, Shared(), kSharedGap);
  const TaskWitness& witness = fit.point.witness.tasks[0];
  RandomStream random(5, "points");
  for (const double size : {1e-3, 1e-2, 0.1, 1.0}) {
    for (int draw = 0; draw < 30; ++draw) {
      Vector weights = fit.weights();
      for (double& weight : weights) {
        weight = std::max(0.0, weight * (1 + size * random.Normal()));
      }
      Matrix duals = witness.dual;
      for (double& dual : duals.reshaped()) {
        dual += size * kSharedCost * 0.1 * random.Normal();
      }
      Vector biases = witness.bias;
      for (double& bias : biases) {
        bias += size * random.Normal();
      }
      EXPECT_GE(PrimalOf(given, problem, weights, duals, biases),
                fit.certificate.dual * (1 - 1e-12));
    }
  }
}

TEST_P(SharedWeightsTest, MethodsAgree) {
  const ThreeClasses given;
  const TrainingProblem problem = given.Problem(GetParam());
  const double newton = MustTrain(problem, Shared(), kSharedGap).objective();
  for (const char* method : {"closed_form", "mirror_descent", "alternating_mirror_descent"}) {
    const Fit fit = MustTrain(problem, Shared({{"method", std::string(method)}}), 1e-4);
    EXPECT_NEAR(fit.objective(), newton, 1e-4 * newton) << method;
  }
  const OptionValues one_group = {{"regularization", std::string("l1")}};
  OptionValues simple = one_group;
  simple["method"] = std::string("simple_mkl");
  const double of_one_group = MustTrain(problem, Shared(one_group), kSharedGap).objective();
  EXPECT_NEAR(MustTrain(problem, Shared(simple), 1e-4).objective(), of_one_group,
              1e-4 * of_one_group);
}

// Weights within groups minimise, so that sharing them costs; weights of groups maximise.
TEST_P(SharedWeightsTest, SharingIsARestrictionOfWhatMinimises) {
  const ThreeClasses given;
  TrainingProblem problem = given.Problem(GetParam());
  const OptionValues l1 = {{"regularization", std::string("l1")}};
  const double of_one_group = MustTrain(problem, Shared(l1), kSharedGap).objective();
  EXPECT_GE(of_one_group, SumOfOptima(problem, Shared(l1)) * (1 - 2 * kSharedGap));
  const OptionValues sum = {{"regularization", std::string("sum")}};
  const double of_sum = MustTrain(problem, Shared(sum), kSharedGap).objective();
  EXPECT_NEAR(of_sum, SumOfOptima(problem, Shared(sum)), 2 * kSharedGap * of_sum);
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    problem.kernels[k].labels.group = "own " + std::to_string(k);
  }
  const double of_singletons = MustTrain(problem, Shared(), kSharedGap).objective();
  EXPECT_LE(of_singletons, SumOfOptima(problem, Shared()) * (1 + 2 * kSharedGap));
}

TEST_P(SharedWeightsTest, OrderOfClassesDoesNotMatter) {
  const ThreeClasses given;
  const Fit fit = MustTrain(given.Problem(GetParam()), Shared(), kSharedGap);
  const Fit other = MustTrain(given.Problem(GetParam(), {2, 0, 1}), Shared(), kSharedGap);
  EXPECT_NEAR(other.objective(), fit.objective(), 2 * kSharedGap * fit.objective());
  EXPECT_LE((other.weights() - fit.weights()).cwiseAbs().maxCoeff(),
            0.02 * fit.weights().maxCoeff());
}

TEST_P(SharedWeightsTest, FunctionIsThatOfTheWitnessOutputByOutput) {
  const ThreeClasses given;
  const TrainingProblem problem = given.Problem(GetParam());
  const Fit fit = MustTrain(problem, Shared(), 1e-3);
  RunContext context;
  const absl::StatusOr<Matrix> values =
      EvaluateFunction(fit.point.function, *problem.tasks[0].inputs, context);
  ASSERT_TRUE(values.ok()) << values.status();
  const TaskWitness& witness = fit.point.witness.tasks[0];
  Matrix expected = witness.bias.transpose().replicate(45, 1);
  for (size_t k = 0; k < given.kernels.grams.size(); ++k) {
    expected += fit.weights()(static_cast<Index>(k)) * given.kernels.grams[k] * witness.dual;
  }
  EXPECT_LE((*values - expected).cwiseAbs().maxCoeff(), 1e-9);
}

TEST_P(SharedWeightsTest, ThreadsAndInterruptionsChangeNoBit) {
  const ThreeClasses given;
  TrainingProblem problem = given.Problem(GetParam());
  problem.relative_gap = 1e-4;
  std::vector<Matrix> duals;
  for (const int threads : {1, 3}) {
    for (const bool restored : {false, true}) {
      RunContext context(CancellationToken(), threads, nullptr);
      absl::StatusOr<std::unique_ptr<Learner>> learner = Entry().create(Shared());
      ASSERT_TRUE(learner.ok()) << learner.status();
      ASSERT_TRUE((*learner)->Start(problem, nullptr).ok());
      for (int step = 0; step < 200; ++step) {
        const absl::StatusOr<StepReport> report = (*learner)->Step(context, 1e-4);
        ASSERT_TRUE(report.ok()) << report.status();
        if (report->stop.has_value() || report->accuracy <= 1e-4) {
          break;
        }
        if (restored) {
          const std::string state = (*learner)->SaveState();
          learner = Entry().create(Shared());
          const absl::Status status = (*learner)->RestoreState(problem, state, context);
          ASSERT_TRUE(status.ok()) << status;
        }
      }
      const absl::StatusOr<TrainedPoint> point = (*learner)->CurrentModel(context);
      ASSERT_TRUE(point.ok()) << point.status();
      duals.push_back(point->witness.tasks[0].dual);
    }
  }
  for (const Matrix& dual : duals) {
    EXPECT_EQ(dual, duals.front());
  }
}

INSTANTIATE_TEST_SUITE_P(OneVs, SharedWeightsTest, ::testing::Values(false, true),
                         [](const auto& given) { return given.param ? "One" : "All"; });

TEST(SharedWeightsOfTwoClassesTest, AreThoseOfOneMachine) {
  const RandomKernels given = MakeRandomKernels(40, 2, {0.5, 2, 8}, 4);
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  OptionValues alone = Shared();
  alone["shared_weights"] = false;
  const Fit shared = MustTrain(problem, Shared(), kSharedGap);
  const Fit single = MustTrain(problem, alone, kSharedGap);
  EXPECT_EQ(shared.dual(), single.dual());
  EXPECT_EQ(shared.weights(), single.weights());
}

// |f_k| grows by the root of 2, and the losses twofold.
TEST(SharedWeightsOfTwoClassesTest, TwiceTheSameOutputIsTwiceTheProblem) {
  const RandomKernels given = MakeRandomKernels(40, 2, {0.5, 2, 8}, 4);
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  TrainingProblem twice = problem;
  twice.tasks[0].targets = given.targets.replicate(1, 2);
  const Fit single = MustTrain(problem, Shared(), kSharedGap);
  const Fit both = MustTrain(twice, Shared(), kSharedGap);
  EXPECT_NEAR(both.objective(), 2 * single.objective(), 2 * kSharedGap * both.objective());
  EXPECT_LE((both.weights() - single.weights()).cwiseAbs().maxCoeff(),
            0.02 * single.weights().maxCoeff());
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
