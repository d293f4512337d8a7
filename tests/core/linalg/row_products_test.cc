#include "core/linalg/row_products.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

struct TallShape {
  Index rows;
  Index columns;
  Index others;

  std::string Name() const {
    return std::to_string(rows) + " rows, " + std::to_string(columns) + " and " +
           std::to_string(others) + " columns";
  }
};

// Around the bounds of chunks, of parts and of tiles, and empty.
const std::vector<TallShape>& TallShapes() {
  static const auto& shapes = *new std::vector<TallShape>{
      {1, 1, 1},     {255, 3, 2},   {256, 4, 1},  {257, 5, 3},   {5000, 7, 2},
      {600, 256, 3}, {600, 257, 2}, {70, 700, 1}, {300, 2, 600}, {0, 3, 4},
      {0, 60, 50},   {40, 0, 3},    {40, 3, 0}};
  return shapes;
}

// As a block of a larger matrix, which has another stride.
Matrix Surround(const Matrix& a) {
  Matrix larger = Matrix::Constant(a.rows() + 3, a.cols() + 2, 1e300);
  larger.block(1, 1, a.rows(), a.cols()) = a;
  return larger;
}

Matrix Lower(const Matrix& a) { return a.triangularView<Eigen::Lower>(); }

TEST(RowProductsTest, ProductEqualsTheDefinition) {
  for (const TallShape& shape : TallShapes()) {
    const Matrix a = UniformMatrix(shape.rows, shape.columns, 1);
    const Matrix b = UniformMatrix(shape.rows, shape.others, 2);
    const Matrix larger = Surround(a);
    RunContext context;
    const absl::StatusOr<Matrix> product =
        ProductOverRows(larger.block(1, 1, a.rows(), a.cols()), b, context);
    ASSERT_TRUE(product.ok()) << product.status();
    ExpectMatrixNear(*product, a.transpose().lazyProduct(b), 1e-12, shape.Name());
    const Matrix of_block =
        ProductOfBlock(larger.block(1, 1, a.rows(), a.cols()).transpose().eval(), b);
    ExpectMatrixNear(of_block, a.transpose().lazyProduct(b), 1e-12, shape.Name());
  }
}

TEST(RowProductsTest, GramEqualsTheDefinitionOverTheRowsThatAreNamed) {
  for (const TallShape& shape : TallShapes()) {
    const Matrix a = UniformMatrix(shape.rows, shape.columns, 3);
    const Vector weights = UniformMatrix(shape.rows, 1, 4).col(0);
    std::vector<Index> rows;
    Matrix named = Matrix::Zero(shape.rows, shape.columns);
    for (Index i = 0; i < shape.rows; ++i) {
      if (i % 3 != 1) {
        rows.push_back(i);
        named.row(i) = weights(i) * a.row(i);
      }
    }
    RunContext context;
    const absl::StatusOr<Matrix> some = GramOverRows(a, rows, weights, context);
    const absl::StatusOr<Matrix> all = GramOverRows(a, context);
    ASSERT_TRUE(some.ok() && all.ok()) << some.status() << all.status();
    ExpectMatrixNear(Lower(*some), Lower(named.transpose().lazyProduct(named)), 1e-12,
                     shape.Name());
    ExpectMatrixNear(Lower(*all), Lower(a.transpose().lazyProduct(a)), 1e-12, shape.Name());
  }
}

TEST(RowProductsTest, BlocksCoverTheRowsOnce) {
  for (const Index rows : {0, 1, 6, 7, 8, 50}) {
    Vector visits = Vector::Zero(rows);
    RunContext context;
    ASSERT_TRUE(ForRowBlocks(rows, 7, context, [&](Index begin, Index count) {
                  EXPECT_LE(count, 7);
                  visits.segment(begin, count).array() += 1;
                }).ok());
    EXPECT_TRUE((visits.array() == 1).all()) << rows;
  }
}

TEST(RowProductsTest, ThreadsDoNotChangeTheBits) {
  const Matrix a = UniformMatrix(5000, 30, 5);
  RunContext one = ContextOfThreads(1);
  RunContext three = ContextOfThreads(3);
  EXPECT_EQ(*ProductOverRows(a, a.leftCols(3), one), *ProductOverRows(a, a.leftCols(3), three));
  EXPECT_EQ(Lower(*GramOverRows(a, one)), Lower(*GramOverRows(a, three)));
}

TEST(RowProductsTest, CancelledWorkSaysSo) {
  const Matrix a = UniformMatrix(50, 3, 6);
  RunContext context = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(ProductOverRows(a, a, context).status()));
  EXPECT_TRUE(absl::IsCancelled(GramOverRows(a, context).status()));
  EXPECT_TRUE(absl::IsCancelled(GramOverRows(a, {1, 2}, Vector::Ones(50), context).status()));
  EXPECT_TRUE(absl::IsCancelled(ForRowBlocks(9, 2, context, [](Index, Index) { FAIL(); })));
}

}  // namespace
}  // namespace mercer
