#include "core/objectives/task_norm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

Matrix PositiveEntries(Index rows, Index cols, RandomStream& random) {
  Matrix values(rows, cols);
  for (double& value : values.reshaped()) {
    value = std::exp(random.Normal());
  }
  return values;
}

TaskNorm SquaredNorm(double p, double q, const Vector& beta) {
  return TaskNorm::Make(TaskNormForm::kSquared, p, q, beta).value();
}

double Length(const TaskNorm& norm, const Matrix& norms) {
  return std::sqrt(2 * norm.Penalty(norms));
}

// By hand: the scale of all that follows.
TEST(TaskNormTest, ValuesAreThoseOfTheFormulas) {
  const Matrix norms{{3, 0, 1}, {4, 2, 0}};
  EXPECT_TRUE(TaskNorm().JointNorms(norms).isApprox(Vector{{5, 2, 1}}, 1e-15));
  EXPECT_DOUBLE_EQ(TaskNorm().Penalty(norms), 32);
  const Vector beta{{1, 2, 3}};
  EXPECT_DOUBLE_EQ(TaskNorm::Make(TaskNormForm::kPlain, 1, 2, beta)->Penalty(norms), 12);
  EXPECT_DOUBLE_EQ(SquaredNorm(2, 1, {}).Penalty(norms), 0.5 * (49 + 4 + 1));
  const Matrix energies{{9, 4, 1}, {16, 0, 3}};
  EXPECT_DOUBLE_EQ(TaskNorm().DualNorm(energies), 5);
  EXPECT_DOUBLE_EQ(SquaredNorm(1, 2, Vector{{10, 1, 1}}).DualNorm(energies), 2);
  EXPECT_DOUBLE_EQ(SquaredNorm(2, 1, {}).DualNorm(energies), std::sqrt(16.0 + 4 + 3));
  EXPECT_DOUBLE_EQ(TaskNorm().DualValue(7, 2), 5);
  EXPECT_DOUBLE_EQ(TaskNorm().DualValue(2, 2), 0.5);  // at half of it
  const TaskNorm plain = TaskNorm::Make(TaskNormForm::kPlain, 1, 2).value();
  EXPECT_DOUBLE_EQ(plain.DualValue(6, 0.5), 6);
  EXPECT_DOUBLE_EQ(plain.DualValue(6, 3), 2);
}

// sum norms roots <= |norms| R(roots^2), with equality at norms = weights roots of weights that
// their own update leaves alone, and then the three agree: |norms| = R.
TEST(TaskNormTest, WeightsOfTheUpdateMakeNormAndDualNormMeet) {
  RandomStream random(1, "task norm");
  for (const double p : {1.2, 2.0, 3.0}) {
    for (const double q : {1.3, 2.0, 4.0}) {
      const Vector beta = PositiveEntries(4, 1, random);
      const TaskNorm norm = SquaredNorm(p, q, beta);
      const Matrix energies = PositiveEntries(3, 4, random);
      const Matrix roots = energies.cwiseSqrt();
      const double dual_norm = norm.DualNorm(energies);
      for (int trial = 0; trial < 20; ++trial) {
        const Matrix norms = PositiveEntries(3, 4, random);
        EXPECT_LE(norms.cwiseProduct(roots).sum(), Length(norm, norms) * dual_norm * (1 + 1e-14));
      }
      Matrix weights = norm.FirstWeights(3, 4);
      for (int sweep = 0; sweep < 400; ++sweep) {
        weights = norm.NextWeights(weights.cwiseProduct(roots), energies);
      }
      const Matrix norms = weights.cwiseProduct(roots);
      EXPECT_NEAR(Length(norm, norms), dual_norm, 1e-9 * dual_norm) << p << " " << q;
      EXPECT_NEAR(norms.cwiseProduct(roots).sum(), dual_norm * dual_norm,
                  1e-9 * dual_norm * dual_norm);
    }
  }
}

// 1/2 sum norms^2 / weights is smallest at the weights of the closed form, where it is the penalty.
TEST(TaskNormTest, ClosedFormMinimisesTheVariationalForm) {
  RandomStream random(2, "task norm");
  const Vector beta = PositiveEntries(5, 1, random);
  const TaskNorm norm = SquaredNorm(1, 2, beta);
  const Matrix norms = PositiveEntries(2, 5, random);
  const auto form = [&](const Matrix& weights) {
    return 0.5 * norms.cwiseProduct(norms).cwiseQuotient(weights).sum();
  };
  const Matrix best = norm.NextWeights(norms, norms);
  EXPECT_NEAR(form(best), norm.Penalty(norms), 1e-13 * norm.Penalty(norms));
  for (int trial = 0; trial < 20; ++trial) {
    Vector shares = PositiveEntries(5, 1, random);
    shares /= shares.sum();
    const Vector weights = shares.array() / beta.array().square();
    EXPECT_GE(form(weights.transpose().replicate(2, 1)), norm.Penalty(norms));
  }
}

TEST(TaskNormTest, RefusesWhatIsNoNorm) {
  EXPECT_FALSE(TaskNorm::Make(TaskNormForm::kSquared, 0.9, 2).ok());
  EXPECT_FALSE(TaskNorm::Make(TaskNormForm::kSquared, 1, 0.5).ok());
  EXPECT_FALSE(TaskNorm::Make(TaskNormForm::kSquared, 1, kInfinity).ok());
  EXPECT_FALSE(TaskNorm::Make(TaskNormForm::kPlain, 1.5, 2).ok());
  EXPECT_FALSE(TaskNorm::Make(TaskNormForm::kSquared, 1, 2, Vector{{1, 0}}).ok());
  EXPECT_FALSE(ConcaveTaskNorm::Make(TaskNormForm::kPlain, 1, 0.1).ok());
  EXPECT_FALSE(ConcaveTaskNorm::Make(TaskNormForm::kPlain, 0.5, 0).ok());
}

TEST(ConcaveTaskNormTest, SumIsThatOfPowersAndTakesSmallNorms) {
  const auto norm = ConcaveTaskNorm::Make(TaskNormForm::kSquared, 0.5, 0.25).value();
  EXPECT_DOUBLE_EQ(norm.Sum(Vector{{0, 2, 0}}), 1);  // sqrt(2.25) - sqrt(0.25)
  EXPECT_DOUBLE_EQ(norm.Penalty(Vector{{0, 2, 0}}), 0.5);
  EXPECT_NEAR(norm.Sum(Vector{{1e-20}}), 1e-20, 1e-34);  // slope 1/2 / sqrt(1/4)
}

TEST(ConcaveTaskNormTest, BoundTouchesAndIsNowhereBelow) {
  RandomStream random(3, "task norm");
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    for (const double p : {0.3, 0.8}) {
      const auto norm = ConcaveTaskNorm::Make(form, p, 0.01).value();
      Vector at = PositiveEntries(6, 1, random);
      at(2) = 0;
      const TaskNorm bound = norm.Majorizer(at);
      const auto penalty = [&](const Vector& v) { return bound.Penalty(v.transpose()); };
      const double offset = norm.Penalty(at) - penalty(at);
      for (int trial = 0; trial < 50; ++trial) {
        Vector v = PositiveEntries(6, 1, random);
        v(trial % 6) = 0;
        EXPECT_GE(penalty(v) + offset, norm.Penalty(v) * (1 - 1e-13));
        // The slopes agree where both are smooth.
        const double step = 1e-6;
        Vector near = at;
        near(0) += step;
        EXPECT_NEAR((penalty(near) - penalty(at)) / step,
                    (norm.Penalty(near) - norm.Penalty(at)) / step, 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace mercer
