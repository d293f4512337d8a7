// Tables that a learner tells: from its points through outputs side by side, checkpoints and model
// files.
#include "core/training/tables/model_table.h"

#include <functional>
#include <limits>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/training/encoding/encoding.h"
#include "core/training/run/composite_learner.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

// Two variables, with a column for the outputs of a part.
ModelTable VariableRanking(double first, double second) {
  ModelTable table;
  table.name = "ranking";
  table.title = "variables by their weight";
  table.row_axis = "variables";
  table.rows = {"x1", "x2"};
  table.values = Vector{{first, second}};
  table.unit = "cm";
  table.drawing = TableDrawing::kBars;
  return table;
}

ModelTable VariableCovariance(double scale) {
  ModelTable table;
  table.name = "covariance";
  table.title = "how the variables vary together";
  table.row_axis = "variables";
  table.column_axis = "variables";
  table.rows = {"x1", "x2"};
  table.columns = table.rows;
  table.values = Matrix{{scale, 0.5}, {0.5, 1}};
  table.drawing = TableDrawing::kHeatMap;
  return table;
}

TEST(CheckTablesTest, WhatDoesNotFitIsDamage) {
  const auto code = [](const std::function<void(std::vector<ModelTable>&)>& change) {
    std::vector<ModelTable> tables = {VariableRanking(1, 2), VariableCovariance(3)};
    change(tables);
    return CheckTables(tables, 1).code();
  };
  using Tables = std::vector<ModelTable>;
  EXPECT_EQ(code([](Tables&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(code([](Tables& t) { t[0].name = ""; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code([](Tables& t) { t[1].name = t[0].name; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code([](Tables& t) { t[0].rows.pop_back(); }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code([](Tables& t) { t[1].columns.pop_back(); }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code([](Tables& t) { t[1].columns.clear(); }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code([](Tables& t) { t[1].values(0, 1) = std::numeric_limits<double>::quiet_NaN(); }),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(code([](Tables& t) { t[0].values(0, 0) = kInfinity; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CheckTables({VariableRanking(1, 2)}, 2).code(), absl::StatusCode::kDataLoss);
}

TEST(MergeTablesTest, TablesOfOutputsStandSideBySide) {
  const std::vector<ModelTable> merged =
      MergeTables({{VariableRanking(1, 2)}, {VariableRanking(3, 4)}, {VariableRanking(5, 6)}});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].name, "ranking");
  EXPECT_EQ(merged[0].title, "variables by their weight");
  EXPECT_TRUE(merged[0].columns.empty());
  EXPECT_EQ(merged[0].unit, "cm");
  EXPECT_EQ(merged[0].values, (Matrix{{1, 3, 5}, {2, 4, 6}}));
  EXPECT_TRUE(CheckTables(merged, 3).ok());
}

TEST(MergeTablesTest, OthersKeepTheirOutputInTheirName) {
  ModelTable shorter = VariableRanking(7, 8);
  shorter.rows = {"x1", "x3"};
  // Of other rows, of columns of its own, and of one part alone.
  for (const std::vector<std::vector<ModelTable>>& parts :
       {std::vector<std::vector<ModelTable>>{{VariableRanking(1, 2)}, {shorter}},
        std::vector<std::vector<ModelTable>>{{VariableCovariance(1)}, {VariableCovariance(2)}},
        std::vector<std::vector<ModelTable>>{{VariableRanking(1, 2), VariableCovariance(1)}, {}}}) {
    const std::vector<ModelTable> merged = MergeTables(parts);
    ASSERT_EQ(merged.size(), 2u);
    EXPECT_TRUE(CheckTables(merged, 2).ok()) << CheckTables(merged, 2);
    for (const ModelTable& table : merged) {
      const std::string number = table.name.substr(table.name.find('.') + 1);
      const size_t output = number == "1" ? 0 : 1;
      EXPECT_EQ(number, absl::StrCat(output + 1)) << table.name;
      EXPECT_NE(table.title.find(absl::StrCat(", output ", number)), std::string::npos);
      const bool is_ranking = table.name[0] == 'r';
      const ModelTable& own = parts[output][is_ranking ? 0 : parts[output].size() - 1];
      EXPECT_EQ(table.rows, own.rows);
      EXPECT_EQ(table.values, own.values);
      EXPECT_EQ(table.columns, is_ranking
                                   ? std::vector<std::string>{absl::StrCat("output ", number)}
                                   : own.columns);
    }
  }
  EXPECT_TRUE(MergeTables({{}, {}}).empty());
}

class TablesOfARunTest : public ::testing::Test {
 protected:
  TablesOfARunTest() {
    entry_.name = "scripted";
    recipe_.learner = "scripted";
    run_ = {&entry_, &recipe_, &data_, "digest", "test-version"};
  }

  const Dataset data_ = ClassificationData(45, 3, 3, 5);
  LearnerEntry entry_ =
      ScriptedEntry({.tables = {VariableRanking(0.25, 4), VariableCovariance(2)}});
  TrainingRecipe recipe_ = ExampleRecipe();
  RecipeRun run_;
};

TEST_F(TablesOfARunTest, AModelKeepsTheTablesOfAllOutputs) {
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained = RunRecipe(run_, {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const std::string bytes = SaveModel(trained->model);
  EXPECT_EQ(FormatVersion(bytes), 5u);
  const absl::StatusOr<Model> model = LoadModel(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(SaveModel(*model), bytes);
  ASSERT_EQ(model->summary.tables.size(), 4u);
  EXPECT_EQ(model->summary.tables[0].name, "ranking");
  EXPECT_EQ(model->summary.tables[0].values, (Matrix{{0.25, 0.25, 0.25}, {4, 4, 4}}));
  for (size_t output = 1; output <= 3; ++output) {
    EXPECT_EQ(model->summary.tables[output].name, absl::StrCat("covariance.", output));
    EXPECT_EQ(model->summary.tables[output].values, (Matrix{{2, 0.5}, {0.5, 1}}));
  }
}

TEST_F(TablesOfARunTest, EveryCheckpointLeadsToTheSameBits) {
  ExpectSameBitsFromEveryCheckpoint(run_);
}

// Damage that a checksum would hide: the payload is changed before it is framed.
TEST(ModelFileWithTablesTest, ChangedTablesAreDamageOrAnotherModelNeverACrash) {
  const nlohmann::json fixture = ReadFixtureFile("../core/training/saved_models.json");
  const std::string bytes = absl::HexStringToBytes(fixture["tables"].get<std::string>());
  const size_t others = absl::HexStringToBytes(fixture["scores"].get<std::string>()).size() - 32;
  const absl::StatusOr<std::string_view> payload = UnframePayload("MRCRMODL", 5, "model", bytes);
  ASSERT_TRUE(payload.ok()) << payload.status();
  ASSERT_GT(payload->size(), others);
  size_t refused = 0;
  for (size_t i = others; i < payload->size(); ++i) {
    EXPECT_EQ(LoadModel(FramePayload("MRCRMODL", 5, payload->substr(0, i))).status().code(),
              absl::StatusCode::kDataLoss)
        << "cut at " << i;
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string damaged(*payload);
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      const absl::StatusOr<Model> model = LoadModel(FramePayload("MRCRMODL", 5, damaged));
      refused += model.ok() ? 0 : 1;
      EXPECT_TRUE(model.ok() || absl::IsDataLoss(model.status())) << model.status();
    }
  }
  EXPECT_GT(refused, payload->size() - others);
}

}  // namespace
}  // namespace mercer
