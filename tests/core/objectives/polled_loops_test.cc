// Searches over the samples of a loss end when their run must, however many samples there are.
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/objectives/dual_ray.h"
#include "core/objectives/loss.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/counted_loss.h"

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
  ExpectEndsSoon(find);
}

TEST_P(PolledLoopsTest, BestMultipleOfALongDualEndsWithinAQuarterSecond) {
  const std::unique_ptr<Loss> loss = *MakeLoss(GetParam(), 0.1);
  const ManySamples samples = MakeManySamples(*loss);
  Vector dual = 0.2 * samples.scores;
  loss->RepairDual(samples.targets, samples.costs, true, dual);
  const auto find = [&](RunContext& context) {
    return MaximizeOnDualRay(*loss, samples.targets, samples.costs, dual, 1e5, context).status();
  };
  ExpectEndsSoon(find);
}

TEST(PolledSumsTest, SumsOverSamplesEndSoonAfterACancellation) {
  constexpr Index kSamples = 1'000'000;
  constexpr Index kCancelAt = 300'000;
  const Vector zeros = Vector::Zero(kSamples);
  for (const bool dual : {false, true}) {
    const RunContext context;
    const CountedHingeLoss loss(
        kCancelAt, context.cancellation(),
        dual ? CountedHingeLoss::Calls::kConjugates : CountedHingeLoss::Calls::kValues);
    const absl::StatusOr<double> sum = dual ? loss.DualValue(zeros, zeros, zeros, context)
                                            : loss.TotalValue(zeros, zeros, zeros, 0, context);
    EXPECT_TRUE(absl::IsCancelled(sum.status())) << sum.status();
    EXPECT_LE(loss.count(), kCancelAt + 100'000);
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
