#include "core/objectives/block_penalty.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/objectives/loss.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

const double kNormExponents[] = {1, 1.01, 1.2, 1.5, 2, 3, 6, 100, kInfinity};

nlohmann::json ReadReference() {
  return ReadFixtureFile("infinite-features/10_prox_and_losses.json");
}

double ReadExponent(const nlohmann::json& value) {
  return value.is_string() ? kInfinity : value.get<double>();
}

Matrix RandomBlock(RandomStream& random, Index rows, Index cols) {
  Matrix block(rows, cols);
  for (double& value : block.reshaped()) {
    value = random.Normal();
  }
  return block;
}

BlockNorm NormOf(BlockShape shape, double q) { return *BlockNorm::Make(shape, q); }

Matrix ProxOf(const BlockNorm& norm, double step, Matrix block) {
  norm.Prox(step, block);
  return block;
}

// The norms of both shapes and all exponents, each with blocks of several sizes.
template <typename Check>
void ForAllNorms(const Check& check) {
  RandomStream random(7, "block-penalty-test");
  for (const BlockShape shape : {BlockShape::kNested, BlockShape::kFlat}) {
    for (const double q : kNormExponents) {
      for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {2, 1}, {1, 4}, {2, 3}}) {
        SCOPED_TRACE(testing::Message() << (shape == BlockShape::kNested ? "nested" : "flat")
                                        << " q " << q << ", " << rows << " x " << cols);
        check(NormOf(shape, q), rows, cols, random);
      }
    }
  }
}

TEST(BlockPenaltyFixtureTest, ProxAndNormsMatchTheReference) {
  const nlohmann::json fixture = ReadReference();
  const double tolerance = fixture["tolerance"]["absolute_over_norm_v"];
  ASSERT_FALSE(fixture["cases"].empty());
  for (const nlohmann::json& item : fixture["cases"]) {
    SCOPED_TRACE(item.dump());
    const Vector v = JsonVector(item["v"]);
    const Vector expected = JsonVector(item["prox"]);
    const double q = ReadExponent(item["q"]);
    const double allowed = tolerance * std::max(1.0, v.norm());
    // One row: columns are single entries, so that both shapes say the same.
    for (const BlockShape shape : {BlockShape::kNested, BlockShape::kFlat}) {
      const BlockNorm norm = NormOf(shape, q);
      const Matrix row = v.transpose();
      EXPECT_NEAR(norm.Value(row), item["norm"].get<double>(), allowed);
      EXPECT_NEAR(norm.DualNorm(row), item["dual_norm"].get<double>(), allowed);
      const Matrix prox = ProxOf(norm, item["lam"].get<double>(), row);
      EXPECT_LE((prox.row(0).transpose() - expected).cwiseAbs().maxCoeff(), allowed);
    }
  }
}

TEST(BlockPenaltyFixtureTest, LossesMatchTheReference) {
  const nlohmann::json fixture = ReadReference();
  const double tolerance = fixture["tolerance"]["loss_relative"];
  for (const nlohmann::json& item : fixture["losses"]) {
    const std::string name = item["loss"];
    SCOPED_TRACE(name);
    const auto loss = *MakeLoss(name == "square"     ? LossKind::kSquare
                                : name == "logistic" ? LossKind::kLogistic
                                                     : LossKind::kSquaredHinge);
    ASSERT_EQ(loss->name(), name);
    const Vector y = JsonVector(item["y"]);
    const Vector f = JsonVector(item["f"]);
    const Vector slopes = JsonVector(item["d1"]);
    const Vector curvatures = JsonVector(item["d2"]);
    double value = 0;
    double conjugate = 0;
    for (Index i = 0; i < y.size(); ++i) {
      value += loss->Value(y(i), 1, f(i));
      conjugate += loss->Conjugate(y(i), 1, slopes(i) / 2);
      EXPECT_NEAR(loss->Slope(y(i), 1, f(i)), slopes(i), tolerance * std::abs(slopes(i)));
      EXPECT_NEAR(loss->Curvature(y(i), 1, f(i)), curvatures(i), tolerance * curvatures(i));
    }
    const double expected = item["value"];
    EXPECT_NEAR(value, expected, tolerance * std::abs(expected));
    const double expected_conjugate = item["conj_at_half_d1"];
    EXPECT_NEAR(conjugate, expected_conjugate, tolerance * std::abs(expected_conjugate));
  }
}

TEST(BlockPenaltyTest, KnownValues) {
  const Matrix block{{3, 0}, {4, 12}};
  EXPECT_DOUBLE_EQ(NormOf(BlockShape::kNested, 1).Value(block), 5 + 12);
  EXPECT_DOUBLE_EQ(NormOf(BlockShape::kNested, 2).Value(block), 13);
  EXPECT_DOUBLE_EQ(NormOf(BlockShape::kNested, kInfinity).Value(block), 12);
  EXPECT_DOUBLE_EQ(NormOf(BlockShape::kNested, kInfinity).DualNorm(block), 17);
  EXPECT_DOUBLE_EQ(NormOf(BlockShape::kFlat, 1).Value(block), 19);
  EXPECT_DOUBLE_EQ(NormOf(BlockShape::kFlat, kInfinity).Value(block), 12);
  EXPECT_NEAR(NormOf(BlockShape::kFlat, 3).Value(block), std::cbrt(27.0 + 64.0 + 1728.0),
              1e-14 * 13);
  // A column is shortened to two fifths of its length, or vanishes.
  EXPECT_TRUE(
      ProxOf(NormOf(BlockShape::kNested, 1), 3, block).isApprox(Matrix{{1.2, 0}, {1.6, 9}}, 1e-15));
  EXPECT_EQ(ProxOf(NormOf(BlockShape::kFlat, 1), 3.5, block), (Matrix{{0, 0}, {0.5, 8.5}}));
  EXPECT_TRUE(ProxOf(NormOf(BlockShape::kFlat, kInfinity), 2, block)
                  .isApprox(Matrix{{3, 0}, {4, 10}}, 1e-15));
}

TEST(BlockPenaltyTest, RefusesOtherExponents) {
  for (const double q : {0.0, -1.0, 0.5, 1.005, 101.0, std::nan(""), -kInfinity}) {
    EXPECT_EQ(BlockNorm::Make(BlockShape::kNested, q).status().code(),
              absl::StatusCode::kInvalidArgument)
        << q;
  }
}

// prox(V) is characterised by V - prox(V) in step times the subdifferential: its dual norm is at most the step, and its product
// with prox(V) is step N(prox(V)).
TEST(BlockPenaltyTest, ProxSatisfiesTheOptimalityIdentity) {
  ForAllNorms([](const BlockNorm& norm, Index rows, Index cols, RandomStream& random) {
    for (int trial = 0; trial < 20; ++trial) {
      const Matrix block = RandomBlock(random, rows, cols) * std::pow(10.0, trial % 5 - 2);
      const double step = 1.2 * random.Uniform() * norm.DualNorm(block);
      const Matrix prox = ProxOf(norm, step, block);
      const Matrix rest = block - prox;
      const double size = block.norm();
      EXPECT_LE(norm.DualNorm(rest), step + 1e-12 * size);
      EXPECT_NEAR((rest.array() * prox.array()).sum(), step * norm.Value(prox),
                  1e-12 * size * size);
    }
  });
}

// V = prox(V) + the nearest point of the ball of the dual norm: nothing in the ball is nearer.
TEST(BlockPenaltyTest, WhatTheProxRemovesIsTheProjectionOntoTheDualBall) {
  ForAllNorms([](const BlockNorm& norm, Index rows, Index cols, RandomStream& random) {
    const Matrix block = RandomBlock(random, rows, cols);
    const double step = 0.6 * norm.DualNorm(block);
    const Matrix projection = block - ProxOf(norm, step, block);
    const double distance = (block - projection).norm();
    for (int trial = 0; trial < 50; ++trial) {
      Matrix other = trial % 2 == 0 ? RandomBlock(random, rows, cols)
                                    : projection + 0.01 * RandomBlock(random, rows, cols);
      other *= std::min(1.0, step / norm.DualNorm(other));
      EXPECT_GE((block - other).norm(), distance * (1 - 1e-12));
    }
  });
}

TEST(BlockPenaltyTest, ProxIsNonexpansive) {
  ForAllNorms([](const BlockNorm& norm, Index rows, Index cols, RandomStream& random) {
    for (int trial = 0; trial < 20; ++trial) {
      const Matrix a = RandomBlock(random, rows, cols);
      const Matrix b = a + std::pow(10.0, -(trial % 4)) * RandomBlock(random, rows, cols);
      const double step = random.Uniform();
      EXPECT_LE((ProxOf(norm, step, a) - ProxOf(norm, step, b)).norm(),
                (a - b).norm() + 1e-12 * a.norm());
    }
  });
}

TEST(BlockPenaltyTest, DualNormIsTheLargestProductWithTheUnitBall) {
  ForAllNorms([](const BlockNorm& norm, Index rows, Index cols, RandomStream& random) {
    const Matrix block = RandomBlock(random, rows, cols);
    for (int trial = 0; trial < 50; ++trial) {
      Matrix other = RandomBlock(random, rows, cols);
      other /= norm.Value(other);
      EXPECT_LE((block.array() * other.array()).sum(), norm.DualNorm(block) * (1 + 1e-12));
    }
  });
}

TEST(BlockPenaltyTest, ProxIsContinuousTowardsOneAndTowardsInfinity) {
  RandomStream random(8, "block-penalty-test");
  for (int trial = 0; trial < 10; ++trial) {
    const Matrix block = RandomBlock(random, 1, 6);
    const Matrix one = ProxOf(NormOf(BlockShape::kFlat, 1), 0.4, block);
    const Matrix maximum = ProxOf(NormOf(BlockShape::kFlat, kInfinity), 0.4, block);
    double before = kInfinity;
    for (const double q : {1.2, 1.05, 1.01}) {
      const double error = (ProxOf(NormOf(BlockShape::kFlat, q), 0.4, block) - one).norm();
      EXPECT_LT(error, before);
      before = error;
    }
    EXPECT_LT(before, 0.05);
    before = kInfinity;
    for (const double q : {4.0, 20.0, 100.0}) {
      const double error = (ProxOf(NormOf(BlockShape::kFlat, q), 0.4, block) - maximum).norm();
      EXPECT_LT(error, before);
      before = error;
    }
    EXPECT_LT(before, 0.05);
  }
}

TEST(BlockPenaltyTest, ExtremeMagnitudesAreHarmless) {
  const Matrix shape{{1, -2, 0.5}, {0, 0, 3}};
  for (const double q : kNormExponents) {
    const BlockNorm norm = NormOf(BlockShape::kNested, q);
    const Matrix middle = ProxOf(norm, 0.7, shape);
    for (const double scale : {1e-150, 1e-30, 1e30, 1e150}) {
      EXPECT_NEAR(norm.Value(shape * scale) / scale, norm.Value(shape), 1e-13 * 5) << q;
      EXPECT_TRUE((ProxOf(norm, 0.7 * scale, shape * scale) / scale).isApprox(middle, 1e-12)) << q;
    }
    EXPECT_EQ(ProxOf(norm, 1, Matrix::Zero(2, 3)), Matrix::Zero(2, 3));
    EXPECT_EQ(ProxOf(norm, 0, shape), shape);
  }
}

TEST(BlockPenaltyTest, DerivativesMatchDifferences) {
  ForAllNorms([](const BlockNorm& norm, Index rows, Index cols, RandomStream& random) {
    const Matrix block = RandomBlock(random, rows, cols);
    const std::vector<Index> entries = norm.SmoothEntries(block);
    if (std::isinf(norm.q())) {
      EXPECT_TRUE(entries.empty());
      return;
    }
    ASSERT_EQ(entries.size(), static_cast<size_t>(block.size()));
    if (norm.q() == 100) {
      return;  // its curvature is too large for differences
    }
    const Matrix gradient = norm.Gradient(block);
    const Matrix hessian = norm.Hessian(block);
    constexpr double kStep = 1e-6;
    for (Index e = 0; e < block.size(); ++e) {
      Matrix above = block;
      Matrix below = block;
      above.reshaped()(e) += kStep;
      below.reshaped()(e) -= kStep;
      EXPECT_NEAR(gradient.reshaped()(e), (norm.Value(above) - norm.Value(below)) / (2 * kStep),
                  1e-6);
      const Matrix change = (norm.Gradient(above) - norm.Gradient(below)) / (2 * kStep);
      EXPECT_LE((hessian.col(e) - change.reshaped()).cwiseAbs().maxCoeff(),
                1e-4 * std::max(1.0, hessian.cwiseAbs().maxCoeff()));
    }
  });
}

TEST(BlockPenaltyTest, GuardedDerivativesBoundTheNormFromAbove) {
  ForAllNorms([](const BlockNorm& norm, Index rows, Index cols, RandomStream& random) {
    if (norm.q() != 1 && norm.q() != 2) {
      return;
    }
    const Matrix block = RandomBlock(random, rows, cols);
    const Matrix gradient = norm.Gradient(block);
    const Matrix hessian = norm.GuardedHessian(block);
    const auto bound = [&](const Matrix& other) {
      const Vector change = (other - block).reshaped();
      return norm.Value(block) + gradient.reshaped().dot(change) +
             0.5 * change.dot(hessian * change);
    };
    for (int trial = 0; trial < 20; ++trial) {
      const Matrix other = RandomBlock(random, rows, cols);
      EXPECT_GE(bound(other), norm.Value(other) * (1 - 1e-14));
    }
    // On the other side of 0 too, where it touches.
    EXPECT_NEAR(bound(-block), norm.Value(block), 1e-13 * norm.Value(block));
    // At 0, half the norm is left.
    EXPECT_NEAR(bound(Matrix::Zero(rows, cols)), 0.5 * norm.Value(block),
                1e-13 * norm.Value(block));
  });
}

TEST(BlockPenaltyTest, ZeroColumnsAreSmoothFromTwoUpwards) {
  const Matrix block{{1, 0}, {2, 0}};
  EXPECT_EQ(NormOf(BlockShape::kNested, 1.5).SmoothEntries(block), (std::vector<Index>{0, 1}));
  EXPECT_EQ(NormOf(BlockShape::kNested, 2).SmoothEntries(block), (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_TRUE(NormOf(BlockShape::kNested, 2).SmoothEntries(Matrix::Zero(2, 2)).empty());
  // The Frobenius norm: (I - uu')/|W|.
  const Matrix hessian = NormOf(BlockShape::kNested, 2).Hessian(block);
  EXPECT_NEAR(hessian(3, 3), 1 / std::sqrt(5.0), 1e-15);
  EXPECT_NEAR(hessian(0, 1), -2 / std::pow(5.0, 1.5), 1e-15);
}

}  // namespace
}  // namespace mercer
