// Kernels of columns against the Gram matrices that they never form.
#include "core/solvers/multitask/column_kernels.h"

#include <memory>

#include <gtest/gtest.h>

#include "tests/core/solvers/multitask/multitask_test_problems.h"
#include "tests/core/solvers/smo_mkl_problems.h"

namespace mercer {
namespace {

// Blocks not side by side, of one to three columns, and one without any.
const std::vector<Index>& BlockOf() {
  static const auto& blocks = *new std::vector<Index>{0, 3, 1, 3, 0, 4, 3};
  return blocks;
}

struct Both {
  Matrix values;
  std::unique_ptr<ColumnKernels> columns;
  std::unique_ptr<GramFamily> grams;
};

Both MakeBoth(Index rows) {
  Both both;
  both.values = MakeToyData(1, {.tasks = 1, .rows = rows, .columns = 7}).inputs[0];
  both.columns = std::make_unique<ColumnKernels>(std::make_shared<const Matrix>(both.values),
                                                 std::make_shared<const ColumnBlocks>(BlockOf()));
  std::vector<Matrix> grams(5, Matrix::Zero(rows, rows));
  for (size_t c = 0; c < BlockOf().size(); ++c) {
    const Vector column = both.values.col(static_cast<Index>(c));
    grams[static_cast<size_t>(BlockOf()[c])] += column * column.transpose();
  }
  both.grams = std::make_unique<GramFamily>(std::move(grams));
  return both;
}

TEST(ColumnBlocksTest, ListsTheColumnsOfEachBlock) {
  const ColumnBlocks blocks(BlockOf());
  EXPECT_EQ(blocks.num_blocks(), 5);
  EXPECT_EQ(blocks.num_columns(), 7);
  EXPECT_EQ(blocks.ColumnsOf(3), absl::MakeConstSpan({Index{1}, Index{3}, Index{6}}));
  EXPECT_TRUE(blocks.ColumnsOf(2).empty());
  const std::vector<Index> some = {4, 0};
  EXPECT_EQ(blocks.ColumnsOf(some), (std::vector<Index>{5, 0, 4}));
}

TEST(ColumnKernelsTest, OperationsAreThoseOfGramMatrices) {
  const Both both = MakeBoth(50);
  RunContext context;
  const Matrix duals = MakeToyData(2, {.tasks = 1, .rows = 50, .columns = 2}).inputs[0];
  Matrix energies(5, 2);
  Matrix wanted(5, 2);
  ASSERT_TRUE(both.columns->QuadraticForms(duals, {}, energies, context).ok());
  ASSERT_TRUE(both.grams->QuadraticForms(duals, {}, wanted, context).ok());
  EXPECT_TRUE(energies.isApprox(wanted, 1e-12)) << energies << "\n" << wanted;
  const std::vector<Index> some = {4, 1};
  Matrix listed(2, 2);
  ASSERT_TRUE(both.columns->QuadraticForms(duals, some, listed, context).ok());
  EXPECT_TRUE(listed.row(0).isApprox(wanted.row(4), 1e-12));
  EXPECT_TRUE(listed.row(1).isApprox(wanted.row(1), 1e-12));

  const std::vector<Index> rows = {3, 40, 41};
  const std::vector<Index> kernels = {3, 0};
  Matrix products(3, 2);
  Matrix products_wanted(3, 2);
  ASSERT_TRUE(both.columns->Products(duals.col(0), kernels, rows, products, context).ok());
  ASSERT_TRUE(both.grams->Products(duals.col(0), kernels, rows, products_wanted, context).ok());
  EXPECT_TRUE(products.isApprox(products_wanted, 1e-12));

  const Vector weights{{0.5, 0, 1, 2, 0.25}};
  Matrix combined(50, 2);
  Matrix combined_wanted(50, 2);
  ASSERT_TRUE(both.columns->CombinedProduct(weights, duals, combined, context).ok());
  ASSERT_TRUE(both.grams->CombinedProduct(weights, duals, combined_wanted, context).ok());
  EXPECT_TRUE(combined.isApprox(combined_wanted, 1e-12));
  const auto kernel = both.columns->Combine(weights, context);
  ASSERT_TRUE(kernel.ok());
  const auto kernel_wanted = both.grams->Combine(weights, context);
  EXPECT_TRUE((*kernel)->Dense()->isApprox(*(*kernel_wanted)->Dense(), 1e-12));
  const auto nothing = both.columns->Combine(Vector::Zero(5), context);
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE((*nothing)->Dense()->isZero(0));

  Matrix diagonals(50, 5);
  Matrix diagonals_wanted(50, 5);
  ASSERT_TRUE(both.columns->Diagonals({}, diagonals, context).ok());
  ASSERT_TRUE(both.grams->Diagonals({}, diagonals_wanted, context).ok());
  EXPECT_TRUE(diagonals.isApprox(diagonals_wanted, 1e-12));
}

}  // namespace
}  // namespace mercer
