// Estimates of time against trainings.
//
//   estimate_bench [LARGEST ROWS [LEARNER]]        8000 without an argument; all learners
//
// Per setting: the estimate, what the training took, and their ratio; then the least, the median and the
// largest ratio and the share of them within a factor of 3. One thread; processor time, so that other
// programs disturb little. With a cache as large as the server's.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/machine_rates.h"
#include "tests/bench/silent_observer.h"
#include "tests/support/processor_seconds.h"

namespace mercer {
namespace {

constexpr size_t kCacheBytes = size_t{256} << 20;

struct Setting {
  std::string learner;
  Index rows;
  Index columns;
  int classes;  // 0: a number
  int kernels;  // infinite_features: tens of groups
  double cost;
  double noise;
  double p = 2;
  int folds = 0;
  KernelType type = KernelType::kGaussian;
};

// A smooth function of four columns and noise, cut into classes of equal size.
Dataset MakeData(const Setting& setting) {
  Dataset data;
  data.rows = setting.rows;
  RandomStream random(1, "estimate_bench");
  RowMatrix x(setting.rows, setting.columns);
  RoleColumn target{ColumnRole::kTarget, {"target", false, {}}, Vector(setting.rows)};
  for (Index i = 0; i < setting.rows; ++i) {
    for (Index j = 0; j < setting.columns; ++j) {
      x(i, j) = random.Normal();
    }
    const double score = std::sin(1.5 * x(i, 0)) + 0.7 * x(i, 1) * x(i, 2) + 0.5 * x(i, 3) +
                         setting.noise * random.Normal();
    const double share = 0.5 * std::erfc(-score / 1.6);
    target.values(i) = setting.classes == 0 ? score
                                            : std::min<double>(std::floor(share * setting.classes),
                                                               setting.classes - 1);
  }
  FeatureBlock block;
  block.name = "features";
  for (Index j = 0; j < setting.columns; ++j) {
    block.columns.push_back({"x" + std::to_string(j + 1), false, {}});
  }
  block.values = SharedMatrix(std::move(x));
  data.blocks.push_back(std::move(block));
  data.role_columns.push_back(std::move(target));
  return data;
}

TrainingRecipe MakeRecipe(const Setting& setting) {
  TrainingRecipe recipe;
  recipe.learner = setting.learner;
  recipe.kind = setting.classes == 0 ? TargetKind::kRegression : TargetKind::kClassification;
  if (setting.learner == "infinite_features") {
    recipe.options["max_groups"] = int64_t{10} * setting.kernels;
  } else if (setting.learner == "kernel_ridge" || setting.learner == "csi") {
    recipe.options["lambda"] = 1 / setting.cost;
  } else {
    recipe.options["C"] = setting.cost;
  }
  if (setting.learner == "lp_mkl") {
    recipe.options["p"] = setting.p;
  }
  if (setting.folds > 0) {
    recipe.validation = {ValidationKind::kFolds, std::nullopt, setting.folds};
  }
  if (!FindLearner(setting.learner)->uses_kernels) {
    return recipe;
  }
  const double distance = std::sqrt(2.0 * static_cast<double>(setting.columns));
  KernelGrid grid;
  grid.prototype.type = setting.type;
  grid.rule = BandwidthRule::kLogSpaced;
  grid.count = setting.kernels;
  grid.min_bandwidth = setting.kernels == 1 ? distance : 0.2 * distance;
  grid.max_bandwidth = setting.kernels == 1 ? distance : 5 * distance;
  recipe.kernels.push_back(grid);
  return recipe;
}

// Classes only, and no list of kernels.
void AddInfiniteKernels(Index rows, std::vector<Setting>& settings) {
  settings.push_back({"ikl", rows, 10, 2, 0, 1, 0.5});
  settings.push_back({"ikl", rows, 10, 2, 0, 10, 0.1});
  settings.push_back({"ikl", rows, 500, 2, 0, 1, 0.5});
  if (rows <= 2000) {
    settings.push_back({"ikl", rows, 10, 2, 0, 100, 0.1});
    settings.push_back({"ikl", rows, 2, 2, 0, 10, 0.5});
    settings.push_back({"ikl", rows, 10, 2, 0, 0.01, 0.5});
    settings.push_back({"ikl", rows, 10, 2, 0, 1000, 0.5});
    settings.push_back({"ikl", rows, 10, 10, 0, 1, 0.5});
    settings.push_back({"ikl", rows, 20, 2, 0, 1, 0.5, 2, 5});
  }
}

std::vector<Setting> Settings(Index largest, const std::string& wanted) {
  std::vector<Setting> settings;
  for (const Index rows : {Index{500}, Index{2000}, Index{8000}}) {
    for (const std::string learner :
         {"svm", "kernel_ridge", "lp_mkl", "csi", "infinite_features"}) {
      settings.push_back({learner, rows, 10, 2, 1, 1, 0.5});
      settings.push_back({learner, rows, 10, 2, 10, 1, 0.5});
      settings.push_back({learner, rows, 10, 2, 10, 100, 0.1});
      settings.push_back({learner, rows, 500, 2, 5, 1, 0.5});
      settings.push_back({learner, rows, 10, 0, 3, 1, 0.5});
      if (rows <= 2000) {
        settings.push_back({learner, rows, 10, 2, 50, 1, 0.5});
        settings.push_back({learner, rows, 10, 2, 1, 0.01, 0.5});
        settings.push_back({learner, rows, 10, 2, 1, 1000, 0.5});
        settings.push_back({learner, rows, 10, 10, 5, 1, 0.5});
        settings.push_back({learner, rows, 50, 3, 2, 10, 0.2});
        settings.push_back({learner, rows, 20, 2, 3, 1, 0.5, 1, 5});
        settings.push_back({learner, rows, 20, 2, 3, 1, 0.5, 1.1, 0, KernelType::kLaplacian});
      }
    }
    settings.push_back({"lp_mkl", rows, 10, 2, 20, 10, 0.5, 1});
    // Without groups all kernels are in one.
    settings.push_back({"mixed_norm_mkl", rows, 10, 2, 10, 1, 0.5});
    settings.push_back({"mixed_norm_mkl", rows, 10, 2, 10, 100, 0.1});
    settings.push_back({"mixed_norm_mkl", rows, 10, 2, 50, 10, 0.5});
    settings.push_back({"mixed_norm_mkl", rows, 10, 0, 10, 1, 0.5});
    settings.push_back({"sparse_multitask_svm", rows, 10, 2, 10, 1, 0.5});
    settings.push_back({"sparse_multitask_svm", rows, 10, 2, 10, 100, 0.1});
    AddInfiniteKernels(rows, settings);
  }
  settings.erase(std::remove_if(settings.begin(), settings.end(),
                                [&](const Setting& setting) {
                                  return setting.rows > largest ||
                                         (!wanted.empty() && setting.learner != wanted);
                                }),
                 settings.end());
  return settings;
}

// Estimate by measurement; 0 when the training failed.
double Compare(const Setting& setting, const WorkCount& rates) {
  const Dataset data = MakeData(setting);
  const TrainingRecipe recipe = MakeRecipe(setting);
  const LearnerEntry* entry = FindLearner(setting.learner);
  const auto estimate =
      EstimateRecipeSeconds(*entry, recipe, data, {rates, 1, kCacheBytes}, RunContext());
  RunContext context(CancellationToken(), 1, std::make_shared<SharedCache>(kCacheBytes));
  SilentObserver observer;
  const double start = ProcessorSeconds();
  const auto trained = RunRecipe({entry, &recipe, &data, "data", "bench"}, "", context, observer);
  const double seconds = ProcessorSeconds() - start;
  if (!trained.ok() || !estimate.ok()) {
    std::printf("%s\n", std::string(trained.status().message()).c_str());
    return 0;
  }
  std::printf(
      "%-17s rows %5ld columns %3ld classes %2d kernels %2d C %-6g noise %-3g p %-3g folds %d %-9s "
      "estimate %8.3f s, took %8.3f s, ratio %5.2f\n",
      setting.learner.c_str(), static_cast<long>(setting.rows), static_cast<long>(setting.columns),
      setting.classes, setting.kernels, setting.cost, setting.noise, setting.p, setting.folds,
      std::string(KernelTypeName(setting.type)).c_str(), *estimate, seconds, *estimate / seconds);
  std::fflush(stdout);
  return *estimate / seconds;
}

void Run(Index largest, const std::string& learner) {
  const double start = ProcessorSeconds();
  const WorkCount rates = MeasureRates();
  std::printf("rates measured in %.0f ms; ns per operation:", 1e3 * (ProcessorSeconds() - start));
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    std::printf(" %.3f", 1e9 * rates[static_cast<WorkKind>(i)]);
  }
  std::printf("\n");
  std::vector<double> ratios;
  for (const Setting& setting : Settings(largest, learner)) {
    ratios.push_back(Compare(setting, rates));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto within = std::count_if(ratios.begin(), ratios.end(),
                                    [](double ratio) { return ratio >= 1.0 / 3 && ratio <= 3; });
  std::printf("ratio: least %.2f, median %.2f, largest %.2f; %ld of %zu within a factor of 3\n",
              ratios.front(), ratios[ratios.size() / 2], ratios.back(), static_cast<long>(within),
              ratios.size());
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Run(argc > 1 ? std::atoi(argv[1]) : 8000, argc > 2 ? argv[2] : "");
  return 0;
}
