#include "core/data/preprocess/preprocessing.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/core/data/data_test_util.h"
#include "tests/core/data/preprocessing_test_util.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PreprocessingTest, StandardizedColumnsHaveMeanZeroAndUnitDeviation) {
  RandomStream random(1, "preprocessing-test");
  RowMatrix values(200, 3);
  for (Index row = 0; row < values.rows(); ++row) {
    values.row(row) << 1e12 + 1e6 * random.Normal(), 1e-12 * random.Normal(), 5 + random.Uniform();
  }
  const RowMatrix scaled = FitAndApply(DenseRows(values), {});
  for (Index column = 0; column < 3; ++column) {
    EXPECT_NEAR(scaled.col(column).mean(), 0, 1e-9) << column;
    EXPECT_NEAR(scaled.col(column).squaredNorm() / 200, 1, 1e-9) << column;
  }
}

TEST(PreprocessingTest, MinMaxFillsTheUnitInterval) {
  const Dataset dataset = Csv("a,b\n-2,1e150\n6,3e150\n2,2e150\n");
  PreprocessingOptions options;
  options.scaling = Scaling::kMinMax;
  EXPECT_TRUE(FitAndApply(dataset, options)
                  .isApprox((RowMatrix(3, 2) << 0, 0, 1, 1, 0.5, 0.5).finished(), 1e-15));
}

TEST(PreprocessingTest, ExtremeButFiniteValuesStayFinite) {
  const Dataset dataset = Csv("a,b\n1e300,1e-300\n-1e300,3e-300\n0,2e-300\n");
  for (const Scaling scaling :
       {Scaling::kNone, Scaling::kStandardize, Scaling::kMinMax, Scaling::kUnitNorm}) {
    PreprocessingOptions options;
    options.scaling = scaling;
    EXPECT_TRUE(FitAndApply(dataset, options).allFinite()) << static_cast<int>(scaling);
  }
}

TEST(PreprocessingTest, ConstantColumnsBecomeZeroAlsoForOtherValues) {
  const Dataset training = Csv("a,b\n0.1,1\n0.1,2\n0.1,4\n");
  const Dataset rows = Csv("a,b\n7,3\n");
  for (const Scaling scaling : {Scaling::kStandardize, Scaling::kMinMax}) {
    PreprocessingOptions options;
    options.scaling = scaling;
    EXPECT_EQ(FitAndApply(training, options).col(0), Eigen::Vector3d::Zero());
    const auto fitted = Preprocessing::Fit(training, {0, 1, 2}, options, RunContext());
    EXPECT_EQ(fitted->Apply(rows, RunContext())->blocks[0].values.view()(0, 0), 0);
  }
}

TEST(PreprocessingTest, UnitNormCoversTheWholeRowOfABlock) {
  const Dataset dataset =
      Csv("a,b,c\n3,4,x\n0,0,y\n1e200,1e200,x\n", {{"numbers", {"a", "b"}}, {"names", {"c"}}});
  PreprocessingOptions options;
  options.scaling = Scaling::kUnitNorm;
  const auto fitted = Preprocessing::Fit(dataset, {0, 1, 2}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const auto prepared = fitted->Apply(dataset, RunContext());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const double half = std::sqrt(0.5);
  const RowMatrix expected = (RowMatrix(3, 2) << 0.6, 0.8, 0, 0, half, half).finished();
  EXPECT_TRUE(prepared->FindBlock("numbers")->values.view().isApprox(expected, 1e-15));
  EXPECT_EQ(prepared->FindBlock("names")->values.view(),
            (RowMatrix(3, 2) << 1, 0, 0, 1, 1, 0).finished());
}

TEST(PreprocessingTest, OneHotColumnsStayZeroOrOneAndNameTheirSource) {
  const Dataset dataset = Csv("color,size\nred,1\nblue,3\nred,5\n");
  const auto fitted = Preprocessing::Fit(dataset, {0, 1, 2}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(fitted->num_outputs(), 3);
  const auto prepared = fitted->Apply(dataset, RunContext());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_THAT(prepared->blocks[0].sources, ElementsAre("color", "color", "size"));
  const double step = std::sqrt(1.5);  // values 1, 3, 5: deviation sqrt(8/3)
  const RowMatrix expected = (RowMatrix(3, 3) << 1, 0, -step, 0, 1, 0, 1, 0, step).finished();
  EXPECT_TRUE(prepared->blocks[0].values.view().isApprox(expected, 1e-15));
}

TEST(PreprocessingTest, OutputsAreNamedByColumnCategoryAndWhereNeedBeBlock) {
  Dataset dataset = Csv("color,size\nred,1\nblue,3\nred,5\n");
  dataset.blocks.push_back(dataset.blocks[0]);
  dataset.blocks[1].name = "other";
  dataset.blocks[1].columns[0].name = "colour";
  const auto fitted = Preprocessing::Fit(dataset, {0, 1, 2}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const std::string first = dataset.blocks[0].name;
  EXPECT_THAT(fitted->OutputNames(), ElementsAre("color=red", "color=blue", first + ".size",
                                                 "colour=red", "colour=blue", "other.size"));
}

TEST(PreprocessingTest, StatisticsComeFromTrainingRowsOnly) {
  const Dataset dataset = Csv("a,c\n1,x\n3,y\n1000,z\n");
  PreprocessingOptions options;
  options.unseen_category = UnseenCategory::kAllZeros;
  const auto fitted = Preprocessing::Fit(dataset, {0, 1}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(fitted->blocks()[0].columns[0].offset, 2);
  EXPECT_EQ(fitted->blocks()[0].columns[0].factor, 1);
  EXPECT_THAT(fitted->blocks()[0].columns[1].categories, ElementsAre("x", "y"));
  EXPECT_EQ(RowMatrix(fitted->Apply(dataset, RunContext())->blocks[0].values.view()),
            (RowMatrix(3, 3) << -1, 1, 0, 1, 0, 1, 998, 0, 0).finished());
}

TEST(PreprocessingTest, UnseenCategoryIsRefusedWithItsRow) {
  const auto fitted = Preprocessing::Fit(Csv("c\nx\ny\n"), {0, 1}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const auto refused = fitted->Apply(Csv("c\ny\nw\n"), RunContext());
  EXPECT_EQ(Describe(refused.status()), "BAD_CELL row=2 column=c");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'w'"));
}

TEST(PreprocessingTest, CategoriesAreMatchedByNameNotByCode) {
  const auto fitted = Preprocessing::Fit(Csv("c\nx\ny\n"), {0, 1}, {}, RunContext());
  EXPECT_EQ(RowMatrix(fitted->Apply(Csv("c\ny\nx\n"), RunContext())->blocks[0].values.view()),
            (RowMatrix(2, 2) << 0, 1, 1, 0).finished());
}

TEST(PreprocessingTest, MissingValuesAreRefusedWithRowAndColumn) {
  EXPECT_EQ(
      Describe(Preprocessing::Fit(Csv("a,b\n1,2\n3,NA\n"), {0, 1}, {}, RunContext()).status()),
      "BAD_CELL row=2 column=b remedy=preprocessing.imputation");
  const auto fitted = Preprocessing::Fit(Csv("a,b\n1,2\n3,4\n"), {0, 1}, {}, RunContext());
  EXPECT_EQ(Describe(fitted->Apply(Csv("a,b\n1,2\nNA,2\n"), RunContext()).status()),
            "BAD_CELL row=2 column=a remedy=preprocessing.imputation");
}

TEST(PreprocessingTest, ImputesMeanAndMostFrequentCategoryOfTraining) {
  PreprocessingOptions options;
  options.imputation = Imputation::kMeanOrMostFrequent;
  options.scaling = Scaling::kNone;
  const Dataset training = Csv("a,c\n1,x\nNA,y\n5,y\n6,NA\n100,x\n");
  const auto fitted = Preprocessing::Fit(training, {0, 1, 2, 3}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(fitted->blocks()[0].columns[0].fill, 4);
  EXPECT_EQ(RowMatrix(fitted->Apply(training, RunContext())->blocks[0].values.view()),
            (RowMatrix(5, 3) << 1, 1, 0, 4, 0, 1, 5, 0, 1, 6, 0, 1, 100, 1, 0).finished());
  EXPECT_EQ(
      RowMatrix(fitted->Apply(Csv("a,c\nNA,NA\n1,x\n"), RunContext())->blocks[0].values.view())
          .row(0),
      Eigen::RowVector3d(4, 0, 1));
}

TEST(PreprocessingTest, TiesOfFrequencyGoToTheFirstCategory) {
  PreprocessingOptions options;
  options.imputation = Imputation::kMeanOrMostFrequent;
  const auto fitted = Preprocessing::Fit(Csv("c\nq\np\n"), {0, 1}, options, RunContext());
  EXPECT_EQ(fitted->blocks()[0].columns[0].fill, 0);
}

TEST(PreprocessingTest, ImputedColumnHasUnitDeviation) {
  PreprocessingOptions options;
  options.imputation = Imputation::kMeanOrMostFrequent;
  const RowMatrix scaled = FitAndApply(Csv("a\n1\nNA\n5\nNA\n9\n"), options);
  EXPECT_NEAR(scaled.squaredNorm() / 5, 1, 1e-15);
  EXPECT_EQ(scaled(1, 0), 0);
}

TEST(PreprocessingTest, ColumnWithoutAnyKnownValueIsRefused) {
  PreprocessingOptions options;
  options.imputation = Imputation::kMeanOrMostFrequent;
  EXPECT_FALSE(Preprocessing::Fit(Csv("a,b\n1,NA\n2,NA\n"), {0, 1}, options, RunContext()).ok());
}

TEST(PreprocessingTest, InfinitiesAreRefused) {
  RowMatrix values = RowMatrix::Ones(3, 2);
  values(2, 1) = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(Describe(Preprocessing::Fit(DenseRows(values), {0, 1, 2}, {}, RunContext()).status()),
            "BAD_CELL row=3 column=features[2]");
  const auto fitted = Preprocessing::Fit(DenseRows(values), {0, 1}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(Describe(fitted->Apply(DenseRows(values), RunContext()).status()),
            "BAD_CELL row=3 column=features[2]");
}

TEST(PreprocessingTest, RefusesEmptyTraining) {
  const Dataset dataset = Csv("a\n1\n");
  EXPECT_FALSE(Preprocessing::Fit(dataset, {}, {}, RunContext()).ok());
  EXPECT_FALSE(Preprocessing::Fit(dataset, {1}, {}, RunContext()).ok());
  EXPECT_FALSE(Preprocessing::Fit(WithoutFeatures(), {0}, {}, RunContext()).ok());
}

TEST(PreprocessingTest, CancellationEndsFitAndApply) {
  const Dataset dataset = Csv("a,c\n1,x\n2,y\n");
  const auto fitted = Preprocessing::Fit(dataset, {0, 1}, {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const RunContext cancelled;
  cancelled.cancellation().Cancel();
  EXPECT_TRUE(absl::IsCancelled(Preprocessing::Fit(dataset, {0, 1}, {}, cancelled).status()));
  EXPECT_TRUE(absl::IsCancelled(fitted->Apply(dataset, cancelled).status()));
}

TEST(PreprocessingTest, TargetsAreNotNeededForPrediction) {
  CsvOptions options;
  options.roles["y"] = ColumnRole::kTarget;
  const auto fitted =
      Preprocessing::Fit(*ReadCsvText("a,y\n1,2\n3,4\n", options), {0, 1}, {}, RunContext());
  EXPECT_TRUE(fitted->Apply(*ReadCsvText("a\n5\n"), RunContext()).ok());
}

TEST(PreprocessingTest, SavedFormLoadsAndMapsAlike) {
  const Dataset dataset = Csv("a,c\n1,x\nNA,y\n5,y\n");
  const PreprocessingOptions options{Scaling::kMinMax,
                                     Imputation::kMeanOrMostFrequent,
                                     UnseenCategory::kAllZeros,
                                     SquareRepairRule::kNone,
                                     {"features"}};
  const auto fitted = Preprocessing::Fit(dataset, {0, 1, 2}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const std::string saved = SaveFields(*fitted);
  Preprocessing loaded;
  ASSERT_TRUE(LoadFields(saved, loaded));
  EXPECT_EQ(loaded.options().scaling, options.scaling);
  EXPECT_EQ(loaded.options().imputation, options.imputation);
  EXPECT_EQ(loaded.options().unseen_category, options.unseen_category);
  EXPECT_EQ(loaded.options().blocks, options.blocks);
  const Dataset rows = Csv("a,c\n2,w\nNA,NA\n3,y\n");
  EXPECT_EQ(loaded.Apply(rows, RunContext())->blocks[0].values.view(),
            fitted->Apply(rows, RunContext())->blocks[0].values.view());
  EXPECT_EQ(SaveFields(loaded), saved);
  for (size_t size = 0; size < saved.size(); ++size) {
    Preprocessing cut;
    EXPECT_FALSE(LoadFields(std::string_view(saved).substr(0, size), cut)) << size;
  }
}

// The bytes of docs/formats/model.md.
TEST(PreprocessingTest, SavedFormIsThatOfTheFormat) {
  ByteWriter writer;
  writer.WriteUint8(2);  // kMinMax
  writer.WriteUint8(1);
  writer.WriteUint8(0);
  writer.WriteStrings({"features"});
  writer.WriteUint64(1);  // blocks
  writer.WriteString("features");
  writer.WriteUint64(1);  // columns
  writer.WriteString("a");
  writer.WriteBool(false);
  writer.WriteStrings({});
  for (const double value : {3.0, 1.0, 0.25}) {  // fill, offset, factor
    writer.WriteDouble(value);
  }
  writer.WriteStrings({});  // square blocks
  Preprocessing loaded;
  ASSERT_TRUE(LoadFields(writer.bytes(), loaded));
  EXPECT_EQ(SaveFields(loaded), writer.bytes());
  const auto applied = loaded.Apply(Csv("a\n5\nNA\n"), RunContext());
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->blocks[0].values.view(), (RowMatrix(2, 1) << 1.0, 0.5).finished());
}

TEST(PreprocessingTest, RowOfAModelDoesNotDependOnItsNeighbours) {
  RandomStream random(2, "preprocessing-test");
  RowMatrix values(20, 7);
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = random.Normal();
  }
  PreprocessingOptions options;
  options.scaling = Scaling::kUnitNorm;
  const Dataset all = DenseRows(values);
  const auto fitted = Preprocessing::Fit(all, {0, 1, 2}, options, RunContext());
  const RowMatrix together = fitted->Apply(all, RunContext())->blocks[0].values.view();
  for (Index row = 0; row < 20; ++row) {
    EXPECT_EQ(fitted->Apply(SelectRows(all, {row}), RunContext())->blocks[0].values.view(),
              together.row(row))
        << row;
  }
}

TEST(PreprocessingTest, AnotherRuleForUnseenCategoriesIsThatOfAnotherFit) {
  const Dataset dataset = Csv("a,c\n1,x\n2,y\n4,x\n");
  PreprocessingOptions options;
  const auto refusing = Preprocessing::Fit(dataset, {0, 1}, options, RunContext());
  options.unseen_category = UnseenCategory::kAllZeros;
  const auto zeros = Preprocessing::Fit(dataset, {0, 1}, options, RunContext());
  ASSERT_TRUE(refusing.ok() && zeros.ok());
  EXPECT_EQ(SaveFields(refusing->WithUnseenCategory(UnseenCategory::kAllZeros)),
            SaveFields(*zeros));
}

// A table of numbers, of which some are missing, and of columns of categories.
Dataset LargeTable() {
  constexpr Index kRows = kSanitized ? 50'000 : 300'000;
  constexpr Index kColumns = 40;
  constexpr int kCategories = 5;
  RandomStream random(4, "large table");
  RowMatrix values(kRows, kColumns);
  for (Index row = 0; row < kRows; ++row) {
    for (Index column = 0; column < kColumns; ++column) {
      const double drawn = random.Uniform();
      values(row, column) = drawn < 0.05      ? std::numeric_limits<double>::quiet_NaN()
                            : column % 4 == 0 ? std::floor(kCategories * drawn)
                                              : drawn;
    }
  }
  Dataset dataset = DenseRows(std::move(values));
  for (Index column = 0; column < kColumns; ++column) {
    ColumnSchema& schema = dataset.blocks[0].columns.emplace_back();
    schema.name = "x" + std::to_string(column);
    schema.categorical = column % 4 == 0;
    if (schema.categorical) {
      schema.categories = {"a", "b", "c", "d", "e"};
    }
  }
  return dataset;
}

TEST(PreprocessingTest, WorkOnALargeTableEndsWithinAQuarterSecond) {
  const Dataset dataset = LargeTable();
  const std::vector<Index> rows = AllRows(dataset);
  PreprocessingOptions options;
  options.imputation = Imputation::kMeanOrMostFrequent;
  const auto fit = [&](RunContext& context) {
    return Preprocessing::Fit(dataset, rows, options, context).status();
  };
  const Preprocessing fitted = *Preprocessing::Fit(dataset, rows, options, RunContext());
  const auto apply = [&](RunContext& context) { return fitted.Apply(dataset, context).status(); };
  const double fitting = WholeWork(fit);
  const double applying = WholeWork(apply);
  // Of work that takes milliseconds a thread that wakes up late sees the end.
  static constexpr double kLateWakeUp = 0.02;
  const auto most = [](double whole) {
    return std::min(std::max(whole, kLateWakeUp), kMostWorkAfterCancel);
  };
  for (const double part : {0.1, 0.4, 0.7}) {
    EXPECT_LE(WorkAfterCancel(part * fitting, fit), most(fitting));
    EXPECT_LE(WorkAfterCancel(part * applying, apply), most(applying));
  }
}

// Columns that are all numbers are gone through together, others one after the other: beside a column of texts the same numbers must
// become the same, bit for bit.
TEST(PreprocessingTest, NumbersBecomeTheSameBesideTexts) {
  std::string numbers = "a,b,c,d,e\n";
  std::string with_texts = "a,b,c,d,e,t\n";
  for (int row = 0; row < 700; ++row) {
    const std::string line = absl::StrCat(0.1 * row - 3, ",", row % 7, ",5,", 1e8 / (row + 1), ",",
                                          row % 50 == 3 ? "" : absl::StrCat(std::sin(row)));
    absl::StrAppend(&numbers, line, "\n");
    absl::StrAppend(&with_texts, line, ",", row % 2 == 0 ? "even" : "odd", "\n");
  }
  for (const Scaling scaling : {Scaling::kStandardize, Scaling::kMinMax, Scaling::kNone}) {
    PreprocessingOptions options;
    options.scaling = scaling;
    options.imputation = Imputation::kMeanOrMostFrequent;
    const RowMatrix together = FitAndApply(Csv(numbers), options);
    const RowMatrix one_by_one = FitAndApply(Csv(with_texts), options);
    ASSERT_EQ(together.cols() + 2, one_by_one.cols());
    EXPECT_EQ(together, one_by_one.leftCols(together.cols()));
  }
}

}  // namespace
}  // namespace mercer
