// Paths over folds that a limit of time or a stop ends before the folds are through.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_phases.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/recipe/warnings.h"
#include "tests/core/training/trained_models.h"

namespace mercer {
namespace {

constexpr Index kRowsOfAll = 60;
constexpr double kSecondsLost = 1000;  // more than any limit here

class ClockOfSteps final : public SteadyClock {
 public:
  absl::Duration Monotonic() const override { return time; }
  absl::Duration time;
};

// A step takes a second; on all rows, if `last_is_lost`, it is cut short by every limit. On the rows
// of folds, if `folds_need_steps`, no step comes to a model.
class SlowLearner : public Learner {
 public:
  SlowLearner(std::unique_ptr<Learner> inner, ClockOfSteps& clock, bool last_is_lost,
              bool folds_need_steps)
      : inner_(std::move(inner)),
        clock_(clock),
        last_is_lost_(last_is_lost),
        folds_need_steps_(folds_need_steps) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override {
    loses_ = last_is_lost_ && problem.num_rows() == kRowsOfAll;
    hides_ = folds_need_steps_ && problem.num_rows() < kRowsOfAll;
    return inner_->Start(problem, warm_start);
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    clock_.time += absl::Seconds(loses_ ? kSecondsLost : 1);
    const absl::Status ended = context.CheckCancelled();
    if (loses_ && !ended.ok()) {
      return ended;
    }
    absl::StatusOr<StepReport> report = inner_->Step(context, target);
    if (report.ok() && hides_) {
      report->has_model = false;
      report->accuracy = kInfinity;
    }
    return report;
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    return hides_ ? absl::FailedPreconditionError("no step has come to a model")
                  : inner_->CurrentModel(context);
  }
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    return inner_->ConstantModel(context);
  }
  std::string SaveState() const override { return inner_->SaveState(); }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    return inner_->RestoreState(problem, state, context);
  }

 private:
  std::unique_ptr<Learner> inner_;
  ClockOfSteps& clock_;
  const bool last_is_lost_;
  const bool folds_need_steps_;
  bool loses_ = false;
  bool hides_ = false;
};

class PathEarlyEndTest : public testing::Test {
 protected:
  PathEarlyEndTest() {
    recipe_.limits.relative_gap = 1e-8;
    recipe_.validation = {ValidationKind::kFolds, {}, 3};
    recipe_.path = OptionPath{"C", {0.001, 0.1, 10.0}};
    context_.set_clock(&clock_);
  }

  absl::StatusOr<TrainedModel> Run(bool last_is_lost = false, const std::string& state = "") {
    LearnerEntry entry = ExampleEntry();
    entry.create = [&](const OptionValues& options) -> absl::StatusOr<std::unique_ptr<Learner>> {
      absl::StatusOr<std::unique_ptr<Learner>> inner = ExampleEntry().create(options);
      if (!inner.ok()) {
        return inner.status();
      }
      return std::make_unique<SlowLearner>(*std::move(inner), clock_, last_is_lost,
                                           folds_need_steps_);
    };
    const RecipeRun run{&entry, &recipe_, &data_, "digest", "test-version"};
    return RunRecipe(run, state, context_, observer_);
  }

  void ExpectVerified(const TrainedModel& trained) {
    EXPECT_EQ(trained.model.num_training_rows, kRowsOfAll);
    const absl::StatusOr<Certificate> verified =
        VerifyModel(ExampleRun(recipe_, data_), trained.model, trained.witness, context_);
    ASSERT_TRUE(verified.ok()) << verified.status();
    EXPECT_EQ(verified->primal, trained.model.certificate.primal);
  }

  int64_t StepsOfAll() {
    EXPECT_TRUE(Run().ok());
    const auto steps = static_cast<int64_t>(observer_.events.size());
    observer_ = RecordingObserver();
    clock_.time = absl::ZeroDuration();
    return steps;
  }

  const Dataset data_ = ClassificationData(kRowsOfAll, 2, 2, 1);
  TrainingRecipe recipe_ = ExampleRecipe();
  bool folds_need_steps_ = false;
  ClockOfSteps clock_;
  RunContext context_;
  RecordingObserver observer_;
};

TEST_F(PathEarlyEndTest, AThirdOfTheTimeGivesAModelOfAllRows) {
  const int64_t steps = StepsOfAll();
  recipe_.limits.max_time = absl::Seconds(steps / 3);
  const absl::StatusOr<TrainedModel> trained = Run();
  ASSERT_TRUE(trained.ok()) << trained.status();
  ExpectVerified(*trained);
  EXPECT_LE(clock_.time, recipe_.limits.max_time + absl::Seconds(1));
  EXPECT_EQ(observer_.events.back().phase, "train");
  const std::map<std::string, double> metrics = MetricsOf(trained->model);
  EXPECT_EQ(metrics.at(kFoldsLeftOut), 2) << "one fold of three takes less than a quarter";
  EXPECT_EQ(trained->model.held_out.folds, 1);

  const std::vector<TrainingWarning> warnings = FindWarnings(recipe_, data_, trained->model);
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings.back().code, WarningCode::kValidationEnded);
  EXPECT_EQ(warnings.back().values.at("folds_left_out"), "2");
  EXPECT_NE(warnings.back().message.find("with 1 of 3 folds through"), std::string::npos);
  EXPECT_NE(warnings.back().message.find("C was chosen by what was known"), std::string::npos);
}

// Of the second fold some values are known by then. What all values have been tried in decides, the
// first fold: as when a stop comes right behind it.
TEST_F(PathEarlyEndTest, TheFoldsThatAreThroughDecide) {
  const int64_t steps = StepsOfAll();
  recipe_.limits.max_time = absl::Seconds(steps / 3);
  const absl::StatusOr<TrainedModel> limited = Run();
  ASSERT_TRUE(limited.ok()) << limited.status();
  const auto of_first = std::count_if(
      observer_.events.begin(), observer_.events.end(),
      [](const ProgressEvent& event) { return event.phase.find("fold 1 of 3") == 0; });
  ASSERT_GT(of_first, 0) << observer_.events[0].phase;
  ASSERT_LT(of_first, static_cast<int64_t>(observer_.events.size()));

  recipe_.limits.max_time = absl::InfiniteDuration();
  observer_ = RecordingObserver();
  observer_.stop_after = static_cast<int>(of_first);
  const absl::StatusOr<TrainedModel> stopped = Run();
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  const std::map<std::string, double> metrics = MetricsOf(stopped->model);
  EXPECT_EQ(metrics.at(kFoldsLeftOut), 2);
  const auto score = [&](int value) {
    return metrics.at("path." + std::to_string(value) + ".accuracy");
  };
  int best = 1;
  for (const int value : {2, 3}) {
    best = score(value) > score(best) ? value : best;
  }
  EXPECT_EQ(metrics.at("path.best"), best);
  EXPECT_EQ(MetricsOf(limited->model).at("path.best"), best);
}

// More time would not help folds whose steps were too few; a model of all rows would hide it.
TEST_F(PathEarlyEndTest, FoldsWithoutAModelAfterAllStepsAreAnError) {
  folds_need_steps_ = true;
  recipe_.limits.max_iterations = 3;
  const absl::StatusOr<TrainedModel> trained = Run();
  EXPECT_EQ(GetReason(trained.status()), "NO_MODEL") << trained.status();
}

TEST_F(PathEarlyEndTest, EvenOneStepOfAFoldLeavesAModel) {
  const int64_t steps = StepsOfAll();
  for (const int64_t limit : {2L, 4L, steps / 2, steps - 2}) {
    observer_ = RecordingObserver();
    clock_.time = absl::ZeroDuration();
    recipe_.limits.max_time = absl::Seconds(limit);
    const absl::StatusOr<TrainedModel> trained = Run();
    ASSERT_TRUE(trained.ok()) << trained.status() << " after " << limit << " of " << steps;
    ExpectVerified(*trained);
  }
}

TEST_F(PathEarlyEndTest, AModelThatIsNotTrainedInTimeIsConstant) {
  const int64_t steps = StepsOfAll();
  recipe_.limits.max_time = absl::Seconds(steps / 3);
  const absl::StatusOr<TrainedModel> trained = Run(true);
  ASSERT_TRUE(trained.ok()) << trained.status();
  ExpectVerified(*trained);
  EXPECT_EQ(trained->model.stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(trained->model.summary.num_support_vectors, 0);
}

TEST_F(PathEarlyEndTest, AStopWithinTheFoldsTrainsTheModelForAWhile) {
  for (const bool last_is_lost : {false, true}) {
    observer_ = RecordingObserver();
    observer_.stop_after = 2;
    const absl::StatusOr<TrainedModel> trained = Run(last_is_lost);
    ASSERT_TRUE(trained.ok()) << trained.status();
    ExpectVerified(*trained);
    EXPECT_EQ(MetricsOf(trained->model).at(kFoldsLeftOut), 3);
    if (last_is_lost) {
      EXPECT_EQ(trained->model.stop_reason, StopReason::kStopRequested);
      EXPECT_EQ(trained->model.summary.num_support_vectors, 0);
    } else {
      EXPECT_EQ(observer_.events.back().phase, "train");
      EXPECT_GT(trained->model.summary.num_support_vectors, 0);
    }
  }
}

TEST_F(PathEarlyEndTest, WhereNothingWasComputedThereIsNoModel) {
  observer_.stop_now = true;
  EXPECT_EQ(GetReason(Run().status()), "NO_MODEL");
}

TEST_F(PathEarlyEndTest, ACheckpointOfTheModelsPhaseGoesOnWithIt) {
  const int64_t steps = StepsOfAll();
  recipe_.limits.max_time = absl::Seconds(steps / 3);
  observer_.wants_checkpoints = true;
  const absl::StatusOr<TrainedModel> straight = Run();
  ASSERT_TRUE(straight.ok()) << straight.status();
  const std::string last = observer_.checkpoints.back();
  ASSERT_EQ(observer_.events.back().phase, "train");
  observer_ = RecordingObserver();
  const absl::StatusOr<TrainedModel> resumed = Run(false, last);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  for (const ProgressEvent& event : observer_.events) {
    EXPECT_EQ(event.phase, "train");
  }
  EXPECT_EQ(MetricsOf(resumed->model), MetricsOf(straight->model));
}

TEST(PathEarlyEnd, OnRowsHeldOutTheValuesThatAreLeftOutAreCounted) {
  const Dataset data = ClassificationData(kRowsOfAll, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kHoldOut;
  recipe.path = OptionPath{"C", {0.001, 0.1, 10.0}};
  RunContext context;
  RecordingObserver observer;
  observer.stop_after = 1;
  const absl::StatusOr<TrainedModel> stopped =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(MetricsOf(stopped->model).at(kValuesLeftOut), 2);
  const TrainingWarning warning = FindWarnings(recipe, data, stopped->model).back();
  EXPECT_EQ(warning.code, WarningCode::kValidationEnded);
  EXPECT_NE(warning.message.find("with 1 of 3 values of the path through"), std::string::npos);
}

}  // namespace
}  // namespace mercer
