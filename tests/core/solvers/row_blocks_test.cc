// What hosts that own whole blocks of training rows compute, each from its own rows alone, put
// together by the tree over the blocks: the bits of one host that has all rows, whatever its
// threads.
#include "core/base/numeric/row_blocks.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/process/row_vectors.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/factor_rows.h"
#include "core/linalg/row_products.h"
#include "core/objectives/loss.h"
#include "core/solvers/group/feature_columns.h"
#include "core/solvers/svm/svm_newton_model.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

constexpr Index kOwnedBlocks = 3;  // the last one in part
constexpr Index kAllRows = 2 * kRowBlock + 3001;
constexpr Index kFactorColumns = 150;  // more than a tile of a Gram matrix has

// What is computed from the rows [begin, end) alone.
using OfRows = std::function<Matrix(Index begin, Index end, RunContext& context)>;

Matrix LowerTriangleOf(const Matrix& a) { return a.triangularView<Eigen::Lower>(); }

void ExpectSumOfBlocks(const OfRows& of_rows, const std::string& what) {
  std::vector<Matrix> of_blocks;
  for (Index block = 0; block < kOwnedBlocks; ++block) {
    RunContext context;
    of_blocks.push_back(
        of_rows(block * kRowBlock, std::min((block + 1) * kRowBlock, kAllRows), context));
  }
  const Matrix expected = (of_blocks[0] + of_blocks[1]) + of_blocks[2];
  for (const int threads : {1, 2, 3, 8}) {
    RunContext context(CancellationToken(), threads, nullptr);
    EXPECT_TRUE(of_rows(0, kAllRows, context) == expected) << what << ", " << threads << " threads";
  }
}

// About every 50th row, of the middle block every second one.
std::vector<Index> SomeRows(Index begin, Index end) {
  std::vector<Index> rows;
  for (Index i = begin; i < end; ++i) {
    if (i % 50 == 7 || (i / kRowBlock == 1 && i % 2 == 0)) {
      rows.push_back(i - begin);
    }
  }
  return rows;
}

class RowBlocksTest : public ::testing::Test {
 protected:
  const Matrix a_ = UniformMatrix(kAllRows, kFactorColumns, 1);
  const Matrix b_ = UniformMatrix(kAllRows, 6, 2);
  const Vector x_ = UniformMatrix(kAllRows, 1, 3).col(0);
  const Vector y_ = UniformMatrix(kAllRows, 1, 4).col(0);
  const Vector labels_ = y_.unaryExpr([](double value) { return value > 0 ? 1.0 : -1.0; });
  const Vector costs_ = x_.cwiseAbs() + Vector::Constant(kAllRows, 0.1);
};

TEST_F(RowBlocksTest, VectorsOfRows) {
  const auto numbers = [&](Index begin, Index end, RunContext& /*context*/) {
    const Vector x = x_.segment(begin, end - begin);
    const Vector y = y_.segment(begin, end - begin);
    std::vector<Index> rows = SomeRows(begin, end);
    const Vector listed = x(rows);
    Vector sums(6);
    sums << SumOfRows(x), AbsoluteSumOfRows(x), DotOfRows(x, y), SquaredNormOfRows(x),
        SquaredDistanceOfRows(x, y), SumOfListedRows(rows, listed);
    return Matrix(sums);
  };
  ExpectSumOfBlocks(numbers, "sums of vectors");
}

TEST_F(RowBlocksTest, ProductsOfTallMatrices) {
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        const Matrix a = a_.middleRows(begin, end - begin);
        return *ProductOverRows(a, b_.middleRows(begin, end - begin), context);
      },
      "a'b");
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        return LowerTriangleOf(*GramOverRows(a_.middleRows(begin, end - begin), context));
      },
      "a'a");
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        return LowerTriangleOf(*GramOverRows(a_.middleRows(begin, end - begin),
                                             SomeRows(begin, end), x_.segment(begin, end - begin),
                                             context));
      },
      "a'a of some rows");
}

TEST_F(RowBlocksTest, FactorRows) {
  const auto rows_of = [&](Index begin, Index end) {
    FactorRows rows(end - begin, kFactorColumns);
    for (Index i = begin; i < end; ++i) {
      rows.SetRow(i - begin, a_.row(i).transpose());
    }
    return rows;
  };
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        Matrix out(kFactorColumns, 1);
        EXPECT_TRUE(rows_of(begin, end)
                        .MultiplyTransposed(x_.segment(begin, end - begin), out.col(0), context)
                        .ok());
        return out;
      },
      "product with a vector");
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        Matrix out(kFactorColumns, b_.cols());
        EXPECT_TRUE(rows_of(begin, end)
                        .MultiplyTransposedMatrix(b_.middleRows(begin, end - begin), out, context)
                        .ok());
        return out;
      },
      "product with a matrix");
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        const std::vector<Index> some = SomeRows(begin, end);
        const Vector weights = costs_.segment(begin, end - begin)(some);
        Matrix out = Matrix::Zero(kFactorColumns, kFactorColumns);
        EXPECT_TRUE(rows_of(begin, end).AddGram(some, weights, 1.0, out, context).ok());
        return LowerTriangleOf(out);
      },
      "Gram matrix");
}

TEST_F(RowBlocksTest, FeatureColumns) {
  for (const ColumnPrecision precision : {ColumnPrecision::kSingle, ColumnPrecision::kDouble}) {
    const auto with_columns = [&](Index begin, Index end, RunContext& context, auto function) {
      FeatureColumns columns(end - begin, precision);
      EXPECT_TRUE(columns
                      .Append(a_.middleRows(begin, end - begin), Vector::Zero(kFactorColumns),
                              Vector::Ones(kFactorColumns), context)
                      .ok());
      return function(columns);
    };
    ExpectSumOfBlocks(
        [&](Index begin, Index end, RunContext& context) {
          return with_columns(begin, end, context, [&](const FeatureColumns& columns) {
            Matrix out(kFactorColumns, b_.cols());
            EXPECT_TRUE(
                columns.MultiplyTransposed(b_.middleRows(begin, end - begin), out, context).ok());
            return out;
          });
        },
        "products");
    ExpectSumOfBlocks(
        [&](Index begin, Index end, RunContext& context) {
          return with_columns(begin, end, context, [&](const FeatureColumns& columns) {
            Matrix out(kFactorColumns, 2);
            EXPECT_TRUE(columns
                            .ScoreAndReduce(
                                a_.topLeftCorner(kFactorColumns, 1),
                                [](Index, const Matrix& scores, Matrix& slopes) {
                                  slopes = scores.array() - 0.5;
                                },
                                out.leftCols(1), out.rightCols(1), context)
                            .ok());
            return out;
          });
        },
        "slopes");
    ExpectSumOfBlocks(
        [&](Index begin, Index end, RunContext& context) {
          return with_columns(begin, end, context, [&](const FeatureColumns& columns) {
            const std::vector<Index> some = SomeRows(begin, end);
            const Vector weights = costs_.segment(begin, end - begin)(some);
            Matrix out = Matrix::Zero(kFactorColumns, kFactorColumns);
            EXPECT_TRUE(columns.AddGram(some, weights, 1.0, out, context).ok());
            return LowerTriangleOf(out);
          });
        },
        "Gram matrix");
  }
}

TEST_F(RowBlocksTest, LossesAndTheirDuals) {
  for (const LossFormula& formula : AllLosses()) {
    const std::unique_ptr<Loss> loss = *formula.make(0.1);
    ExpectSumOfBlocks(
        [&](Index begin, Index end, RunContext& context) {
          const Index count = end - begin;
          const Vector labels = labels_.segment(begin, count);
          const Vector costs = costs_.segment(begin, count);
          const Vector scores = x_.segment(begin, count);
          const Vector dual = 0.05 * labels;
          const double value = *loss->TotalValue(labels, costs, scores, 0.2, context);
          const double of_dual = *loss->DualValue(labels, costs, dual, context);
          EXPECT_EQ(value, loss->TotalValue(labels, costs, scores, 0.2));
          EXPECT_EQ(of_dual, loss->DualValue(labels, costs, dual));
          Matrix both(1, 2);
          both << value, of_dual;
          return both;
        },
        std::string(formula.name));
  }
}

TEST_F(RowBlocksTest, LineSearchesOfTheHinge) {
  const std::unique_ptr<Loss> loss = *MakeLoss(LossKind::kHinge);
  ExpectSumOfBlocks(
      [&](Index begin, Index end, RunContext& context) {
        const Index count = end - begin;
        const Vector labels = labels_.segment(begin, count);
        const Vector costs = costs_.segment(begin, count);
        const SvmDualBox box = *MakeSvmDualBox(*loss, labels, costs);
        const Vector center = 0.3 * labels;
        const ProximalModel model{box, center, 0.7, &context};
        Matrix sum(1, 1);
        sum << model.DualAlong(x_.segment(begin, count), 0.1, y_.segment(begin, count), 0.5);
        return sum;
      },
      "slope along a ray");
}

}  // namespace
}  // namespace mercer
