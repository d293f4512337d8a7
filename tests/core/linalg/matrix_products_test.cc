#include "core/linalg/matrix_products.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

struct ProductShape {
  Index rows;
  Index columns;
  Index depth;

  std::string Name() const {
    return std::to_string(rows) + " x " + std::to_string(columns) + ", depth " +
           std::to_string(depth);
  }
};

// Around the bounds of the pieces, and empty.
const std::vector<ProductShape>& ProductShapes() {
  static const auto& shapes = *new std::vector<ProductShape>{
      {1, 1, 1},    {255, 3, 10}, {256, 256, 5}, {257, 257, 33}, {600, 300, 2},
      {3, 5, 8191}, {3, 5, 8192}, {3, 5, 8193},  {2, 2, 17000},  {0, 4, 5},
      {4, 0, 5},    {4, 5, 0},    {300, 300, 0}, {0, 0, 0}};
  return shapes;
}

TEST(MatrixProductsTest, TransposedProductEqualsTheDefinition) {
  RunContext context;
  for (const ProductShape& shape : ProductShapes()) {
    const Matrix a = UniformMatrix(shape.depth, shape.rows, 1);
    const Matrix b = UniformMatrix(shape.depth, shape.columns, 2);
    Matrix out = Matrix::Constant(shape.rows, shape.columns, NAN);
    ASSERT_TRUE(TransposedProduct(a, b, out, context).ok());
    ExpectMatrixNear(out, a.transpose().lazyProduct(b), 1e-13, shape.Name());
  }
}

TEST(MatrixProductsTest, LowerTransposedProductIsATriangleOfTheWhole) {
  RunContext context;
  for (const Index size : {0, 1, 255, 256, 257, 600}) {
    const Matrix a = UniformMatrix(70, size, 1);
    const Matrix b = UniformMatrix(70, size, 2);
    Matrix out = Matrix::Constant(size, size, NAN);
    ASSERT_TRUE(LowerTransposedProduct(a, b, out, context).ok());
    Matrix expected = a.transpose().lazyProduct(b);
    out.triangularView<Eigen::StrictlyUpper>().setZero();
    expected.triangularView<Eigen::StrictlyUpper>().setZero();
    ExpectMatrixNear(out, expected, 1e-13, "size " + std::to_string(size));
  }
}

TEST(MatrixProductsTest, AddProductEqualsTheDefinition) {
  RunContext context;
  for (const ProductShape& shape : ProductShapes()) {
    const Matrix a = UniformMatrix(shape.rows, shape.depth, 3);
    const Matrix b = UniformMatrix(shape.depth, shape.columns, 4);
    for (const double scale : {1.0, -0.25}) {
      const Matrix before = UniformMatrix(shape.rows, shape.columns, 5);
      Matrix out = before;
      ASSERT_TRUE(AddProduct(scale, a, b, out, context).ok());
      ExpectMatrixNear(out, before + scale * a.lazyProduct(b), 1e-13, shape.Name());
    }
  }
}

TEST(MatrixProductsTest, BlocksOfLargerMatricesAreMultipliedInPlace) {
  RunContext context;
  const Matrix a = UniformMatrix(60, 40, 6);
  const Matrix b = UniformMatrix(70, 30, 7);
  Matrix out = Matrix::Constant(50, 40, 9.0);
  ASSERT_TRUE(TransposedProduct(a.block(3, 2, 50, 20), b.block(11, 5, 50, 10),
                                out.block(7, 8, 20, 10), context)
                  .ok());
  const Matrix expected = a.block(3, 2, 50, 20).transpose().lazyProduct(b.block(11, 5, 50, 10));
  ExpectMatrixNear(out.block(7, 8, 20, 10), expected, 1e-14, "block");
  out.block(7, 8, 20, 10).setConstant(9.0);
  ExpectEqualBits(out, Matrix::Constant(50, 40, 9.0), "outside");
}

Matrix LowerRoot(Index size, uint64_t seed) {
  return UniformMatrix(size, size, seed).triangularView<Eigen::Lower>();
}

TEST(MatrixProductsTest, TriangularCongruenceEqualsTheDefinition) {
  RunContext context;
  for (const Index size : {0, 1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 330}) {
    const Matrix root = LowerRoot(size, 8);
    const Matrix half = UniformMatrix(size, size, 9);
    const Matrix whole = half + half.transpose();
    Matrix lower_only = whole;
    lower_only.triangularView<Eigen::StrictlyUpper>().setConstant(NAN);
    Matrix out = Matrix::Constant(size, size, NAN);
    ASSERT_TRUE(TriangularCongruence(lower_only, root, out, context).ok());
    Matrix expected = root.transpose().lazyProduct(whole.lazyProduct(root).eval());
    out.triangularView<Eigen::StrictlyUpper>().setZero();
    expected.triangularView<Eigen::StrictlyUpper>().setZero();
    ExpectMatrixNear(out, expected, 1e-13, "size " + std::to_string(size));
  }
}

TEST(MatrixProductsTest, ResultsHaveTheSameBitsForEveryNumberOfThreads) {
  const Matrix a = UniformMatrix(700, 600, 10);
  const Matrix b = UniformMatrix(700, 300, 11);
  const Matrix root = LowerRoot(300, 12);
  const Matrix middle = b.transpose() * b;
  std::vector<Matrix> results;
  for (const int threads : {1, 3}) {
    RunContext context = ContextOfThreads(threads);
    Matrix product(600, 300);
    ASSERT_TRUE(TransposedProduct(a, b, product, context).ok());
    Matrix sum = b;
    ASSERT_TRUE(AddProduct(-1.0, a, product, sum, context).ok());
    Matrix congruence(300, 300);
    ASSERT_TRUE(TriangularCongruence(middle, root, congruence, context).ok());
    congruence.triangularView<Eigen::StrictlyUpper>().setZero();
    Matrix all(600 + 700 + 300, 300);
    all << product, sum, congruence;
    results.push_back(all);
  }
  ExpectEqualBits(results[1], results[0], "threads");
}

TEST(MatrixProductsTest, EveryProductEndsWithCancellation) {
  RunContext context = CancelledContext();
  const Matrix a = UniformMatrix(80, 80, 13);
  const Matrix root = LowerRoot(80, 14);
  Matrix out = Matrix::Zero(80, 80);
  EXPECT_TRUE(absl::IsCancelled(TransposedProduct(a, a, out, context)));
  EXPECT_TRUE(absl::IsCancelled(LowerTransposedProduct(a, a, out, context)));
  EXPECT_TRUE(absl::IsCancelled(AddProduct(1.0, a, a, out, context)));
  EXPECT_TRUE(absl::IsCancelled(TriangularCongruence(a, root, out, context)));
}

}  // namespace
}  // namespace mercer
