// Every learner comes to the same bits whether its tables are in memory or in files.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "tests/conformance/learner_conformance.h"

namespace mercer {
namespace {

struct ScratchCase {
  const LearnerEntry* entry;
  OptionValues options;
  std::string name;
};

// Later rounds of a search read the tables as its first ones do, and take minutes with sanitizers.
OptionValues ShortRun(const LearnerEntry& entry) {
  if (entry.name == "infinite_features") {
    return {{"max_groups", int64_t{8}}};
  }
  return {};
}

std::vector<ScratchCase> ScratchCases() {
  std::vector<ScratchCase> cases;
  for (const LearnerEntry* entry : AllLearners()) {
    cases.push_back({entry, ShortRun(*entry), entry->name});
    if (entry->name == "lp_mkl") {
      for (const char* selection : {"uniform", "k_means", "leverage"}) {
        cases.push_back({entry,
                         {{"approximation", std::string("nystrom")},
                          {"landmarks", int64_t{25}},
                          {"landmark_selection", std::string(selection)}},
                         std::string("lp_mkl_nystrom_") + selection});
      }
    }
  }
  return cases;
}

class ScratchConformance : public testing::TestWithParam<ScratchCase> {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "mercer-scratch-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
  }

  // A column of categories, and values that are missing.
  static Dataset MixedData(int classes) {
    Dataset data = ClassificationData(120, 6, classes, 9);
    RowMatrix values = data.blocks[0].values.view();
    for (Index row = 0; row < data.rows; ++row) {
      values(row, 2) = static_cast<double>((row / 3) % 4);
      if (row % 11 == 4) {
        values(row, 1) = std::nan("");
        values(row, 2) = std::nan("");
      }
    }
    data.blocks[0].columns[2] = {"colour", true, {"red", "green", "blue", "white"}};
    data.blocks[0].values = SharedMatrix(std::move(values));
    return data;
  }

  TrainingRecipe Recipe(ValidationKind validation) const {
    TrainingRecipe recipe;
    recipe.learner = GetParam().entry->name;
    recipe.options = GetParam().options;
    recipe.preprocessing.imputation = Imputation::kMeanOrMostFrequent;
    recipe.validation.kind = validation;
    if (validation == ValidationKind::kFolds) {
      recipe.validation.folds = 3;
    }
    recipe.seed = 5;
    if (GetParam().entry->uses_kernels) {
      KernelGrid all;
      all.rule = BandwidthRule::kMedianMultiples;
      all.bandwidths = {0.5, 1.0, 2.0};
      KernelGrid some = all;
      some.bandwidths = {1.0};
      some.prototype.columns = {"x1", "colour", "x5"};
      recipe.kernels = {all, some};
    }
    return recipe;
  }

  static absl::StatusOr<TrainedModel> TrainIn(const TrainingRecipe& recipe, const Dataset& data,
                                              const ScratchSpace* space) {
    RunContext context(CancellationToken(), 2, nullptr);
    context.set_scratch(space);
    ConformanceObserver observer;
    absl::StatusOr<TrainedModel> trained =
        RunRecipe({GetParam().entry, &recipe, &data, "", "v"}, {}, context, observer);
    if (trained.ok()) {
      const absl::StatusOr<Certificate> verified = VerifyModel(
          {GetParam().entry, &recipe, &data, "", "v"}, trained->model, trained->witness, context);
      EXPECT_TRUE(verified.ok()) << verified.status();
      EXPECT_EQ(verified.ok() ? verified->primal : 0, trained->model.certificate.primal);
    }
    return trained;
  }

  std::string folder_;
};

TEST_P(ScratchConformance, ModelsHaveTheSameBits) {
  const ScratchSpace space(folder_, 0);
  for (const int classes : {2, 3}) {
    const Dataset data = MixedData(classes);
    for (const ValidationKind validation :
         {ValidationKind::kNone, ValidationKind::kHoldOut, ValidationKind::kFolds}) {
      const TrainingRecipe recipe = Recipe(validation);
      const absl::StatusOr<TrainedModel> in_memory = TrainIn(recipe, data, nullptr);
      const absl::StatusOr<TrainedModel> in_files = TrainIn(recipe, data, &space);
      ASSERT_TRUE(in_memory.ok()) << in_memory.status();
      ASSERT_TRUE(in_files.ok()) << in_files.status();
      EXPECT_EQ(SaveModel(in_files->model), SaveModel(in_memory->model));
      EXPECT_EQ(SaveWitness(in_files->witness), SaveWitness(in_memory->witness));
    }
  }
}

std::string CaseName(const testing::TestParamInfo<ScratchCase>& param) { return param.param.name; }

INSTANTIATE_TEST_SUITE_P(Registry, ScratchConformance, testing::ValuesIn(ScratchCases()), CaseName);

}  // namespace
}  // namespace mercer
