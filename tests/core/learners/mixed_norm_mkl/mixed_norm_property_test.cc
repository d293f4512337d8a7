// Properties of the optimum and of runs, on any data.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/registry.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"
#include "tests/support/learner_runs.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr double kGap = 1e-7;

const std::vector<double>& Widths() {
  static const auto& widths = *new std::vector<double>{0.25, 1, 4, 16};
  return widths;
}

RandomKernels SomeKernels() { return MakeRandomKernels(40, 3, Widths(), 7); }

OptionValues WithCost(double C, OptionValues more = {}) {
  more["C"] = C;
  return more;
}

double Optimum(const std::vector<Matrix>& grams, const std::vector<int>& groups,
               const Vector& targets, double C) {
  return MustTrain(GroupedProblem(grams, groups, targets), WithCost(C), kGap).objective();
}

TEST(MixedNormPropertyTest, GroupsHaveTheSameNormAtTheEnd) {
  const RandomKernels given = SomeKernels();
  const Fit fit =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(100), 1e-8);
  Vector sums = Vector::Zero(3);
  Vector traces = Vector::Zero(3);
  for (size_t k = 0; k < given.grams.size(); ++k) {
    const double weight = fit.weights()(static_cast<Index>(k));
    const double energy = fit.dual().dot(given.grams[k] * fit.dual());
    sums(given.groups[k]) += weight * std::sqrt(std::max(energy, 0.0));
    traces(given.groups[k]) += weight;
  }
  EXPECT_NEAR(sums.maxCoeff() / sums.minCoeff(), 1, 1e-3);
  EXPECT_NEAR(traces.cwiseInverse().sum(), 1, 1e-9);
}

TEST(MixedNormPropertyTest, FinerGroupsAndMoreKernelsLowerTheOptimum) {
  const RandomKernels given = SomeKernels();
  const std::vector<int> one(given.grams.size(), 0);
  std::vector<int> singletons;
  for (size_t k = 0; k < given.grams.size(); ++k) {
    singletons.push_back(static_cast<int>(k));
  }
  const double whole = Optimum(given.grams, one, given.targets, 50);
  const double groups = Optimum(given.grams, given.groups, given.targets, 50);
  const double fine = Optimum(given.grams, singletons, given.targets, 50);
  EXPECT_LE(groups, whole * (1 + kGap));
  EXPECT_LE(fine, groups * (1 + kGap));
  std::vector<Matrix> fewer(given.grams.begin() + 1, given.grams.end());
  const std::vector<int> groups_of_fewer(given.groups.begin() + 1, given.groups.end());
  EXPECT_LE(groups, Optimum(fewer, groups_of_fewer, given.targets, 50) * (1 + kGap));
  EXPECT_LE(Optimum(given.grams, given.groups, given.targets, 20), groups * (1 + kGap));
  // The SVM with n times the sum of all kernels is below.
  Matrix sum = Matrix::Zero(40, 40);
  for (const Matrix& gram : given.grams) {
    sum += 3 * gram;
  }
  EXPECT_LE(Optimum({sum}, {0}, given.targets, 50), groups * (1 + kGap));
}

TEST(MixedNormPropertyTest, ScalingKernelsAgainstCostsScalesTheOptimumAlone) {
  const RandomKernels given = SomeKernels();
  const Fit fit =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(50), kGap);
  std::vector<Matrix> scaled = given.grams;
  for (Matrix& gram : scaled) {
    gram *= 1000;
  }
  const Fit other =
      MustTrain(GroupedProblem(scaled, given.groups, given.targets), WithCost(0.05), kGap);
  EXPECT_NEAR(1000 * other.objective(), fit.objective(), 1e-6 * fit.objective());
  EXPECT_LE((DecisionOf(fit, given.grams) - DecisionOf(other, scaled)).cwiseAbs().maxCoeff(), 1e-3);
  // With comparable costs such a scale is none of the user's business.
  const OptionValues comparable = WithCost(10, {{"cost_scale", std::string("comparable")}});
  const Fit first =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), comparable, kGap);
  const Fit second =
      MustTrain(GroupedProblem(scaled, given.groups, given.targets), comparable, kGap);
  EXPECT_LE((DecisionOf(first, given.grams) - DecisionOf(second, scaled)).cwiseAbs().maxCoeff(),
            1e-3);
  // Of kernels with trace 1 in 3 groups the first kernel has the trace 9.
  const Fit plain = MustTrain(GroupedProblem(given.grams, given.groups, given.targets),
                              WithCost(10 * 40 / 9.0), kGap);
  EXPECT_NEAR(first.objective(), plain.objective(), 1e-6 * plain.objective());
}

TEST(MixedNormPropertyTest, TwinsConstantsAndZeroKernelsChangeNothing) {
  const RandomKernels given = SomeKernels();
  const double optimum = Optimum(given.grams, given.groups, given.targets, 50);
  std::vector<Matrix> more = given.grams;
  std::vector<int> groups = given.groups;
  more.push_back(given.grams[5]);
  groups.push_back(given.groups[5]);
  more.push_back(Matrix::Zero(40, 40));
  groups.push_back(0);
  EXPECT_NEAR(Optimum(more, groups, given.targets, 50), optimum, 2 * kGap * optimum);
  std::vector<Matrix> shifted = given.grams;
  shifted[2].array() += 0.3;
  const Fit before =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(50), kGap);
  const Fit after =
      MustTrain(GroupedProblem(shifted, given.groups, given.targets), WithCost(50), kGap);
  EXPECT_NEAR(after.objective(), optimum, 2 * kGap * optimum);
  EXPECT_LE((DecisionOf(before, given.grams) - DecisionOf(after, shifted)).cwiseAbs().maxCoeff(),
            1e-3);
  const Vector dual = after.dual();
  EXPECT_NEAR(dual.dot(shifted[2] * dual), dual.dot(given.grams[2] * dual),
              1e-12 * dual.squaredNorm());
}

TEST(MixedNormPropertyTest, PermutationsOfRowsKernelsAndGroupsPermuteTheResult) {
  const RandomKernels given = SomeKernels();
  const Fit fit =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(50), 1e-8);
  std::vector<Index> rows;
  for (Index i = 0; i < 40; ++i) {
    rows.push_back((7 * i + 3) % 40);
  }
  const std::vector<size_t> kernels = {8, 3, 0, 11, 5, 1, 9, 2, 4, 10, 6, 7};
  std::vector<Matrix> grams;
  std::vector<int> groups;
  for (const size_t k : kernels) {
    grams.emplace_back(given.grams[k](rows, rows));
    groups.push_back(given.groups[k]);
  }
  const Fit other =
      MustTrain(GroupedProblem(grams, groups, given.targets(rows)), WithCost(50), 1e-8);
  const Vector expected = DecisionOf(fit, given.grams)(rows);
  EXPECT_LE((DecisionOf(other, grams) - expected).cwiseAbs().maxCoeff(), 1e-3);
  for (size_t k = 0; k < kernels.size(); ++k) {
    EXPECT_NEAR(other.weights()(static_cast<Index>(k)),
                fit.weights()(static_cast<Index>(kernels[k])), 1e-2 * fit.weights().maxCoeff());
  }
}

TEST(MixedNormPropertyTest, WeightsOfRowsAreCopiesOfThem) {
  const RandomKernels given = SomeKernels();
  TrainingProblem weighted = GroupedProblem(given.grams, given.groups, given.targets);
  weighted.tasks[0].costs(3) = 2;
  weighted.tasks[0].costs(8) = 0;
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
  const Fit fit = MustTrain(weighted, WithCost(50), kGap);
  const Fit of_copies =
      MustTrain(GroupedProblem(copied, given.groups, given.targets(rows)), WithCost(50), kGap);
  EXPECT_NEAR(fit.objective(), of_copies.objective(), 2 * kGap * of_copies.objective());
  const Vector scores = DecisionOf(fit, given.grams)(rows);
  EXPECT_LE((scores - DecisionOf(of_copies, copied)).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(MixedNormPropertyTest, FlippedLabelsNegateTheScores) {
  const RandomKernels given = SomeKernels();
  const Fit fit =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(50), 1e-8);
  const Fit flipped =
      MustTrain(GroupedProblem(given.grams, given.groups, -given.targets), WithCost(50), 1e-8);
  EXPECT_LE((DecisionOf(fit, given.grams) + DecisionOf(flipped, given.grams)).cwiseAbs().maxCoeff(),
            1e-3);
}

TEST(MixedNormPropertyTest, L1IsOneGroupAndSumIsThePlainMachine) {
  const RandomKernels given = SomeKernels();
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  const double one =
      Optimum(given.grams, std::vector<int>(given.grams.size(), 0), given.targets, 50);
  for (const char* method : {"newton", "closed_form", "mirror_descent", "simple_mkl"}) {
    const Fit l1 = MustTrain(
        problem,
        WithCost(50, {{"regularization", std::string("l1")}, {"method", std::string(method)}}),
        1e-3);
    EXPECT_EQ(l1.stop_reason, StopReason::kConverged) << method;
    EXPECT_GE(l1.certificate.primal, one * (1 - kGap)) << method;
    EXPECT_LE(l1.certificate.dual, one * (1 + kGap)) << method;
  }
  const Fit sum = MustTrain(problem, WithCost(50, {{"regularization", std::string("sum")}}), kGap);
  TrainingProblem asked = problem;
  asked.relative_gap = kGap;
  const absl::StatusOr<TrainingOutcome> svm = RunToGap(*FindLearner("svm"), {{"C", 50.0}}, asked);
  ASSERT_TRUE(svm.ok()) << svm.status();
  EXPECT_NEAR(sum.objective(), svm->certificate.primal, 2 * kGap * sum.objective());
  EXPECT_EQ(sum.weights(), Vector::Ones(12));
}

TEST(MixedNormPropertyTest, HundredsOfKernelsTakeFewMachines) {
  std::vector<double> widths;
  for (int w = 0; w < 50; ++w) {
    widths.push_back(std::pow(2.0, 0.2 * w - 5));
  }
  const RandomKernels given = MakeRandomKernels(60, 6, widths, 11);
  for (const char* regularization : {"mixed_norm", "l1"}) {
    const Fit fit = MustTrain(GroupedProblem(given.grams, given.groups, given.targets),
                              WithCost(200, {{"regularization", std::string(regularization)},
                                             {"max_svm_solves", int64_t{40}}}),
                              1e-4);
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged)
        << regularization << ", gap " << fit.certificate.accuracy;
    EXPECT_LE((fit.weights().array() > 0).count(), 60) << regularization;
  }
}

// As many groups that a model of all kernels, or even of one of each, would be too large, and costs
// so small that no row is free: then there is no Newton step.
TEST(MixedNormPropertyTest, ConvergesWithoutAModel) {
  struct Case {
    int groups;
    std::vector<double> widths;
    double C;
  };
  for (const Case& one : {Case{150, {0.25, 1, 4}, 50}, Case{300, {1}, 50}, Case{3, Widths(), 1e-3},
                          Case{150, {0.25, 1, 4}, 1e-3}}) {
    const RandomKernels given = MakeRandomKernels(40, one.groups, one.widths, 3);
    const Fit fit =
        MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(one.C), 1e-3);
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged)
        << one.groups << " groups, C " << one.C << ", gap " << fit.certificate.accuracy;
  }
}

TEST(MixedNormPropertyTest, SmallWeightsAreTakenOutWhereTheGapAllows) {
  const RandomKernels given = SomeKernels();
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  std::vector<Index> counts;
  for (const double threshold : {0.0, 1e-4}) {
    const Fit fit = MustTrain(
        problem,
        WithCost(50, {{"method", std::string("mirror_descent")}, {"weight_threshold", threshold}}),
        1e-3);
    EXPECT_LE(fit.certificate.accuracy, 1e-3) << threshold;
    counts.push_back((fit.weights().array() > 0).count());
    if (threshold > 0) {
      for (Index g = 0; g < 3; ++g) {
        const Vector of_group = fit.weights().segment(4 * g, 4);
        for (const double weight : of_group) {
          EXPECT_TRUE(weight == 0 || weight >= threshold * of_group.maxCoeff());
        }
      }
    }
  }
  EXPECT_EQ(counts[0], 12);
  EXPECT_LT(counts[1], 12);
}

TEST(MixedNormPropertyTest, GroupsKeepTheFloor) {
  const FixtureProblem given = ReadMixedProblem(ReadMixedFixture("low-rank-groups")["inputs"]);
  for (const double floor : {0.05, 1e-3}) {
    OptionValues options = given.options;
    options["gamma_floor"] = floor;
    const absl::StatusOr<Fit> fit = Train(given.problem, options, 1e-3);
    ASSERT_TRUE(fit.ok()) << fit.status();
    const Vector gamma = fit->point.summary.tables[0].values.col(0).cwiseInverse();
    EXPECT_NEAR(gamma.sum(), 1, 1e-9) << floor;
    EXPECT_GE(gamma.minCoeff(), floor * (1 - 1e-9)) << floor;
    EXPECT_LE(gamma.minCoeff(), floor * (1 + 1e-3)) << floor;  // where the best function was
  }
}

TEST(MixedNormPropertyTest, GroupsOfZeroKernelsAreRefusedByName) {
  const RandomKernels given = SomeKernels();
  std::vector<Matrix> grams = given.grams;
  std::vector<int> groups = given.groups;
  grams.push_back(Matrix::Zero(40, 40));
  groups.push_back(9);
  const TrainingProblem problem = GroupedProblem(grams, groups, given.targets);
  const absl::Status status = Train(problem, WithCost(50), 1e-3).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find("\"g9\""), std::string::npos) << status;
  // With all kernels in one group it is one of many that are not used.
  EXPECT_TRUE(Train(problem, WithCost(50, {{"regularization", std::string("l1")}}), 1e-3).ok());
  for (const char* regularization : {"mixed_norm", "l1", "sum"}) {
    const absl::Status none =
        Train(GroupedProblem({grams.back()}, {0}, given.targets),
              WithCost(50, {{"regularization", std::string(regularization)}}), 1e-3)
            .status();
    EXPECT_TRUE(absl::IsInvalidArgument(none)) << regularization << ": " << none;
  }
}

TEST(MixedNormPropertyTest, TablesTellGroupsAndKernels) {
  const RandomKernels given = SomeKernels();
  const Fit fit =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), WithCost(50), 1e-6);
  const std::vector<ModelTable>& tables = fit.point.summary.tables;
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_TRUE(CheckTables(tables, 1).ok());
  EXPECT_EQ(tables[0].rows, (std::vector<std::string>{"g0", "g1", "g2"}));
  EXPECT_NEAR(tables[0].values.col(0).cwiseInverse().sum(), 1, 1e-9);
  EXPECT_NEAR(tables[0].values.col(1).maxCoeff() / tables[0].values.col(1).minCoeff(), 1, 1e-2);
  EXPECT_EQ(tables[0].values.col(2), Vector::Constant(3, 4.0));
  EXPECT_EQ(tables[0].values.col(3).sum(), (fit.weights().array() > 0).count());
  EXPECT_EQ(tables[1].values.col(1), fit.weights());
  EXPECT_NEAR(tables[1].values.col(2).sum(), 3, 1e-12);
}

absl::Status RefusalOf(OptionValues options) {
  const RandomKernels given = SomeKernels();
  return Train(GroupedProblem(given.grams, given.groups, given.targets), options, 1e-3).status();
}

TEST(MixedNormPropertyTest, ContradictionsAreRefusedByName) {
  const std::vector<std::pair<std::string, OptionValues>> refused = {
      {"gamma_floor", {{"gamma_floor", 0.4}}},
      {"gamma_floor", {{"gamma_floor", 1e-310}}},
      {"method", {{"method", std::string("simple_mkl")}}}};
  for (const auto& [field, options] : refused) {
    const absl::Status status = RefusalOf(options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    const std::vector<FieldViolation> violations = GetFieldViolations(status);
    ASSERT_EQ(violations.size(), 1u) << status;
    EXPECT_EQ(violations[0].field, field);
  }
}

TEST(MixedNormPropertyTest, TheLimitOfMachinesGivesTheBestPointWithItsGap) {
  const RandomKernels given = SomeKernels();
  const Fit fit = MustTrain(
      GroupedProblem(given.grams, given.groups, given.targets),
      WithCost(50, {{"method", std::string("mirror_descent")}, {"max_svm_solves", int64_t{3}}}),
      1e-8);
  EXPECT_EQ(fit.stop_reason, StopReason::kIterationLimit);
  EXPECT_GT(fit.certificate.accuracy, 1e-8);
  EXPECT_LT(fit.certificate.accuracy, 0.5);
}

// A run that is saved and restored after every step has the bits of one that was not.
TEST(MixedNormPropertyTest, EveryMethodIsResumedWithTheSameBits) {
  const RandomKernels given = SomeKernels();
  TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  problem.relative_gap = 1e-3;
  const LearnerEntry entry = Entry();
  for (const char* method : {"newton", "interior_point", "closed_form", "mirror_descent",
                             "alternating_mirror_descent", "simple_mkl"}) {
    const OptionValues options =
        WithCost(50, {{"method", std::string(method)},
                      {"regularization",
                       std::string(std::string(method) == "simple_mkl" ? "l1" : "mixed_norm")}});
    RunContext context;
    std::unique_ptr<Learner> whole = *entry.create(options);
    ASSERT_TRUE(whole->Start(problem, nullptr).ok());
    std::unique_ptr<Learner> halves = *entry.create(options);
    ASSERT_TRUE(halves->Start(problem, nullptr).ok());
    for (int step = 0; step < 25; ++step) {
      ASSERT_TRUE(whole->Step(context, 1e-3).ok());
      ASSERT_TRUE(halves->Step(context, 1e-3).ok());
      const std::string state = halves->SaveState();
      ASSERT_EQ(state, whole->SaveState()) << method << ", step " << step;
      halves = *entry.create(options);
      const absl::Status restored = halves->RestoreState(problem, state, context);
      ASSERT_TRUE(restored.ok()) << method << ": " << restored;
    }
  }
}

// Of the last step, whose kernels are those of the model here: no small weight is taken out.
TEST(MixedNormReportTest, CountsTheKernelsAndTheGroupsInUse) {
  const RandomKernels given = MakeRandomKernels(40, 3, {0.25, 1, 4, 16}, 7);
  for (const char* regularization : {"mixed_norm", "l1"}) {
    for (const bool grouped : {true, false}) {
      TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
      for (KernelSpec& kernel : problem.kernels) {
        kernel.labels.group = grouped ? kernel.labels.group : "";
      }
      problem.relative_gap = 1e-5;
      RunContext context;
      const auto learner = Entry().create({{"C", 50.0},
                                           {"regularization", std::string(regularization)},
                                           {"weight_threshold", 0.0}});
      ASSERT_TRUE(learner.ok() && (*learner)->Start(problem, nullptr).ok());
      StepReport report;
      while (!report.stop.has_value() && report.accuracy > 1e-5) {
        const absl::StatusOr<StepReport> next = (*learner)->Step(context, 1e-5);
        ASSERT_TRUE(next.ok()) << next.status();
        report = *next;
        EXPECT_LE(report.active_groups, grouped ? std::min<Index>(report.active_kernels, 3) : 0);
      }
      std::set<std::string> groups;
      for (size_t k = 0; k < problem.kernels.size(); ++k) {
        if ((*learner)->CurrentModel(context)->summary.kernel_weights(static_cast<Index>(k), 0) >
            0) {
          groups.insert(problem.kernels[k].labels.group);
        }
      }
      EXPECT_EQ(report.active_groups, grouped ? static_cast<Index>(groups.size()) : 0);
    }
  }
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
