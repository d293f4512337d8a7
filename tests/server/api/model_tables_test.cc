// What learners tell beside the function, from a model to the answer of GetModelVersion.
#include "server/translation/model_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/process/run_context.h"
#include "core/training/recipe/recipe.h"
#include "server/translation/answer_size.h"
#include "server/translation/model_translator.h"
#include "tests/core/training/scripted_learner.h"
#include "tests/server/api/registry_fixture.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;

// Of three classes, with two kernels.
Model ThreeClassModel(std::vector<ModelTable> tables) {
  Model model;
  RoleColumn labels;
  labels.values = Vector{{0.0, 1.0, 2.0}};
  model.coding = *OutputCoding::FromLabels(labels, {0, 1, 2}, CodingChoice::kAuto, RunContext());
  model.function.bias = Vector::Zero(3);
  model.summary.kernel_names = {"linear", "linear(columns=x1)"};
  model.summary.kernel_weights = Matrix{{1, 2, 3}, {4, 5, 6}};
  model.summary.tables = std::move(tables);
  return model;
}

ModelTable Covariance() {
  return {.name = "covariance",
          .title = "how variables vary together",
          .row_axis = "variables",
          .column_axis = "variables",
          .rows = {"x1", "x2"},
          .columns = {"x1", "x2"},
          .values = Matrix{{2, -0.5}, {-0.5, 1}},
          .unit = "m^2",
          .drawing = TableDrawing::kHeatMap};
}

ModelTable Ranking() {
  return {.name = "ranking",
          .title = "variables by their weight",
          .row_axis = "variables",
          .column_axis = "",
          .rows = {"x1"},
          .columns = {},
          .values = Matrix{{0.25, 0, -1}},
          .unit = "",
          .drawing = TableDrawing::kBars};
}

VersionRecord RecordOf(const Model& model) {
  VersionRecord record;
  record.model = "m";
  record.version = 1;
  record.summary = SummarizeModel(model).SerializeAsString();
  return record;
}

TEST(ModelTablesTest, TheTableOfKernelWeightsHasGroupsWhereThereAreSeveral) {
  Model model = ThreeClassModel({Ranking()});
  model.summary.kernel_groups = {"colour", ""};
  const absl::StatusOr<v1::ModelVersion> told = WriteVersionInDetail(RecordOf(model));
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_THAT(told->kernel_weights().groups(), ElementsAre("colour", ""));
  ASSERT_EQ(told->tables_size(), 2);
  EXPECT_THAT(told->tables(0).row_groups(), ElementsAre("colour", ""));
  EXPECT_THAT(told->tables(1).row_groups(), testing::IsEmpty());
  model.summary.kernel_groups.clear();
  EXPECT_THAT(WriteVersionInDetail(RecordOf(model))->tables(0).row_groups(), testing::IsEmpty());
}

TEST(ModelTablesTest, TablesAreToldBehindTheWeights) {
  const absl::StatusOr<v1::ModelVersion> model =
      WriteVersionInDetail(RecordOf(ThreeClassModel({Covariance(), Ranking()})));
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->tables_size(), 3);
  const v1::ModelTable& weights = model->tables(0);
  EXPECT_EQ(weights.name(), "kernel_weights");
  EXPECT_EQ(weights.row_axis(), "kernels");
  EXPECT_EQ(weights.column_axis(), "outputs");
  EXPECT_THAT(weights.rows(), ElementsAre("linear", "linear(columns=x1)"));
  EXPECT_THAT(weights.columns(), ElementsAre("0", "1", "2"));
  EXPECT_THAT(weights.values().values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(weights.drawing(), v1::TABLE_DRAWING_BARS);
  const v1::ModelTable& covariance = model->tables(1);
  EXPECT_EQ(covariance.name(), "covariance");
  EXPECT_EQ(covariance.title(), "how variables vary together");
  EXPECT_EQ(covariance.row_axis(), "variables");
  EXPECT_EQ(covariance.column_axis(), "variables");
  EXPECT_THAT(covariance.columns(), ElementsAre("x1", "x2"));
  EXPECT_EQ(covariance.values().rows(), 2);
  EXPECT_EQ(covariance.values().columns(), 2);
  EXPECT_THAT(covariance.values().values(), ElementsAre(2, -0.5, -0.5, 1));
  EXPECT_EQ(covariance.unit(), "m^2");
  EXPECT_EQ(covariance.drawing(), v1::TABLE_DRAWING_HEAT_MAP);
  const v1::ModelTable& ranking = model->tables(2);
  EXPECT_THAT(ranking.columns(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(ranking.column_axis(), "outputs");
  EXPECT_THAT(ranking.values().values(), ElementsAre(0.25, 0, -1));
}

TEST(ModelTablesTest, WeightsOfAllOutputsTogetherAreOneColumn) {
  Model model = ThreeClassModel({});
  model.summary.kernel_weights = Vector{{1.0, 4.0}};
  const absl::StatusOr<v1::ModelVersion> message = WriteVersionInDetail(RecordOf(model));
  ASSERT_TRUE(message.ok()) << message.status();
  ASSERT_EQ(message->tables_size(), 1);
  EXPECT_THAT(message->tables(0).columns(), ElementsAre("all outputs"));
}

TEST(ModelTablesTest, ChosenFeaturesAreATable) {
  Model model = ThreeClassModel({});
  model.summary.kernel_names.clear();
  model.summary.kernel_weights = Matrix();
  model.summary.feature_names = {"feature 1: column 'x1'"};
  model.summary.feature_weights = Matrix{{1, 2, 3}};
  const absl::StatusOr<v1::ModelVersion> message = WriteVersionInDetail(RecordOf(model));
  ASSERT_TRUE(message.ok()) << message.status();
  ASSERT_EQ(message->tables_size(), 1);
  EXPECT_EQ(message->tables(0).name(), "feature_weights");
  EXPECT_THAT(message->tables(0).rows(), ElementsAre("feature 1: column 'x1'"));
}

TEST(ModelTablesTest, AModelOfBeforeTellsItsPathAsATableToo) {
  Model model = ThreeClassModel({});
  model.metrics = {{"path.best", 2},           {"path.1.value", 10},   {"path.1.accuracy", 0.5},
                   {"path.1.active_terms", 3}, {"path.2.value", 0.1},  {"path.2.accuracy", 0.75},
                   {"path.2.active_terms", 4}, {"path.2.auc", 0.9},    {"path.zero.auc", 0.9},
                   {"path.3.value", 1},        {"path.3.accuracy", 0}, {"path.3.active_terms", 5}};
  const absl::StatusOr<v1::ModelVersion> told = WriteVersionInDetail(RecordOf(model));
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_EQ(told->tables_size(), 2);
  const v1::ModelTable& path = told->tables(1);
  EXPECT_EQ(path.name(), "path");
  EXPECT_THAT(path.rows(), ElementsAre("10", "0.1", "1"));
  EXPECT_THAT(path.columns(), ElementsAre("accuracy", "active_terms"));
  EXPECT_EQ(path.values().rows(), 3);
  EXPECT_THAT(path.values().values(), ElementsAre(0.5, 3, 0.75, 4, 0, 5));
  ASSERT_EQ(told->metrics_size(), 2);
  EXPECT_EQ(told->metrics(0).name(), "path.best");
  EXPECT_EQ(told->metrics(1).name(), "path.zero.auc");
}

TEST(ModelTablesTest, ListsLeaveThemOut) {
  const absl::StatusOr<v1::ModelVersion> model =
      WriteVersion(RecordOf(ThreeClassModel({Covariance()})));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->tables().empty());
  EXPECT_EQ(model->kernel_weights().kernels_size(), 2);
}

TEST(ModelTablesTest, WhatHasNoRoomIsLeftOut) {
  ModelTable wide = Covariance();
  wide.name = "wide";
  wide.columns.clear();
  for (int column = 0; column < 1'000'000; ++column) {
    wide.columns.push_back("x" + std::to_string(column));
  }
  wide.values = Matrix::Zero(2, 1'000'000);
  const VersionRecord record = RecordOf(ThreeClassModel({wide, Ranking()}));
  EXPECT_LT(record.summary.size(), kMaxTableBytes);
  const absl::StatusOr<v1::ModelVersion> model = WriteVersionInDetail(record);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->tables_size(), 2);
  EXPECT_EQ(model->tables(1).name(), "ranking");
}

// From the points of three outputs through the model and its file to the API.
TEST(ModelTablesTest, WhatALearnerTellsReachesTheAnswer) {
  ModelTable ranking = Ranking();
  ranking.values = Matrix::Constant(1, 1, 0.25);  // of one output
  const LearnerEntry entry = ScriptedEntry({.tables = {ranking}});
  TrainingRecipe recipe;
  recipe.learner = "scripted";
  recipe.kernels.emplace_back().prototype.bandwidth = 1.0;
  const Dataset data = ClassificationData(30, 3, 3, 1);
  RunContext context;
  mercer::RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe({&entry, &recipe, &data, "digest", "test-version"}, {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const absl::StatusOr<Model> model = LoadModel(SaveModel(trained->model));
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<v1::ModelVersion> answer = WriteVersionInDetail(RecordOf(*model));
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->tables_size(), 1);
  EXPECT_EQ(answer->tables(0).name(), "ranking");
  EXPECT_THAT(answer->tables(0).columns(), ElementsAre("0", "1", "2"));
  EXPECT_THAT(answer->tables(0).values().values(), ElementsAre(0.25, 0.25, 0.25));
}

class TablesOverGrpcTest : public RegistryTest {};

TEST_F(TablesOverGrpcTest, GetModelVersionTellsTheWeightsAsATable) {
  ServeClouds(1);
  ASSERT_TRUE(GetVersion("models/clouds").ok());
  ASSERT_EQ(model_.tables_size(), 1);
  const v1::ModelTable& table = model_.tables(0);
  EXPECT_EQ(table.name(), "kernel_weights");
  EXPECT_EQ(table.rows_size(), 2);
  EXPECT_EQ(table.rows(0), model_.kernel_weights().kernels(0));
  EXPECT_THAT(table.columns(), ElementsAre("1"));  // the class that values > 0 are for
  EXPECT_EQ(table.values().SerializeAsString(),
            model_.kernel_weights().weights().SerializeAsString());
  v1::ListModelVersionsResponse listed;
  v1::ListModelVersionsRequest request;
  request.set_model("models/clouds");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListModelVersions, request, &listed).ok());
  ASSERT_EQ(listed.versions_size(), 1);
  EXPECT_TRUE(listed.versions(0).tables().empty());
}

}  // namespace
}  // namespace mercer::server
