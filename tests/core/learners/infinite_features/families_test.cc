// Filters of patches, features that are given in advance, weights of groups, and the hinge loss.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_problem.h"
#include "tests/core/learners/infinite_features/feature_problems.h"
#include "tests/support/model_terms.h"

namespace mercer::infinite_features {
namespace {

constexpr Index kSide = 8;

// Patches with waves along the rows or the columns, at a random phase, under noise.
TrainingProblem GratingProblem(Index rows, uint64_t seed) {
  RowMatrix patches = 0.3 * NormalMatrix(rows, kSide * kSide, seed);
  RandomStream random(seed, "phase");
  Matrix targets(rows, 1);
  for (Index i = 0; i < rows; ++i) {
    const double phase = 2 * std::numbers::pi * random.Uniform();
    targets(i, 0) = i % 2 == 0 ? 1 : -1;
    for (Index pixel = 0; pixel < patches.cols(); ++pixel) {
      const Index along = i % 2 == 0 ? pixel / kSide : pixel % kSide;
      patches(i, pixel) +=
          std::cos(2 * std::numbers::pi * 0.25 * static_cast<double>(along) + phase) + 5;
    }
  }
  return MakeProblem(TargetKind::kClassification, std::move(patches), std::move(targets), {});
}

double ShareOfRight(const TrainingOutcome& outcome, const TrainingProblem& problem) {
  const Matrix values = ValuesAt(outcome, problem.tasks[0].inputs->blocks[0].values.view());
  const auto right = (values.array() * problem.tasks[0].targets.array() > 0).count();
  return static_cast<double>(right) / static_cast<double>(values.rows());
}

std::string FieldOf(const absl::Status& status) {
  return GetFieldViolations(status).empty() ? "none" : GetFieldViolations(status)[0].field;
}

TEST(InfiniteFeaturesFamiliesTest, FiltersTellDirectionsThatPixelsDoNot) {
  const TrainingProblem problem = GratingProblem(200, 3);
  const TrainingProblem unseen = GratingProblem(200, 4);
  const TrainingOutcome gabor =
      MustTrain({{"family", "gabor"}, {"max_groups", int64_t{5}}}, problem);
  EXPECT_GE(ShareOfRight(gabor, unseen), 0.99);
  ASSERT_EQ(TermsOf<FeatureTerm>(gabor.point.function.terms).size(), 1u);
  EXPECT_EQ(TermAt<FeatureTerm>(gabor.point.function).family.kind, FeatureFamilyKind::kGabor);
  EXPECT_NE(gabor.point.summary.feature_names[0].find("frequency="), std::string::npos);
  const TrainingOutcome pixels =
      MustTrain({{"family", "columns"}, {"max_groups", int64_t{64}}, {"lambda", 0.02}}, problem);
  EXPECT_LE(ShareOfRight(pixels, unseen), 0.7);
}

// Brightness has no influence when the mean of each patch is taken from it.
TEST(InfiniteFeaturesFamiliesTest, TheMeanOfPatchesIsTakenFromThem) {
  const TrainingProblem problem = GratingProblem(100, 5);
  const TrainingOutcome outcome =
      MustTrain({{"family", "gabor"}, {"max_groups", int64_t{3}}}, problem);
  const RowMatrix patches = problem.tasks[0].inputs->blocks[0].values.view();
  const RowMatrix brighter = patches.array() + 100;
  EXPECT_LE((ValuesAt(outcome, patches) - ValuesAt(outcome, brighter)).cwiseAbs().maxCoeff(), 1e-9);
  const TrainingOutcome with_mean = MustTrain(
      {{"family", "gabor"}, {"max_groups", int64_t{3}}, {"subtract_patch_mean", false}}, problem);
  EXPECT_GE((ValuesAt(with_mean, patches) - ValuesAt(with_mean, brighter)).cwiseAbs().maxCoeff(),
            1e-3);
}

TEST(InfiniteFeaturesFamiliesTest, AGridOfFiltersEntersAtOnce) {
  const TrainingProblem problem = GratingProblem(120, 6);
  const OptionValues options = {{"family", "gabor"}, {"selection", "fixed"}};
  const TrainingOutcome outcome = MustTrain(options, problem);
  EXPECT_EQ(MetricOf(outcome, "features.search_end"), static_cast<double>(SearchEnd::kFixed));
  EXPECT_EQ(MetricOf(outcome, "features.listed"), 81);
  EXPECT_EQ(MetricOf(outcome, "features.rounds"), 1);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
  const absl::StatusOr<std::unique_ptr<Learner>> too_many =
      Entry().create(Merge(options, {{"values_per_parameter", int64_t{4}}}));
  EXPECT_EQ(FieldOf(too_many.status()), "max_groups");
}

// A list that is given in advance and the same list searched to its end have one optimum.
TEST(InfiniteFeaturesFamiliesTest, FixedFeaturesReachTheOptimumOfASearchAmongThem) {
  TrainingProblem problem = RingProblem(150, 8);
  problem.relative_gap = 1e-8;
  const OptionValues options = {{"max_groups", int64_t{25}}, {"lambda", 0.05}, {"violation", 0.0}};
  const TrainingOutcome fixed = MustTrain(Merge(options, {{"selection", "fixed"}}), problem);
  const TrainingOutcome searched = MustTrain(
      Merge(options, {{"selection", "selected"}, {"dictionary_size", int64_t{25}}}), problem);
  EXPECT_EQ(MetricOf(fixed, "features.listed"), 25);
  EXPECT_LT(MetricOf(searched, "features.listed"), 25);
  EXPECT_NEAR(fixed.certificate.primal, searched.certificate.primal,
              1e-7 * fixed.certificate.primal);
}

// A column that weighs w times as much is a column w times as small.
TEST(InfiniteFeaturesFamiliesTest, WeightsOfGroupsActAsScalesOfColumns) {
  const RowMatrix x = NormalMatrix(80, 4, 9);
  const Vector y = x.col(0) + x.col(1) - x.col(3);
  const std::vector<double> weights = {2, 0.5, 1, 4};
  RowMatrix scaled = x;
  for (Index j = 0; j < 4; ++j) {
    scaled.col(j) /= weights[static_cast<size_t>(j)];
  }
  const OptionValues options = {{"family", "columns"},
                                {"normalization", "none"},
                                {"lambda_unit", "absolute"},
                                {"lambda", 15.0}};
  TrainingProblem weighed = MakeProblem(TargetKind::kRegression, x, y, {});
  TrainingProblem small = MakeProblem(TargetKind::kRegression, scaled, y, {});
  weighed.relative_gap = small.relative_gap = 1e-10;
  const TrainingOutcome one = MustTrain(Merge(options, {{"group_weights", weights}}), weighed);
  const TrainingOutcome other = MustTrain(options, small);
  EXPECT_NEAR(one.certificate.primal, other.certificate.primal, 1e-8 * other.certificate.primal);
  EXPECT_LE((ValuesAt(one, x) - ValuesAt(other, scaled)).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_NEAR(MetricOf(one, "features.lambda_max"), MetricOf(other, "features.lambda_max"),
              1e-9 * MetricOf(other, "features.lambda_max"));
}

// The certificate is recomputed by code that knows nothing of the solver.
TEST(InfiniteFeaturesFamiliesTest, LearnsWithTheHingeLoss) {
  TrainingProblem problem = RingProblem(120, 10);
  problem.relative_gap = 1e-4;
  const TrainingOutcome outcome =
      MustTrain({{"loss", "hinge"}, {"max_groups", int64_t{12}}, {"lambda", 0.05}}, problem);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
  EXPECT_LE(outcome.certificate.accuracy, 1e-4);
  EXPECT_GE(ShareOfRight(outcome, problem), 0.8);
}

TEST(InfiniteFeaturesFamiliesTest, ContradictingOptionsAreRefusedByName) {
  const auto created = [](const OptionValues& options) {
    return FieldOf(Entry().create(options).status());
  };
  EXPECT_EQ(created({{"loss", "hinge"}, {"solver", "newton"}}), "solver");
  EXPECT_EQ(created({{"loss", "hinge"}, {"solver", "fista"}}), "solver");
  EXPECT_EQ(created({{"loss", "hinge"}}), "none");
  EXPECT_EQ(created({{"family", "gabor"}, {"bandwidths", std::vector<double>{1}}}), "bandwidths");
  EXPECT_EQ(created({{"family", "gabor"}, {"min_scale", 2.0}, {"max_scale", 1.0}}), "max_scale");
  EXPECT_EQ(created({{"family", "gabor"}, {"min_frequency", 0.6}}), "max_frequency");
  EXPECT_EQ(created({{"group_weights", std::vector<double>{1, 2}}}), "group_weights");

  const auto started = [](const OptionValues& options, const TrainingProblem& problem) {
    const auto learner = Entry().create(options);
    return learner.ok() ? FieldOf((*learner)->Start(problem, nullptr)) : "create";
  };
  const TrainingProblem two_columns = RingProblem(30, 11);
  EXPECT_EQ(started({{"family", "gabor"}}, two_columns), "family");
  EXPECT_EQ(started({{"family", "gabor"}, {"min_scale", 5.0}}, GratingProblem(20, 12)),
            "max_scale");
  EXPECT_EQ(started({{"family", "columns"}, {"group_weights", std::vector<double>{1, 2, 3}}},
                    two_columns),
            "group_weights");
  EXPECT_EQ(started({{"family", "columns"}, {"selection", "fixed"}, {"max_groups", int64_t{1}}},
                    two_columns),
            "max_groups");
}

// A sparse linear model on many columns needs memory in proportion to them, whatever a direction or a filter would take.
TEST(InfiniteFeaturesFamiliesTest, EstimatesOfManyColumnsGrowWithTheirNumber) {
  const auto estimate = [](Index columns) {
    const absl::StatusOr<OptionValues> options = CompleteOptions(Entry(), {{"family", "columns"}});
    EXPECT_TRUE(options.ok());
    ProblemShape shape;
    shape.rows = 200;
    shape.columns = columns;
    const absl::StatusOr<size_t> bytes = Entry().estimate_memory(*options, shape);
    EXPECT_TRUE(bytes.ok());
    return static_cast<double>(bytes.value_or(0));
  };
  EXPECT_LT(estimate(100'000), 15 * estimate(10'000));
  EXPECT_LT(estimate(100'000), 2e8);
}

}  // namespace
}  // namespace mercer::infinite_features
