#include "core/learners/csi/csi.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "tests/support/learner_runs.h"
#include "tests/support/model_terms.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem,
                                      const csi::CsiLearnerOptions& options = {}) {
  return RunToGap(csi::Entry(), csi::CsiLearnerOptions::Fields().Values(options), problem);
}

// Of the task.
std::set<Index> PivotsOf(const TrainingOutcome& outcome) {
  const Matrix& pivots = *outcome.point.witness.FindArray("pivots");
  std::set<Index> rows;
  for (Index p = 0; p < pivots.rows(); ++p) {
    rows.insert(static_cast<Index>(pivots(p, 0)));
  }
  return rows;
}

// With all rows as pivots the span is that of all functions, by the representer theorem.
TEST(CsiLearnerTest, AllRowsAsPivotsAreKernelRidgeRegression) {
  for (const double lambda : {1e-3, 1.0, 50.0}) {
    TrainingProblem problem = ToyProblem(TargetKind::kRegression, 70, 3, {0.8});
    problem.tasks[0].costs = Vector::LinSpaced(70, 0.2, 2.0);
    problem.relative_gap = 1e-10;
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.lambda = lambda});
    const absl::StatusOr<TrainingOutcome> ridge =
        RunToGap(*FindLearner("kernel_ridge"), {{"lambda", lambda}}, problem);
    ASSERT_TRUE(outcome.ok() && ridge.ok()) << outcome.status() << ridge.status();
    EXPECT_EQ(PivotsOf(*outcome).size(), 70U);
    EXPECT_NEAR(outcome->certificate.primal / ridge->certificate.primal, 1, 1e-8) << lambda;
    EXPECT_NEAR(outcome->certificate.dual / ridge->certificate.dual, 1, 1e-8) << lambda;
    EXPECT_NEAR(outcome->point.function.bias(0), ridge->point.function.bias(0), 1e-6);
  }
}

// lp_mkl with one kernel has the squared hinge with 1/2 |f|^2 and C.
TEST(CsiLearnerTest, AllRowsAsPivotsAreTheMachineWithTheSquaredHinge) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 60, 3, {1.0});
  problem.relative_gap = 1e-9;
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.lambda = 0.25});
  const absl::StatusOr<TrainingOutcome> machine =
      RunToGap(*FindLearner("lp_mkl"),
               {{"loss", std::string("squared_hinge")}, {"C", 4.0}, {"p", 1.0}}, problem);
  ASSERT_TRUE(outcome.ok() && machine.ok()) << outcome.status() << machine.status();
  EXPECT_NEAR(outcome->certificate.primal / (0.25 * machine->certificate.primal), 1, 1e-7);
}

TEST(CsiLearnerTest, MorePivotsNeverRaiseTheObjective) {
  const TrainingProblem problem = ToyProblem(TargetKind::kClassification, 400, 4, {1.5});
  double before = kInfinity;
  for (const int64_t pivots : {1, 5, 20, 80}) {
    TrainingProblem exact = problem;
    exact.relative_gap = 1e-9;
    const absl::StatusOr<TrainingOutcome> outcome = Train(exact, {.max_pivots = pivots});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(static_cast<int64_t>(PivotsOf(*outcome).size()), pivots);
    EXPECT_EQ(outcome->certificate.scope, CertificateScope::kLowRankProblem);
    EXPECT_LE(outcome->certificate.primal, before * (1 + 1e-8));
    before = outcome->certificate.primal;
  }
}

TrainingProblem ThreeOutputs(Index rows, const std::vector<double>& bandwidths) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, rows, 3, bandwidths);
  Matrix targets(rows, 3);
  for (Index i = 0; i < rows; ++i) {
    for (Index o = 0; o < 3; ++o) {
      targets(i, o) = i % 3 == o ? 1 : -1;
    }
  }
  problem.tasks[0].targets = targets;
  return problem;
}

TEST(CsiLearnerTest, OutputsShareThePivots) {
  TrainingProblem problem = ThreeOutputs(150, {1.0, 3.0});
  problem.relative_gap = 1e-6;
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.max_pivots = 25});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const ModelFunction& function = outcome->point.function;
  ASSERT_EQ(function.num_outputs(), 3);
  ASSERT_EQ(TermsOf<KernelTerm>(function.terms).size(), 1U);
  EXPECT_EQ(TermAt<KernelTerm>(function).coefficients.rows(), 25);
  EXPECT_EQ(TermAt<KernelTerm>(function).coefficients.cols(), 3);
  EXPECT_LE(outcome->certificate.accuracy, 1e-6);
}

// Conformance has one output, whose solver is done in one step.
TEST(CsiLearnerTest, OutputsThatAreUnderWayAreResumedWithTheSameBits) {
  TrainingProblem problem = ThreeOutputs(3000, {0.6});
  problem.relative_gap = 1e-9;
  const LearnerEntry entry = csi::Entry();
  const OptionValues options =
      csi::CsiLearnerOptions::Fields().Values({.lambda = 1e-2, .max_pivots = 300});
  RunContext context;
  RunContext two_threads(CancellationToken(), 2, nullptr);
  const std::unique_ptr<Learner> whole = *entry.create(options);
  ASSERT_EQ(whole->Start(problem, nullptr), absl::OkStatus());
  std::string state;
  int solving = 0;
  for (bool done = false; !done;) {
    const absl::StatusOr<StepReport> report = whole->Step(context, problem.relative_gap);
    ASSERT_TRUE(report.ok()) << report.status();
    if (!state.empty()) {
      const std::unique_ptr<Learner> relay = *entry.create(options);
      ASSERT_EQ(relay->RestoreState(problem, state, context), absl::OkStatus());
      ASSERT_TRUE(relay->Step(two_threads, problem.relative_gap).ok());
      ASSERT_TRUE(relay->SaveState() == whole->SaveState()) << "step " << solving;
      ++solving;
    }
    if (report->stage == "solve") {
      state = whole->SaveState();
    }
    done = report->stop.has_value() || report->accuracy <= problem.relative_gap;
  }
  EXPECT_GE(solving, 2);
  // The first number of a state is the version of its format.
  ASSERT_EQ(state[0], 3);
  state[0] = 2;
  EXPECT_TRUE(absl::IsDataLoss((*entry.create(options))->RestoreState(problem, state, context)));
}

TEST(CsiLearnerTest, RowsOfCostZeroAreNoPivotsAndTheirTargetsAreNotSeen) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 80, 3, {1.0});
  problem.tasks[0].costs.head(30).setZero();
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.max_pivots = 10});
  problem.tasks[0].targets.topRows(30) *= -1;
  const absl::StatusOr<TrainingOutcome> other = Train(problem, {.max_pivots = 10});
  ASSERT_TRUE(outcome.ok() && other.ok()) << outcome.status() << other.status();
  EXPECT_GE(*PivotsOf(*outcome).begin(), 30);
  EXPECT_EQ(PivotsOf(*outcome), PivotsOf(*other));
  EXPECT_EQ(outcome->certificate.primal, other->certificate.primal);
}

TEST(CsiLearnerTest, KernelThatIsZeroLeavesTheBias) {
  TrainingProblem problem =
      PrecomputedProblem(TargetKind::kRegression, {Matrix::Zero(4, 4)}, Vector{{1, 2, 3, 6}});
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_NEAR(outcome->point.function.bias(0), 3, 1e-14);
  EXPECT_NEAR(outcome->certificate.primal, 4 + 1 + 0 + 9, 1e-12);
  EXPECT_TRUE(TermsOf<KernelTerm>(outcome->point.function.terms).empty());
}

TEST(CsiLearnerTest, BadInputIsRefused) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 20, 2, {1.0});
  problem.tasks[0].targets.setOnes();
  EXPECT_EQ(GetReason(Train(problem).status()), "ONE_CLASS");
  problem = ToyProblem(TargetKind::kRegression, 20, 2, {1.0});
  problem.tasks[0].targets(3, 0) = std::nan("");
  EXPECT_EQ(GetReason(Train(problem).status()), "BAD_LABEL");
  problem = ToyProblem(TargetKind::kRegression, 20, 2, {});
  EXPECT_TRUE(absl::IsInvalidArgument(Train(problem).status()));
  EXPECT_EQ(GetReason(Train(IndefiniteProblem()).status()), "NOT_PSD");
  // Two rows whose kernel has the eigenvalue -1e-5; no pivot is small.
  Matrix gram = Matrix::Constant(2, 2, 1.00001);
  gram.diagonal().setOnes();
  const TrainingProblem slightly =
      PrecomputedProblem(TargetKind::kClassification, {gram}, Vector{{1.0, -1.0}});
  EXPECT_EQ(GetReason(Train(slightly).status()), "NOT_PSD");
}

TEST(CsiLearnerTest, VerifierFindsAWitnessOfOtherPivots) {
  const TrainingProblem problem = ToyProblem(TargetKind::kRegression, 50, 2, {1.0});
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.max_pivots = 8});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const LearnerEntry entry = csi::Entry();
  const OptionValues options = csi::CsiLearnerOptions::Fields().Values({.max_pivots = 8});
  RunContext context;
  const auto verify = [&](const Witness& witness) {
    return entry.verify(options, problem, witness, context);
  };
  EXPECT_TRUE(verify(outcome->point.witness).ok());
  for (const double wrong : {-1.0, 50.0, 1.5, std::nan("")}) {
    Witness witness = outcome->point.witness;
    witness.arrays[0].second(2, 0) = wrong;
    EXPECT_EQ(GetReason(verify(witness).status()), "WITNESS_MISMATCH") << wrong;
  }
  Witness twice = outcome->point.witness;
  twice.arrays[0].second(2, 0) = twice.arrays[0].second(1, 0);
  EXPECT_EQ(GetReason(verify(twice).status()), "WITNESS_MISMATCH");
  Witness none = outcome->point.witness;
  none.arrays.clear();
  EXPECT_EQ(GetReason(verify(none).status()), "WITNESS_MISMATCH");
  // Other pivots make another problem: its bounds still enclose its own optimum.
  Witness other = outcome->point.witness;
  std::set<Index> pivots = PivotsOf(*outcome);
  Index free = 0;
  while (pivots.count(free) > 0) {
    ++free;
  }
  other.arrays[0].second(2, 0) = static_cast<double>(free);
  const absl::StatusOr<Verification> verified = verify(other);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_LE(verified->certificate.dual, verified->certificate.primal);
  EXPECT_GT(verified->certificate.accuracy, 2 * outcome->certificate.accuracy);
}

// The kernel matrix would have 7.2 GB.
TEST(CsiLearnerTest, ManyRowsTakeMemoryInProportion) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  const TrainingProblem problem = ToyProblem(TargetKind::kClassification, 30000, 5, {3.0});
  const int64_t grown = PeakGrowth([&] {
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.max_pivots = 15});
    return outcome.ok() && outcome->stop_reason == StopReason::kConverged;
  });
  EXPECT_GT(grown, 0);
  EXPECT_LE(grown, int64_t{30000} * 8 * 200);
}

// The narrow kernel has a high rank, so that all columns that may be kept are.
TEST(CsiLearnerTest, MemoryEstimateHoldsForLongLookAheadsAndManyPivots) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  struct Sizes {
    Index rows;
    int64_t pivots;
    int64_t look_ahead;
  };
  for (const Sizes& sizes :
       {Sizes{1500, 4, 1000}, Sizes{2500, 2, 990}, Sizes{4000, 12, 300}, Sizes{1300, 500, 40}}) {
    const TrainingProblem problem = ToyProblem(TargetKind::kClassification, sizes.rows, 6, {0.5});
    ProblemShape shape;
    shape.rows = sizes.rows;
    shape.columns = 6;
    shape.kernels = 1;
    shape.sources = 1;
    shape.source_columns = 6;
    const csi::CsiLearnerOptions options{.max_pivots = sizes.pivots,
                                         .look_ahead = sizes.look_ahead};
    const absl::StatusOr<size_t> estimate =
        csi::Entry().estimate_memory(csi::CsiLearnerOptions::Fields().Values(options), shape);
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    const int64_t grown = PeakGrowth([&] { return Train(problem, options).ok(); });
    EXPECT_GT(grown, 0);
    EXPECT_GE(static_cast<int64_t>(*estimate) + kCodeAndStacks, grown)
        << sizes.rows << " rows, " << sizes.pivots << " pivots, " << sizes.look_ahead;
    EXPECT_LE(static_cast<int64_t>(*estimate), 3 * grown)
        << sizes.rows << " rows, " << sizes.pivots << " pivots, " << sizes.look_ahead;
  }
}

// Costs are the weights of the rows divided by lambda: the weights of the pivots are no sum of terms
// of their order.
TEST(CsiLearnerTest, TinyLambdaIsNoObstacle) {
  for (const TargetKind kind : {TargetKind::kRegression, TargetKind::kClassification}) {
    for (const double lambda : {1e-9, 1e-11, 1e-13, 1e-15}) {
      TrainingProblem problem = ToyProblem(kind, 600, 3, {2.0});
      problem.relative_gap = 1e-6;
      const absl::StatusOr<TrainingOutcome> outcome =
          Train(problem, {.lambda = lambda, .max_pivots = 30});
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_LE(outcome->certificate.accuracy, 1e-6) << lambda;
    }
  }
}

// A kernel of rank 1 has one pivot, whatever rounding leaves of the others; many pivots on a line are nearly dependent.
TEST(CsiLearnerTest, DependentPivotsAreNoObstacle) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    TrainingProblem problem = ToyProblem(TargetKind::kClassification, 24, 1, {1.0, 1.0}, seed);
    problem.kernels[0].type = KernelType::kLinear;
    const absl::StatusOr<TrainingOutcome> line = Train(problem);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_LE(line->certificate.accuracy, problem.relative_gap);
    problem.kernels[1].type = KernelType::kLinear;
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(PivotsOf(*outcome).size(), 1U);
  }
}

}  // namespace
}  // namespace mercer
