// Whoever asks for low rank where the exact kernels cost less is told.
#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/recipe/recipe_defaults.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

const TrainingWarning* FindExactIsCheaper(const CompletedRecipe& completed) {
  const auto found =
      std::find_if(completed.decisions.begin(), completed.decisions.end(),
                   [](const auto& one) { return one.code == WarningCode::kExactIsCheaper; });
  return found == completed.decisions.end() ? nullptr : &*found;
}

CompletedRecipe Complete(Index rows, OptionValues options) {
  TrainingRecipe recipe;
  recipe.learner = "lp_mkl";
  recipe.options = std::move(options);
  for (int k = 0; k < 20; ++k) {
    KernelGrid grid;
    grid.prototype.bandwidth = 1.0 + k;
    recipe.kernels.push_back(grid);
  }
  const absl::StatusOr<CompletedRecipe> completed =
      CompleteRecipe(lp_mkl::Entry(), recipe, /*kind_is_open=*/false,
                     ClassificationData(rows, /*columns=*/10, 2, 1), RunContext());
  EXPECT_TRUE(completed.ok()) << completed.status();
  return completed.ok() ? *completed : CompletedRecipe();
}

OptionValues LowRank(int64_t landmarks) {
  return {{"approximation", std::string("nystrom")}, {"landmarks", landmarks}};
}

TEST(ExactIsCheaperTest, OfManyLandmarksForTheirRows) {
  const CompletedRecipe completed = Complete(5700, LowRank(300));
  const TrainingWarning* warning = FindExactIsCheaper(completed);
  ASSERT_NE(warning, nullptr);
  EXPECT_EQ(warning->values.at("options"), "approximation=none");
  EXPECT_GE(std::stoi(warning->values.at("megabytes")), 260);  // a matrix of all pairs
  EXPECT_NE(warning->message.find("approximation=none"), std::string::npos);
  // The recipe stays what was asked for.
  EXPECT_EQ(completed.recipe.options, LowRank(300));
}

TEST(ExactIsCheaperTest, NotOfManyRowsAndNotOfExactKernels) {
  EXPECT_EQ(FindExactIsCheaper(Complete(60'000, LowRank(100))), nullptr);
  EXPECT_EQ(FindExactIsCheaper(Complete(5700, {})), nullptr);
  EXPECT_EQ(FindExactIsCheaper(Complete(5700, {{"approximation", std::string("none")}})), nullptr);
}

TEST(ExactIsCheaperTest, NotWhereOtherOptionsAreForLowRankAlone) {
  OptionValues options = LowRank(300);
  options["outer_loop"] = std::string("interleaved");
  EXPECT_EQ(FindExactIsCheaper(Complete(5700, options)), nullptr);
}

TEST(ExactIsCheaperTest, WhatIsWrongIsLeftToTheTraining) {
  EXPECT_EQ(FindExactIsCheaper(Complete(5700, LowRank(0))), nullptr);
  EXPECT_EQ(FindExactIsCheaper(Complete(5700, {{"approximation", 3.0}})), nullptr);
}

}  // namespace
}  // namespace mercer
