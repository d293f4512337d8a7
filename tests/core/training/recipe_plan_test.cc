// Which trainings a recipe comes to, and in which order.
#include "core/training/recipe/recipe_plan.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer {
namespace {

using ::testing::ElementsAre;

TrainingRecipe Recipe(ValidationKind validation, std::vector<double> values = {},
                      bool keep_all = false) {
  TrainingRecipe recipe;
  recipe.validation.kind = validation;
  if (!values.empty()) {
    recipe.path = OptionPath{"C", std::move(values), keep_all};
  }
  return recipe;
}

std::vector<std::string> Names(const std::vector<PlannedTraining>& trainings) {
  std::vector<std::string> names;
  for (const PlannedTraining& training : trainings) {
    names.push_back(training.name);
  }
  return names;
}

TEST(RecipePlanTest, WithoutAPathTheModelComesFirstSoThatAnEarlyEndHasOne) {
  const std::vector<PlannedTraining> alone = ListTrainings(Recipe(ValidationKind::kNone), 0);
  EXPECT_THAT(Names(alone), ElementsAre("train"));
  EXPECT_FALSE(alone[0].split.has_value());

  const std::vector<PlannedTraining> held_out = ListTrainings(Recipe(ValidationKind::kHoldOut), 1);
  EXPECT_THAT(Names(held_out), ElementsAre("train"));
  EXPECT_EQ(held_out[0].split, 0u) << "the model is scored by the rows held out";

  const std::vector<PlannedTraining> folds = ListTrainings(Recipe(ValidationKind::kFolds), 2);
  EXPECT_THAT(Names(folds), ElementsAre("train", "fold 1 of 2", "fold 2 of 2"));
  EXPECT_FALSE(folds[0].split.has_value());
  EXPECT_EQ(folds[2].split, 1u);
}

TEST(RecipePlanTest, APathGoesThroughItsValuesSplitBySplit) {
  const std::vector<PlannedTraining> held_out =
      ListTrainings(Recipe(ValidationKind::kHoldOut, {1, 10, 100}), 1);
  EXPECT_THAT(Names(held_out), ElementsAre("value 1 of 3", "value 2 of 3", "value 3 of 3"));
  EXPECT_EQ(held_out[2].value, 2u);
  EXPECT_EQ(held_out[2].time_share, 1) << "no model is trained after them";

  const std::vector<PlannedTraining> folds =
      ListTrainings(Recipe(ValidationKind::kFolds, {1, 10}), 2);
  EXPECT_THAT(Names(folds),
              ElementsAre("fold 1 of 2, value 1 of 2", "fold 1 of 2, value 2 of 2",
                          "fold 2 of 2, value 1 of 2", "fold 2 of 2, value 2 of 2", "train"));
  EXPECT_EQ(folds[3].split, 1u);
  EXPECT_EQ(folds[3].value, 1u);
  EXPECT_EQ(folds[3].time_share, 2.0 / 3) << "the model is left as much time as a fold has";
  EXPECT_FALSE(folds[4].split.has_value());
}

TEST(RecipePlanTest, APathThatKeepsAllTrainsAModelForEachValueAfterTheFolds) {
  const std::vector<PlannedTraining> trainings =
      ListTrainings(Recipe(ValidationKind::kFolds, {1, 10}, true), 2);
  ASSERT_EQ(trainings.size(), 6u);
  EXPECT_EQ(trainings[4].name, "train, model 1 of 2");
  EXPECT_EQ(trainings[5].name, "train, model 2 of 2");
  EXPECT_EQ(trainings[5].place, 1u);
  EXPECT_FALSE(trainings[5].split.has_value());
}

}  // namespace
}  // namespace mercer
