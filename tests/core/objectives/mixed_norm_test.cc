#include "core/objectives/mixed_norm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/objectives/simplex_program.h"

namespace mercer {
namespace {

Vector Positive(Index size, RandomStream& random) {
  Vector values(size);
  for (double& value : values) {
    value = std::exp(random.Normal());
  }
  return values;
}

// Three groups of 3, 1 and 2 kernels, not side by side.
SimplexGroups SomeGroups() { return {{0, 1, 0, 2, 2, 0}, 3}; }

TEST(MixedNormTest, OuterWeightsKeepTheFloorAndTheProportionsOfTheOthers) {
  const MixedNorm norm(SomeGroups(), 0.1);
  const Vector free = norm.OuterOf(Vector{{2, 3, 5}});
  EXPECT_TRUE(free.isApprox(Vector{{0.2, 0.3, 0.5}}, 1e-15));
  const Vector pinned = norm.OuterOf(Vector{{0, 1, 3}});
  EXPECT_TRUE(pinned.isApprox(Vector{{0.1, 0.225, 0.675}}, 1e-15));
  // 0.09 of what is left is below the floor only after the first was pinned.
  const Vector twice = norm.OuterOf(Vector{{0, 0.105, 0.895}});
  EXPECT_TRUE(twice.isApprox(Vector{{0.1, 0.1, 0.8}}, 1e-15)) << twice.transpose();
  EXPECT_TRUE(norm.OuterOf(Vector::Zero(3)).isApprox(Vector::Constant(3, 1.0 / 3)));
}

TEST(MixedNormTest, SplittingGivesBackWhatWasCombined) {
  RandomStream random(1, "mixed norm");
  const MixedNorm norm(SomeGroups(), 1e-4);
  const Vector inner = Positive(6, random);
  const Vector outer = Positive(3, random);
  const Vector weights = norm.Combined(inner, outer);
  const MixedWeights parts = norm.Split(weights);
  EXPECT_NEAR((norm.SumsOf(parts.inner) - Vector::Ones(3)).norm(), 0, 1e-14);
  EXPECT_TRUE(parts.outer.isApprox(outer / outer.sum(), 1e-14));
  EXPECT_TRUE(norm.Combined(parts).isApprox(weights, 1e-14));
  EXPECT_TRUE(norm.Uniform().isApprox(Vector{{1, 3, 1, 1.5, 1.5, 1}}, 1e-15));
}

// sum_k norms(k) sqrt(energies(k)) <= |f| sqrt(support), with equality where the norms are those of
// a saddle point: this fixes the scale of both.
TEST(MixedNormTest, NormAndSupportAreDual) {
  RandomStream random(2, "mixed norm");
  const MixedNorm norm(SomeGroups(), 1e-9);
  for (int trial = 0; trial < 100; ++trial) {
    const Vector norms = Positive(6, random);
    const Vector energies = Positive(6, random);
    const double length = std::sqrt(2 * norm.HalfSquaredNorm(norms));
    EXPECT_LE(norms.dot(energies.cwiseSqrt()),
              length * std::sqrt(norm.Support(energies)) * (1 + 1e-14));
    // All weight on the kernel of largest energy of each group.
    const Vector largest = norm.LargestOf(energies);
    Vector inner = Vector::Zero(6);
    for (Index k = 0; k < 6; ++k) {
      inner(k) = energies(k) == largest(norm.GroupOf(k)) ? 1 : 0;
    }
    const Vector weights = norm.Combined(inner, largest.cwiseSqrt());
    const Vector parts = weights.cwiseProduct(energies.cwiseSqrt());
    EXPECT_NEAR(2 * norm.HalfSquaredNorm(parts), norm.Support(energies),
                1e-12 * norm.Support(energies));
    EXPECT_NEAR(weights.dot(energies), norm.Support(energies), 1e-12 * norm.Support(energies));
  }
}

TEST(MixedNormTest, ThresholdTakesOutSmallWeightsOfEachGroup) {
  const MixedNorm norm(SomeGroups(), 1e-4);
  const Vector weights = norm.Combined(Vector{{1, 1, 1e-5, 1e-5, 2, 1e-3}}, Vector{{1, 2, 3}});
  const Vector kept = norm.Thresholded(weights, 1e-4);
  EXPECT_EQ(kept(2), 0);
  EXPECT_EQ(kept(3), 0);
  EXPECT_EQ((kept.array() > 0).count(), 4);
  EXPECT_TRUE(norm.Split(kept).outer.isApprox(norm.Split(weights).outer, 1e-12));
  EXPECT_EQ(norm.Thresholded(weights, 0), weights);
}

// What the model is about: y'a - 1/2 sum_k weights(k) energies(k), whose energies follow the
// weights by the Hessian.
TEST(MixedNormTest, ModelIsLeftAloneAtItsSaddlePoint) {
  const MixedNorm norm(SomeGroups(), 1e-6);
  const Vector energies{{4, 9, 4, 1, 1, 4}};
  const Vector weights = norm.Combined(Vector{{1, 1, 2, 1, 3, 1}}, Vector{{2, 3, 1}});
  Matrix factor(6, 6);
  RandomStream random(3, "mixed norm");
  for (double& value : factor.reshaped()) {
    value = random.Normal();
  }
  const WeightModel model{weights, energies, factor * factor.transpose()};
  const auto moved = norm.SolveModel(model, {0, 1, 2, 3, 4, 5}, RunContext());
  ASSERT_TRUE(moved.ok() && moved->has_value());
  EXPECT_TRUE((*moved)->isApprox(weights, 1e-6)) << (*moved)->transpose();
}

// The saddle point of a model in inner and outer weights is found by Newton's method from nearby:
// with a wrong slope or block of second derivatives its error would shrink in proportion, if at
// all, and not as a square.
TEST(MixedNormTest, StepsFromNearbySquareTheDistanceToTheSaddlePoint) {
  const MixedNorm norm(SomeGroups(), 1e-6);
  const Vector inner{{1, 1, 2, 1, 3, 1}};
  const Vector outer{{2, 3, 1}};
  const Vector energies{{4, 9, 4, 1, 1, 4}};
  const Vector saddle = norm.Combined(inner, outer);
  RandomStream random(5, "mixed norm");
  Matrix factor(6, 6);
  for (double& value : factor.reshaped()) {
    value = random.Normal();
  }
  // So small that the model is concave in the outer weights, as the optimum of a machine is.
  const Matrix hessian = 2e-3 * factor * factor.transpose();
  const Vector inner_move = inner.cwiseProduct(Vector{{1, -2, 0.5, 0, -1, 1}});
  const Vector outer_move = outer.cwiseProduct(Vector{{-1, 0.5, 1.5}});
  const auto error_after = [&](double distance) {
    const Vector start =
        norm.Combined(inner + distance * inner_move, outer + distance * outer_move);
    const WeightModel model{start, energies - 2 * hessian * (start - saddle), hessian};
    const auto moved = norm.SolveModel(model, {0, 1, 2, 3, 4, 5}, RunContext());
    EXPECT_TRUE(moved.ok() && moved->has_value());
    return (**moved - saddle).norm();
  };
  const double far = error_after(0.05);
  const double near = error_after(0.005);
  EXPECT_LT(far, 1);
  EXPECT_LT(near, 0.02 * far);
}

// Energies of kernels without a weight say nothing about what is negligible among the others.
TEST(MixedNormTest, EntriesAreCutAgainstTheirGroup) {
  const MixedNorm norm({{0, 0, 0}, 1}, 1e-6);
  const MixedWeights parts{Vector{{1e-10, 1 - 1e-10, 0}}, Vector::Ones(1)};
  const Vector inner = norm.Multiplied(parts, Vector{{1e-9, 1e-12, 1}}, 2);
  EXPECT_NEAR(inner(0), 1e-10 / (1e-10 + 1e-6), 1e-9);
  EXPECT_NEAR(inner.sum(), 1, 1e-14);
  EXPECT_EQ(inner(2), 0);
  EXPECT_EQ(norm.Multiplied(parts, Vector{{1e-9, 1, 1}}, 2)(0), 0);
}

// More kernels than a model takes never come in: of all groups those furthest above.
TEST(MixedNormTest, CandidatesFitIntoAModel) {
  constexpr Index kGroups = 200;
  SimplexGroups groups{{}, kGroups};
  for (Index k = 0; k < 3 * kGroups; ++k) {
    groups.group_of.push_back(k % kGroups);
  }
  const MixedNorm norm(groups, 1e-6);
  Vector inner = Vector::Zero(3 * kGroups);
  inner.head(kGroups).setOnes();
  Vector energies = Vector::Ones(3 * kGroups);
  for (Index k = 0; k < kGroups; ++k) {
    energies(kGroups + k) = 2 + static_cast<double>(k);
  }
  const Vector weights = norm.Combined(inner, Vector::Ones(kGroups));
  const std::vector<Index> candidates = norm.Candidates(weights, energies);
  ASSERT_EQ(candidates.size(), kMaxModelKernels);
  EXPECT_EQ(candidates.front(), 0);
  EXPECT_EQ(candidates[kGroups], 2 * kGroups - (static_cast<Index>(kMaxModelKernels) - kGroups));
  EXPECT_EQ(candidates.back(), 2 * kGroups - 1);
}

TEST(SimplexProgramTest, MinimiserBeatsCompetitorsAndMeetsTheConditions) {
  RandomStream random(4, "simplex program");
  const SimplexGroups groups{{0, 0, 1, 0, 1, 1, 2, 0}, 3};
  const MixedNorm norm(groups, 1e-3);
  const auto random_point = [&] {
    return norm.Split(Positive(8, random).array().pow(3).matrix()).inner;
  };
  for (int trial = 0; trial < 30; ++trial) {
    Matrix factor(8, trial % 2 == 0 ? 8 : 3);
    for (double& value : factor.reshaped()) {
      value = random.Normal();
    }
    const double scale = std::pow(10.0, trial % 9 - 4);
    SimplexProgram program{random_point(), Vector(8), scale * factor * factor.transpose()};
    for (double& value : program.slope) {
      value = scale * random.Normal();
    }
    const auto value = [&](const Vector& x) {
      const Vector moved = x - program.start;
      return program.slope.dot(moved) + 0.5 * moved.dot(program.hessian * moved);
    };
    const auto found = MinimizeOnSimplices(program, groups, RunContext());
    ASSERT_TRUE(found.ok() && found->has_value()) << trial;
    const Vector x = **found;
    EXPECT_GE(x.minCoeff(), 0);
    EXPECT_NEAR((norm.SumsOf(x) - Vector::Ones(3)).norm(), 0, 1e-12);
    for (int competitor = 0; competitor < 100; ++competitor) {
      EXPECT_LE(value(x), value(random_point()) + 1e-9 * scale);
    }
    // A slope above the least of its group belongs to an entry of 0.
    const Vector slope = program.slope + program.hessian * (x - program.start);
    for (Index k = 0; k < 8; ++k) {
      for (Index l = 0; l < 8; ++l) {
        if (norm.GroupOf(k) == norm.GroupOf(l)) {
          EXPECT_LE(x(k) * (slope(k) - slope(l)), 1e-7 * scale) << trial;
        }
      }
    }
  }
}

TEST(SimplexProgramTest, NumbersThatAreNotFiniteHaveNoMinimiser) {
  SimplexProgram program{Vector{{0.5, 0.5}}, Vector{{1, std::nan("")}}, Matrix::Identity(2, 2)};
  const auto found = MinimizeOnSimplices(program, {{0, 0}, 1}, RunContext());
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

}  // namespace
}  // namespace mercer
