#include "core/learners/infinite_features/ascent.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/learners/infinite_features/feature_problems.h"

namespace mercer::infinite_features {
namespace {

// Slopes that one direction explains.
struct PlantedSearch {
  explicit PlantedSearch(BandwidthDraw draw)
      : rows(std::make_shared<const PreparedData>(mercer::Prepared(NormalMatrix(500, 4, 3)))) {
    FeatureFamilySpec spec;
    spec.bandwidth_draw = draw;
    spec.bandwidths = {1.0};
    spec.min_bandwidth = 0.5;
    spec.max_bandwidth = 5;
    family = MakeFeatureFamily(spec, 4).value();
    problem = {family.get(),         {&rows},     FeatureNormalization::kColumn,
               ScaleScope::kPerTask, BlockNorm(), [](const FeatureParameters&) { return 1.0; }};
    const Matrix inputs = rows.inputs().blocks[0].values.view();
    const Vector waves = ((inputs * planted).array() + 0.4).cos();
    slopes = {waves.array() - waves.mean()};
  }

  FoundGroup At(const Vector& place) const {
    const FeatureParameters group = {1.0, place(0), place(1), place(2), place(3)};
    return SearchAmong(problem, {group}, slopes, {}, RunContext()).value().found.at(0);
  }

  const Vector planted = Eigen::Vector4d(0.9, -0.6, 0.3, 0.5);
  std::shared_ptr<const FeatureFamily> family;
  FeatureRows rows;
  SearchProblem problem;
  std::vector<Matrix> slopes;
  const Lambdas lambdas = {1.0, kInfinity};
};

TEST(AscentTest, ClimbsToADirectionThatExplainsTheSlopes) {
  for (const BandwidthDraw draw : {BandwidthDraw::kList, BandwidthDraw::kUniform}) {
    const PlantedSearch search(draw);
    // 40 degrees away, and with a range of bandwidths longer.
    Vector away = Eigen::Vector4d(0.6, 0.9, 0.0, 0.0);
    away -= away.dot(search.planted) / search.planted.squaredNorm() * search.planted;
    Vector start = search.planted.normalized() + std::tan(0.7) * away.normalized();
    start *= (draw == BandwidthDraw::kList ? 1.0 : 1.2) * search.planted.norm() / start.norm();
    const FoundGroup from = search.At(start);
    const absl::StatusOr<FoundGroup> top =
        Ascend(search.problem, from, 100, search.lambdas, search.slopes, RunContext());
    ASSERT_TRUE(top.ok()) << top.status();
    EXPECT_GT(top->specific_norm, 1.5 * from.specific_norm);
    const FeatureMotion& motion = *search.family->motion();
    EXPECT_LE((motion.Place(top->parameters) - search.planted).norm(), 0.4 * search.planted.norm());
    // Nothing near is clearly higher.
    const RowMatrix moves = NormalMatrix(100, 4, 6);
    for (Index i = 0; i < moves.rows(); ++i) {
      const Vector move = 0.02 * search.planted.norm() * moves.row(i).transpose().normalized();
      const FeatureParameters near = motion.Moved(top->parameters, move);
      EXPECT_LE(search.At(motion.Place(near)).specific_norm, 1.002 * top->specific_norm);
    }
  }
}

TEST(AscentTest, NoStepLeadsDownhill) {
  const PlantedSearch search(BandwidthDraw::kUniform);
  const std::vector<FeatureParameters> candidates = search.family->Draw(7, 0, RunContext()).value();
  for (const FeatureParameters& drawn : candidates) {
    FoundGroup from =
        SearchAmong(search.problem, {drawn}, search.slopes, {}, RunContext()).value().found.at(0);
    for (int step = 0; step < 3; ++step) {
      const absl::StatusOr<FoundGroup> next =
          Ascend(search.problem, from, 1, search.lambdas, search.slopes, RunContext());
      ASSERT_TRUE(next.ok()) << next.status();
      EXPECT_GE(next->specific_norm, from.specific_norm);
      EXPECT_GE(next->parameters[0], 0.5);
      EXPECT_LE(next->parameters[0], 5.0);
      from = *next;
    }
  }
}

TEST(AscentTest, FeaturesThatHaveClimbedLowerTheObjectiveMore) {
  const TrainingProblem problem = RingProblem(300, 12);
  const OptionValues options = {{"max_groups", int64_t{4}},
                                {"candidates", int64_t{10}},
                                {"lambda", 0.05},
                                {"lambda_unit", "absolute"},
                                {"bandwidths", std::vector<double>{0.3, 3.0}},
                                {"bandwidth_rule", "logarithmic"},
                                {"bandwidths_per_round", int64_t{2}}};
  const TrainingOutcome drawn = MustTrain(options, problem);
  const TrainingOutcome climbed =
      MustTrain(Merge(options, {{"ascent_steps", int64_t{20}}}), problem);
  EXPECT_LT(climbed.certificate.primal, drawn.certificate.primal);
  EXPECT_LE(climbed.certificate.accuracy, problem.relative_gap);
}

TEST(AscentTest, ARestoredRunHasTheSameBitsForAnyThreads) {
  const TrainingProblem problem = ThreeClassProblem(5000, 8);
  ExpectSameBitsFromEveryState(
      {{"ascent_steps", int64_t{5}}, {"max_groups", int64_t{6}}, {"lambda", 0.01}}, problem, 8);
}

}  // namespace
}  // namespace mercer::infinite_features
