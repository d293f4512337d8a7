// Runs that begin with the solution for another value of an option.
#include <gtest/gtest.h>

#include "tests/core/learners/infinite_features/feature_problems.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer::infinite_features {
namespace {

absl::StatusOr<TrainingOutcome> TrainFrom(const TrainedPoint* point, const OptionValues& options,
                                          const TrainingProblem& problem,
                                          const TrainingProblem& problem_of_point) {
  const auto learner = Entry().create(options);
  EXPECT_TRUE(learner.ok()) << learner.status();
  RunContext context;
  QuietObserver observer;
  RunLimits limits;
  limits.relative_gap = problem.relative_gap;
  const WarmStart warm_start{point, &problem_of_point};
  return RunTraining(Entry(), options, **learner, problem, limits, {}, context, observer,
                     &warm_start);
}

// The columns of the data are a finite family, so its optimum does not depend on where a run
// begins.
TEST(WarmStartTest, AFiniteFamilyHasOneOptimum) {
  TrainingProblem problem = ThreeClassProblem(150, 3);
  problem.relative_gap = 1e-9;
  for (const char* shape : {"nested", "flat"}) {
    const OptionValues options = {{"family", "columns"},
                                  {"penalty_shape", shape},
                                  {"penalty_q", std::string_view(shape) == "flat" ? 1.0 : 2.0},
                                  {"violation", 0.0}};
    const TrainingOutcome before = MustTrain(Merge(options, {{"lambda", 0.3}}), problem);
    const OptionValues next = Merge(options, {{"lambda", 0.05}});
    const TrainingOutcome cold = MustTrain(next, problem);
    const absl::StatusOr<TrainingOutcome> warm = TrainFrom(&before.point, next, problem, problem);
    ASSERT_TRUE(warm.ok()) << warm.status();
    EXPECT_NEAR(warm->certificate.primal, cold.certificate.primal, 1e-8 * cold.certificate.primal);
    EXPECT_EQ(MetricOf(*warm, "features.lambda"), MetricOf(cold, "features.lambda"));
  }
}

TEST(WarmStartTest, FeaturesThatWereChosenAreTakenOver) {
  const TrainingProblem problem = RingProblem(300, 5);
  const TrainingOutcome before = MustTrain({{"lambda", 0.1}}, problem);
  const std::vector<FeatureParameters>& chosen = TermAt<FeatureTerm>(before.point.function).groups;
  const absl::StatusOr<TrainingOutcome> warm =
      TrainFrom(&before.point, {{"lambda", 0.02}}, problem, problem);
  ASSERT_TRUE(warm.ok()) << warm.status();
  const Matrix& listed = *warm->point.witness.FindArray("parameters");
  ASSERT_GE(listed.rows(), static_cast<Index>(chosen.size()));
  for (size_t g = 0; g < chosen.size(); ++g) {
    EXPECT_EQ(listed(static_cast<Index>(g), 1), chosen[g][1]);
  }
  const TrainingOutcome cold = MustTrain({{"lambda", 0.02}}, problem);
  EXPECT_LE(MetricOf(*warm, "features.rounds"), MetricOf(cold, "features.rounds"));
  // No more than there is room for.
  const absl::StatusOr<TrainingOutcome> small =
      TrainFrom(&before.point, {{"lambda", 0.02}, {"max_groups", int64_t{2}}}, problem, problem);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(MetricOf(*small, "features.listed"), 2);
}

// Scales of columns belong to the rows that they were taken of.
TEST(WarmStartTest, ASolutionOnOtherRowsIsNotTakenOver) {
  const TrainingProblem problem = RingProblem(200, 6);
  const TrainingProblem other = RingProblem(200, 7);
  const TrainingOutcome before = MustTrain({}, other);
  const TrainingOutcome cold = MustTrain({}, problem);
  const absl::StatusOr<TrainingOutcome> warm = TrainFrom(&before.point, {}, problem, other);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->certificate.primal, cold.certificate.primal);
  EXPECT_EQ(warm->iterations, cold.iterations);
}

TEST(WarmStartTest, ARestoredStateGoesOnWithTheSameBits) {
  const TrainingProblem problem = RingProblem(200, 8);
  const TrainingOutcome before = MustTrain({{"lambda", 0.1}}, problem);
  const WarmStart warm_start{&before.point, &problem};
  RunContext context;
  const auto straight = Entry().create({{"lambda", 0.01}});
  const auto restored = Entry().create({{"lambda", 0.01}});
  ASSERT_TRUE(straight.ok() && restored.ok());
  ASSERT_TRUE((*straight)->Start(problem, &warm_start).ok());
  ASSERT_TRUE((*restored)->RestoreState(problem, (*straight)->SaveState(), context).ok());
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE((*straight)->Step(context, problem.relative_gap).ok());
    ASSERT_TRUE((*restored)->Step(context, problem.relative_gap).ok());
    EXPECT_EQ((*straight)->SaveState(), (*restored)->SaveState()) << "after step " << step;
  }
}

// A run that is resumed between two values of a path, or within one, begins the next value with the
// same solution.
TEST(WarmStartTest, EveryCheckpointOfAPathLeadsToTheSameBits) {
  const LearnerEntry entry = Entry();
  const Dataset data = ClassificationData(60, 3, 3, 1);
  TrainingRecipe recipe;
  recipe.learner = entry.name;
  recipe.options["max_groups"] = int64_t{6};
  recipe.validation.kind = ValidationKind::kHoldOut;
  recipe.path = OptionPath{"lambda", {0.3, 0.1, 0.02}};
  recipe.seed = 5;
  const RecipeRun run{&entry, &recipe, &data, "digest", "test-version"};
  ExpectSameBitsFromEveryCheckpoint(run);
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> along = RunRecipe(run, {}, context, observer);
  ASSERT_TRUE(along.ok()) << along.status();
  EXPECT_GE(MetricsOf(along->model).at("path.3.active_terms"),
            MetricsOf(along->model).at("path.1.active_terms"));
}

}  // namespace
}  // namespace mercer::infinite_features
