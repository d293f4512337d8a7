#include "client/cpp/cli/model_versions.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

v1::ModelVersion Model(const std::string& name, double gap, const std::string& metric, double value,
                       int64_t created) {
  v1::ModelVersion model;
  model.set_name("models/" + name + "/versions/1");
  model.mutable_certificate()->set_kind(v1::CERTIFICATE_KIND_GAP);
  model.mutable_certificate()->set_accuracy(gap);
  model.mutable_create_time()->set_seconds(created);
  if (!metric.empty()) {
    v1::Metric& added = *model.add_metrics();
    added.set_name(metric);
    added.set_value(value);
  }
  return model;
}

std::string Order(const std::string& order, std::vector<v1::ModelVersion> models) {
  SortModels(order, models);
  std::string names;
  for (const v1::ModelVersion& model : models) {
    names += model.name()[7];
  }
  return names;
}

TEST(ModelVersionsTest, OrdersOfAList) {
  const std::vector<v1::ModelVersion> models = {
      Model("c", 1e-4, "held_out.accuracy", 0.8, 3), Model("a", 1e-2, "held_out.accuracy", 0.9, 1),
      Model("d", 1e-3, "", 0, 4), Model("b", 1e-5, "primal", 0.99, 2)};
  EXPECT_EQ(Order("", models), "cadb");
  EXPECT_EQ(Order("name", models), "abcd");
  EXPECT_EQ(Order("created", models), "dcba");
  EXPECT_EQ(Order("gap", models), "bcda");
  EXPECT_EQ(Order("quality", models), "acdb");
}

TEST(ModelVersionsTest, SmallErrorsAreTheBetterQuality) {
  EXPECT_EQ(
      Order("quality", {Model("a", 0, "folds.rmse", 2.0, 1), Model("b", 0, "folds.rmse", 1.0, 1)}),
      "ba");
}

TEST(ModelVersionsTest, HeldOutRowsAndFoldsCompare) {
  EXPECT_EQ(
      Order("quality",
            {Model("a", 0, "folds.accuracy", 0.6, 1), Model("b", 0, "held_out.accuracy", 0.99, 1),
             Model("c", 0, "folds.rmse", 1.0, 1), Model("d", 0, "held_out.rmse", 0.5, 1)}),
      "badc");
}

TEST(ModelVersionsTest, TextsAreFoundWhereverTheyAre) {
  v1::ModelVersion model = Model("spam", 0, "", 0, 1);
  model.set_target("Class");
  model.set_learner("lp_mkl");
  model.set_description("For the Monday report");
  (*model.mutable_labels())["stage"] = "live";
  for (const char* text : {"SPAM", "class", "lp_", "monday", "stage=live"}) {
    EXPECT_TRUE(Mentions(model, text)) << text;
  }
  EXPECT_FALSE(Mentions(model, "ham"));
}

TEST(ModelVersionsTest, VersionsOfOneModelAreOneEntry) {
  EXPECT_EQ(GroupByModel({"models/a/versions/2", "models/b/versions/3", "models/b/versions/2",
                          "models/b/versions/1", "models/c/versions/9"}),
            (std::vector<std::string>{"models/a/versions/2", "models/b (3 versions)",
                                      "models/c/versions/9"}));
  EXPECT_TRUE(GroupByModel({}).empty());
}

TEST(ModelVersionsTest, LongListsAreCut) {
  EXPECT_EQ(ShortList({"a"}), "a");
  EXPECT_EQ(ShortList({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(ShortList({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
}

}  // namespace
}  // namespace mercer::client
