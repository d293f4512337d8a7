// Several outputs of a composite run that are learned side by side.
#include <atomic>

#include <gtest/gtest.h>

#include "core/training/recipe/recipe_plan.h"
#include "core/training/run/composite_learner.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/thorough.h"

namespace mercer::parts_side_by_side {
namespace {

constexpr int kClasses = 7;
constexpr Index kRows = 84;

TrainingProblem SevenClasses() {
  const Dataset data = ClassificationData(kRows, 3, kClasses, 5);
  Matrix targets = Matrix::Constant(kRows, kClasses, -1);
  for (Index i = 0; i < kRows; ++i) {
    targets(i, i % kClasses) = 1;
  }
  return MakeProblem(TargetKind::kClassification, RowMatrix(data.blocks[0].values.view()), targets,
                     {1.0, 3.0});
}

// Class 0 against each of the others, on the rows of the two.
TrainingProblem SixPairs() {
  TrainingProblem problem = SevenClasses();
  Matrix targets = Matrix::Zero(kRows, kClasses - 1);
  for (Index i = 0; i < kRows; ++i) {
    const Index own = i % kClasses;
    if (own == 0) {
      targets.row(i).setOnes();
    } else {
      targets(i, own - 1) = -1;
    }
  }
  problem.tasks[0].targets = targets;
  return problem;
}

struct Result {
  TrainingOutcome outcome;
  std::vector<std::string> checkpoints;
  std::vector<int64_t> iterations;  // after each step
};

Result Train(const LearnerEntry& entry, const TrainingProblem& problem, Index at_once, int threads,
             std::string_view state = {}, RunLimits limits = {}) {
  RunContext context(CancellationToken(), threads, nullptr);
  RecordingObserver observer;
  observer.wants_checkpoints = true;
  limits.parts_at_once = at_once;
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {}, limits);
  absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem, limits, state, context, observer);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  Result result{outcome.ok() ? *std::move(outcome) : TrainingOutcome(), observer.checkpoints, {}};
  double fraction = 0;
  for (const ProgressEvent& event : observer.events) {
    EXPECT_GE(event.report.fraction, fraction);
    fraction = event.report.fraction;
    result.iterations.push_back(event.iteration);
  }
  return result;
}

void ExpectSame(const Result& a, const Result& b, const std::string& what) {
  EXPECT_EQ(SaveWitness(a.outcome.point.witness), SaveWitness(b.outcome.point.witness)) << what;
  EXPECT_EQ(a.outcome.iterations, b.outcome.iterations) << what;
  EXPECT_EQ(a.outcome.certificate.dual, b.outcome.certificate.dual) << what;
  EXPECT_EQ(a.outcome.stop_reason, b.outcome.stop_reason) << what;
}

TEST(PartsSideBySideTest, TheSameBitsForEveryNumberOfThreads) {
  for (const TrainingProblem& problem : {SevenClasses(), SixPairs()}) {
    const Result one = Train(ExampleEntry(), problem, 3, 1);
    EXPECT_EQ(one.outcome.stop_reason, StopReason::kConverged);
    for (const int threads : {2, 3, 8}) {
      const Result other = Train(ExampleEntry(), problem, 3, threads);
      ExpectSame(one, other, absl::StrCat(threads, " threads"));
      EXPECT_EQ(one.checkpoints, other.checkpoints) << threads << " threads";
      EXPECT_EQ(one.iterations, other.iterations) << threads << " threads";
    }
  }
}

// What the template learner finds does not depend on where it begins.
TEST(PartsSideBySideTest, PartsAreThoseOfARunOfOneAfterTheOther) {
  for (const TrainingProblem& problem : {SevenClasses(), SixPairs()}) {
    const Result one = Train(ExampleEntry(), problem, 1, 2);
    for (const Index at_once : {2, 3, 100}) {
      ExpectSame(one, Train(ExampleEntry(), problem, at_once, 2), absl::StrCat(at_once));
    }
  }
}

TEST(PartsSideBySideTest, EveryCheckpointLeadsToTheSameBits) {
  for (const TrainingProblem& problem : {SevenClasses(), SixPairs()}) {
    const Result straight = Train(ExampleEntry(), problem, 3, 2);
    ASSERT_GT(straight.checkpoints.size(), 6u);
    for (size_t i = 0; i < straight.checkpoints.size(); ++i) {
      const int threads = i % 2 == 0 ? 1 : 3;
      ExpectSame(straight, Train(ExampleEntry(), problem, 3, threads, straight.checkpoints[i]),
                 absl::StrCat("from checkpoint ", i));
    }
  }
}

// Counts the steps of all runs together; before the one of that number it cancels its run.
class CancellingLearner : public Learner {
 public:
  CancellingLearner(std::unique_ptr<Learner> inner, std::atomic<int>& steps, int cancels)
      : inner_(std::move(inner)), steps_(steps), cancels_(cancels) {}
  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override {
    return inner_->Start(problem, warm_start);
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    if (++steps_ == cancels_) {
      context.cancellation().Cancel();
    }
    return inner_->Step(context, target);
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    return inner_->CurrentModel(context);
  }
  std::string SaveState() const override { return inner_->SaveState(); }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    return inner_->RestoreState(problem, state, context);
  }

 private:
  std::unique_ptr<Learner> inner_;
  std::atomic<int>& steps_;
  const int cancels_;
};

LearnerEntry CancellingEntry(std::atomic<int>& steps, int cancels) {
  LearnerEntry entry = ExampleEntry();
  entry.create =
      [&steps, cancels](const OptionValues& options) -> absl::StatusOr<std::unique_ptr<Learner>> {
    absl::StatusOr<std::unique_ptr<Learner>> inner = ExampleEntry().create(options);
    return std::make_unique<CancellingLearner>(*std::move(inner), steps, cancels);
  };
  return entry;
}

// Some parts of the round have had their step by then, and some have not.
TEST(PartsSideBySideTest, ARunThatWasCancelledWithinARoundEndsWithTheSameBits) {
  const TrainingProblem problem = SevenClasses();
  const Result straight = Train(ExampleEntry(), problem, 3, 1);
  for (const int threads : {1, 3}) {
    for (int cancels = 1; cancels < straight.outcome.iterations; cancels += IsThorough() ? 1 : 5) {
      std::atomic<int> steps = 0;
      const LearnerEntry entry = CancellingEntry(steps, cancels);
      RunContext context(CancellationToken(), threads, nullptr);
      RecordingObserver observer;
      observer.wants_checkpoints = true;
      const std::unique_ptr<Learner> learner =
          MakeCompositeLearner(entry, {}, {.parts_at_once = 3});
      const absl::StatusOr<TrainingOutcome> cut =
          RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
      ASSERT_TRUE(absl::IsCancelled(cut.status())) << cut.status();
      ASSERT_FALSE(observer.checkpoints.empty());
      ExpectSame(straight, Train(ExampleEntry(), problem, 3, threads, observer.checkpoints.back()),
                 absl::StrCat("cancelled at step ", cancels, ", ", threads, " threads"));
    }
  }
}

// The first by itself, then three at a time; each takes ten steps.
TEST(PartsSideBySideTest, IterationsAreStepsOfParts) {
  const LearnerEntry entry = ScriptedEntry({});
  const Result whole = Train(entry, SevenClasses(), 3, 2);
  std::vector<int64_t> expected;
  for (int64_t i = 1; i <= 10; ++i) {
    expected.push_back(i);
  }
  for (int64_t i = 13; i <= 70; i += 3) {
    expected.push_back(i);
  }
  EXPECT_EQ(whole.iterations, expected);
  for (const int64_t limit : {1, 9, 11, 12, 13, 14, 41, 70}) {
    const Result early =
        Train(entry, SevenClasses(), 3, 2, {}, {.relative_gap = 1e-3, .max_iterations = limit});
    EXPECT_EQ(early.outcome.iterations, limit);
    EXPECT_EQ(early.outcome.stop_reason,
              limit == 70 ? StopReason::kConverged : StopReason::kIterationLimit);
  }
}

// Counts those that are alive, and the most of them.
class CountedLearner : public ScriptedLearner {
 public:
  CountedLearner(std::atomic<int>& live, std::atomic<int>& most)
      : ScriptedLearner(Script()), live_(live) {
    most = std::max(most.load(), ++live_);
  }
  ~CountedLearner() override { --live_; }

 private:
  std::atomic<int>& live_;
};

TEST(PartsSideBySideTest, NoMorePartsAreLiveThanAllowed) {
  for (const int at_once : {0, 1, 2, 5, 50}) {
    std::atomic<int> live = 0;
    std::atomic<int> most = 0;
    LearnerEntry entry = ScriptedEntry({});
    entry.create = [&](const OptionValues&) -> absl::StatusOr<std::unique_ptr<Learner>> {
      return std::make_unique<CountedLearner>(live, most);
    };
    Train(entry, SevenClasses(), at_once, 1);
    EXPECT_EQ(most.load(), std::clamp(at_once, 1, kClasses - 1));
  }
}

// All have come to rest when the verifier finds less than they told: they are taken up again.
TEST(PartsSideBySideTest, PartsThatAreTakenUpAgainLeaveCheckpointsToo) {
  const LearnerEntry entry = ScriptedEntry({.verified_factor = 4});
  const TrainingProblem problem = SevenClasses();
  const Result straight = Train(entry, problem, 2, 2);
  EXPECT_EQ(straight.outcome.stop_reason, StopReason::kConverged);
  EXPECT_GT(straight.outcome.iterations, 70);
  for (const std::string& checkpoint : straight.checkpoints) {
    ExpectSame(straight, Train(entry, problem, 2, 2, checkpoint), "resumed");
  }
}

class HandClock final : public SteadyClock {
 public:
  absl::Duration Monotonic() const override { return absl::Seconds(seconds.load()); }
  std::atomic<int> seconds = 0;
};

// Outputs that never converge, a step of any of them takes a second: with 42 seconds each has 6.
TEST(PartsSideBySideTest, ALimitOfTimeIsSharedOut) {
  HandClock clock;
  const LearnerEntry entry = ScriptedEntry({.during_step = [&](int) { ++clock.seconds; }});
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {}, {.parts_at_once = 3});
  RunContext context;
  context.set_clock(&clock);
  RecordingObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, SevenClasses(),
                  {.relative_gap = 1e-30, .max_time = absl::Seconds(42)}, {}, context, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kTimeLimit);
  for (const OutputBounds& bounds : outcome->certificate.outputs) {
    EXPECT_LE(RelativeGap(bounds.primal, bounds.dual), 1.0 / (1 << 5));
    EXPECT_GE(RelativeGap(bounds.primal, bounds.dual), 1.0 / (1 << 6));
  }
}

TEST(PartsSideBySideTest, StatesOfMorePartsThanAllowedAreRefused) {
  const Result straight = Train(ScriptedEntry({}), SevenClasses(), 3, 1);
  const TrainingProblem problem = SevenClasses();
  const LearnerEntry entry = ScriptedEntry({});
  size_t refused = 0;
  for (const std::string& checkpoint : straight.checkpoints) {
    const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {}, {.parts_at_once = 2});
    RunContext context;
    RecordingObserver observer;
    const absl::Status status =
        RunTraining(entry, {}, *learner, problem, RunLimits(), checkpoint, context, observer)
            .status();
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    refused += status.ok() ? 0 : 1;
  }
  EXPECT_EQ(refused, straight.checkpoints.size() - 10);
}

Index AtOnce(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& data) {
  const absl::StatusOr<RecipePlan> plan =
      RecipePlan::Resolve({&entry, &recipe, &data, "digest", "test-version"}, RunContext());
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->parts_at_once() : 0;
}

TEST(PartsAtOnceTest, AreAsManyAsABoundOnTheirMemoryAllows) {
  TrainingRecipe recipe = ExampleRecipe();
  LearnerEntry entry = ExampleEntry();
  size_t of_output = size_t{10} << 20;
  entry.estimate_memory = [&](const OptionValues&,
                              const ProblemShape& shape) -> absl::StatusOr<size_t> {
    return of_output * static_cast<size_t>(shape.outputs);
  };
  const Dataset ten = ClassificationData(60, 3, 10, 1);
  EXPECT_EQ(AtOnce(entry, recipe, ten), 1) << "all have all rows";
  recipe.coding = CodingChoice::kOneVsOne;
  EXPECT_EQ(AtOnce(entry, recipe, ten), 8);
  EXPECT_EQ(AtOnce(entry, recipe, ClassificationData(60, 3, 3, 1)), 3);
  EXPECT_EQ(AtOnce(entry, recipe, ClassificationData(60, 3, 2, 1)), 1);
  of_output = size_t{40} << 20;
  EXPECT_EQ(AtOnce(entry, recipe, ten), 3);
  of_output = size_t{1} << 40;
  EXPECT_EQ(AtOnce(entry, recipe, ten), 1);
  of_output = 1;
  entry.joint_outputs = true;
  EXPECT_EQ(AtOnce(entry, recipe, ten), 8) << "pairs have rows of their own";
  recipe.coding = CodingChoice::kOneVsAll;
  EXPECT_EQ(AtOnce(entry, recipe, ten), 1);
  entry.joint_outputs = false;
  entry.estimate_memory = nullptr;
  EXPECT_EQ(AtOnce(entry, recipe, ten), 1);
}

// Those of one output more than one are of the memory of that output.
TEST(PartsAtOnceTest, TheEstimateCountsThem) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.coding = CodingChoice::kOneVsOne;
  LearnerEntry entry = ExampleEntry();
  const Dataset data = ClassificationData(60, 3, 10, 1);
  const auto estimate = [&] {
    return EstimateRecipeMemory(entry, recipe, data, RunContext()).value_or(0);
  };
  entry.estimate_memory = [](const OptionValues&, const ProblemShape&) -> absl::StatusOr<size_t> {
    return size_t{0};
  };
  const size_t without = estimate();
  entry.estimate_memory = [](const OptionValues&, const ProblemShape&) -> absl::StatusOr<size_t> {
    return size_t{10} << 20;
  };
  EXPECT_EQ(estimate() - without, size_t{80} << 20);
  recipe.coding = CodingChoice::kOneVsAll;
  entry.joint_outputs = true;
  EXPECT_LT(estimate(), without + (size_t{11} << 20));
}

TEST(PartsAtOnceTest, RecipesGiveTheSameModelWithEveryNumberOfThreads) {
  const Dataset data = ClassificationData(80, 3, 5, 1);
  for (const CodingChoice coding : {CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    TrainingRecipe recipe = ExampleRecipe();
    recipe.coding = coding;
    EXPECT_EQ(AtOnce(ExampleEntry(), recipe, data) > 2, coding == CodingChoice::kOneVsOne);
    std::string one;
    for (const int threads : {1, 2, 3}) {
      RunContext context(CancellationToken(), threads, std::make_shared<SharedCache>(1 << 20));
      RecordingObserver observer;
      const absl::StatusOr<TrainedModel> trained =
          RunRecipe(ExampleRun(recipe, data), {}, context, observer);
      ASSERT_TRUE(trained.ok()) << trained.status();
      const std::string bytes = SaveModel(trained->model) + SaveWitness(trained->witness);
      EXPECT_TRUE(one.empty() || bytes == one) << threads << " threads";
      one = bytes;
    }
    ExpectSameBitsFromEveryCheckpoint(recipe, data);
  }
}

}  // namespace
}  // namespace mercer::parts_side_by_side
