#include "tests/core/learners/lp_mkl/outer_loop_checks.h"

#include <memory>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/lp_mkl/lp_mkl.h"

namespace mercer::lp_mkl {

TrainingProblem CloudsOfKind(Index rows, TargetKind kind, const std::vector<double>& widths,
                             uint64_t seed) {
  const Cloud cloud = OverlappingClouds(rows, 3, seed);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, widths);
  problem.seed = 5;
  if (kind == TargetKind::kRegression) {
    problem.kind = kind;
    problem.tasks[0].targets.col(0) = cloud.x.col(0).array().sin() + 0.5 * cloud.x.col(1).array();
  }
  return problem;
}

std::string NormAndCost(double p, double C) {
  return "p " + std::to_string(p) + ", C " + std::to_string(C);
}

void ExpectSameOptimum(const Fit& fit, const Fit& reference, double gap, double rounding,
                       const std::string& what) {
  EXPECT_EQ(fit.stop_reason, StopReason::kConverged) << what;
  EXPECT_LE(fit.certificate.accuracy, gap) << what;
  EXPECT_LE(fit.certificate.dual, reference.certificate.primal * (1 + rounding)) << what;
  EXPECT_GE(fit.certificate.primal, reference.certificate.dual * (1 - rounding)) << what;
}

void ExpectSameBitsAfterEveryStep(const TrainingProblem& problem, const OptionValues& options,
                                  int steps) {
  RunContext context;
  const std::unique_ptr<Learner> whole = *Entry().create(options);
  ASSERT_TRUE(whole->Start(problem, nullptr).ok());
  std::string state = whole->SaveState();
  for (int step = 0; step < steps; ++step) {
    const auto report = whole->Step(context, problem.relative_gap);
    ASSERT_TRUE(report.ok()) << report.status();
    RunContext two_threads(CancellationToken(), 2, nullptr);
    const std::unique_ptr<Learner> relay = *Entry().create(options);
    ASSERT_TRUE(relay->RestoreState(problem, state, two_threads).ok()) << "step " << step;
    ASSERT_TRUE(relay->Step(two_threads, problem.relative_gap).ok()) << "step " << step;
    state = relay->SaveState();
    ASSERT_TRUE(whole->SaveState() == state) << "step " << step;
  }
}

void ExpectCancelledStepLeavesTheStateBeforeIt(const TrainingProblem& problem,
                                               const OptionValues& options) {
  const std::unique_ptr<Learner> learner = *Entry().create(options);
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  const std::string before = learner->SaveState();
  const CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(learner->Step(cancelled, problem.relative_gap).status()));
  EXPECT_EQ(learner->SaveState(), before);
  RunContext context;
  EXPECT_TRUE(absl::IsFailedPrecondition(learner->CurrentModel(context).status()));
  ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
  EXPECT_TRUE(learner->CurrentModel(context).ok());
}

void ExpectRefusedByName(const OptionValues& loop, const std::vector<OptionValues>& refused) {
  for (const OptionValues& options : refused) {
    OptionValues all = loop;
    for (const auto& [name, value] : options) {
      all[name] = value;
    }
    const absl::Status status = Entry().create(all).status();
    ASSERT_EQ(GetFieldViolations(status).size(), 1u) << options.begin()->first << ": " << status;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "outer_loop");
  }
}

void ExpectDamagedStatesAreDataLoss(const TrainingProblem& problem, const OptionValues& options,
                                    const OptionValues& other_loop) {
  RunContext context;
  const std::unique_ptr<Learner> learner = *Entry().create(options);
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
  const std::string state = learner->SaveState();
  const std::unique_ptr<Learner> other = *Entry().create(other_loop);
  ASSERT_TRUE(other->Start(problem, nullptr).ok());
  for (const std::string& damaged : {std::string(), state.substr(0, state.size() / 2), state + "x",
                                     std::string(200, '\1'), other->SaveState()}) {
    const std::unique_ptr<Learner> restored = *Entry().create(options);
    EXPECT_TRUE(absl::IsDataLoss(restored->RestoreState(problem, damaged, context)));
  }
}

}  // namespace mercer::lp_mkl
