// Rows of square blocks in calls of Predict: which blocks and which columns a model asks for.
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/training/model/model.h"
#include "server/translation/prediction_translator.h"
#include "tests/support/field_violation.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

// Reads the columns 1 and 3 of the block "gram", which has 5, and nothing of "unused".
std::unique_ptr<Predictor> PredictorOfGram() {
  PreparedData inputs;
  inputs.rows = 5;
  std::vector<KernelSpec> kernels(2);
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].type = KernelType::kPrecomputed;
    kernels[k].block = k == 0 ? "gram" : "unused";
    inputs.squares.push_back(
        {kernels[k].block, SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(5, 5))});
  }
  auto model = std::make_shared<Model>();
  model->function = MakeKernelFunction(inputs, {0, 1, 3}, kernels, Vector{{1.0, 0.0}},
                                       Vector{{0.0, 2.0, 5.0}}, 0.5);
  model->num_square_columns = 5;
  absl::StatusOr<std::unique_ptr<Predictor>> predictor = Predictor::Make(std::move(model));
  EXPECT_TRUE(predictor.ok()) << predictor.status();
  return *std::move(predictor);
}

// Two rows, whose values say row and column.
v1::Rows RowsAt(const std::vector<int64_t>& columns) {
  v1::Rows rows;
  v1::SquareRows& square = *rows.add_squares();
  square.set_name("gram");
  square.mutable_values()->set_rows(2);
  square.mutable_values()->set_columns(static_cast<int64_t>(columns.size()));
  for (const int row : {10, 20}) {
    for (const int64_t column : columns) {
      square.mutable_values()->add_values(static_cast<double>(row + column));
    }
  }
  square.mutable_training_rows()->Assign(columns.begin(), columns.end());
  return rows;
}

TEST(SquareRowsTest, ColumnsComeToThePlacesOfTheirTrainingRows) {
  const absl::StatusOr<Dataset> data = ReadRows(RowsAt({3, 0, 1}), *PredictorOfGram(), {});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->squares.size(), 1);
  EXPECT_EQ(data->squares[0].values.view(), (RowMatrix{{10, 11, 0, 13, 0}, {20, 21, 0, 23, 0}}));
}

TEST(SquareRowsTest, BlocksThatNoKernelReadsAreNotLookedAt) {
  v1::Rows rows = RowsAt({0, 1, 2, 3, 4});
  v1::SquareRows& unused = *rows.add_squares();
  unused.set_name("unused");
  unused.mutable_values()->set_rows(2);
  const absl::StatusOr<Dataset> data = ReadRows(rows, *PredictorOfGram(), {});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->squares.size(), 1);
  unused.mutable_values()->set_rows(3);
  EXPECT_THAT(Violation(ReadRows(rows, *PredictorOfGram(), {}).status(), "rows.squares[1]"),
              HasSubstr("has 3 rows, other parts have 2"));
}

TEST(SquareRowsTest, ABlockThatIsGivenTwiceIsRefusedBeforeItIsRead) {
  v1::Rows rows = RowsAt({1, 3});
  *rows.add_squares() = rows.squares(0);
  rows.mutable_squares(1)->mutable_values()->clear_values();
  EXPECT_THAT(Violation(ReadRows(rows, *PredictorOfGram(), {}).status(), "rows.squares[1].name"),
              HasSubstr("'gram' is given twice"));
}

TEST(SquareRowsTest, RowsWithNamedColumnsAreAsManyAsAMessageHolds) {
  const auto status_of = [](int64_t count) {
    v1::Rows rows = RowsAt({1, 3});
    v1::Matrix& values = *rows.mutable_squares(0)->mutable_values();
    values.clear_values();
    values.set_rows(count);
    values.set_raw(std::string(static_cast<size_t>(count) * 2 * sizeof(double), '\0'));
    return ReadRows(rows, *PredictorOfGram(), {}).status();
  };
  const int64_t most = kMostSquareNumbers / 5;
  EXPECT_TRUE(status_of(most).ok()) << status_of(most);
  EXPECT_THAT(Violation(status_of(most + 1), "rows.squares[0]"),
              HasSubstr("must have at most 1677721 for 5 training rows and 1 square blocks"));
}

TEST(SquareRowsTest, ColumnsThatDoNotFitAreRefusedByName) {
  const auto violation = [](const v1::Rows& rows, const std::string& field) {
    return Violation(ReadRows(rows, *PredictorOfGram(), {}).status(), field);
  };
  const std::string field = "rows.squares[0].training_rows";
  EXPECT_THAT(violation(RowsAt({0, 3}), field), HasSubstr("must have all 2 rows that the model "));
  EXPECT_THAT(violation(RowsAt({1, 3, 1}), field + "[2]"), HasSubstr("differ from all others"));
  EXPECT_THAT(violation(RowsAt({1, 3, 5}), field + "[2]"), HasSubstr("must be in [0, 5)"));
  EXPECT_THAT(violation(RowsAt({1, 3, -1}), field + "[2]"), HasSubstr("is -1"));
  v1::Rows short_of_one = RowsAt({1, 3, 4});
  short_of_one.mutable_squares(0)->mutable_training_rows()->RemoveLast();
  EXPECT_THAT(violation(short_of_one, field), HasSubstr("each of the 3 columns of values, has 2"));
}

}  // namespace
}  // namespace mercer::server
