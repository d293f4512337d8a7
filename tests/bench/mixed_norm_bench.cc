// mixed_norm_mkl with many kernels, two threads.
//
//   mixed_norm_bench methods [KERNELS ...]  methods against each other, one group of kernels; 100
//                                           and 1000 kernels without a number
//   mixed_norm_bench growth [LARGEST]       the default and simple_mkl with 30 .. 10000 kernels
//   mixed_norm_bench many [KERNELS [SETTINGS]]
//                                           10000 kernels, of columns, blocks of them and one
//                                           source, in one group and then in several: time and
//                                           memory against the estimates; the first settings, or
//                                           all 7
//   mixed_norm_bench shared [ROWS]          the same of pairs of 3 to 30 classes that share their
//                                           weights
//
// Gaussian kernels of variance 1, of each set of columns 10 widths from 1/8 to 8 of the usual
// distance; classes by three of the columns and noise. All methods share the solver of the
// machines. Every run is a process of its own; its memory is what that grew by. Seconds are wall
// time; processor seconds stand beside it, since other programs may disturb it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/machine_rates.h"
#include "tests/support/peak_growth.h"
#include "tests/support/processor_seconds.h"

namespace mercer {
namespace {

constexpr double kGap = 1e-3;
constexpr size_t kNumGaps = 2;
constexpr std::array<double, kNumGaps> kGaps = {1e-1, 1e-2};
constexpr double kMostSeconds = 600;
constexpr int kThreads = 2;
constexpr size_t kCacheBytes = size_t{256} << 20;  // the server's
constexpr uint64_t kSeed = 1;

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Sets of columns, each of so many widths; neighbouring sets are in one group.
struct Setting {
  Index rows = 0;
  Index sets = 0;
  Index columns = 0;  // of a set
  Index widths = 10;
  Index groups = 1;
  double C = 10;  // comparable
  int classes = 2;

  Index kernels() const { return sets * widths; }
};

struct Result {
  bool ok = false;
  bool converged = false;
  int64_t solves = 0;
  std::array<int64_t, kNumGaps> solves_to = {};
  double seconds = 0;    // of the training
  double processor = 0;  // of the training
  double verification = 0;
  double processor_of_all = 0;
  double gap = kInfinity;
  double primal = 0;
  double dual = 0;
  Index active = 0;
  double estimated_bytes = 0;
  double estimated_seconds = 0;  // with one thread
  double bytes = 0;
};

class Watch final : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& event) override {
    solves_ += event.report.stage == "weights" ? 1 : 0;
    for (size_t i = 0; i < kNumGaps; ++i) {
      if (solves_to_[i] == 0 && event.report.accuracy <= kGaps[i]) {
        solves_to_[i] = solves_;
      }
    }
  }
  void OnVerifying() override {
    trained_ = WallSeconds();
    processor_ = ProcessorSeconds();
  }

  int64_t solves() const { return solves_; }
  // Until the gap was at most kGaps[i]; 0: it never was.
  const std::array<int64_t, kNumGaps>& solves_to() const { return solves_to_; }
  double trained() const { return trained_; }
  double processor() const { return processor_; }

 private:
  int64_t solves_ = 0;
  std::array<int64_t, kNumGaps> solves_to_ = {};
  double trained_ = 0;
  double processor_ = 0;
};

Dataset MakeData(const Setting& setting) {
  RandomStream random(kSeed, "mixed_norm_bench");
  Dataset data;
  data.rows = setting.rows;
  const Index columns = setting.sets * setting.columns;
  RowMatrix x(setting.rows, columns);
  RoleColumn target{ColumnRole::kTarget, {"target", false, {}}, Vector(setting.rows)};
  for (Index i = 0; i < setting.rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      x(i, j) = random.Normal();
    }
    const auto at = [&](Index set) {
      return x(i, (set % setting.sets) * setting.columns + set % setting.columns);
    };
    const double score =
        std::sin(2 * at(0)) + 0.7 * at(1) + 0.5 * std::cos(2 * at(2)) + 0.4 * random.Normal();
    // Classes of about the same size, whose parts of the score overlap.
    const double share = 0.5 * std::erfc(-(score - 0.1) / 1.3);
    target.values(i) = setting.classes == 2 ? (score > 0.1 ? 1.0 : 0.0)
                                            : std::min<double>(std::floor(share * setting.classes),
                                                               setting.classes - 1);
  }
  FeatureBlock block;
  block.name = "features";
  for (Index j = 0; j < columns; ++j) {
    block.columns.push_back({absl::StrCat("x", j), false, {}});
  }
  block.values = SharedMatrix(std::move(x));
  data.blocks.push_back(std::move(block));
  data.role_columns.push_back(std::move(target));
  return data;
}

TrainingRecipe MakeRecipe(const Setting& setting, const std::string& method) {
  TrainingRecipe recipe;
  recipe.learner = "mixed_norm_mkl";
  recipe.options = {{"C", setting.C},
                    {"cost_scale", std::string("comparable")},
                    {"method", method},
                    {"max_svm_solves", int64_t{1000000}}};
  if (setting.classes > 2) {
    recipe.coding = CodingChoice::kOneVsOne;
    recipe.options["shared_weights"] = true;
  }
  recipe.limits.relative_gap = kGap;
  recipe.limits.max_time = absl::Seconds(kMostSeconds);
  recipe.seed = kSeed;
  const double distance = std::sqrt(2.0 * static_cast<double>(setting.columns));
  for (Index set = 0; set < setting.sets; ++set) {
    KernelGrid grid;
    grid.rule = BandwidthRule::kLogSpaced;
    grid.count = static_cast<int>(setting.widths);
    grid.min_bandwidth = distance / 8;
    grid.max_bandwidth = distance * 8;
    grid.prototype.normalization.scaling = KernelScaling::kVariance;
    grid.prototype.labels.group = absl::StrCat("group ", set * setting.groups / setting.sets);
    for (Index j = 0; j < setting.columns && setting.sets > 1; ++j) {
      grid.prototype.columns.push_back(absl::StrCat("x", set * setting.columns + j));
    }
    recipe.kernels.push_back(std::move(grid));
  }
  return recipe;
}

Result Train(const Setting& setting, const std::string& method, const WorkCount& rates) {
  Result result;
  const Dataset data = MakeData(setting);
  const TrainingRecipe recipe = MakeRecipe(setting, method);
  const LearnerEntry* entry = FindLearner(recipe.learner);
  const auto bytes = EstimateRecipeMemory(*entry, recipe, data, RunContext());
  const auto estimate =
      EstimateRecipeSeconds(*entry, recipe, data, {rates, 1, kCacheBytes}, RunContext());
  RunContext context(CancellationToken(), kThreads, std::make_shared<SharedCache>(kCacheBytes));
  Watch watch;
  const double start = WallSeconds();
  const double processor = ProcessorSeconds();
  const auto trained = RunRecipe({entry, &recipe, &data, "data", "bench"}, "", context, watch);
  if (!trained.ok() || !bytes.ok() || !estimate.ok()) {
    std::printf("%s\n", std::string(trained.status().message()).c_str());
    return result;
  }
  const Certificate& certificate = trained->model.certificate;
  result.ok = true;
  result.converged = trained->model.stop_reason == StopReason::kConverged;
  result.solves = watch.solves();
  result.solves_to = watch.solves_to();
  result.seconds = watch.trained() - start;
  result.processor = watch.processor() - processor;
  result.verification = WallSeconds() - watch.trained();
  result.processor_of_all = ProcessorSeconds() - processor;
  result.gap = certificate.accuracy;
  result.primal = certificate.primal;
  result.dual = certificate.dual;
  result.active = (trained->model.summary.kernel_weights.array() > 0).count();
  result.estimated_bytes = static_cast<double>(*bytes);
  result.estimated_seconds = *estimate;
  return result;
}

// In a process of its own.
Result Measure(const Setting& setting, const std::string& method, const WorkCount& rates) {
  void* shared =
      mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return {};
  }
  std::fflush(stdout);
  const int64_t grown = PeakGrowth([&] {
    const Result of_child = Train(setting, method, rates);
    std::memcpy(shared, &of_child, sizeof(Result));
    std::fflush(stdout);
    return of_child.ok;
  });
  Result result;
  std::memcpy(&result, shared, sizeof(Result));
  munmap(shared, sizeof(Result));
  result.bytes = static_cast<double>(grown);
  result.ok = result.ok && grown > 0;
  return result;
}

void PrintSetting(const Setting& setting) {
  std::printf(
      "%ld rows, %d classes, %ld kernels: %ld sets of %ld columns x %ld widths, %ld groups, "
      "comparable C %g",
      static_cast<long>(setting.rows), setting.classes, static_cast<long>(setting.kernels()),
      static_cast<long>(setting.sets), static_cast<long>(setting.columns),
      static_cast<long>(setting.widths), static_cast<long>(setting.groups), setting.C);
}

void CompareMethods(const std::vector<Index>& counts, const WorkCount& rates) {
  for (const Index kernels : counts) {
    const Setting setting{.rows = 400, .sets = kernels / 10, .columns = 2};
    PrintSetting(setting);
    std::printf(
        "\n\n| method | machines to 1e-1 | to 1e-2 | to the end | gap | s | processor s | kernels "
        "in "
        "use | machines, times newton's | time, times newton's |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    Result newton;
    for (const char* method : {"newton", "interior_point", "simple_mkl", "mirror_descent",
                               "alternating_mirror_descent", "closed_form"}) {
      const Result run = Measure(setting, method, rates);
      newton = std::string(method) == "newton" ? run : newton;
      std::printf("| %s |", method);
      for (const int64_t machines : run.solves_to) {
        std::printf(machines > 0 ? " %ld |" : " - |", static_cast<long>(machines));
      }
      std::printf(" %ld%s | %.1e | %.2f | %.2f | %ld | %.1f | %.1f |\n",
                  static_cast<long>(run.solves), run.converged ? "" : ", not done", run.gap,
                  run.seconds, run.processor, static_cast<long>(run.active),
                  static_cast<double>(run.solves) / static_cast<double>(newton.solves),
                  run.processor / newton.processor);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

void Grow(Index largest, const WorkCount& rates) {
  // SimpleMKL is not tried any more when the last number of kernels took it so long.
  constexpr double kLongSeconds = 120;
  std::printf("400 rows, sets of 2 columns x 10 widths, one group, comparable C 10\n\n");
  std::printf(
      "| kernels | default: machines | s | processor s | gap | simple_mkl: machines | s | gap | "
      "processor s, times the default's |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  double rival = 0;
  for (const Index kernels : {30, 100, 300, 1000, 3000, 10000}) {
    if (kernels > largest) {
      break;
    }
    const Setting setting{.rows = 400, .sets = kernels / 10, .columns = 2};
    const Result run = Measure(setting, "auto", rates);
    std::printf("| %ld | %ld | %.2f | %.2f | %.1e |", static_cast<long>(kernels),
                static_cast<long>(run.solves), run.seconds, run.processor, run.gap);
    std::fflush(stdout);
    if (rival < kLongSeconds) {
      const Result other = Measure(setting, "simple_mkl", rates);
      rival = other.seconds;
      std::printf(" %ld%s | %.2f | %.1e | %.1f |\n", static_cast<long>(other.solves),
                  other.converged ? "" : ", not done", other.seconds, other.gap,
                  other.processor / run.processor);
    } else {
      std::printf(" - | - | - | - |\n");
    }
    std::fflush(stdout);
  }
  std::printf("\n");
}

// Time and memory against the estimates.
void CompareEstimates(const std::vector<Setting>& settings, const WorkCount& rates) {
  std::printf(
      "| setting | machines | s | verification s | processor s | and of the verification | gap | "
      "kernels in use | MB | estimate, times MB | estimate, times processor s |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Setting& setting : settings) {
    std::printf("| ");
    PrintSetting(setting);
    const Result run = Measure(setting, "auto", rates);
    std::printf("%s | %ld | %.2f | %.2f | %.2f | %.2f | %.1e | %ld | %.0f | %.2f | %.2f |\n",
                run.converged ? "" : ", not done", static_cast<long>(run.solves), run.seconds,
                run.verification, run.processor, run.processor_of_all - run.processor, run.gap,
                static_cast<long>(run.active), run.bytes / (1 << 20),
                run.estimated_bytes / run.bytes, run.estimated_seconds / run.processor_of_all);
    std::fflush(stdout);
  }
  std::printf("\n");
}

void TrainMany(Index kernels, size_t count, const WorkCount& rates) {
  const Index sets = kernels / 10;
  std::vector<Setting> settings = {{.rows = 1000, .sets = sets, .columns = 1},
                                   {.rows = 1000, .sets = sets, .columns = 5},
                                   {.rows = 1000, .sets = 1, .columns = 10, .widths = kernels},
                                   {.rows = 1000, .sets = sets, .columns = 1, .groups = 10},
                                   {.rows = 1000, .sets = sets, .columns = 5, .groups = 10},
                                   {.rows = 1000, .sets = sets, .columns = 5, .groups = sets / 10},
                                   {.rows = 1000, .sets = sets, .columns = 5, .groups = sets}};
  settings.resize(std::min(count, settings.size()));
  CompareEstimates(settings, rates);
}

void TrainShared(Index rows, const WorkCount& rates) {
  std::vector<Setting> settings;
  for (const int classes : {3, 10, 30}) {
    settings.push_back({.rows = rows, .sets = 1, .columns = 5, .classes = classes});
    settings.push_back(
        {.rows = rows, .sets = 6, .columns = 5, .widths = 9, .groups = 6, .classes = classes});
  }
  CompareEstimates(settings, rates);
}

int Run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const WorkCount rates = MeasureRates();
  std::printf("seed %llu, gap %g, %d threads, at most %g s a run\n\n",
              static_cast<unsigned long long>(kSeed), kGap, kThreads, kMostSeconds);
  if (what == "methods") {
    std::vector<Index> counts;
    for (int i = 2; i < argc; ++i) {
      counts.push_back(std::atol(argv[i]));
    }
    CompareMethods(counts.empty() ? std::vector<Index>{100, 1000} : counts, rates);
  } else if (what == "growth") {
    Grow(argc > 2 ? std::atol(argv[2]) : 10000, rates);
  } else if (what == "many") {
    TrainMany(argc > 2 ? std::atol(argv[2]) : 10000,
              argc > 3 ? static_cast<size_t>(std::atol(argv[3])) : 7, rates);
  } else if (what == "shared") {
    TrainShared(argc > 2 ? std::atol(argv[2]) : 2000, rates);
  } else {
    std::fprintf(stderr, "methods, growth, many or shared\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) { return mercer::Run(argc, argv); }
