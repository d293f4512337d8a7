// How the columns of new rows are matched with those of training.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/data/preprocess/preprocessing.h"
#include "tests/core/data/data_test_util.h"
#include "tests/core/data/preprocessing_test_util.h"

namespace mercer {
namespace {

using ::testing::HasSubstr;

TEST(PreprocessingColumnsTest, NamedColumnsAreMatchedByNameInAnyOrderAndBlock) {
  PreprocessingOptions options;
  options.scaling = Scaling::kNone;
  const auto fitted = Preprocessing::Fit(
      Csv("a,b\n1,2\n3,4\n", {{"left", {"a"}}, {"right", {"b"}}}), {0, 1}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const auto prepared = fitted->Apply(Csv("extra,b,a\n9,20,10\n"), RunContext());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->FindBlock("left")->values.view()(0, 0), 10);
  EXPECT_EQ(prepared->FindBlock("right")->values.view()(0, 0), 20);
}

TEST(PreprocessingColumnsTest, UnnamedRowsAreMatchedByPosition) {
  PreprocessingOptions options;
  options.scaling = Scaling::kNone;
  const auto fitted = Preprocessing::Fit(Csv("a,b\n1,2\n3,4\n"), {0, 1}, options, RunContext());
  const RowMatrix rows = (RowMatrix(1, 2) << 7, 8).finished();
  EXPECT_EQ(RowMatrix(fitted->Apply(DenseRows(rows), RunContext())->blocks[0].values.view()), rows);
  EXPECT_EQ(
      RowMatrix(fitted->Apply(DenseRows(rows, "other"), RunContext())->blocks[0].values.view()),
      rows);
  const auto refused = fitted->Apply(DenseRows(RowMatrix::Ones(1, 3)), RunContext());
  EXPECT_EQ(Describe(refused.status()), "BAD_HEADER");
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("has 3 columns, the model's has 2"));
}

TEST(PreprocessingColumnsTest, ColumnMismatchNamesTheColumn) {
  const auto fitted = Preprocessing::Fit(Csv("a,c\n1,x\n3,y\n"), {0, 1}, {}, RunContext());
  EXPECT_EQ(Describe(fitted->Apply(Csv("a,d\n1,x\n"), RunContext()).status()),
            "BAD_HEADER column=c");
  EXPECT_EQ(Describe(fitted->Apply(Csv("a,c\n1,2\n"), RunContext()).status()),
            "BAD_HEADER column=c");
  EXPECT_EQ(Describe(fitted->Apply(Csv("a,c\nq,x\n"), RunContext()).status()),
            "BAD_HEADER column=a");
  EXPECT_EQ(Describe(fitted->Apply(DenseRows(RowMatrix::Ones(1, 2)), RunContext()).status()),
            "BAD_HEADER column=c");
  EXPECT_FALSE(fitted->Apply(WithoutFeatures(), RunContext()).ok());
}

TEST(PreprocessingColumnsTest, SparseBlocksEqualTheirDenseForm) {
  SvmlightOptions wide;
  wide.num_columns = 12;
  const std::string text = "1 1:2 5:4\n1 2:-1\n0 5:8 9:1\n";
  const Dataset sparse = *ReadSvmlightText(text, wide);
  ASSERT_TRUE(sparse.blocks[0].is_sparse);
  RowMatrix dense = RowMatrix::Zero(3, 12);
  dense(0, 0) = 2;
  dense(0, 4) = 4;
  dense(1, 1) = -1;
  dense(2, 4) = 8;
  dense(2, 8) = 1;
  for (const Scaling scaling :
       {Scaling::kNone, Scaling::kStandardize, Scaling::kMinMax, Scaling::kUnitNorm}) {
    PreprocessingOptions options;
    options.scaling = scaling;
    EXPECT_EQ(FitAndApply(sparse, options), FitAndApply(DenseRows(dense), options))
        << static_cast<int>(scaling);
  }
  const auto fitted = Preprocessing::Fit(sparse, {0, 1, 2}, {}, RunContext());
  const auto narrow = fitted->Apply(*ReadSvmlightText("0 5:8 9:1\n"), RunContext());
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_EQ(narrow->blocks[0].values.view(),
            fitted->Apply(sparse, RunContext())->blocks[0].values.view().row(2));
  EXPECT_EQ(Describe(fitted->Apply(*ReadSvmlightText("0 13:1\n"), RunContext()).status()),
            "BAD_HEADER");
}

TEST(PreprocessingColumnsTest, HugeSparseBlocksAreRefused) {
  Dataset dataset;
  dataset.rows = 2000;
  FeatureBlock block;
  block.name = "wide";
  block.is_sparse = true;
  block.sparse.columns = 1'000'000;
  block.sparse.row_starts.assign(2001, 0);
  dataset.blocks.push_back(block);
  const auto fitted = Preprocessing::Fit(dataset, {0}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(fitted->Apply(dataset, RunContext()).status().code(),
            absl::StatusCode::kResourceExhausted);
  dataset.blocks[0].sparse.columns = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(Preprocessing::Fit(dataset, {0}, {}, RunContext()).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(PreprocessingColumnsTest, ColumnsThatSparseRowsOnlyClaimCostNothing) {
  const Dataset training = *ReadSvmlightText("1 1:2 9:4\n1 2:-1\n0 5:8\n");
  ASSERT_TRUE(training.blocks[0].is_sparse);
  const auto fitted = Preprocessing::Fit(training, {0, 1, 2}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  Dataset claiming = training;
  claiming.blocks[0].sparse.columns = Index{1} << 60;
  const auto applied = fitted->Apply(claiming, RunContext());
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->blocks[0].values.view(),
            fitted->Apply(training, RunContext())->blocks[0].values.view());
}

TEST(PreprocessingColumnsTest, UsesTheNamedBlocksOnly) {
  Dataset dataset = Csv("a,b\n1,2\n3,4\n", {{"left", {"a"}}, {"right", {"b"}}});
  dataset.squares.push_back(
      {"kernel", SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(2, 2))});
  PreprocessingOptions options;
  options.blocks = {"right", "kernel"};
  const auto fitted = Preprocessing::Fit(dataset, {0, 1}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const auto prepared = fitted->Apply(dataset, RunContext());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->FindBlock("left"), nullptr);
  EXPECT_NE(prepared->FindBlock("right"), nullptr);
  EXPECT_NE(prepared->FindSquare("kernel"), nullptr);
  dataset.squares.clear();  // what reads it says that it is not there
  const auto without = fitted->Apply(dataset, RunContext());
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->FindSquare("kernel"), nullptr);
  options.blocks = {"right", "middle", "right"};
  const auto violations =
      GetFieldViolations(Preprocessing::Fit(dataset, {0, 1}, options, RunContext()).status());
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field, "blocks[1]");
  EXPECT_EQ(violations[1].field, "blocks[2]");
}

}  // namespace
}  // namespace mercer
