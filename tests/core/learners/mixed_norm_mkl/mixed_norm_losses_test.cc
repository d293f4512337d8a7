// Mixed-norm MKL with every loss, of classes and of numbers: against LIBSVM, closed forms, lp_mkl,
// and what must hold of the optimum on any data.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <Eigen/LU>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/registry.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr double kLossGap = 1e-7;

const std::vector<std::string>& Losses() {
  static const auto& losses = *new std::vector<std::string>{"hinge", "squared_hinge", "logistic",
                                                            "epsilon_insensitive", "square"};
  return losses;
}

RandomKernels ThreeGroups() { return MakeRandomKernels(40, 3, {0.25, 1, 4, 16}, 7); }

const Vector& TargetsFor(const std::string& loss, const RandomKernels& given) {
  return KindOfLoss(loss) == TargetKind::kRegression ? given.numbers : given.targets;
}

TrainingProblem LossProblem(const std::string& loss, const std::vector<Matrix>& grams,
                            const std::vector<int>& groups, const Vector& targets) {
  TrainingProblem problem = GroupedProblem(grams, groups, targets);
  problem.kind = KindOfLoss(loss);
  return problem;
}

TrainingProblem LossProblem(const std::string& loss, const RandomKernels& given) {
  return LossProblem(loss, given.grams, given.groups, TargetsFor(loss, given));
}

OptionValues With(const std::string& loss, double C, OptionValues more = {}) {
  more["loss"] = loss;
  more["C"] = C;
  if (loss == "epsilon_insensitive") {
    more["epsilon"] = 0.2;
  }
  return more;
}

double OptimumOf(const std::string& loss, const std::vector<Matrix>& grams,
                 const std::vector<int>& groups, const Vector& targets, double C) {
  return MustTrain(LossProblem(loss, grams, groups, targets), With(loss, C), kLossGap).objective();
}

std::vector<Matrix> Multiplied(std::vector<Matrix> grams, double factor) {
  for (Matrix& gram : grams) {
    gram *= factor;
  }
  return grams;
}

// LIBSVM keeps rows of kernels in single precision.
TEST(MixedNormLossesTest, OneKernelIsTheMachineOfLibsvm) {
  const nlohmann::json fixture = ReadFixtureFile("svm/libsvm-agreement.json");
  const Matrix x = JsonMatrix(fixture["features"]);
  Matrix gram(x.rows(), x.rows());
  for (Index i = 0; i < gram.rows(); ++i) {
    for (Index j = 0; j < gram.cols(); ++j) {
      gram(i, j) = std::exp(-fixture["gamma"].get<double>() * (x.row(i) - x.row(j)).squaredNorm());
    }
  }
  const Fit classes = MustTrain(LossProblem("hinge", {gram}, {0}, JsonVector(fixture["labels"])),
                                {{"C", fixture["classification_c"].get<double>()}}, 1e-10);
  EXPECT_LE((DecisionOf(classes, {gram}) - JsonVector(fixture["classification_decision"]))
                .cwiseAbs()
                .maxCoeff(),
            1e-4);
  const Fit numbers = MustTrain(
      LossProblem("epsilon_insensitive", {gram}, {0}, JsonVector(fixture["targets"])),
      {{"C", fixture["regression_c"].get<double>()}, {"epsilon", fixture["epsilon"].get<double>()}},
      1e-10);
  EXPECT_LE((DecisionOf(numbers, {gram}) - JsonVector(fixture["regression_decision"]))
                .cwiseAbs()
                .maxCoeff(),
            1e-4);
}

// n groups of the same kernel K are the machine of n^2 K: (n^2 K + I / (2 C)) a + b 1 = y, 1'a = 0.
TEST(MixedNormLossesTest, SquareLossOfTheSameKernelInEveryGroupIsKernelRidge) {
  const RandomKernels given = ThreeGroups();
  const Matrix& gram = given.grams[1];
  for (const int groups : {1, 3}) {
    std::vector<Matrix> grams(static_cast<size_t>(groups), gram);
    std::vector<int> group_of;
    for (int j = 0; j < groups; ++j) {
      group_of.push_back(j);
    }
    for (const double C : {0.01, 1.0, 100.0}) {
      const Fit fit =
          MustTrain(LossProblem("square", grams, group_of, given.numbers), With("square", C), 1e-9);
      Matrix system = Matrix::Zero(41, 41);
      system.topLeftCorner(40, 40) = groups * groups * gram;
      system.diagonal().head(40).array() += 1 / (2 * C);
      system.col(40).head(40).setOnes();
      system.row(40).head(40).setOnes();
      Vector rhs = Vector::Zero(41);
      rhs.head(40) = given.numbers;
      const Vector solution = system.partialPivLu().solve(rhs);
      // The optimum of a quadratic problem is half its linear part.
      EXPECT_NEAR(fit.objective(), 0.5 * rhs.dot(solution), 1e-8 * rhs.dot(solution)) << C;
      EXPECT_LE((fit.dual() - solution.head(40)).norm(), 1e-3 * solution.head(40).norm()) << C;
      EXPECT_NEAR(fit.bias(), solution(40), 1e-4) << C;
    }
  }
}

TEST(MixedNormLossesTest, OneGroupIsLpMklAtPOne) {
  const RandomKernels given = ThreeGroups();
  const std::vector<int> one(given.grams.size(), 0);
  for (const std::string& loss : Losses()) {
    TrainingProblem problem = LossProblem(loss, given.grams, one, TargetsFor(loss, given));
    problem.relative_gap = kLossGap;
    const Fit fit = MustTrain(problem, With(loss, 50), kLossGap);
    const absl::StatusOr<TrainingOutcome> other =
        RunToGap(*FindLearner("lp_mkl"), With(loss, 50, {{"p", 1.0}}), problem);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_LE(fit.certificate.dual, other->certificate.primal * (1 + 1e-12)) << loss;
    EXPECT_LE(other->certificate.dual, fit.certificate.primal * (1 + 1e-12)) << loss;
    EXPECT_NEAR(fit.objective(), other->certificate.primal, 2 * kLossGap * fit.objective()) << loss;
  }
}

TEST(MixedNormLossesTest, EveryMethodFindsTheOptimumOfEveryLoss) {
  const RandomKernels given = ThreeGroups();
  for (const std::string& loss : Losses()) {
    for (const bool l1 : {false, true}) {
      const std::string regularization = l1 ? "l1" : "mixed_norm";
      const TrainingProblem problem = LossProblem(loss, given);
      const Fit newton =
          MustTrain(problem, With(loss, 50, {{"regularization", regularization}}), 1e-8);
      EXPECT_EQ(newton.stop_reason, StopReason::kConverged) << loss;
      std::vector<std::string> methods = {"closed_form", "mirror_descent",
                                          "alternating_mirror_descent"};
      if (l1) {
        methods.emplace_back("simple_mkl");
      }
      for (const std::string& method : methods) {
        SCOPED_TRACE(absl::StrCat(loss, " ", regularization, " ", method));
        const Fit fit = MustTrain(
            problem, With(loss, 50, {{"regularization", regularization}, {"method", method}}),
            1e-3);
        EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
        EXPECT_LE(fit.certificate.accuracy, 1e-3);
        EXPECT_GE(fit.certificate.primal, newton.certificate.dual * (1 - 1e-12));
        EXPECT_LE(fit.certificate.dual, newton.certificate.primal * (1 + 1e-12));
      }
    }
  }
}

TEST(MixedNormLossesTest, NewtonTakesFewMachinesWhateverTheLoss) {
  const RandomKernels given = MakeRandomKernels(60, 5, {0.06, 0.25, 1, 4, 16, 64}, 11);
  for (const std::string& loss : Losses()) {
    for (const double C : {1.0, 60.0, 1e4}) {
      const Fit fit = MustTrain(LossProblem(loss, given),
                                With(loss, C, {{"max_svm_solves", int64_t{60}}}), 1e-6);
      EXPECT_EQ(fit.stop_reason, StopReason::kConverged)
          << loss << ", C " << C << ", gap " << fit.certificate.accuracy;
    }
  }
}

TEST(MixedNormLossesTest, GroupsHaveTheSameNormAtTheEnd) {
  const RandomKernels given = ThreeGroups();
  for (const std::string& loss : Losses()) {
    const Fit fit = MustTrain(LossProblem(loss, given), With(loss, 100), 1e-8);
    const Vector norms = fit.point.summary.tables[0].values.col(1);
    EXPECT_NEAR(norms.maxCoeff() / norms.minCoeff(), 1, 1e-3) << loss;
    EXPECT_NEAR(fit.point.summary.tables[0].values.col(0).cwiseInverse().sum(), 1, 1e-9) << loss;
  }
}

TEST(MixedNormLossesTest, FinerGroupsAndMoreKernelsLowerTheOptimum) {
  const RandomKernels given = ThreeGroups();
  const std::vector<int> one(given.grams.size(), 0);
  for (const std::string& loss : Losses()) {
    const Vector& targets = TargetsFor(loss, given);
    const double whole = OptimumOf(loss, given.grams, one, targets, 50);
    const double groups = OptimumOf(loss, given.grams, given.groups, targets, 50);
    EXPECT_LE(groups, whole * (1 + kLossGap)) << loss;
    const std::vector<Matrix> fewer(given.grams.begin() + 1, given.grams.end());
    const std::vector<int> groups_of_fewer(given.groups.begin() + 1, given.groups.end());
    EXPECT_LE(groups, OptimumOf(loss, fewer, groups_of_fewer, targets, 50) * (1 + kLossGap))
        << loss;
    EXPECT_LE(OptimumOf(loss, given.grams, given.groups, targets, 20), groups * (1 + kLossGap))
        << loss;
    // The machine with n times the sum of all kernels is below.
    Matrix sum = Matrix::Zero(40, 40);
    for (const Matrix& gram : given.grams) {
      sum += 3 * gram;
    }
    EXPECT_LE(OptimumOf(loss, {sum}, {0}, targets, 50), groups * (1 + kLossGap)) << loss;
  }
}

TEST(MixedNormLossesTest, ScalingKernelsAgainstCostsScalesTheOptimumAlone) {
  const RandomKernels given = ThreeGroups();
  const std::vector<Matrix> scaled = Multiplied(given.grams, 1000);
  for (const std::string& loss : Losses()) {
    const Vector& targets = TargetsFor(loss, given);
    const TrainingProblem problem = LossProblem(loss, given);
    const TrainingProblem other_problem = LossProblem(loss, scaled, given.groups, targets);
    const Fit fit = MustTrain(problem, With(loss, 50), kLossGap);
    const Fit other = MustTrain(other_problem, With(loss, 0.05), kLossGap);
    EXPECT_NEAR(1000 * other.objective(), fit.objective(), 2 * kLossGap * fit.objective()) << loss;
    EXPECT_LE((DecisionOf(fit, given.grams) - DecisionOf(other, scaled)).cwiseAbs().maxCoeff(),
              1e-3)
        << loss;
    const OptionValues comparable = With(loss, 10, {{"cost_scale", std::string("comparable")}});
    EXPECT_LE((DecisionOf(MustTrain(problem, comparable, kLossGap), given.grams) -
               DecisionOf(MustTrain(other_problem, comparable, kLossGap), scaled))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-3)
        << loss;
  }
}

TEST(MixedNormLossesTest, GroupsAndKernelsInAnotherOrderAreTheSameProblem) {
  const RandomKernels given = ThreeGroups();
  std::vector<Matrix> grams(given.grams.rbegin(), given.grams.rend());
  std::vector<int> groups(given.groups.rbegin(), given.groups.rend());
  for (const std::string& loss : Losses()) {
    const Fit fit = MustTrain(LossProblem(loss, given), With(loss, 50), 1e-8);
    const Fit turned =
        MustTrain(LossProblem(loss, grams, groups, TargetsFor(loss, given)), With(loss, 50), 1e-8);
    EXPECT_NEAR(turned.objective(), fit.objective(), 2e-8 * fit.objective()) << loss;
    EXPECT_LE((fit.weights() - turned.weights().reverse()).cwiseAbs().maxCoeff(),
              1e-2 * fit.weights().maxCoeff())
        << loss;
  }
}

TEST(MixedNormLossesTest, WeightsOfRowsAreCopiesOfThem) {
  const RandomKernels given = ThreeGroups();
  std::vector<Index> rows;
  for (Index i = 0; i < 40; ++i) {
    if (i != 8) {
      rows.push_back(i);
    }
    if (i == 3) {
      rows.push_back(i);
    }
  }
  std::vector<Matrix> copied;
  for (const Matrix& gram : given.grams) {
    copied.push_back(gram(rows, rows));
  }
  for (const std::string& loss : Losses()) {
    TrainingProblem weighted = LossProblem(loss, given);
    weighted.tasks[0].costs(3) = 2;
    weighted.tasks[0].costs(8) = 0;
    const Fit fit = MustTrain(weighted, With(loss, 50), kLossGap);
    const double of_copies =
        OptimumOf(loss, copied, given.groups, TargetsFor(loss, given)(rows), 50);
    EXPECT_NEAR(fit.objective(), of_copies, 2 * kLossGap * of_copies) << loss;
  }
}

TEST(MixedNormLossesTest, ShiftedNumbersShiftTheBiasAndNegatedOnesTheFunction) {
  const RandomKernels given = ThreeGroups();
  for (const char* loss : {"epsilon_insensitive", "square"}) {
    const Fit fit = MustTrain(LossProblem(loss, given), With(loss, 50), 1e-8);
    const Vector shifted = given.numbers.array() + 3;
    const Fit other =
        MustTrain(LossProblem(loss, given.grams, given.groups, shifted), With(loss, 50), 1e-8);
    EXPECT_NEAR(other.objective(), fit.objective(), 2e-8 * fit.objective()) << loss;
    EXPECT_NEAR(other.bias(), fit.bias() + 3, 1e-3) << loss;
    const Fit negated = MustTrain(LossProblem(loss, given.grams, given.groups, -given.numbers),
                                  With(loss, 50), 1e-8);
    EXPECT_LE(
        (DecisionOf(fit, given.grams) + DecisionOf(negated, given.grams)).cwiseAbs().maxCoeff(),
        1e-3)
        << loss;
  }
}

TEST(MixedNormLossesTest, CostsOfAllSizesGiveBoundsThatHold) {
  const RandomKernels given = ThreeGroups();
  for (const std::string& loss : Losses()) {
    for (const double C : {1e-6, 1e-3, 1e3, 1e6}) {
      const Fit fit = MustTrain(LossProblem(loss, given), With(loss, C), 1e-4);
      EXPECT_LE(fit.certificate.accuracy, 1e-4) << loss << ", C " << C;
      EXPECT_GE(fit.certificate.accuracy, -1e-10) << loss << ", C " << C;
    }
  }
}

TEST(MixedNormLossesTest, ConstantTargetsAreTheBiasAndCostNothing) {
  const RandomKernels given = ThreeGroups();
  for (const char* loss : {"epsilon_insensitive", "square"}) {
    for (const char* method : {"newton", "closed_form", "mirror_descent"}) {
      const Fit fit =
          MustTrain(LossProblem(loss, given.grams, given.groups, Vector::Constant(40, 0.7)),
                    With(loss, 50, {{"method", std::string(method)}}), 1e-6);
      EXPECT_EQ(fit.certificate.primal, 0) << loss << " " << method;
      EXPECT_NEAR(fit.bias(), 0.7, 1e-12) << loss << " " << method;
    }
  }
}

// The norms of the tables are those of the model's function.
TEST(MixedNormLossesTest, NormsOfTablesAreInTheUnitOfTheTargets) {
  const RandomKernels given = ThreeGroups();
  TrainingProblem problem = LossProblem("square", given);
  const Fit fit = MustTrain(problem, With("square", 50), 1e-6);
  problem.unit = {Vector::Zero(1), 1000};
  const Fit other = MustTrain(problem, With("square", 50), 1e-6);
  for (const size_t table : {size_t{0}, size_t{1}}) {
    const Index column = table == 0 ? 1 : 3;
    EXPECT_LE((other.point.summary.tables[table].values.col(column) -
               1000 * fit.point.summary.tables[table].values.col(column))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-9);
  }
}

TEST(MixedNormLossesTest, LossesThatDoNotFitAreRefusedByName) {
  const RandomKernels given = ThreeGroups();
  for (const std::string& loss : Losses()) {
    TrainingProblem problem = LossProblem(loss, given);
    problem.kind = problem.kind == TargetKind::kRegression ? TargetKind::kClassification
                                                           : TargetKind::kRegression;
    problem.tasks[0].targets = given.targets;
    const absl::Status status = Train(problem, With(loss, 50), 1e-3).status();
    const std::vector<FieldViolation> violations = GetFieldViolations(status);
    ASSERT_EQ(violations.size(), 1u) << status;
    EXPECT_EQ(violations[0].field, "loss");
  }
}

// A run that is saved and restored after every step has the bits of one that was not.
TEST(MixedNormLossesTest, EveryLossIsResumedWithTheSameBits) {
  const RandomKernels given = ThreeGroups();
  const LearnerEntry entry = Entry();
  for (const std::string& loss : Losses()) {
    for (const char* method : {"newton", "closed_form"}) {
      TrainingProblem problem = LossProblem(loss, given);
      problem.relative_gap = 1e-6;
      const OptionValues options = With(loss, 50, {{"method", std::string(method)}});
      RunContext context;
      const std::unique_ptr<Learner> whole = *entry.create(options);
      std::unique_ptr<Learner> halves = *entry.create(options);
      ASSERT_TRUE(whole->Start(problem, nullptr).ok() && halves->Start(problem, nullptr).ok());
      for (int step = 0; step < 15; ++step) {
        const absl::StatusOr<StepReport> report = whole->Step(context, 1e-6);
        ASSERT_TRUE(report.ok()) << report.status();
        ASSERT_TRUE(halves->Step(context, 1e-6).ok());
        const std::string state = halves->SaveState();
        ASSERT_EQ(state, whole->SaveState()) << loss << ", step " << step;
        halves = *entry.create(options);
        const absl::Status restored = halves->RestoreState(problem, state, context);
        ASSERT_TRUE(restored.ok()) << loss << ": " << restored;
      }
    }
  }
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
