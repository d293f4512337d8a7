#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/learners/lp_mkl/verify.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

TrainingProblem SmallProblem() {
  const Cloud cloud = OverlappingClouds(120, 3, 21);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.3, 1.0, 3.0, 10.0, 30.0});
  problem.relative_gap = 1e-6;
  return problem;
}

std::unique_ptr<Learner> MakeLearner(const OptionValues& options) {
  return *Entry().create(options);
}

TEST(LpMklLearnerTest, RestoredRunGivesTheSameBitsAfterEveryStep) {
  const TrainingProblem problem = SmallProblem();
  for (const char* inner : {"smo", "newton"}) {
    const OptionValues options = {{"p", 1.2}, {"C", 30.0}, {"inner_solver", std::string(inner)}};
    RunContext context;
    const auto whole = MakeLearner(options);
    ASSERT_TRUE(whole->Start(problem, nullptr).ok());
    std::unique_ptr<Learner> relay = MakeLearner(options);
    ASSERT_TRUE(relay->Start(problem, nullptr).ok());
    for (int step = 0; step < 200; ++step) {
      const auto report = whole->Step(context, problem.relative_gap);
      ASSERT_TRUE(report.ok()) << report.status();
      RunContext two_threads(CancellationToken(), 2, nullptr);
      std::unique_ptr<Learner> next = MakeLearner(options);
      ASSERT_TRUE(next->RestoreState(problem, relay->SaveState(), two_threads).ok());
      ASSERT_TRUE(next->Step(two_threads, problem.relative_gap).ok());
      relay = std::move(next);
      ASSERT_EQ(whole->SaveState(), relay->SaveState()) << inner << " step " << step;
      EXPECT_LE(report->dual, report->primal * (1 + 1e-12));
      if (report->has_model && report->accuracy <= problem.relative_gap) {
        break;
      }
    }
    const auto one = whole->CurrentModel(context);
    const auto other = relay->CurrentModel(context);
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(one->witness.tasks[0].dual, other->witness.tasks[0].dual);
  }
}

TEST(LpMklLearnerTest, CancelledStepKeepsTheStateOfTheStepBefore) {
  const TrainingProblem problem = SmallProblem();
  const auto learner = MakeLearner({{"C", 30.0}});
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  RunContext context;
  ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
  const std::string before = learner->SaveState();
  const CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(learner->Step(cancelled, problem.relative_gap).status()));
  EXPECT_EQ(learner->SaveState(), before);
  EXPECT_TRUE(learner->Step(context, problem.relative_gap).ok());
}

TEST(LpMklLearnerTest, VerifierAgreesWithTheReportAndRefusesForeignWitness) {
  const TrainingProblem problem = SmallProblem();
  const absl::StatusOr<Fit> fit = Train(problem, {{"C", 5.0}}, 1e-5);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_LE(fit->certificate.accuracy, 1e-5);
  EXPECT_GE(fit->certificate.primal, fit->certificate.dual);
  LpMklOptions options;
  options.C = 5.0;
  RunContext context;
  Witness witness = fit->point.witness;
  witness.arrays[0].second *= 3.0;
  EXPECT_TRUE(absl::IsFailedPrecondition(Verify(options, problem, witness, context).status()));
  witness.arrays.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(Verify(options, problem, witness, context).status()));
}

TEST(LpMklLearnerTest, WarmStartFromTheSolutionNeedsLittleWork) {
  const TrainingProblem problem = SmallProblem();
  const absl::StatusOr<Fit> fit = Train(problem, {{"C", 5.0}}, 1e-6);
  ASSERT_TRUE(fit.ok()) << fit.status();
  const WarmStart warm{&fit->point, &problem};
  const auto steps = [&](const WarmStart* start) {
    const auto learner = MakeLearner({{"C", 5.0}});
    EXPECT_TRUE(learner->Start(problem, start).ok());
    RunContext context;
    for (Index step = 1; step < 100; ++step) {
      const auto report = learner->Step(context, problem.relative_gap);
      EXPECT_TRUE(report.ok());
      if (!report.ok() || report->accuracy <= 1e-5) {
        return report.ok() ? report->inner_iterations : -1;
      }
    }
    return Index{-1};
  };
  const Index cold = steps(nullptr);
  const Index warmed = steps(&warm);
  EXPECT_GE(warmed, 0);
  EXPECT_LT(warmed, cold);
}

TEST(LpMklLearnerTest, IndefiniteGramIsRefusedByName) {
  // Along (1, -1), where the solution lies, the second matrix has the eigenvalue -1.
  const Matrix good = Matrix::Identity(2, 2);
  const Matrix indefinite = (Matrix(2, 2) << 1.0, 2.0, 2.0, 1.0).finished();
  const Vector labels = (Vector(2) << 1.0, -1.0).finished();
  const auto fit = Train(GramProblem({good, indefinite}, labels), {{"C", 1.0}}, 1e-3);
  EXPECT_TRUE(absl::IsInvalidArgument(fit.status())) << fit.status();
  EXPECT_EQ(GetReason(fit.status()), "NOT_PSD");
  EXPECT_THAT(std::string(fit.status().message()), testing::HasSubstr("kernels[1]"));
}

TEST(LpMklLearnerTest, HugeOptionsAreRefusedByName) {
  TrainingProblem problem = SmallProblem();
  problem.kind = TargetKind::kRegression;
  for (const char* name : {"C", "epsilon"}) {
    for (const double value : {1e299, 1e308}) {
      const absl::Status status = MakeLearner({{name, value}})->Start(problem, nullptr);
      ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
      EXPECT_EQ(GetFieldViolations(status)[0].field, name);
    }
  }
}

TEST(LpMklLearnerTest, BadRowsAreRefusedWithTheirNumber) {
  TrainingProblem problem = SmallProblem();
  problem.tasks[0].costs(4) = -1;
  const absl::Status status = MakeLearner({})->Start(problem, nullptr);
  EXPECT_EQ(GetReason(status), "BAD_WEIGHT");
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("row 5"));
  problem.tasks[0].costs.setZero();
  EXPECT_EQ(GetReason(MakeLearner({})->Start(problem, nullptr)), "NO_ROWS");
  problem.tasks[0].costs.setOnes();
  problem.tasks[0].targets.setOnes();
  EXPECT_EQ(GetReason(MakeLearner({})->Start(problem, nullptr)), "ONE_CLASS");
}

TEST(LpMklLearnerTest, DamagedStateIsRefused) {
  const TrainingProblem problem = SmallProblem();
  const auto learner = MakeLearner({});
  RunContext context;
  EXPECT_TRUE(absl::IsDataLoss(learner->RestoreState(problem, "rubbish", context)));
}

TEST(LpMklLearnerTest, OptionsAreCheckedAndRoundTrip) {
  const auto& schema = LpMklOptions::Fields();
  for (const OptionValues& bad : std::vector<OptionValues>{{{"p", 0.5}},
                                                           {{"p", std::nan("")}},
                                                           {{"C", 0.0}},
                                                           {{"C", kInfinity}},
                                                           {{"epsilon", -1.0}},
                                                           {{"outer_loop", std::string("magic")}},
                                                           {{"q", 2.0}}}) {
    EXPECT_FALSE(schema.Parse(bad).ok()) << bad.begin()->first;
  }
  const OptionValues values = {{"p", kInfinity},
                               {"C", 7.0},
                               {"epsilon", 0.3},
                               {"loss", std::string("logistic")},
                               {"inner_solver", std::string("newton")},
                               {"outer_loop", std::string("alternation")},
                               {"approximation", std::string("nystrom")},
                               {"landmarks", int64_t{50}},
                               {"landmark_selection", std::string("k_means")},
                               {"own_landmarks", true},
                               {"rank", int64_t{20}},
                               {"eigenvalue_threshold", 1e-8},
                               {"compression_tolerance", 1e-6},
                               {"exact_certificate", true},
                               {"weight_penalty", 0.5}};
  const auto parsed = schema.Parse(values);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(schema.Values(*parsed), values);
}

}  // namespace
}  // namespace mercer::lp_mkl
