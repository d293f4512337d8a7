// Steps in pairs of rows, of columns and of kernels.
#include "core/solvers/multitask/row_pairs.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/solvers/multitask/multitask_test_problems.h"
#include "tests/core/solvers/smo_mkl_problems.h"

namespace mercer {
namespace {

constexpr Index kRows = 12;

// Seven columns in three blocks, of which the second weighs nothing; rows 3 and 4 are the same.
struct PairsCase {
  ToyData data = MakeToyData(1, {.tasks = 1, .rows = kRows, .columns = 7});
  std::vector<Index> block_of = {0, 1, 2, 0, 1, 2, 2};
  Vector weights{{0.7, 0, 0.2}};
  std::vector<std::unique_ptr<const KernelFamily>> families;  // columns, and the same as kernels
  Matrix kernel;

  PairsCase() {
    Matrix& inputs = data.inputs[0];
    inputs.row(4) = inputs.row(3);
    std::vector<Matrix> grams(3, Matrix::Zero(kRows, kRows));
    for (Index c = 0; c < inputs.cols(); ++c) {
      grams[static_cast<size_t>(block_of[static_cast<size_t>(c)])] +=
          inputs.col(c) * inputs.col(c).transpose();
    }
    kernel = weights(0) * grams[0] + weights(2) * grams[2];
    families.push_back(std::make_unique<const ColumnKernels>(
        std::make_shared<const Matrix>(inputs), std::make_shared<const ColumnBlocks>(block_of)));
    families.push_back(std::make_unique<const GramFamily>(std::move(grams)));
  }

  double Objective(const Vector& dual) const {
    return 0.5 * dual.dot(kernel * dual) - data.targets[0].dot(dual);
  }
};

// Moves the dual with its image; no other step within the room has a lower objective.
void MoveBest(const PairsCase& given, Index i, Index j, RowPairs& pairs, Vector& dual,
              Vector& image) {
  constexpr double kRoom = 0.3;
  RunContext context;
  const double targets = given.data.targets[0](i) - given.data.targets[0](j);
  const double step = pairs.Descend({i, j, targets, kRoom}, image, context).value();
  const auto at = [&](double length) {
    Vector moved = dual;
    moved(i) += length;
    moved(j) -= length;
    return given.Objective(moved);
  };
  EXPECT_GE(step, 0);
  EXPECT_LE(step, kRoom);
  for (const double other : {0.0, 0.5 * step, 0.5 * (step + kRoom), kRoom}) {
    EXPECT_LE(at(step), at(other) + 1e-12) << i << ", " << j << ": " << step;
  }
  dual(i) += step;
  dual(j) -= step;
}

TEST(RowPairsTest, StepsMinimiseTheObjectiveAlongThePair) {
  const PairsCase given;
  RunContext context;
  for (const auto& family : given.families) {
    const auto pairs = MakeRowPairs(*family, given.weights, context).value();
    Vector dual = MakeToyData(2, {.tasks = 1, .rows = kRows, .columns = 1}).inputs[0].col(0);
    Vector image = pairs->ImageOf(dual, context).value();
    for (Index k = 1; k < kRows * kRows - 1; ++k) {
      if (k / kRows != k % kRows) {
        MoveBest(given, k / kRows, k % kRows, *pairs, dual, image);
      }
    }
    const Vector anew = pairs->ImageOf(dual, context).value();
    EXPECT_LE((image - anew).cwiseAbs().maxCoeff(), 1e-12);
    const Vector scores = pairs->ScoresOf(image, context).value();
    EXPECT_LE((scores - given.kernel * dual).cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(RowPairsTest, PairsWithoutCurvatureGoAsFarAsThereIsRoom) {
  const PairsCase given;
  RunContext context;
  for (const auto& family : given.families) {
    const auto pairs = MakeRowPairs(*family, given.weights, context).value();
    Vector image = pairs->ImageOf(Vector::Zero(kRows), context).value();
    EXPECT_EQ(pairs->Descend({3, 4, 2.0, 0.25}, image, context).value(), 0.25);
    EXPECT_EQ(pairs->Descend({3, 4, -2.0, 0.25}, image, context).value(), 0);
    EXPECT_LE(image.cwiseAbs().maxCoeff(), 1e-12);
  }
}

// A function without blocks has scores of 0 and no curvature.
TEST(RowPairsTest, NoBlockNeedsToWeighAnything) {
  const PairsCase given;
  RunContext context;
  for (const auto& family : given.families) {
    const auto pairs = MakeRowPairs(*family, Vector::Zero(3), context).value();
    Vector image = pairs->ImageOf(Vector::Ones(kRows), context).value();
    EXPECT_EQ(pairs->ScoresOf(image, context).value(), Vector::Zero(kRows));
    EXPECT_EQ(pairs->Descend({0, 1, 2.0, 0.5}, image, context).value(), 0.5);
  }
}

}  // namespace
}  // namespace mercer
