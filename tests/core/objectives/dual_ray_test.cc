#include "core/objectives/dual_ray.h"

#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

struct RayCase {
  Vector targets;
  Vector costs;
  Vector dual;
};

// A feasible dual point of n samples.
RayCase MakeRayCase(const Loss& loss, uint64_t seed, Index n) {
  RandomStream random(seed, "dual rays");
  RayCase ray{Vector(n), Vector(n), Vector(n)};
  for (Index i = 0; i < n; ++i) {
    const double target = random.Normal();
    ray.targets(i) = loss.is_margin_loss() ? (i % 2 == 0 ? 1.0 : -1.0) : target;
    ray.costs(i) = 0.5 + std::abs(random.Normal());
    ray.dual(i) = 0.3 * random.Normal();
  }
  ray.costs(0) = 0;
  loss.RepairDual(ray.targets, ray.costs, true, ray.dual);
  return ray;
}

TEST(DualRayTest, NoMultipleOnAGridIsBetter) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive, LossKind::kSquare,
                              LossKind::kSquaredHinge, LossKind::kLogistic}) {
    const std::unique_ptr<Loss> loss = *MakeLoss(kind, 0.1);
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const RayCase ray = MakeRayCase(*loss, seed, 24);
      const double quadratic = std::pow(10.0, static_cast<double>(seed) - 3);
      const DualRay best =
          MaximizeOnDualRay(*loss, ray.targets, ray.costs, ray.dual, quadratic, RunContext())
              .value();
      const auto value_at = [&](double scale) {
        return loss->DualValue(ray.targets, ray.costs, scale * ray.dual) -
               0.5 * scale * scale * quadratic;
      };
      EXPECT_NEAR(best.value, value_at(best.scale), 1e-11 * std::max(1.0, best.value))
          << loss->name();
      EXPECT_GE(best.value, 0.0);
      const double largest = LargestDualScale(*loss, ray.targets, ray.costs, ray.dual);
      const double end = std::isfinite(largest) ? largest : 2 * best.scale + 1;
      for (int step = 0; step < 400; ++step) {
        const double scale = end * step / 400;
        EXPECT_LE(value_at(scale), best.value + 1e-11 * std::max(1.0, std::abs(best.value)))
            << loss->name() << " at " << scale << " of " << end << ", best " << best.scale;
      }
    }
  }
}

TEST(DualRayTest, ZeroDualIsWorthNothing) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kSquare, LossKind::kLogistic}) {
    const std::unique_ptr<Loss> loss = *MakeLoss(kind);
    const DualRay best = MaximizeOnDualRay(*loss, Vector{{1, -1}}, Vector::Ones(2), Vector::Zero(2),
                                           0.0, RunContext())
                             .value();
    EXPECT_EQ(best.value, 0.0);
    EXPECT_TRUE(std::isfinite(best.scale));
  }
}

TEST(DualRayTest, ScaleIsThatOfTheBoxOrNone) {
  const Vector targets{{1, -1}};
  const Vector costs{{2, 3}};
  const Vector dual{{0.5, -0.5}};
  EXPECT_EQ(LargestDualScale(**MakeLoss(LossKind::kLogistic), targets, costs, dual), 4.0);
  EXPECT_EQ(LargestDualScale(**MakeLoss(LossKind::kSquaredHinge), targets, costs, dual), kInfinity);
}

// f = 0 and b = 0 cost log 2 a row, which the dual of half the costs proves.
TEST(DualRayTest, LogisticValueHasTheAnchorOfTheEntropy) {
  const std::unique_ptr<Loss> loss = *MakeLoss(LossKind::kLogistic);
  const DualRay best = MaximizeOnDualRay(*loss, Vector{{1, -1}}, Vector::Ones(2),
                                         Vector{{0.1, -0.1}}, 0.0, RunContext())
                           .value();
  EXPECT_NEAR(best.scale, 5.0, 1e-6);
  EXPECT_NEAR(best.value, 2 * std::log(2.0), 1e-14);
}

}  // namespace
}  // namespace mercer
