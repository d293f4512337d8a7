#include "core/solvers/gradients/pair_weights.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/core/solvers/gradients/gradient_test_problems.h"

namespace mercer {
namespace {

std::string FieldOf(const PairWeights& weights, const Matrix& rows) {
  RunContext context;
  const Matrix squared = SquaredRowDistances(rows, context).value();
  const auto pairs = MakeGradientPairs(weights, squared, context);
  const auto violations = GetFieldViolations(pairs.status());
  return violations.empty() ? "" : violations[0].field;
}

TEST(PairWeightsTest, EqualRowsHaveTheSameBitsOfDistance) {
  const GradientData data =
      MakeGradientData({.rows = 21, .columns = 33, .repeated_rows = 2, .scale = 1000});
  RunContext context;
  const Matrix squared = SquaredRowDistances(data.rows, context).value();
  EXPECT_EQ(squared, squared.transpose());
  EXPECT_EQ(squared.col(0), squared.col(20));
  EXPECT_EQ(squared.col(1), squared.col(19));
  EXPECT_EQ(squared(0, 20), 0);
}

TEST(PairWeightsTest, NeighboursAreOrderedByDistanceThenIndex) {
  Matrix rows(5, 1);
  rows << 0, 1, -1, 0, 5;
  RunContext context;
  const Matrix squared = SquaredRowDistances(rows, context).value();
  PairWeights weights{.neighbors = 3};
  GradientPairs pairs = MakeGradientPairs(weights, squared, context).value();
  // Row 3 equals row 0: itself first, then its copy, then the first of two at a distance of 1.
  EXPECT_EQ(std::vector<Index>(pairs.anchors.begin() + 9, pairs.anchors.begin() + 12),
            (std::vector<Index>{3, 0, 1}));
  EXPECT_DOUBLE_EQ(pairs.weights.sum(), 1);
  weights.include_self = false;
  pairs = MakeGradientPairs(weights, squared, context).value();
  EXPECT_EQ(std::vector<Index>(pairs.anchors.begin(), pairs.anchors.begin() + 3),
            (std::vector<Index>{3, 1, 2}));
}

std::set<std::pair<Index, Index>> SetOf(const GradientPairs& pairs) {
  std::set<std::pair<Index, Index>> set;
  for (Index p = 0; p < pairs.size(); ++p) {
    set.insert({pairs.targets[static_cast<size_t>(p)], pairs.anchors[static_cast<size_t>(p)]});
  }
  return set;
}

TEST(PairWeightsTest, SymmetricPairsAreThoseOfEitherRow) {
  const GradientData data = MakeGradientData({.rows = 30, .columns = 3});
  RunContext context;
  const Matrix squared = SquaredRowDistances(data.rows, context).value();
  for (const bool include_self : {true, false}) {
    PairWeights weights{.neighbors = 4, .include_self = include_self};
    const auto plain = SetOf(MakeGradientPairs(weights, squared, context).value());
    weights.symmetric = true;
    const GradientPairs pairs = MakeGradientPairs(weights, squared, context).value();
    auto expected = plain;
    for (const auto& [i, j] : plain) {
      expected.insert({j, i});
    }
    EXPECT_GT(expected.size(), plain.size());
    EXPECT_EQ(SetOf(pairs), expected);
    EXPECT_EQ(pairs.size(), static_cast<Index>(expected.size()));
    EXPECT_TRUE(std::is_sorted(pairs.targets.begin(), pairs.targets.end()));
    EXPECT_NEAR(pairs.weights.sum(), 1, 1e-14);
    EXPECT_EQ(pairs.weights.minCoeff(), pairs.weights.maxCoeff());
  }
}

TEST(PairWeightsTest, TheMedianLeavesOutDistancesOfZero) {
  Matrix rows(4, 1);
  rows << 0, 0, 1, 3;
  RunContext context;
  // 1, 1, 3, 3, 2 are positive.
  EXPECT_DOUBLE_EQ(MedianRowDistance(SquaredRowDistances(rows, context).value()).value(), 2);
  rows << 0, 0, 0, 0;
  EXPECT_FALSE(MedianRowDistance(SquaredRowDistances(rows, context).value()).ok());
}

TEST(PairWeightsTest, GaussianWeightsHaveTheSumOneAtAnyWidth) {
  const GradientData data = MakeGradientData({.rows = 12, .columns = 500});
  RunContext context;
  const Matrix squared = SquaredRowDistances(data.rows, context).value();
  for (const double width : {6.0, 30.0, 1e100}) {
    const PairWeights weights{.kind = PairWeighting::kGaussian, .width = width};
    const GradientPairs pairs = MakeGradientPairs(weights, squared, context).value();
    EXPECT_NEAR(pairs.weights.sum(), 1, 1e-14);
    EXPECT_GT(pairs.size(), 12);
  }
}

TEST(PairWeightsTest, WhatCannotTeachAnythingIsRefused) {
  const Matrix rows = MakeGradientData({.rows = 5, .columns = 2}).rows;
  EXPECT_EQ(FieldOf({.neighbors = 1}, rows), "weights.k");
  EXPECT_EQ(FieldOf({.neighbors = 6}, rows), "weights.k");
  EXPECT_EQ(FieldOf({.neighbors = 5, .include_self = false}, rows), "weights.k");
  EXPECT_EQ(FieldOf({.neighbors = 1, .include_self = false}, rows), "");
  EXPECT_EQ(FieldOf({.kind = PairWeighting::kGaussian, .width = 0.0}, rows), "weights.s");
  EXPECT_EQ(FieldOf({.kind = PairWeighting::kGaussian, .width = 1e-9}, rows), "weights.s");
}

}  // namespace
}  // namespace mercer
