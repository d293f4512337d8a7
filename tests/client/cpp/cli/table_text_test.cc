#include "client/cpp/cli/table_text.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include "client/cpp/cli/text.h"

namespace mercer::client {
namespace {

// Kernels with a weight each.
v1::ModelTable Weights(const std::vector<std::pair<std::string, double>>& weights) {
  v1::ModelTable table;
  table.set_name("kernel_weights");
  table.set_title("kernel weights");
  table.set_row_axis("kernels");
  table.set_column_axis("outputs");
  for (const auto& [name, weight] : weights) {
    table.add_rows(name);
    table.mutable_values()->add_values(weight);
  }
  table.mutable_values()->set_rows(static_cast<int64_t>(weights.size()));
  table.mutable_values()->set_columns(1);
  table.set_drawing(v1::TABLE_DRAWING_BARS);
  return table;
}

// Rows r1, r2, ... and columns c1, c2, ... with these values, row by row.
v1::ModelTable Numbers(const std::vector<std::vector<double>>& values) {
  v1::ModelTable table;
  table.set_name("covariance");
  table.set_title("how variables vary together");
  table.set_row_axis("variables");
  table.set_column_axis("others");
  for (size_t row = 0; row < values.size(); ++row) {
    table.add_rows("r" + std::to_string(row + 1));
    for (const double value : values[row]) {
      table.mutable_values()->add_values(value);
    }
  }
  for (size_t column = 0; column < values[0].size(); ++column) {
    table.add_columns("c" + std::to_string(column + 1));
  }
  table.mutable_values()->set_rows(static_cast<int64_t>(values.size()));
  table.mutable_values()->set_columns(static_cast<int64_t>(values[0].size()));
  table.set_drawing(v1::TABLE_DRAWING_HEAT_MAP);
  return table;
}

TEST(TableTextTest, BarsGoFromTheLargestDown) {
  EXPECT_EQ(FormatTable(Weights({{"a", 0.25}, {"bb", 0.5}, {"c", 0.0}}), {.width = 30}, 0),
            "kernel weights\n"
            "  bb  ████████████ 0.5\n"
            "  a   ██████       0.25\n"
            "  c                0\n");
}

TEST(TableTextTest, BarsStandBelowTheirGroupsAndNumbersBesideThem) {
  v1::ModelTable table = Weights({{"a", 0.25}, {"bb", 0.5}, {"c", 0.0}});
  for (const char* group : {"colour", "", "shape"}) {
    table.add_row_groups(group);
  }
  EXPECT_EQ(FormatTable(table, {.width = 30}, 0),
            "kernel weights\n"
            "  without group · 1 of 1 selected  ████████ 0.5\n"
            "    ● bb                           ████████ 0.5\n"
            "  colour · 1 of 1 selected         ████     0.25\n"
            "    ● a                            ████     0.25\n"
            "  shape · 0 of 1 selected                   0\n"
            "    ○ c                                     0\n");
  table.set_drawing(v1::TABLE_DRAWING_NUMBERS);
  EXPECT_EQ(FormatTable(table, {.width = 60}, 2),
            "kernel weights\n"
            "  kernels  group\n"
            "  bb                0.5\n"
            "  a        colour  0.25\n"
            "  not shown: 1 of 3 kernels\n");
  table.add_row_groups("of no row");
  EXPECT_EQ(FormatTable(table, {.width = 60}, 1).find("group"), std::string::npos);
}

TEST(TableTextTest, BarsOfNegativeValuesKeepTheirSign) {
  EXPECT_EQ(FormatTable(Weights({{"x1", 1.0}, {"x2", -2.0}}), {.width = 30}, 0),
            "kernel weights\n"
            "  x2  ████████████ -2\n"
            "  x1  ██████       1\n");
}

TEST(TableTextTest, TheRestOfTheBarsIsSummedUp) {
  EXPECT_EQ(FormatTable(Weights({{"a", 0.2}, {"b", 0.6}, {"c", 0.0}}), {.width = 30}, 1),
            "kernel weights\n"
            "  b  █████████████ 0.6\n"
            "  2 more with 25.0 % of the sum of all values; 1 of them 0\n");
}

TEST(TableTextTest, OnlyBarsThatAreNotShownCountAmongTheRest) {
  EXPECT_EQ(
      FormatTable(Weights({{"a", 0.0}, {"b", 0.6}, {"c", 0.0}, {"d", 0.0}}), {.width = 30}, 2),
      "kernel weights\n"
      "  b  █████████████ 0.6\n"
      "  a                0\n"
      "  2 more with 0.0 % of the sum of all values; 2 of them 0\n");
}

TEST(TableTextTest, LongNumbersInNamesAreShortened) {
  EXPECT_EQ(
      FormatTable(Weights({{"gaussian(bandwidth=1.5199110829529339, columns=c12345678)", 0.5}}),
                  {.width = 90}, 0),
      "kernel weights\n"
      "  gaussian(bandwidth=1.52, columns=c12345678)  ██████████████████████████████ 0.5\n");
}

TEST(TableTextTest, BarsOfSeveralColumnsAreAveraged) {
  v1::ModelTable weights = Weights({{"a", 0.2}, {"b", 0.4}});
  weights.mutable_values()->set_columns(2);
  weights.mutable_values()->add_values(0.6);
  weights.mutable_values()->add_values(0.0);
  EXPECT_EQ(FormatTable(weights, {.width = 25}, 0),
            "kernel weights (means over 2 outputs)\n"
            "  a  ████████ 0.3\n"
            "  b  ████████ 0.3\n");
  weights.set_unit("cm");
  weights.mutable_values()->set_values(2, -0.6);
  EXPECT_EQ(FormatTable(weights, {.width = 25}, 0),
            "kernel weights, in cm (mean sizes over 2 outputs)\n"
            "  a  ████████ 0.3\n"
            "  b  ████████ 0.3\n");
}

// A model with three kernels in two groups, and with tables of another learner than any of ours.
v1::ModelVersion ModelWithGroups(int outputs) {
  v1::ModelVersion model;
  v1::KernelWeights& weights = *model.mutable_kernel_weights();
  for (const char* name : {"a", "b", "c"}) {
    weights.add_kernels(name);
    weights.add_groups(name[0] == 'c' ? "shape" : "colour");
    for (int output = 0; output < outputs; ++output) {
      weights.mutable_weights()->add_values(name[0] == 'b' ? 0.0 : 0.5);
    }
  }
  weights.mutable_weights()->set_rows(3);
  weights.mutable_weights()->set_columns(outputs);
  for (int output = 1; output <= outputs; ++output) {
    for (const char* axis : {"kernels", "groups"}) {
      v1::ModelTable table = std::string(axis) == "kernels"
                                 ? Numbers({{0.5, 0.25 * output}, {0.0, 0.0}, {0.5, 1.0}})
                                 : Numbers({{0.5, 0.25 * output}, {0.5, 1.0}});
      table.set_name(std::string("of_") + axis + "." + std::to_string(output));
      table.set_title(std::string("told of ") + axis);
      table.set_row_axis(axis);
      table.set_columns(1, "norm");
      *model.add_tables() = table;
    }
  }
  *model.add_tables() = Numbers({{7.0}});
  return model;
}

TEST(TableTextTest, NormsThatATableTellsStandBesideKernelsInGroups) {
  const std::string rest =
      "how variables vary together\n"
      "  variables  c1\n"
      "  r1          7\n";
  EXPECT_EQ(FormatTables(ModelWithGroups(1), {.width = 60}, 0),
            "kernel weights\n"
            "  colour · 1 of 2 selected  ████████ 0.5      norm 0.25\n"
            "    ● a                     ████████ 0.5      norm 0.25\n"
            "    ○ b                              0\n"
            "  shape · 1 of 1 selected   ████████ 0.5      norm 1\n"
            "    ● c                     ████████ 0.5      norm 1\n" +
                rest);
  const std::string means = FormatTables(ModelWithGroups(3), {.width = 60}, 0);
  EXPECT_EQ(means.find("kernel weights (means over 3 outputs)\n  colour · 1 of 2 selected "), 0u)
      << means;
  EXPECT_NE(means.find(" 0.5      norm 0.5\n"), std::string::npos) << means;
  EXPECT_EQ(means.find("told of"), std::string::npos) << means;
}

TEST(TableTextTest, TablesOfOutputsAreCountedAndShownOneByOne) {
  v1::ModelVersion model = ModelWithGroups(3);
  const std::string others = "tables of each of 3 outputs: --output 1 to 3\n";
  EXPECT_EQ(CountOutputsOfTables(model), 3);
  const std::string means = FormatTables(model, {.width = 60}, 0);
  EXPECT_TRUE(means.ends_with(others)) << means;
  model.mutable_kernel_weights()->mutable_weights()->set_values(2, 0.25);  // of the kernel a
  const std::string third = FormatTables(model, {.width = 60}, 0, 3);
  EXPECT_EQ(third.find("kernel weights, output 3\n"), 0u) << third;
  EXPECT_NE(third.find("● a                     ████     0.25     norm 0.75\n"), std::string::npos)
      << third;
  EXPECT_TRUE(third.ends_with(others)) << third;

  model.mutable_kernel_weights()->clear_groups();
  const std::string first = FormatTables(model, {.width = 60}, 0);
  EXPECT_NE(first.find("0.25"), std::string::npos) << first;
  const auto count = [&](const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count(first, "told of kernels"), 1u) << first;
  EXPECT_EQ(count(first, "told of groups"), 1u) << first;
  EXPECT_TRUE(first.ends_with(others)) << first;
  EXPECT_EQ(count(FormatTables(model, {.width = 60}, 0, 2), "told of kernels"), 1u);

  EXPECT_EQ(CountOutputsOfTables(ModelWithGroups(1)), 1);
  EXPECT_EQ(FormatTables(ModelWithGroups(1), {.width = 60}, 0).find("--output"), std::string::npos);
}

// As the server names the columns of a model of several tasks.
TEST(TableTextTest, TheOutputsOfTasksAreShownOneByOneToo) {
  v1::ModelVersion model;
  v1::ModelTable& norms = *model.add_tables();
  norms = Numbers({{0.5, 0.25}, {2.0, 1.0}});
  norms.set_title("norms of blocks");
  norms.set_row_axis("blocks");
  norms.set_column_axis("tasks");
  norms.set_columns(0, "ann");
  norms.set_columns(1, "bob");
  EXPECT_EQ(CountOutputsOfTables(model), 2);
  const std::string others = "tables of each of 2 outputs: --output 1 to 2\n";
  EXPECT_EQ(FormatTables(model, {.width = 60}, 0),
            "norms of blocks\n"
            "  blocks  ann   bob\n"
            "  r2        2     1\n"
            "  r1      0.5  0.25\n" +
                others);
  EXPECT_EQ(FormatTables(model, {.width = 60}, 0, 2),
            "norms of blocks, task bob\n"
            "  blocks   bob\n"
            "  r2         1\n"
            "  r1      0.25\n" +
                others);
  norms.set_column_axis("outputs");
  EXPECT_EQ(FormatTables(model, {.width = 60}, 0, 2).find("norms of blocks, output 2 (bob)\n"), 0u);
}

TEST(TableTextTest, WeightsAloneTellThatThereAreOtherOutputs) {
  v1::ModelVersion model = ModelWithGroups(2);
  model.clear_tables();
  const std::string means = FormatTables(model, {.width = 60}, 0);
  EXPECT_TRUE(means.ends_with("tables of each of 2 outputs: --output 1 to 2\n")) << means;
}

TEST(TableTextTest, TablesThatNoPictureShowsStandForThemselves) {
  v1::ModelVersion model = ModelWithGroups(1);
  model.mutable_kernel_weights()->clear_groups();
  const std::string without_groups = FormatTables(model, {.width = 60}, 0);
  EXPECT_NE(without_groups.find("told of kernels"), std::string::npos) << without_groups;
  EXPECT_NE(without_groups.find("told of groups"), std::string::npos) << without_groups;
  model = ModelWithGroups(1);
  model.mutable_tables(0)->set_columns(1, "size");
  const std::string without_norms = FormatTables(model, {.width = 60}, 0);
  EXPECT_EQ(without_norms.find("norm 1"), std::string::npos) << without_norms;
  EXPECT_NE(without_norms.find("told of groups"), std::string::npos) << without_norms;
}

TEST(TableTextTest, FiveHundredBarsStayReadable) {
  std::vector<std::pair<std::string, double>> values;
  for (int k = 0; k < 500; ++k) {
    values.emplace_back(
        "gaussian(bandwidth=0.5, columns=" + std::string(60, 'x') + std::to_string(k) + ")",
        k < 400 ? 1.0 : 0.0);
  }
  for (const int width : {40, 80, 200}) {
    const std::string text = FormatTable(Weights(values), {.width = width}, 20);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 22);
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(DisplayWidth(line), std::max(width, 70)) << line;
    }
    EXPECT_NE(text.find("480 more with 95.0 % of the sum of all values; 100 of them 0"),
              std::string::npos);
  }
}

TEST(TableTextTest, NumbersHaveTheirNamesAndUnit) {
  v1::ModelTable table = Numbers({{0.5, 1.0}, {2.0, -0.25}});
  table.set_unit("m^2");
  EXPECT_EQ(FormatTable(table, {.width = 60}, 0),
            "how variables vary together, in m^2\n"
            "  variables   c1     c2\n"
            "  r2           2  -0.25\n"
            "  r1         0.5      1\n");
  table.clear_title();
  table.clear_unit();
  table.set_drawing(v1::TABLE_DRAWING_UNSPECIFIED);
  EXPECT_EQ(FormatTable(table, {.width = 60}, 1),
            "covariance\n"
            "  variables  c1     c2\n"
            "  r2          2  -0.25\n"
            "  not shown: 1 of 2 variables\n");
}

TEST(TableTextTest, ACurveKeepsTheOrderOfItsRows) {
  v1::ModelTable table = Numbers({{1.0}, {3.0}, {2.0}});
  table.set_drawing(v1::TABLE_DRAWING_CURVE);
  EXPECT_EQ(FormatTable(table, {.width = 60}, 2),
            "how variables vary together\n"
            "  variables  c1\n"
            "  r1          1\n"
            "  r2          3\n"
            "  not shown: 1 of 3 variables\n");
}

TEST(TableTextTest, ARankingKeepsTheOrderOfItsRows) {
  v1::ModelTable table = Numbers({{1, 5}, {2, 9}, {3, 1}});
  table.set_name("ranking");
  table.set_drawing(v1::TABLE_DRAWING_NUMBERS);
  const std::string text = FormatTable(table, {.width = 60}, 0);
  EXPECT_LT(text.find("r1"), text.find("r2"));
  EXPECT_LT(text.find("r2"), text.find("r3"));
}

// The order of the rows is that of the columns.
TEST(TableTextTest, ThingsAgainstThemselvesKeepTheirOrder) {
  v1::ModelTable table = Numbers({{1, 2}, {2, 9}});
  table.clear_columns();
  *table.mutable_columns() = table.rows();
  const std::string text = FormatTable(table, {.width = 60}, 0);
  EXPECT_LT(text.rfind("r1"), text.rfind("r2"));
}

TEST(TableTextTest, WideTablesStayOnTheScreen) {
  const v1::ModelTable table =
      Numbers(std::vector<std::vector<double>>(30, std::vector<double>(40, -1.23456e-5)));
  for (const int width : {40, 80, 200}) {
    const std::string text = FormatTable(table, {.width = width}, 5);
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(DisplayWidth(line), std::max(width, 50)) << line;
    }
    EXPECT_NE(text.find("  not shown: 25 of 30 variables, "), std::string::npos) << text;
    EXPECT_NE(text.find(" of 40 others\n"), std::string::npos) << text;
  }
}

TEST(TableTextTest, TablesThatDoNotFitTogetherAreShownAsFarAsTheyGo) {
  EXPECT_EQ(FormatTable(v1::ModelTable(), {}, 0), "");
  v1::ModelTable table = Numbers({{1.0}, {2.0}});
  table.clear_columns();
  table.mutable_values()->set_columns(int64_t{1} << 62);  // more than there are values
  EXPECT_EQ(FormatTable(table, {.width = 60}, 0),
            "how variables vary together\n"
            "  variables\n"
            "  r1         1  2\n"
            "  r2         0  0\n");
}

TEST(TableTextTest, WeightsBecomeTablesWhereTheServerMakesNone) {
  v1::ModelVersion model;
  EXPECT_TRUE(TablesOf(model).empty());
  model.mutable_feature_weights()->add_features("feature 1: fourier(bandwidth=2)");
  model.mutable_feature_weights()->add_features("feature 2: fourier(bandwidth=4)");
  model.mutable_feature_weights()->mutable_weights()->set_columns(1);
  model.mutable_feature_weights()->mutable_weights()->add_values(0.25);
  model.mutable_feature_weights()->mutable_weights()->add_values(0.5);
  ASSERT_EQ(TablesOf(model).size(), 1u);
  EXPECT_EQ(FormatTable(TablesOf(model)[0], {.width = 60}, 0),
            "chosen features\n"
            "  feature 2: fourier(bandwidth=4)  █████████████ 0.5\n"
            "  feature 1: fourier(bandwidth=2)  ██████▌       0.25\n");
  model.add_tables()->set_name("feature_weights");
  EXPECT_EQ(TablesOf(model).size(), 1u);
}

}  // namespace
}  // namespace mercer::client
