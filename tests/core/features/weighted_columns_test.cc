#include "core/features/weighted_columns.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/core/features/feature_test_data.h"

namespace mercer {
namespace {

TEST(WeightedColumnsTest, AddsTheProductOfColumnsAndWeights) {
  for (const Index outputs : {1, 2, 4, 5, 9}) {
    for (const Index rows : {1, 31, 300}) {
      const RowMatrix table = NormalRows(rows, 6, 1);
      const auto family = Fourier(6);
      const auto map = family->Bind(Drawn(*family, 1, 0));
      const Matrix weights = NormalRows(map->num_columns(), outputs, 2);
      Matrix columns(rows, map->num_columns());
      map->Evaluate(table, columns);
      Matrix out = Matrix::Constant(rows, outputs, 3.0);
      AddWeightedColumns(*map, table, weights, out);
      const Matrix expected = (columns * weights).array() + 3.0;
      EXPECT_LE((out - expected).cwiseAbs().maxCoeff(), 1e-12) << outputs << " " << rows;
    }
  }
}

TEST(WeightedColumnsTest, ARowsBitsDependOnTheRowAlone) {
  const auto data = Prepared({NormalRows(9000, 5, 3)});
  const FeatureRows rows(data);
  const auto family = Fourier(5);
  const auto map = family->Bind(Drawn(*family, 1, 0));
  const Matrix weights = NormalRows(map->num_columns(), 3, 4);
  Matrix whole = Matrix::Zero(9000, 3);
  AddWeightedColumns(*map, data->blocks[0].values.view(), weights, whole);
  for (const int threads : {1, 3}) {
    Matrix again = Matrix::Zero(9000, 3);
    const RunContext context(CancellationToken(), threads, nullptr);
    ASSERT_TRUE(AddWeightedColumns(*map, rows, weights, again, context).ok());
    EXPECT_EQ(again, whole);
  }
  const FeatureRows chosen(data, {8999, 17, 18, 4});
  Matrix some = Matrix::Zero(4, 3);
  ASSERT_TRUE(AddWeightedColumns(*map, chosen, weights, some, RunContext()).ok());
  for (Index i = 0; i < 4; ++i) {
    EXPECT_EQ(Vector(some.row(i)), Vector(whole.row(chosen.source_row(i)))) << i;
  }
}

TEST(WeightedColumnsTest, OneRowWithoutAValueSpoilsNoOther) {
  RowMatrix table = NormalRows(40, 2, 5);
  table(33, 0) = 1e9;
  const auto family = Fourier(2);
  const auto map = family->Bind({{1.0, 1.0, 0.5}});
  Matrix out = Matrix::Zero(40, 1);
  AddWeightedColumns(*map, table, Matrix::Ones(2, 1), out);
  for (Index i = 0; i < 40; ++i) {
    EXPECT_EQ(std::isnan(out(i, 0)), i == 33) << i;
  }
}

TEST(WeightedColumnsTest, NoColumnsAddNothing) {
  const auto family = Fourier(2);
  const auto map = family->Bind({});
  Matrix out = Matrix::Constant(3, 2, 1.5);
  AddWeightedColumns(*map, NormalRows(3, 2, 6), Matrix(0, 2), out);
  EXPECT_EQ(out, Matrix(Matrix::Constant(3, 2, 1.5)));
}

TEST(WeightedColumnsTest, CancelledWorkIsRefused) {
  const FeatureRows rows = AllRows(NormalRows(100, 2, 7));
  const auto family = Fourier(2);
  const auto map = family->Bind(Drawn(*family, 1, 0));
  const CancellationToken token;
  token.Cancel();
  Matrix out = Matrix::Zero(100, 1);
  EXPECT_EQ(AddWeightedColumns(*map, rows, Matrix::Ones(100, 1), out, RunContext(token, 1, nullptr))
                .code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace mercer
