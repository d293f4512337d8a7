// Hundreds of kernels, of which few are in a machine at a time: the optimum, the bounds and the
// tables are those of all.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/training/recipe/recipe_problem.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"
#include "tests/support/learner_runs.h"

namespace mercer::mixed_norm_mkl {
namespace {

std::vector<double> ManyWidths(int count) {
  std::vector<double> widths;
  for (int w = 0; w < count; ++w) {
    widths.push_back(std::pow(2.0, 10.0 * w / count - 5));
  }
  return widths;
}

// (sum over groups of the root of the largest value)^2.
double SupportOf(const Vector& energies, const std::vector<int>& groups) {
  Vector largest = Vector::Zero(*std::max_element(groups.begin(), groups.end()) + 1);
  for (size_t k = 0; k < groups.size(); ++k) {
    largest(groups[k]) = std::max(largest(groups[k]), energies(static_cast<Index>(k)));
  }
  return std::pow(largest.cwiseSqrt().sum(), 2);
}

// The largest lower bound on the ray through a dual in its boxes, by the formula, over all kernels.
double LowerBound(const Vector& dual, const Vector& energies, const std::vector<int>& groups,
                  const Vector& targets, double C) {
  const double linear = targets.dot(dual);
  const double scale =
      std::min(linear / SupportOf(energies, groups), C / dual.cwiseAbs().maxCoeff());
  return scale * linear - 0.5 * scale * scale * SupportOf(energies, groups);
}

// 1/2 (largest sum of a group)^2 + C sum of hinge losses.
double UpperBound(const Fit& fit, const RandomKernels& given, double C) {
  const Vector parts = fit.weights().cwiseProduct(EnergiesOf(given.grams, fit.dual()).cwiseSqrt());
  Vector sums = Vector::Zero(*std::max_element(given.groups.begin(), given.groups.end()) + 1);
  for (size_t k = 0; k < given.groups.size(); ++k) {
    sums(given.groups[k]) += parts(static_cast<Index>(k));
  }
  const Vector margins = given.targets.cwiseProduct(DecisionOf(fit, given.grams));
  return 0.5 * std::pow(sums.maxCoeff(), 2) + C * (1 - margins.array()).max(0).sum();
}

OptionValues WithMethod(const std::string& method, double C) {
  return {{"C", C}, {"method", method}};
}

// Newton's method looks at a few kernels at a time, mirror descent at all of them.
TEST(MixedNormManyTest, AFewAtATimeFindTheOptimumOfAll) {
  constexpr double kC = 200;
  const RandomKernels given = MakeRandomKernels(60, 4, ManyWidths(60), 5);
  for (const bool one_group : {true, false}) {
    const std::vector<int> groups =
        one_group ? std::vector<int>(given.groups.size(), 0) : given.groups;
    RandomKernels grouped = given;
    grouped.groups = groups;
    const TrainingProblem problem = GroupedProblem(given.grams, groups, given.targets);
    const Fit newton = MustTrain(problem, WithMethod("newton", kC), 1e-6);
    const Fit all = MustTrain(problem, WithMethod("mirror_descent", kC), 1e-2);
    EXPECT_LE(newton.certificate.dual, all.certificate.primal);
    EXPECT_LE(all.certificate.dual, newton.certificate.primal);
    EXPECT_LE(newton.certificate.primal, all.certificate.primal * (1 + 1e-6));
    EXPECT_LT((newton.weights().array() > 0).count(), 60);
    EXPECT_NEAR(UpperBound(newton, grouped, kC) / newton.certificate.primal, 1, 1e-9);
    EXPECT_LE(LowerBound(newton.dual(), EnergiesOf(given.grams, newton.dual()), groups,
                         given.targets, kC),
              newton.certificate.dual * (1 + 1e-9));
    EXPECT_LE(newton.certificate.primal / newton.certificate.dual, 1 + 1e-6 + 1e-9);
  }
}

// The default begins with the joint interior point where one group is large; it bounds the optimum
// that Newton's method does, also with groups.
TEST(MixedNormManyTest, LargeGroupsBeginWithTheJointProblem) {
  constexpr double kC = 5;
  const RandomKernels given = MakeRandomKernels(60, 2, ManyWidths(400), 15);
  for (const bool one_group : {true, false}) {
    const std::vector<int> groups =
        one_group ? std::vector<int>(given.groups.size(), 0) : given.groups;
    const TrainingProblem problem = GroupedProblem(given.grams, groups, given.targets);
    const Fit joint =
        MustTrain(problem, WithMethod(one_group ? "auto" : "interior_point", kC), 1e-6);
    const Fit newton = MustTrain(problem, WithMethod("newton", kC), 1e-4);
    EXPECT_EQ(joint.stop_reason, StopReason::kConverged);
    EXPECT_LE(joint.certificate.dual, newton.certificate.primal);
    EXPECT_LE(newton.certificate.dual, joint.certificate.primal);
    EXPECT_LT((joint.weights().array() > 0).count(), 60);
  }
}

// Bounds of the reports only become better, also while the last SVM is solved.
TEST(MixedNormManyTest, BoundsOfAJointRunAreKept) {
  const RandomKernels given = MakeRandomKernels(60, 2, ManyWidths(20), 17);
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  const std::unique_ptr<Learner> learner = *Entry().create(WithMethod("interior_point", 20));
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  RunContext context;
  double upper = kInfinity;
  double lower = -kInfinity;
  double accuracy = kInfinity;
  while (accuracy > 1e-4) {
    const absl::StatusOr<StepReport> report = learner->Step(context, 1e-4);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_FALSE(report->stop.has_value());
    EXPECT_LE(report->primal, upper * (1 + 1e-4));
    EXPECT_GE(report->dual, lower);
    upper = report->primal;
    lower = report->dual;
    accuracy = report->accuracy;
  }
}

TEST(MixedNormManyTest, CostsOutOfRangeOfEnergiesAreNoCrash) {
  const RandomKernels given = MakeRandomKernels(30, 2, ManyWidths(5), 19);
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  const absl::StatusOr<Fit> fit = Train(problem, WithMethod("interior_point", 1e160), 1e-3);
  if (fit.ok()) {
    EXPECT_LE(fit->certificate.dual, fit->certificate.primal);
  }
}

// The verifier looks at every kernel: one that was in no machine, made larger afterwards, opens the
// gap, and is found by a run.
TEST(MixedNormManyTest, TheCertificateIsAboutKernelsThatWereNeverInUse) {
  constexpr double kC = 100;
  RandomKernels given = MakeRandomKernels(50, 5, ManyWidths(40), 13);
  const OptionValues options = WithMethod("newton", kC);
  TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  const absl::StatusOr<Fit> fit = Train(problem, options, 1e-4);
  ASSERT_TRUE(fit.ok()) << fit.status();
  const Vector energies = EnergiesOf(given.grams, fit->dual());
  Index unused = 0;  // of the group of the first kernel, the one that is furthest from use
  energies.head(40).minCoeff(&unused);
  ASSERT_EQ(fit->weights()(unused), 0);
  given.grams[static_cast<size_t>(unused)] *= 4 * energies.head(40).maxCoeff() / energies(unused);
  problem = GroupedProblem(given.grams, given.groups, given.targets);
  problem.relative_gap = 1e-4;
  const LearnerEntry entry = Entry();
  const absl::StatusOr<OptionValues> complete = CompleteOptions(entry, options);
  ASSERT_TRUE(complete.ok()) << complete.status();
  RunContext context;
  const absl::StatusOr<Verification> verified =
      entry.verify(*complete, problem, fit->point.witness, context);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_NEAR(verified->certificate.primal, fit->certificate.primal,
              1e-9 * fit->certificate.primal);
  EXPECT_GT(verified->certificate.accuracy, 0.05);
  const Fit again = MustTrain(problem, options, 1e-4);
  EXPECT_EQ(again.stop_reason, StopReason::kConverged);
  EXPECT_GT(again.weights()(unused), 0);
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
