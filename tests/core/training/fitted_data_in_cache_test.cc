// What trainings on the same data find in the cache that they share.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/data/preprocess/fitted_data.h"
#include "core/training/model/model.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

class FittedDataInCacheTest : public ::testing::Test {
 protected:
  FittedDataInCacheTest() { std::iota(all_.begin(), all_.end(), 0); }

  std::shared_ptr<const FittedData> Fit(const TrainingRecipe& recipe,
                                        const std::vector<Index>& rows, const std::string& digest) {
    const auto fitted = FitData({&data_, digest, &rows, &recipe.preprocessing, {}}, context_);
    EXPECT_TRUE(fitted.ok()) << fitted.status();
    return fitted.value_or(nullptr);
  }
  std::shared_ptr<const FittedData> Fit(const TrainingRecipe& recipe) {
    return Fit(recipe, all_, "digest");
  }

  const Dataset data_ = ClassificationData(40, 3, 2, 1);
  std::vector<Index> all_ = std::vector<Index>(40);
  std::shared_ptr<SharedCache> cache_ = std::make_shared<SharedCache>(size_t{1} << 20);
  RunContext context_{CancellationToken(), 1, cache_};
};

TEST_F(FittedDataInCacheTest, AreKeptForTheSameDataAndPreprocessing) {
  const TrainingRecipe recipe = ExampleRecipe();
  const auto first = Fit(recipe);
  EXPECT_GE(cache_->size_bytes(), 40 * 3 * sizeof(double));
  TrainingRecipe other = ExampleRecipe();
  other.seed = 5;
  other.kernels = {OneKernel(7.0)};
  EXPECT_EQ(Fit(other), first);
  EXPECT_NE(Fit(recipe, all_, "another digest"), first);
  other.preprocessing.scaling = Scaling::kMinMax;
  EXPECT_NE(Fit(other), first);
  other = recipe;
  other.preprocessing.imputation = Imputation::kMeanOrMostFrequent;
  EXPECT_NE(Fit(other), first) << "models say how they impute";
  EXPECT_EQ(Fit(recipe), first);
}

TEST_F(FittedDataInCacheTest, AreNotKeptOfSomeRowsOrUnnamedData) {
  const TrainingRecipe recipe = ExampleRecipe();
  std::vector<Index> some = all_;
  some.pop_back();
  Fit(recipe, some, "digest");
  std::swap(some[0], some[1]);
  some.push_back(39);
  Fit(recipe, some, "digest");
  Fit(recipe, all_, "");
  EXPECT_EQ(cache_->size_bytes(), 0U);
}

// Tables as they are in the file of the data set would keep a deleted file on the disk.
TEST_F(FittedDataInCacheTest, AreNotKeptWhereTheyAreTheDataSetItself) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.preprocessing.scaling = Scaling::kNone;
  const auto fitted = Fit(recipe);
  EXPECT_EQ(fitted->prepared.blocks[0].values.view().data(), data_.blocks[0].values.view().data());
  EXPECT_EQ(cache_->size_bytes(), 0U);
}

TEST_F(FittedDataInCacheTest, HitAndMissGiveTheSameBits) {
  const TrainingRecipe recipe = ExampleRecipe();
  const auto train = [&](RunContext& context) {
    RecordingObserver observer;
    const auto trained = RunRecipe(ExampleRun(recipe, data_), {}, context, observer);
    EXPECT_TRUE(trained.ok()) << trained.status();
    return trained.ok() ? SaveModel(trained->model) : "";
  };
  RunContext without_cache;
  const std::string expected = train(without_cache);
  EXPECT_EQ(train(context_), expected);
  EXPECT_EQ(train(context_), expected);
}

}  // namespace
}  // namespace mercer
