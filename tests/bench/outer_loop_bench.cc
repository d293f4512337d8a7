// The outer loops of lp_mkl on tables of all kinds, each with two recipes, all else as by default:
//   default  no kernels and no options
//   README   Gaussians of half, once and twice the median distance on all columns and one of
//            bandwidth 1 on every column; p = 1.2; a quarter of the rows held out
//
//   outer_loop_bench [LARGEST ROWS [FOLDER | TABLE.csv.gz] ...]       1000 rows without an argument
//
// A table's last column is what is to be learned: a number when it is called "target", classes
// otherwise; of more rows than the largest number, so many are drawn; of a folder, all *.csv.gz in it
// and below. Thirteen synthetic tables come first. A table in Markdown: processor seconds of each
// loop with one thread, the default's time against the best one's, and the estimate of the default's
// time against what it took. Ends with 1 when an aim is missed: the default within twice the best,
// the estimate within a factor of 3.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/machine_rates.h"
#include "tests/bench/learned_tables.h"
#include "tests/bench/silent_observer.h"
#include "tests/support/processor_seconds.h"

namespace mercer {
namespace {

constexpr size_t kCacheBytes = size_t{1} << 30;
constexpr double kMostSlower = 2;  // than the best loop
constexpr double kMostWrong = 3;   // an estimate, either way
// Of the processor's clock and of what else it does: no loop is chosen, and no estimate trusted, for less.
constexpr double kLeastSeconds = 0.1;

// One row of a synthetic table: fills the features and tells what is to be learned of them.
using MakeRow = std::function<double(RandomStream&, Eigen::Ref<Eigen::RowVectorXd>)>;

Table MakeTable(const std::string& name, Index rows, Index columns, int classes,
                const MakeRow& make_row) {
  RandomStream random(1, "outer_loop_bench " + name);
  RowMatrix values(rows, columns);
  Vector scores(rows);
  for (Index i = 0; i < rows; ++i) {
    Eigen::RowVectorXd row(columns);
    scores(i) = make_row(random, row);
    values.row(i) = row;
  }
  Table table;
  table.name = name;
  table.kind = classes == 0 ? TargetKind::kRegression : TargetKind::kClassification;
  table.data.rows = rows;
  RoleColumn target{ColumnRole::kTarget, {"target", false, {}}, scores};
  if (classes > 0) {  // of equal size, by the order of the scores
    std::vector<Index> order(static_cast<size_t>(rows));
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<Index>(i);
    }
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return scores(a) < scores(b); });
    for (size_t i = 0; i < order.size(); ++i) {
      target.values(order[i]) =
          std::floor(static_cast<double>(i) * classes / static_cast<double>(rows));
    }
  }
  FeatureBlock block;
  block.name = std::string(kDefaultBlock);
  for (Index j = 0; j < columns; ++j) {
    block.columns.push_back({"x" + std::to_string(j + 1), false, {}});
  }
  block.values = SharedMatrix(std::move(values));
  table.data.blocks.push_back(std::move(block));
  table.data.role_columns.push_back(std::move(target));
  return table;
}

using RowRef = Eigen::Ref<Eigen::RowVectorXd>;

void FillNormal(RandomStream& random, RowRef row) {
  for (Index j = 0; j < row.size(); ++j) {
    row(j) = random.Normal();
  }
}

double SmoothScore(RandomStream& random, RowRef row) {
  FillNormal(random, row);
  return std::sin(1.5 * row(0)) + 0.7 * row(1) * row(2) + 0.3 * random.Normal();
}

double BinaryScore(RandomStream& random, RowRef row) {
  for (Index j = 0; j < row.size(); ++j) {
    row(j) = random.Uniform() < 0.25 ? 1.0 : 0.0;
  }
  return row(0) + row(1) * row(2) - row(3) + row(4) * (1.0 - row(5)) + 0.3 * random.Normal();
}

double PureNoise(RandomStream& random, RowRef row) {
  FillNormal(random, row);
  return random.Normal();
}

double RepeatedRow(RandomStream& random, RowRef row) {
  for (Index j = 0; j < row.size(); ++j) {
    row(j) = std::floor(2.0 * random.Uniform());
  }
  return row(0) + row(1) - row(2) + 0.5 * random.Normal();
}

double NearlyConstant(RandomStream& random, RowRef row) {
  FillNormal(random, row);
  for (Index j = 2; j < row.size(); ++j) {
    row(j) = random.Uniform() < 0.01 ? 1.0 : 0.0;
  }
  return row(0) * row(1) + 0.2 * random.Normal();
}

double ConstantColumns(RandomStream& random, RowRef row) {
  const double score = SmoothScore(random, row);
  row.tail(row.size() / 2).setConstant(3.0);
  return score;
}

double HeavyTails(RandomStream& random, RowRef row) {
  FillNormal(random, row);
  row = row.array().cube().exp();
  return std::log(row(0)) - std::log(row(1)) + random.Normal();
}

double CopiedColumns(RandomStream& random, RowRef row) {
  const double score = SmoothScore(random, row);
  for (Index j = 5; j < row.size(); ++j) {
    row(j) = row(j % 5);
  }
  return score;
}

double Separated(RandomStream& random, RowRef row) {
  FillNormal(random, row);
  return row(0) > 0 ? 1.0 + row.sum() * 1e-3 : row.sum() * 1e-3;
}

std::vector<Table> SyntheticTables(Index rows) {
  std::vector<Table> tables;
  tables.push_back(MakeTable("smooth", rows, 10, 2, SmoothScore));
  tables.push_back(MakeTable("smooth number", rows, 10, 0, SmoothScore));
  tables.push_back(MakeTable("ten classes", rows, 10, 10, SmoothScore));
  tables.push_back(MakeTable("binary columns", rows, 120, 2, BinaryScore));
  tables.push_back(MakeTable("binary, three classes", rows, 180, 3, BinaryScore));
  tables.push_back(MakeTable("wide", std::min<Index>(rows, 80), 800, 2, SmoothScore));
  tables.push_back(MakeTable("noise alone", rows, 30, 2, PureNoise));
  tables.push_back(MakeTable("repeated rows", rows, 6, 2, RepeatedRow));
  tables.push_back(MakeTable("nearly constant columns", rows, 40, 2, NearlyConstant));
  tables.push_back(MakeTable("constant columns", rows, 12, 2, ConstantColumns));
  tables.push_back(MakeTable("heavy tails", rows, 8, 2, HeavyTails));
  tables.push_back(MakeTable("copied columns", rows, 20, 2, CopiedColumns));
  tables.push_back(MakeTable("separated classes", rows, 10, 2, Separated));
  return tables;
}

struct LoopRun {
  double seconds = kInfinity;
  double gap = kInfinity;
};

enum class RecipeChoice : uint8_t { kDefault, kReadme };

// An empty loop is the default.
TrainingRecipe MakeRecipe(const Table& table, RecipeChoice choice, const std::string& loop) {
  TrainingRecipe recipe;
  recipe.learner = "lp_mkl";
  recipe.kind = table.kind;
  recipe.target_scaling = TargetScaling::kStandardize;
  recipe.limits.max_time = absl::Seconds(600);
  if (!loop.empty()) {
    recipe.options["outer_loop"] = loop;
  }
  if (choice == RecipeChoice::kReadme) {
    recipe.options["p"] = 1.2;
    KernelGrid whole;
    whole.rule = BandwidthRule::kMedianMultiples;
    whole.bandwidths = {0.5, 1, 2};
    KernelGrid columns;
    columns.per_column = true;
    recipe.kernels = {whole, columns};
    recipe.validation = {ValidationKind::kHoldOut, 0.25, {}};
  }
  return recipe;
}

LoopRun Time(const Table& table, const TrainingRecipe& recipe) {
  RunContext context(CancellationToken(), 1, std::make_shared<SharedCache>(kCacheBytes));
  SilentObserver observer;
  const double start = ProcessorSeconds();
  const auto trained = RunRecipe({FindLearner("lp_mkl"), &recipe, &table.data, table.name, "bench"},
                                 "", context, observer);
  if (!trained.ok()) {
    std::fprintf(stderr, "%s: %s\n", table.name.c_str(),
                 std::string(trained.status().message()).c_str());
    return {};
  }
  return {ProcessorSeconds() - start, trained->model.certificate.accuracy};
}

// Of all tables and recipes.
struct Findings {
  std::vector<double> to_best;    // the default's time against the best one's
  std::vector<double> estimates;  // against the default's time
  int missed = 0;
};

// How many times too large or too small an estimate is, whichever is more than 1.
double Wrong(double estimate, double seconds) {
  return std::max(estimate, kLeastSeconds) / std::max(seconds, kLeastSeconds);
}

void Measure(const Table& table, RecipeChoice choice, const WorkCount& rates, Findings& findings) {
  std::printf("| %s | %ld x %ld | %s |", table.name.c_str(), static_cast<long>(table.data.rows),
              static_cast<long>(table.data.blocks.front().values.cols()),
              choice == RecipeChoice::kDefault ? "default" : "README");
  const TrainingRecipe of_default = MakeRecipe(table, choice, "");
  const auto estimate = EstimateRecipeSeconds(*FindLearner("lp_mkl"), of_default, table.data,
                                              {rates, 1, kCacheBytes}, RunContext());
  const LoopRun run = Time(table, of_default);
  std::printf(" %.2f |", run.seconds);
  double best = run.seconds;
  for (const char* loop : {"over_relaxed", "alternation", "smo_mkl"}) {
    const LoopRun other = Time(table, MakeRecipe(table, choice, loop));
    // A loop that gave up early is no measure.
    best = other.gap <= 2 * of_default.limits.relative_gap ? std::min(best, other.seconds) : best;
    std::printf(std::isfinite(other.seconds) ? " %.2f |" : " – |", other.seconds);
    std::fflush(stdout);
  }
  const double to_best = std::max(run.seconds, kLeastSeconds) / std::max(best, kLeastSeconds);
  const double wrong = Wrong(estimate.value_or(0.0), run.seconds);
  const bool missed = to_best > kMostSlower || wrong > kMostWrong || wrong < 1 / kMostWrong;
  std::printf(" %.2f | %.2f |%s\n", to_best, wrong, missed ? " missed |" : " |");
  std::fflush(stdout);
  findings.to_best.push_back(to_best);
  findings.estimates.push_back(wrong);
  findings.missed += missed ? 1 : 0;
}

void PrintRatios(const char* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  std::printf("%s: least %.2f, median %.2f, largest %.2f of %zu\n", what, ratios.front(),
              ratios[ratios.size() / 2], ratios.back(), ratios.size());
}

std::vector<std::string> FilesOf(const std::string& place) {
  if (!std::filesystem::is_directory(place)) {
    return {place};
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file() && path.size() > 7 && path.substr(path.size() - 7) == ".csv.gz") {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int Run(int argc, char** argv) {
  const Index rows = argc > 1 ? std::atol(argv[1]) : 1000;
  const WorkCount rates = MeasureRates();
  Findings findings;
  const auto measure = [&](const Table& table) {
    for (const RecipeChoice choice : {RecipeChoice::kDefault, RecipeChoice::kReadme}) {
      Measure(table, choice, rates, findings);
    }
  };
  std::printf(
      "| table | rows x columns | recipe | newton (default) | over_relaxed | alternation | smo_mkl "
      "| to the best | estimate | |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Table& table : SyntheticTables(rows)) {
    measure(table);
  }
  for (int i = 2; i < argc; ++i) {
    for (const std::string& file : FilesOf(argv[i])) {
      absl::StatusOr<Table> table = ReadTable(file);
      if (!table.ok()) {
        std::fprintf(stderr, "%s: %s\n", file.c_str(),
                     std::string(table.status().message()).c_str());
        continue;
      }
      DrawRows(rows, table->data);
      measure(*table);
    }
  }
  PrintRatios("\ndefault against the best loop", findings.to_best);
  PrintRatios("estimate against the default", findings.estimates);
  std::printf("%d aims missed\n", findings.missed);
  return findings.missed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) { return mercer::Run(argc, argv); }
