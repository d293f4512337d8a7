// Searches over the samples of a loss end when their run must, however many samples there are.
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/objectives/dual_ray.h"
#include "core/objectives/loss.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

constexpr Index kManySamples = kSanitized ? 30'000 : 3'000'000;

struct ManySamples {
  Vector targets;
  Vector costs;
  Vector scores;
};

ManySamples MakeManySamples(const Loss& loss) {
  const auto spread = [](Index i, double irrational) {  // over [0, 1)
    const double multiple = irrational * static_cast<double>(i);
    return multiple - std::floor(multiple);
  };
  ManySamples samples{Vector(kManySamples), Vector::Ones(kManySamples), Vector(kManySamples)};
  for (Index i = 0; i < kManySamples; ++i) {
    samples.targets(i) =
        loss.is_margin_loss() ? (i % 3 == 0 ? 1.0 : -1.0) : 2.0 * spread(i, std::sqrt(3.0));
    samples.scores(i) = 4.0 * spread(i, std::sqrt(2.0)) - 2.0;
  }
  return samples;
}

class PolledLoopsTest : public testing::TestWithParam<LossKind> {};

INSTANTIATE_TEST_SUITE_P(Losses, PolledLoopsTest,
                         testing::Values(LossKind::kHinge, LossKind::kEpsilonInsensitive,
                                         LossKind::kSquare, LossKind::kSquaredHinge,
                                         LossKind::kLogistic));

TEST_P(PolledLoopsTest, BiasOfManySamplesEndsWithinAQuarterSecond) {
  const std::unique_ptr<Loss> loss = *MakeLoss(GetParam(), 0.1);
  const ManySamples samples = MakeManySamples(*loss);
  const auto find = [&](RunContext& context) {
    return loss->ExactBias(samples.targets, samples.costs, samples.scores, context).status();
  };
  const double whole = WholeWork(find);
  if (whole < kMostWorkAfterCancel) {
    return;  // it may end by itself
  }
  for (const double part : {0.05, 0.2, 0.5}) {
    EXPECT_LE(WorkAfterCancel(part * whole, find), kMostWorkAfterCancel) << part << " of " << whole;
  }
}

TEST_P(PolledLoopsTest, BestMultipleOfALongDualEndsWithinAQuarterSecond) {
  const std::unique_ptr<Loss> loss = *MakeLoss(GetParam(), 0.1);
  const ManySamples samples = MakeManySamples(*loss);
  Vector dual = 0.2 * samples.scores;
  loss->RepairDual(samples.targets, samples.costs, true, dual);
  const auto find = [&](RunContext& context) {
    return MaximizeOnDualRay(*loss, samples.targets, samples.costs, dual, 1e5, context).status();
  };
  const double whole = WholeWork(find);
  if (whole < kMostWorkAfterCancel) {
    return;  // it may end by itself
  }
  for (const double part : {0.05, 0.2, 0.5}) {
    EXPECT_LE(WorkAfterCancel(part * whole, find), kMostWorkAfterCancel) << part << " of " << whole;
  }
}

// A loss whose values are all 1; that of the sample `cancel_at` cancels the run.
class CancellingLoss final : public Loss {
 public:
  CancellingLoss(Index cancel_at, const RunContext& context)
      : Loss(LossKind::kLogistic), cancel_at_(cancel_at), context_(context) {}

  bool is_margin_loss() const override { return true; }
  LossCurve curve() const override { return LossCurve::kSmooth; }
  double Value(double /*target*/, double /*cost*/, double /*score*/) const override {
    if (seen_++ == cancel_at_) {
      context_.cancellation().Cancel();
    }
    return 1;
  }
  double Conjugate(double target, double cost, double slope) const override {
    return Value(target, cost, slope);
  }
  double Slope(double /*target*/, double /*cost*/, double /*score*/) const override { return 0; }
  double Curvature(double /*target*/, double /*cost*/, double /*score*/) const override {
    return 0;
  }
  double Prox(double /*target*/, double /*cost*/, double point, double /*step*/) const override {
    return point;
  }
  Interval DualBox(double /*target*/, double /*cost*/) const override { return {}; }
  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef /*targets*/, ConstVectorRef /*costs*/,
                                         ConstVectorRef /*scores*/,
                                         const RunContext& /*context*/) const override {
    return BiasInterval();
  }
  Index seen() const { return seen_; }

 private:
  const Index cancel_at_;
  const RunContext& context_;
  mutable Index seen_ = 0;
};

TEST(PolledSumsTest, SumsOverSamplesEndSoonAfterACancellation) {
  constexpr Index kSamples = 1'000'000;
  constexpr Index kCancelAt = 300'000;
  const Vector zeros = Vector::Zero(kSamples);
  for (const bool dual : {false, true}) {
    const RunContext context;
    const CancellingLoss loss(kCancelAt, context);
    const absl::StatusOr<double> sum = dual ? loss.DualValue(zeros, zeros, zeros, context)
                                            : loss.TotalValue(zeros, zeros, zeros, 0, context);
    EXPECT_TRUE(absl::IsCancelled(sum.status())) << sum.status();
    EXPECT_LE(loss.seen(), kCancelAt + 100'001);
  }
}

TEST_P(PolledLoopsTest, SumsHaveTheSameBitsInPieces) {
  const std::unique_ptr<Loss> loss = *MakeLoss(GetParam(), 0.1);
  const ManySamples samples = MakeManySamples(*loss);
  Vector dual = 0.2 * samples.scores;
  loss->RepairDual(samples.targets, samples.costs, true, dual);
  const RunContext context;
  EXPECT_EQ(*loss->TotalValue(samples.targets, samples.costs, samples.scores, 0.25, context),
            loss->TotalValue(samples.targets, samples.costs, samples.scores, 0.25));
  EXPECT_EQ(*loss->DualValue(samples.targets, samples.costs, dual, context),
            loss->DualValue(samples.targets, samples.costs, dual));
}

TEST_P(PolledLoopsTest, CancelledWorkSaysSo) {
  const std::unique_ptr<Loss> loss = *MakeLoss(GetParam(), 0.1);
  RunContext context;
  context.cancellation().Cancel();
  const Vector targets{{1, -1, 1}};
  const Vector scores{{-0.5, 0.25, 0.75}};
  if (GetParam() != LossKind::kSquare) {  // whose best bias is a mean
    EXPECT_TRUE(
        absl::IsCancelled(loss->ExactBias(targets, Vector::Ones(3), scores, context).status()));
  }
  if (GetParam() == LossKind::kLogistic) {  // others have a closed form
    EXPECT_TRUE(absl::IsCancelled(
        MaximizeOnDualRay(*loss, targets, Vector::Ones(3), Vector{{0.2, -0.3, 0.1}}, 1.0, context)
            .status()));
  }
}

}  // namespace
}  // namespace mercer
