#include "core/learners/ikl/ikl.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/ikl/search.h"
#include "core/learners/registry.h"
#include "tests/support/field_violation.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem,
                                      const ikl::IklOptions& options = {}) {
  return RunToGap(ikl::Entry(), ikl::IklOptions::Fields().Values(options), problem);
}

double MetricOf(const TrainingOutcome& outcome, const std::string& name) {
  for (const Metric& metric : outcome.metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

struct Reference {
  nlohmann::json fixture = ReadFixtureFile("infinite-features/13_infinite_kernel_learning.json");
  TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, RowMatrix(JsonMatrix(fixture["X"])),
                  JsonVector(fixture["y"]), {});
  double C = fixture["C"].get<double>();
  double low = fixture["interval"][0].get<double>();
  double high = fixture["interval"][1].get<double>();
  double upper = fixture["expected"]["infinite_objective_upper"].get<double>();
  double lower = fixture["expected"]["infinite_objective_lower"].get<double>();
};

TEST(IklTest, ReproducesTheReferenceOverTheWholeInterval) {
  const Reference reference;
  TrainingProblem problem = reference.problem;
  problem.relative_gap = 1e-8;
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.C = reference.C,
                                                                  .min_bandwidth = reference.low,
                                                                  .max_bandwidth = reference.high,
                                                                  .violation = 1e-6});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const double tolerance =
      reference.fixture["tolerance"]["infinite_objective_relative"].get<double>();
  EXPECT_NEAR(outcome->certificate.primal / reference.upper, 1, tolerance);
  EXPECT_NEAR(MetricOf(*outcome, "ikl.family_dual") / reference.lower, 1, tolerance);
  EXPECT_LE(MetricOf(*outcome, "ikl.family_dual"), outcome->certificate.primal);
  EXPECT_EQ(outcome->certificate.scope, CertificateScope::kListedFeatures);
}

// The fixed list of the reference, by the learner whose problem it is: the
// interval can do no worse.
TEST(IklTest, IntervalIsAtLeastAsGoodAsAnyListInIt) {
  const Reference reference;
  TrainingProblem listed = reference.problem;
  listed.relative_gap = 1e-9;
  for (const double bandwidth : reference.fixture["finite_sigmas"].get<std::vector<double>>()) {
    listed.kernels.push_back(ikl::GaussianOf(bandwidth));
  }
  const absl::StatusOr<TrainingOutcome> finite =
      RunToGap(*FindLearner("lp_mkl"), {{"p", 1.0}, {"C", reference.C}}, listed);
  ASSERT_TRUE(finite.ok()) << finite.status();
  const double expected = reference.fixture["expected"]["finite_objective"].get<double>();
  EXPECT_NEAR(finite->certificate.primal / expected, 1,
              reference.fixture["tolerance"]["finite_objective_relative"].get<double>());
  EXPECT_LT(reference.upper, expected);
}

// One bandwidth is a support vector machine.
TEST(IklTest, IntervalOfOneBandwidthIsTheMachine) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 120, 3, {1.7});
  problem.relative_gap = 1e-8;
  const absl::StatusOr<TrainingOutcome> machine =
      RunToGap(*FindLearner("svm"), {{"C", 3.0}}, problem);
  problem.kernels.clear();
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(problem, {.C = 3, .min_bandwidth = 1.7, .max_bandwidth = 1.7});
  ASSERT_TRUE(machine.ok() && outcome.ok()) << machine.status() << outcome.status();
  EXPECT_NEAR(outcome->certificate.primal / machine->certificate.primal, 1, 1e-7);
  EXPECT_EQ(MetricOf(*outcome, "ikl.kernels"), 1);
  EXPECT_NEAR(MetricOf(*outcome, "ikl.family_gap"), 0, 1e-7);
}

TEST(IklTest, MoreKernelsNeverRaiseTheObjective) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 150, 4, {});
  problem.relative_gap = 1e-7;
  double before = kInfinity;
  for (const int64_t kernels : {1, 2, 3, 20}) {
    const absl::StatusOr<TrainingOutcome> outcome =
        Train(problem, {.C = 10, .violation = 1e-5, .max_kernels = kernels});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_LE(outcome->certificate.primal, before * (1 + 1e-6));
    EXPECT_LE(outcome->certificate.dual, outcome->certificate.primal);
    EXPECT_LE(MetricOf(*outcome, "ikl.family_dual"), outcome->certificate.dual * (1 + 1e-12));
    EXPECT_LE(MetricOf(*outcome, "ikl.kernels"), kernels);
    before = outcome->certificate.primal;
  }
}

// Against a fine list, by the learner of lists.
TEST(IklTest, AgreesWithAFineList) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 100, 3, {});
  problem.relative_gap = 1e-6;
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(problem, {.C = 20, .min_bandwidth = 0.2, .max_bandwidth = 20, .violation = 1e-5});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  for (int k = 0; k <= 120; ++k) {
    problem.kernels.push_back(ikl::GaussianOf(0.2 * std::pow(100.0, k / 120.0)));
  }
  const absl::StatusOr<TrainingOutcome> list =
      RunToGap(*FindLearner("lp_mkl"), {{"p", 1.0}, {"C", 20.0}}, problem);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_NEAR(outcome->certificate.primal / list->certificate.primal, 1, 1e-4);
}

TEST(IklSearchTest, FindsTheLargestEnergyOfAFineScan) {
  const TrainingProblem problem = ToyProblem(TargetKind::kClassification, 80, 2, {});
  const TaskData& task = problem.tasks[0];
  RunContext context;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const Vector dual = NormalMatrix(80, 1, seed).col(0);
    const auto found = ikl::FindBandwidths(task, {0.05, 50}, {1.0}, dual, context);
    ASSERT_TRUE(found.ok()) << found.status();
    std::vector<double> scan;
    for (int k = 0; k <= 3000; ++k) {
      scan.push_back(0.05 * std::pow(1000.0, k / 3000.0));
    }
    const auto family = ikl::MakeFamily(task, scan, context);
    ASSERT_TRUE(family.ok());
    Matrix energies(static_cast<Index>(scan.size()), 1);
    ASSERT_TRUE((*family)->QuadraticForms(dual, {}, energies, context).ok());
    EXPECT_GE(found->front().energy, energies.maxCoeff() * (1 - 1e-6));
    EXPECT_LE(found->front().energy, energies.maxCoeff() * (1 + 1e-4));
  }
}

TEST(IklTest, BadInputIsRefused) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 20, 2, {});
  EXPECT_NE(
      Violation(Train(problem, {.min_bandwidth = 2, .max_bandwidth = 1}).status(), "max_bandwidth"),
      "");
  problem.tasks[0].targets.setOnes();
  EXPECT_EQ(GetReason(Train(problem).status()), "ONE_CLASS");
}

TEST(IklTest, VerifierFindsAWitnessThatDoesNotFit) {
  const TrainingProblem problem = ToyProblem(TargetKind::kClassification, 40, 2, {});
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const LearnerEntry entry = ikl::Entry();
  RunContext context;
  const auto reason = [&](const std::function<void(Witness&)>& change) {
    Witness witness = outcome->point.witness;
    change(witness);
    return GetReason(entry.verify({}, problem, witness, context).status());
  };
  EXPECT_EQ(reason([](Witness&) {}), "");
  EXPECT_EQ(reason([](Witness& w) { w.arrays[0].second(0, 0) += 0.5; }), "WITNESS_MISMATCH");
  EXPECT_EQ(reason([](Witness& w) { w.arrays[0].second(0, 0) = -1; }), "WITNESS_MISMATCH");
  EXPECT_EQ(reason([](Witness& w) { w.arrays[1].second(0, 0) = 1e9; }), "WITNESS_MISMATCH");
  EXPECT_EQ(reason([](Witness& w) { w.arrays.pop_back(); }), "WITNESS_MISMATCH");
}

TEST(IklTest, MemoryEstimateHoldsForThousandsOfRows) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  struct Sizes {
    Index rows;
    Index columns;
  };
  for (const Sizes& sizes : {Sizes{3500, 2}, Sizes{3000, 8}, Sizes{2500, 300}}) {
    const TrainingProblem problem =
        ToyProblem(TargetKind::kClassification, sizes.rows, sizes.columns, {});
    ProblemShape shape;
    shape.rows = sizes.rows;
    shape.columns = sizes.columns;
    const absl::StatusOr<size_t> estimate =
        ikl::Entry().estimate_memory(ikl::IklOptions::Fields().Values({}), shape);
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    const int64_t grown = PeakGrowth([&] { return Train(problem).ok(); });
    EXPECT_GT(grown, 0);
    EXPECT_GE(static_cast<int64_t>(*estimate) + kCodeAndStacks, grown)
        << sizes.rows << " x " << sizes.columns;
    EXPECT_LE(static_cast<int64_t>(*estimate), 3 * grown) << sizes.rows << " x " << sizes.columns;
  }
}

}  // namespace
}  // namespace mercer
