#include "core/objectives/loss.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/objectives/bias_search.h"

namespace mercer {
namespace {

TEST(LossTest, RefusesNegativeEpsilon) {
  EXPECT_EQ(MakeLoss(LossKind::kEpsilonInsensitive, -0.1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeLoss(LossKind::kEpsilonInsensitive, std::nan("")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(LossTest, ManySamplesAtOnceHaveTheBitsOfOneByOne) {
  const Vector targets{{1, -1, 1, -1, 1}};
  const Vector costs{{1, 0.5, 0, 2, 3}};
  const Vector scores{{0.3, -2, 0.1, 0.7, 1.5}};
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive, LossKind::kSquare,
                              LossKind::kSquaredHinge, LossKind::kLogistic}) {
    const auto loss = *MakeLoss(kind, 0.1);
    Vector slopes(5);
    Vector curvatures(5);
    const double value = loss->ValueAndSlopes(targets, costs, scores, slopes);
    loss->Curvatures(targets, costs, scores, curvatures);
    EXPECT_EQ(value, loss->TotalValue(targets, costs, scores, 0)) << loss->name();
    for (Index i = 0; i < 5; ++i) {
      EXPECT_EQ(slopes(i), loss->Slope(targets(i), costs(i), scores(i))) << loss->name();
      EXPECT_EQ(curvatures(i), loss->Curvature(targets(i), costs(i), scores(i))) << loss->name();
    }
  }
}

TEST(HingeLossTest, BiasIsAnIntervalBetweenTheOrderStatistics) {
  // At f = 0 with as many positives as negatives every b in [-1, 1] costs the same.
  const auto loss = *MakeLoss(LossKind::kHinge);
  const BiasInterval bias =
      loss->ExactBias(Vector{{1, -1, 1, -1}}, Vector::Ones(4), Vector::Zero(4), RunContext())
          .value();
  EXPECT_EQ(bias.low, -1);
  EXPECT_EQ(bias.high, 1);
  EXPECT_EQ(bias.chosen, 0);
}

TEST(HingeLossTest, BiasOfOneClassIsAHalfLine) {
  const auto loss = *MakeLoss(LossKind::kHinge);
  const BiasInterval bias =
      loss->ExactBias(Vector{{1, 1}}, Vector::Ones(2), Vector{{0.25, -2}}, RunContext()).value();
  EXPECT_EQ(bias.low, 3);
  EXPECT_EQ(bias.high, kInfinity);
  EXPECT_EQ(bias.chosen, 3);
}

TEST(SquaredHingeLossTest, SeparableScoresLeaveAnInterval) {
  const auto loss = *MakeLoss(LossKind::kSquaredHinge);
  const BiasInterval bias =
      loss->ExactBias(Vector{{1, -1}}, Vector::Ones(2), Vector{{2, -3}}, RunContext()).value();
  EXPECT_EQ(bias.low, -1);
  EXPECT_EQ(bias.high, 2);
}

// Scores of a few values, so that many breaks of the slope meet; several blocks of rows, of which
// one class has few.
TEST(SquaredHingeLossTest, BiasIsTheRootOfTheSlopeWhereBreaksMeet) {
  constexpr Index kRows = 20'000;
  const auto loss = *MakeLoss(LossKind::kSquaredHinge);
  for (const Index positive : {2, 3, 500}) {
    for (const double step : {0.5, 1e-3, 1e6}) {
      Vector targets(kRows);
      Vector costs(kRows);
      Vector scores(kRows);
      for (Index i = 0; i < kRows; ++i) {
        targets(i) = i % positive == 0 ? 1 : -1;
        costs(i) = static_cast<double>(1 + i % 3);
        scores(i) = step * static_cast<double>(i * 7919 % 11 - 5);
      }
      const BiasInterval bias = loss->ExactBias(targets, costs, scores, RunContext()).value();
      double slope = 0;
      double size = 0;
      for (Index i = 0; i < kRows; ++i) {
        const double of_row = loss->Slope(targets(i), costs(i), scores(i) + bias.chosen);
        slope += of_row;
        size += std::abs(of_row);
      }
      EXPECT_LE(std::abs(slope), 1e-11 * size) << positive << " " << step;
      const RunContext threads(CancellationToken(), 3, nullptr);
      EXPECT_EQ(loss->ExactBias(targets, costs, scores, threads).value().chosen, bias.chosen);
    }
  }
}

TEST(EpsilonInsensitiveLossTest, WideTubeLeavesAnInterval) {
  const auto loss = *MakeLoss(LossKind::kEpsilonInsensitive, 1.0);
  const BiasInterval bias =
      loss->ExactBias(Vector{{0, 0.5}}, Vector::Ones(2), Vector::Zero(2), RunContext()).value();
  EXPECT_DOUBLE_EQ(bias.low, -0.5);
  EXPECT_DOUBLE_EQ(bias.high, 1.0);
}

TEST(LogisticLossTest, BiasOfEqualScoresIsTheLogOfTheOdds) {
  const auto loss = *MakeLoss(LossKind::kLogistic);
  const BiasInterval bias = loss->ExactBias(Vector{{1, 1, 1, -1}}, Vector::Ones(4),
                                            Vector::Constant(4, 0.25), RunContext())
                                .value();
  EXPECT_NEAR(bias.chosen, std::log(3.0) - 0.25, 1e-14);
  EXPECT_EQ(
      loss->ExactBias(Vector{{1}}, Vector::Ones(1), Vector::Zero(1), RunContext()).value().chosen,
      kInfinity);
}

TEST(BiasSearchTest, WholeLineChoosesZero) {
  const BiasInterval bias = MinimizePiecewiseLinear(0.0, {}, RunContext()).value();
  EXPECT_EQ(bias.low, -kInfinity);
  EXPECT_EQ(bias.high, kInfinity);
  EXPECT_EQ(bias.chosen, 0.0);
}

}  // namespace
}  // namespace mercer
