#include "core/kernels/lowrank/landmarks.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

// Blocks "a" and "b" of a mixture of five clouds.
std::shared_ptr<PreparedData> CloudsInTwoBlocks(Index rows, uint64_t seed) {
  RowMatrix values = RandomRows(rows, 5, seed);
  for (Index i = 0; i < rows; ++i) {
    values(i, i % 5) += 4.0;
  }
  auto data = std::make_shared<PreparedData>();
  data->rows = rows;
  data->blocks.push_back(MakeBlock("a", values.leftCols(2)));
  data->blocks.push_back(MakeBlock("b", values.rightCols(3)));
  return data;
}

Landmarks Select(const PreparedData& inputs, LandmarkSelection selection, Index count,
                 uint64_t seed, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  auto landmarks = SelectLandmarks(inputs, GaussiansOfX({1.0}), selection, count, seed, context);
  EXPECT_TRUE(landmarks.ok()) << landmarks.status();
  return landmarks.ok() ? *std::move(landmarks) : Landmarks{};
}

// All blocks side by side.
RowMatrix SideBySide(const PreparedData& data) {
  RowMatrix values(data.rows, 0);
  for (const PreparedBlock& block : data.blocks) {
    const Index before = values.cols();
    values.conservativeResize(Eigen::NoChange, before + block.values.cols());
    values.rightCols(block.values.cols()) = block.values.view();
  }
  return values;
}

Index NearestPoint(const RowMatrix& points, const Eigen::RowVectorXd& x) {
  Index nearest = 0;
  for (Index c = 1; c < points.rows(); ++c) {
    if ((points.row(c) - x).squaredNorm() < (points.row(nearest) - x).squaredNorm()) {
      nearest = c;
    }
  }
  return nearest;
}

double QuantisationError(const RowMatrix& rows, const RowMatrix& points) {
  double sum = 0;
  for (Index i = 0; i < rows.rows(); ++i) {
    sum += (points.row(NearestPoint(points, rows.row(i))) - rows.row(i)).squaredNorm();
  }
  return sum;
}

TEST(DrawRowsTest, RowsAreDistinctAndAscending) {
  for (const Index count : {0, 1, 7, 99, 100, 250}) {
    const std::vector<Index> rows = DrawRows(100, count, 3, "test");
    EXPECT_EQ(static_cast<Index>(rows.size()), std::min<Index>(count, 100));
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()), rows.end());
    for (const Index row : rows) {
      EXPECT_TRUE(row >= 0 && row < 100) << row;
    }
  }
}

TEST(DrawRowsTest, EveryRowIsEquallyLikely) {
  constexpr int kDraws = 4000;
  std::vector<int> drawn(20);
  for (int seed = 0; seed < kDraws; ++seed) {
    for (const Index row : DrawRows(20, 5, static_cast<uint64_t>(seed), "test")) {
      ++drawn[static_cast<size_t>(row)];
    }
  }
  for (const int count : drawn) {
    EXPECT_NEAR(count, 1000, 5 * 27.4) << "five standard deviations of a binomial";
  }
}

TEST(DrawRowsTest, SeedsAndPurposesDrawOtherRows) {
  EXPECT_EQ(DrawRows(1000, 20, 1, "one"), DrawRows(1000, 20, 1, "one"));
  EXPECT_NE(DrawRows(1000, 20, 1, "one"), DrawRows(1000, 20, 2, "one"));
  EXPECT_NE(DrawRows(1000, 20, 1, "one"), DrawRows(1000, 20, 1, "two"));
}

TEST(LandmarksTest, UniformLandmarksAreRowsOfTheInputs) {
  const auto data = MixedData(120, 4);
  const Landmarks landmarks = Select(*data, LandmarkSelection::kUniform, 17, 5);
  ASSERT_EQ(landmarks.rows.size(), 17U);
  ASSERT_EQ(landmarks.data->rows, 17);
  EXPECT_EQ(
      std::adjacent_find(landmarks.rows.begin(), landmarks.rows.end(), std::greater_equal<>()),
      landmarks.rows.end());
  ASSERT_EQ(landmarks.data->squares.size(), 2U);
  for (Index j = 0; j < 17; ++j) {
    const Index row = landmarks.rows[static_cast<size_t>(j)];
    for (size_t b = 0; b < data->blocks.size(); ++b) {
      ExpectEqualBits(landmarks.data->blocks[b].values.view().row(j),
                      data->blocks[b].values.view().row(row), "block");
    }
    ExpectEqualBits(landmarks.data->squares[1].values.view().row(j),
                    data->squares[1].values.view().row(row), "square");
  }
}

TEST(LandmarksTest, AllRowsWhenThereAreNotMore) {
  const auto data = CloudsInTwoBlocks(30, 1);
  for (const LandmarkSelection selection :
       {LandmarkSelection::kUniform, LandmarkSelection::kKMeans}) {
    for (const Index count : {30, 31, 1000}) {
      const Landmarks landmarks = Select(*data, selection, count, 2);
      EXPECT_EQ(landmarks.rows, AllRowsOf(*data));
      ExpectEqualBits(SideBySide(*landmarks.data), SideBySide(*data), "all rows");
    }
  }
}

TEST(LandmarksTest, SeedsChooseOtherLandmarks) {
  const auto data = CloudsInTwoBlocks(400, 1);
  EXPECT_EQ(Select(*data, LandmarkSelection::kUniform, 9, 1).rows,
            Select(*data, LandmarkSelection::kUniform, 9, 1).rows);
  EXPECT_NE(Select(*data, LandmarkSelection::kUniform, 9, 1).rows,
            Select(*data, LandmarkSelection::kUniform, 9, 2).rows);
  const RowMatrix first = SideBySide(*Select(*data, LandmarkSelection::kKMeans, 9, 1).data);
  const RowMatrix other = SideBySide(*Select(*data, LandmarkSelection::kKMeans, 9, 2).data);
  EXPECT_GT((first - other).cwiseAbs().maxCoeff(), 1e-3);
}

// With at most 50 rows for each centre all rows take part.
TEST(LandmarksTest, CentresAreTenStepsOfLloydFromTheUniformDraw) {
  const auto data = CloudsInTwoBlocks(400, 6);
  const RowMatrix rows = SideBySide(*data);
  const Landmarks start = Select(*data, LandmarkSelection::kUniform, 8, 7);
  const RowMatrix before = SideBySide(*start.data);
  RowMatrix centres = before;
  for (int step = 0; step < 10; ++step) {
    RowMatrix sums = RowMatrix::Zero(8, 5);
    Vector counts = Vector::Zero(8);
    for (Index i = 0; i < 400; ++i) {
      const Index nearest = NearestPoint(centres, rows.row(i));
      sums.row(nearest) += rows.row(i);
      counts(nearest) += 1;
    }
    for (Index c = 0; c < 8; ++c) {
      if (counts(c) > 0) {
        centres.row(c) = sums.row(c) / counts(c);
      }
    }
  }
  const Landmarks landmarks = Select(*data, LandmarkSelection::kKMeans, 8, 7);
  EXPECT_TRUE(landmarks.rows.empty());
  EXPECT_TRUE(landmarks.data->squares.empty());
  ASSERT_EQ(landmarks.data->blocks.size(), 2U);
  EXPECT_EQ(landmarks.data->blocks[1].name, "b");
  EXPECT_EQ(landmarks.data->blocks[1].sources, data->blocks[1].sources);
  const RowMatrix chosen = SideBySide(*landmarks.data);
  ExpectMatrixNear(chosen, centres, 1e-12, "centres");
  EXPECT_LT(QuantisationError(rows, chosen), 0.8 * QuantisationError(rows, before));
}

TEST(LandmarksTest, CentresOfASampleStillLowerTheErrorOfAllRows) {
  const auto data = CloudsInTwoBlocks(3000, 8);
  const RowMatrix rows = SideBySide(*data);
  const RowMatrix before = SideBySide(*Select(*data, LandmarkSelection::kUniform, 6, 9).data);
  const RowMatrix centres = SideBySide(*Select(*data, LandmarkSelection::kKMeans, 6, 9).data);
  EXPECT_LT(QuantisationError(rows, centres), QuantisationError(rows, before));
}

TEST(LandmarksTest, EqualRowsAreTheirOwnCentres) {
  const RowMatrix values = RowMatrix::Constant(200, 3, 0.1);
  const Landmarks landmarks = Select(*BlockOf(values), LandmarkSelection::kKMeans, 5, 1);
  ExpectMatrixNear(SideBySide(*landmarks.data), values.topRows(5), 1e-14, "centres");
}

TEST(LandmarksTest, CentresHaveTheSameBitsForEveryNumberOfThreads) {
  const auto data = CloudsInTwoBlocks(2000, 10);
  const Landmarks one = Select(*data, LandmarkSelection::kKMeans, 20, 11, 1);
  const Landmarks three = Select(*data, LandmarkSelection::kKMeans, 20, 11, 3);
  ExpectEqualBits(SideBySide(*three.data), SideBySide(*one.data), "threads");
}

TEST(LandmarksTest, SelectionEndsWithCancellation) {
  const auto data = CloudsInTwoBlocks(200, 1);
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(
      SelectLandmarks(*data, GaussiansOfX({1.0}), LandmarkSelection::kUniform, 5, 1, cancelled)
          .status()));
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  int steps = 0;
  context.set_stage_callback([&](std::string_view stage, std::optional<double> fraction) {
    EXPECT_EQ(stage, "landmarks");
    EXPECT_TRUE(fraction >= 0 && fraction <= 1) << fraction.value_or(-1);
    if (++steps == 3) {
      token.Cancel();
    }
  });
  EXPECT_TRUE(absl::IsCancelled(
      SelectLandmarks(*data, GaussiansOfX({1.0}), LandmarkSelection::kKMeans, 5, 1, context)
          .status()));
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace mercer
