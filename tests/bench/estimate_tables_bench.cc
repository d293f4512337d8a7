// Estimates of time against trainings on tables of files, with recipes as people write them: default kernels, paths,
// several classes, low rank, sparse models.
//
//   estimate_tables_bench FOLDER [WORD]    the folder holds spambase/spambase.csv.gz and so on; only settings that name WORD
//
// A table in Markdown: the estimate, the processor seconds of one thread that the training took, and their ratio.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/machine_rates.h"
#include "tests/bench/learned_tables.h"
#include "tests/bench/silent_observer.h"
#include "tests/support/processor_seconds.h"

namespace mercer {
namespace {

constexpr size_t kCacheBytes = size_t{256} << 20;
constexpr Index kAll = Index{1} << 30;

// A learner on some rows of a table.
struct Setting {
  std::string learner;
  std::string table;
  Index rows = kAll;
  OptionValues options = {};
  std::function<void(TrainingRecipe&)> change = [](TrainingRecipe& /*recipe*/) {};
  const char* words = "";
};

void OneGaussian(TrainingRecipe& recipe) {
  KernelGrid grid;
  grid.prototype.type = KernelType::kGaussian;
  grid.rule = BandwidthRule::kMedianMultiples;
  grid.bandwidths = {1};
  recipe.kernels = {grid};
}

void TenGaussians(TrainingRecipe& recipe) {
  OneGaussian(recipe);
  recipe.kernels[0].bandwidths = {0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5};
}

void KernelsOfColumns(TrainingRecipe& recipe) {
  KernelGrid columns;
  columns.prototype.type = KernelType::kGaussian;
  columns.prototype.bandwidth = 1;
  columns.per_column = true;
  OneGaussian(recipe);
  recipe.kernels[0].bandwidths = {0.5, 1, 2};
  recipe.kernels.push_back(columns);
}

void HoldOut(TrainingRecipe& recipe) {
  recipe.validation = {ValidationKind::kHoldOut, 0.25, std::nullopt};
}

void Path(const char* option, double first, double last, int count, TrainingRecipe& recipe) {
  HoldOut(recipe);
  OptionPath path{option, {}};
  for (int i = 0; i < count; ++i) {
    path.values.push_back(first * std::pow(last / first, i / (count - 1.0)));
  }
  recipe.path = path;
}

void PathOfC(TrainingRecipe& recipe) { Path("C", 0.1, 100, 10, recipe); }
void PathOfLambda(TrainingRecipe& recipe) { Path("lambda", 10, 0.01, 10, recipe); }
void PathOfShare(TrainingRecipe& recipe) { Path("lambda", 0.3, 0.003, 5, recipe); }

void PathInFolds(TrainingRecipe& recipe) {
  PathOfC(recipe);
  recipe.path->values = {0.1, 1, 10};
  recipe.validation = {ValidationKind::kFolds, std::nullopt, 5};
}

void OneVsOne(TrainingRecipe& recipe) { recipe.coding = CodingChoice::kOneVsOne; }

std::vector<Setting> ExactSettings() {
  const std::string square = "square";
  return {
      {"svm", "spambase"},
      {"svm", "spambase", kAll, {}, PathOfC, "path of 10"},
      {"svm", "magic", 8000, {{"C", 10.0}}},
      {"svm", "magic", 4000, {}, PathInFolds, "path of 3 in 5 folds"},
      {"svm", "digits"},
      {"svm", "satimage", 4000},
      {"svm", "letter", 4000, {{"C", 10.0}}},
      {"svm", "letter", 4000, {}, OneVsOne, "one-vs-one"},
      {"svm", "satimage", 3000, {}, PathOfC, "path of 10"},
      {"svm", "cpusmall", 4000},
      {"kernel_ridge", "satimage", 3000},
      {"kernel_ridge", "abalone", kAll, {}, PathOfLambda, "path of 10"},
      {"lp_mkl", "spambase", kAll},
      {"lp_mkl", "spambase", kAll, {}, TenGaussians, "10 kernels"},
      {"lp_mkl", "spambase", 2000, {}, KernelsOfColumns, "60 kernels"},
      {"lp_mkl", "magic", 5000, {{"C", 10.0}, {"p", 1.0}}, TenGaussians, "10 kernels"},
      {"lp_mkl", "magic", 3000, {}, PathOfC, "path of 10"},
      {"lp_mkl", "digits", kAll, {{"p", 1.2}}, TenGaussians, "10 kernels"},
      {"lp_mkl", "letter", 2000},
      {"lp_mkl", "cpusmall", 3000},
      {"lp_mkl", "spambase", 2000, {{"loss", std::string("squared_hinge")}}},
      {"lp_mkl", "magic", 2000, {{"loss", std::string("logistic")}}},
      {"mixed_norm_mkl", "spambase", 3000},
      {"mixed_norm_mkl", "magic", 2000, {}, KernelsOfColumns, "13 kernels"},
      {"ikl", "spambase", 1500},
      {"csi", "magic", kAll},
  };
}

std::vector<Setting> LowRankSettings() {
  const auto low_rank = [](OptionValues more = {}) {
    more["approximation"] = std::string("nystrom");
    return more;
  };
  return {
      {"lp_mkl", "spambase", kAll, low_rank()},
      {"lp_mkl", "magic", kAll, low_rank()},
      {"lp_mkl", "magic", kAll, low_rank({{"landmarks", int64_t{300}}, {"C", 10.0}})},
      {"lp_mkl", "shuttle", kAll, low_rank()},
      {"lp_mkl", "pokerhand", kAll, low_rank()},
      {"lp_mkl", "letter", kAll, low_rank()},
      {"lp_mkl", "digits", kAll, low_rank()},
      {"lp_mkl", "magic", kAll, low_rank(), TenGaussians, "10 kernels"},
      {"lp_mkl", "spambase", kAll, low_rank(), KernelsOfColumns, "60 kernels"},
      {"lp_mkl", "spambase", kAll, low_rank({{"landmarks", int64_t{500}}})},
      {"lp_mkl", "magic", kAll, low_rank(), PathOfC, "path of 10"},
      {"lp_mkl", "cpusmall", kAll, low_rank()},
      {"lp_mkl", "magic", kAll, low_rank({{"loss", std::string("squared_hinge")}})},
      {"lp_mkl", "magic", kAll, low_rank({{"loss", std::string("logistic")}})},
      {"lp_mkl", "magic", kAll,
       low_rank({{"own_landmarks", true}, {"landmark_selection", std::string("leverage")}})},
      {"lp_mkl", "magic", kAll, low_rank({{"landmark_selection", std::string("leverage")}})},
  };
}

std::vector<Setting> SparseSettings() {
  const OptionValues columns = {{"family", std::string("columns")}};
  return {
      {"infinite_features", "magic", 8000},
      {"infinite_features", "spambase", kAll, {}, PathOfShare, "path of 5"},
      {"infinite_features", "digits"},
      {"infinite_features", "spambase", kAll, columns, PathOfShare, "path of 5"},
      {"infinite_features", "dna", kAll, columns},
      {"infinite_features", "musk", kAll, columns},
      {"sparse_multitask_svm", "spambase"},
      {"sparse_multitask_svm", "dna"},
      {"svm_rfe", "musk"},
      {"svm_rfe", "spambase", 2000},
  };
}

std::string WhatIsNotUsual(const Setting& setting) {
  std::string text = setting.words;
  for (const auto& [name, value] : setting.options) {
    text += (text.empty() ? "" : ", ") + name + "=" + FormatOptionValue(value);
  }
  return text;
}

void Compare(const Setting& setting, const std::string& folder, const WorkCount& rates,
             std::vector<double>& ratios) {
  absl::StatusOr<Table> table =
      ReadTable(folder + "/" + setting.table + "/" + setting.table + ".csv.gz");
  if (!table.ok()) {
    std::fprintf(stderr, "%s: %s\n", setting.table.c_str(),
                 std::string(table.status().message()).c_str());
    return;
  }
  DrawRows(setting.rows, table->data);
  TrainingRecipe recipe;
  recipe.learner = setting.learner;
  recipe.kind = table->kind;
  recipe.target_scaling = TargetScaling::kStandardize;
  recipe.preprocessing.imputation = Imputation::kMeanOrMostFrequent;
  recipe.options = setting.options;
  recipe.limits.max_time = absl::Seconds(1e6);
  setting.change(recipe);
  const LearnerEntry* entry = FindLearner(setting.learner);
  const auto estimate =
      EstimateRecipeSeconds(*entry, recipe, table->data, {rates, 1, kCacheBytes}, RunContext());
  RunContext context(CancellationToken(), 1, std::make_shared<SharedCache>(kCacheBytes));
  SilentObserver observer;
  const double start = ProcessorSeconds();
  const auto trained =
      RunRecipe({entry, &recipe, &table->data, "data", "bench"}, "", context, observer);
  const double seconds = ProcessorSeconds() - start;
  if (!trained.ok() || !estimate.ok()) {
    std::fprintf(
        stderr, "%s: %s\n", setting.table.c_str(),
        std::string((trained.ok() ? estimate.status() : trained.status()).message()).c_str());
    return;
  }
  std::printf("| %s | %s | %ld | %s | %.2f | %.2f | %.2f |\n", setting.learner.c_str(),
              setting.table.c_str(), static_cast<long>(table->data.rows),
              WhatIsNotUsual(setting).c_str(), *estimate, seconds, *estimate / seconds);
  std::fflush(stdout);
  ratios.push_back(*estimate / seconds);
}

void Run(const std::string& folder, const std::string& word) {
  const WorkCount rates = MeasureRates();
  std::vector<Setting> settings = ExactSettings();
  for (const std::vector<Setting>& more : {LowRankSettings(), SparseSettings()}) {
    settings.insert(settings.end(), more.begin(), more.end());
  }
  std::printf("| learner | table | rows | | estimate, s | took, s | ratio |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  std::vector<double> ratios;
  for (const Setting& setting : settings) {
    const std::string text = setting.learner + " " + setting.table + " " + WhatIsNotUsual(setting);
    if (text.find(word) != std::string::npos) {
      Compare(setting, folder, rates, ratios);
    }
  }
  const auto within = std::count_if(ratios.begin(), ratios.end(),
                                    [](double ratio) { return ratio >= 0.5 && ratio <= 2.5; });
  std::printf("\n%ld of %zu ratios within 0.5 to 2.5\n", static_cast<long>(within), ratios.size());
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: estimate_tables_bench FOLDER [WORD]\n");
    return 1;
  }
  mercer::Run(argv[1], argc > 2 ? argv[2] : "");
  return 0;
}
