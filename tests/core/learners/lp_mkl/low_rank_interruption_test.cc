// Runs on kernels of low rank that are cancelled, wherever they are, and gone on with from what
// they last saved, as after the end of their process.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"
#include "tests/support/learner_runs.h"

namespace mercer::lp_mkl {
namespace {

using testing::IsSupersetOf;

constexpr double kInterruptedGap = 1e-3;

TrainingProblem InterruptedProblem() {
  const Cloud cloud = OverlappingClouds(100, 3, 21);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0, 8.0});
  problem.relative_gap = kInterruptedGap;
  problem.seed = 5;
  return problem;
}

// What a run leaves behind from where `learner` is; its last state.
std::string Finished(Learner& learner) {
  RunContext context;
  for (int step = 0; step < 1000; ++step) {
    const absl::StatusOr<StepReport> report = learner.Step(context, kInterruptedGap);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok() || report->stop.has_value() || report->accuracy <= kInterruptedGap) {
      break;
    }
  }
  return learner.SaveState();
}

// A run that was cancelled when it asked for the `polls`-th time whether it is; null when it was
// done before.
struct CancelledRun {
  std::unique_ptr<Learner> learner;
  std::string saved;  // before the step that was cancelled
  std::string stage;  // where it was
};

CancelledRun CancelAt(const OptionValues& options, const TrainingProblem& problem, int64_t polls) {
  const CancellationToken token;
  std::atomic<int64_t> asked = 0;
  const Interruption counter(absl::InfiniteDuration(), [&] {
    if (++asked == polls) {
      token.Cancel();
    }
    return false;
  });
  RunContext context(token, 1, nullptr);
  CancelledRun run{*Entry().create(options), "", "start"};
  context.set_stage_callback(
      [&](std::string_view stage, std::optional<double>) { run.stage = stage; });
  EXPECT_TRUE(run.learner->Start(problem, nullptr).ok());
  const InterruptibleScope scope(context, counter);
  for (int step = 0; step < 1000; ++step) {
    run.saved = run.learner->SaveState();
    const absl::StatusOr<StepReport> report = run.learner->Step(context, problem.relative_gap);
    if (!report.ok()) {
      EXPECT_TRUE(absl::IsCancelled(report.status())) << report.status();
      EXPECT_FALSE(context.interrupted());
      return run;
    }
    run.stage = report->stage;
    if (report->stop.has_value() || report->accuracy <= kInterruptedGap) {
      break;
    }
  }
  return {};
}

// Stages in which one of the runs was cancelled.
std::set<std::string> CancelEverywhere(const OptionValues& options, const std::string& what) {
  const TrainingProblem problem = InterruptedProblem();
  const std::unique_ptr<Learner> whole = *Entry().create(options);
  EXPECT_TRUE(whole->Start(problem, nullptr).ok());
  const std::string straight = Finished(*whole);
  std::set<std::string> stages;
  for (int64_t polls = 1;; polls += 1 + polls / 2) {
    const CancelledRun run = CancelAt(options, problem, polls);
    if (run.learner == nullptr) {
      return stages;
    }
    stages.insert(run.stage);
    EXPECT_EQ(run.learner->SaveState(), run.saved) << what << ", poll " << polls;
    RunContext context;
    const std::unique_ptr<Learner> restored = *Entry().create(options);
    EXPECT_TRUE(restored->RestoreState(problem, run.saved, context).ok()) << what;
    EXPECT_EQ(Finished(*restored), straight) << what << ", restored after poll " << polls;
    EXPECT_EQ(Finished(*run.learner), straight) << what << ", gone on with after poll " << polls;
  }
}

TEST(LowRankInterruptionTest, CancelledRunsGoOnWithTheSameBitsForEverySelection) {
  for (const std::string& selection : LandmarkSelections()) {
    const std::set<std::string> stages =
        CancelEverywhere(SelectedBy(selection, OnLandmarks(20, {{"C", 10.0}})), selection);
    // The first SVM is solved after the factor, later ones between weights.
    EXPECT_THAT(stages, IsSupersetOf({"compression", "factor", "weights"})) << selection;
    if (selection != "uniform") {
      EXPECT_TRUE(stages.count("landmarks") > 0) << selection;
    }
  }
}

TEST(LowRankInterruptionTest, CancelledRunsGoOnWithTheSameBitsForEveryLossAndSolver) {
  for (const char* loss : {"squared_hinge", "logistic"}) {
    CancelEverywhere(OnLandmarks(20, {{"C", 10.0}, {"loss", std::string(loss)}}), loss);
  }
  for (const char* solver : {"smo", "interior_point", "gfb", "gfb_merged", "coordinate_descent"}) {
    OptionValues options = OnLandmarks(20, {{"C", 0.1}});
    options["inner_solver"] = std::string(solver);
    CancelEverywhere(options, solver);
  }
}

// Those of a state that was written while factors had other bits.
TEST(LowRankInterruptionTest, StatesOfEarlierFactorsAreRefused) {
  const TrainingProblem problem = InterruptedProblem();
  std::vector<OptionValues> all;
  for (const std::string outer : {"newton", "interleaved"}) {
    for (const std::string selection : {"uniform", "leverage", "factors"}) {
      all.push_back(SelectedBy(selection, OnLandmarks(20, {{"outer_loop", outer}})));
    }
  }
  for (const OptionValues& options : all) {
    const std::unique_ptr<Learner> learner = *Entry().create(options);
    EXPECT_TRUE(learner->Start(problem, nullptr).ok());
    RunContext context;
    ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
    std::string state = learner->SaveState();
    const std::unique_ptr<Learner> restored = *Entry().create(options);
    EXPECT_TRUE(restored->RestoreState(problem, state, context).ok());
    --state[0];  // of the version, the lowest byte
    EXPECT_TRUE(absl::IsDataLoss(restored->RestoreState(problem, state, context)));
  }
}

// Tells when the verification begins, and keeps every state.
class VerificationObserver : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& /*event*/) override {}
  bool WantsCheckpoint() override { return true; }
  void OnCheckpoint(std::string state) override { checkpoint = std::move(state); }
  void OnVerifying() override {
    verifying = true;
    if (on_verifying) {
      on_verifying();
    }
  }

  std::function<void()> on_verifying;
  bool verifying = false;
  std::string checkpoint;
};

TEST(LowRankInterruptionTest, VerificationEndsWithCancellationAndIsDoneAnew) {
  const TrainingProblem problem = InterruptedProblem();
  const LearnerEntry entry = Entry();
  RunLimits limits;
  limits.relative_gap = kInterruptedGap;
  const OptionValues options = SelectedBy("leverage", OnLandmarks(20, {{"C", 10.0}}));
  const Fit straight = MustTrain(problem, options, kInterruptedGap);
  for (const std::string stage : {"landmarks", "compression", "factor"}) {
    const CancellationToken token;
    VerificationObserver observer;
    RunContext context(token, 1, nullptr);
    // The run itself tells the stages of its steps.
    observer.on_verifying = [&] {
      context.set_stage_callback([&](std::string_view reached, std::optional<double>) {
        if (reached == stage) {
          token.Cancel();
        }
      });
    };
    const std::unique_ptr<Learner> learner = *entry.create(options);
    const absl::StatusOr<TrainingOutcome> cancelled =
        RunTraining(entry, options, *learner, problem, limits, "", context, observer);
    ASSERT_TRUE(absl::IsCancelled(cancelled.status())) << stage << ": " << cancelled.status();
    ASSERT_TRUE(observer.verifying) << stage;
    RunContext again;
    QuietObserver quiet;
    const std::unique_ptr<Learner> resumed = *entry.create(options);
    const absl::StatusOr<TrainingOutcome> outcome =
        RunTraining(entry, options, *resumed, problem, limits, observer.checkpoint, again, quiet);
    ASSERT_TRUE(outcome.ok()) << stage << ": " << outcome.status();
    EXPECT_EQ(outcome->certificate.primal, straight.certificate.primal) << stage;
    EXPECT_EQ(outcome->certificate.dual, straight.certificate.dual) << stage;
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
