#include "core/objectives/cutting_plane_program.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

Matrix RandomPlanes(Index corners, Index count, uint64_t seed) {
  RandomStream random(seed, "cutting-planes");
  return Matrix::NullaryExpr(corners, count, [&] { return random.Normal(); });
}

CuttingPlaneMaximum Maximize(const Matrix& planes) {
  const auto found = MaximizeUnderPlanes(planes, RunContext());
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->has_value());
  return found->value();
}

// Point and multipliers are on their simplices, and each proves the other to be the best.
void ExpectOptimal(const Matrix& planes, const CuttingPlaneMaximum& found, double scale = 1) {
  EXPECT_GE(found.point.minCoeff(), 0);
  EXPECT_GE(found.multipliers.minCoeff(), 0);
  EXPECT_NEAR(found.point.sum(), 1, 1e-12);
  EXPECT_NEAR(found.multipliers.sum(), 1, 1e-12);
  EXPECT_EQ(found.bound, (planes * found.multipliers).maxCoeff());
  EXPECT_NEAR((planes.transpose() * found.point).minCoeff(), found.bound, 1e-9 * scale);
}

TEST(CuttingPlaneProgramTest, OnePlaneIsLargestAtACorner) {
  const Matrix plane = Vector{{-2, 5, 3}};
  const CuttingPlaneMaximum found = Maximize(plane);
  EXPECT_EQ(found.point, Vector::Unit(3, 1));
  EXPECT_EQ(found.multipliers, Vector::Ones(1));
  EXPECT_EQ(found.bound, 5);
}

TEST(CuttingPlaneProgramTest, OneCornerHasTheLeastOfItsPlanes) {
  const Matrix planes{{4, -1, 2}};
  const CuttingPlaneMaximum found = Maximize(planes);
  EXPECT_EQ(found.point, Vector::Ones(1));
  EXPECT_EQ(found.multipliers, Vector::Unit(3, 1));
  EXPECT_EQ(found.bound, -1);
}

// beta_1 = p, beta_2 = 1 - p: the planes 5 p - 2 and 4 - 5 p meet at p = 0.6.
TEST(CuttingPlaneProgramTest, TwoPlanesMeetWhereTheyAreEqual) {
  const Matrix planes{{3, -1}, {-2, 4}};
  const CuttingPlaneMaximum found = Maximize(planes);
  EXPECT_LE((found.point - Vector{{0.6, 0.4}}).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LE((found.multipliers - Vector{{0.5, 0.5}}).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(found.bound, 1, 1e-12);
}

TEST(CuttingPlaneProgramTest, EqualPlanesAndEqualCornersChangeNothing) {
  const Matrix planes = RandomPlanes(30, 8, 1);
  const CuttingPlaneMaximum found = Maximize(planes);
  ExpectOptimal(planes, found);
  const Matrix more = planes.replicate(4, 20);
  const CuttingPlaneMaximum same = Maximize(more);
  ExpectOptimal(more, same);
  EXPECT_NEAR(same.bound, found.bound, 1e-9);
}

TEST(CuttingPlaneProgramTest, RandomPlanesHaveAnOptimum) {
  for (const Index corners : {1, 2, 7, 150, 3000}) {
    for (const Index count : {1, 2, 5, 40, 120}) {
      const Matrix planes = RandomPlanes(corners, count, 2);
      ExpectOptimal(planes, Maximize(planes));
    }
  }
}

// Their size and a constant do not matter, nor planes that are far above the others.
TEST(CuttingPlaneProgramTest, ScalesAndShiftsAreThoseOfTheMaximum) {
  const Matrix planes = RandomPlanes(400, 25, 3);
  const CuttingPlaneMaximum found = Maximize(planes);
  for (const double scale : {1e-300, 1e-12, 1e12, 1e280}) {
    const Matrix scaled = scale * planes;
    const CuttingPlaneMaximum same = Maximize(scaled);
    ExpectOptimal(scaled, same, scale);
    EXPECT_NEAR(same.bound, scale * found.bound, 1e-9 * scale) << scale;
  }
  const Matrix shifted = planes.array() - 1e6;
  EXPECT_NEAR(Maximize(shifted).bound, found.bound - 1e6, 1e-8);
  Matrix more(400, 26);
  more << planes, 1e9 * RandomPlanes(400, 1, 4).cwiseAbs();
  ExpectOptimal(more, Maximize(more));
}

TEST(CuttingPlaneProgramTest, TheSamePlanesHaveTheSameBits) {
  const Matrix planes = RandomPlanes(2000, 60, 5);
  const CuttingPlaneMaximum one = Maximize(planes);
  const CuttingPlaneMaximum two = Maximize(Matrix(planes));
  EXPECT_EQ(one.point, two.point);
  EXPECT_EQ(one.multipliers, two.multipliers);
}

TEST(CuttingPlaneProgramTest, WhatIsNotFiniteHasNoMaximum) {
  for (const double odd : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    Matrix planes = RandomPlanes(5, 3, 6);
    planes(4, 1) = odd;
    const auto found = MaximizeUnderPlanes(planes, RunContext());
    ASSERT_TRUE(found.ok());
    EXPECT_FALSE(found->has_value());
  }
}

TEST(CuttingPlaneProgramTest, EndsWhenItIsCancelled) {
  const CancellationToken cancelled;
  cancelled.Cancel();
  const RunContext context(cancelled, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(MaximizeUnderPlanes(RandomPlanes(50, 9, 7), context).status()));
}

}  // namespace
}  // namespace mercer
