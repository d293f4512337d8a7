// Trainings of several outputs with their parts side by side against one after the other.
//
//   outputs_bench FOLDER [rows] [threads] [parts at once]
//
// FOLDER holds digits/digits.csv.gz and letter/letter.csv.gz: numbers, the last column the class. So
// many rows (1500) of a fixed shuffle are learned, standardised, by one-vs-all and by one-vs-one;
// with one thread and with so many (2). For each it prints, with one part at once and with as many
// as a recipe would take, or so many: the seconds that passed, and those of the busiest thread,
// which a machine that does other things too disturbs less; their ratio, the same of the
// verification, and steps. And which share of the training the distances of all parts are, and the
// sums of their kernels.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/run/composite_learner.h"
#include "core/training/run/run_training.h"
#include "tests/support/processor_seconds.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

constexpr size_t kCacheBytes = size_t{256} << 20;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Processor seconds of each thread so far.
std::map<std::string, double> ThreadSeconds() {
  std::map<std::string, double> seconds;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    seconds[task.path().filename()] = 1e-9 * nanoseconds;
  }
  return seconds;
}

// Of the thread that has worked most since then: about the time that would have passed on a machine
// with nothing else to do.
double BusiestSince(const std::map<std::string, double>& then) {
  double most = 0;
  for (const auto& [thread, seconds] : ThreadSeconds()) {
    const auto before = then.find(thread);
    most = std::max(most, seconds - (before == then.end() ? 0 : before->second));
  }
  return most;
}

struct Table {
  RowMatrix features;
  std::vector<int> classes;
};

// The first `rows` rows of a fixed shuffle of a table of numbers with a header.
Table Read(const std::string& path, Index rows) {
  std::vector<std::vector<double>> all;
  gzFile file = gzopen(path.c_str(), "rb");
  std::vector<char> line(size_t{1} << 16);
  bool header = true;
  while (file != nullptr && gzgets(file, line.data(), static_cast<int>(line.size())) != nullptr) {
    std::vector<double> row;
    for (char* cell = line.data(); !header && *cell != '\0' && *cell != '\n';) {
      row.push_back(std::strtod(cell, &cell));
      cell += *cell == ',' ? 1 : 0;
    }
    if (!std::exchange(header, false)) {
      all.push_back(std::move(row));
    }
  }
  if (all.empty()) {
    std::fprintf(stderr, "%s: no rows\n", path.c_str());
    std::exit(2);
  }
  gzclose(file);
  RandomStream(1, "outputs-bench").Shuffle(all);
  all.resize(std::min(all.size(), static_cast<size_t>(rows)));
  const auto columns = static_cast<Index>(all[0].size()) - 1;
  Table table;
  table.features.resize(static_cast<Index>(all.size()), columns);
  for (size_t i = 0; i < all.size(); ++i) {
    table.features.row(static_cast<Index>(i)) =
        Eigen::Map<const Eigen::RowVectorXd>(all[i].data(), columns);
    table.classes.push_back(static_cast<int>(all[i].back()));
  }
  table.features.rowwise() -= table.features.colwise().mean().eval();
  for (Index j = 0; j < columns; ++j) {
    const double norm = table.features.col(j).norm();
    table.features.col(j) *= std::sqrt(static_cast<double>(all.size())) / std::max(norm, 1e-300);
  }
  return table;
}

Matrix Targets(const std::vector<int>& classes, bool pairs) {
  std::map<int, Index> numbers;
  for (const int one : classes) {
    numbers.emplace(one, static_cast<Index>(numbers.size()));
  }
  const auto count = static_cast<Index>(numbers.size());
  Matrix targets = pairs ? Matrix::Zero(static_cast<Index>(classes.size()), count * (count - 1) / 2)
                         : Matrix::Constant(static_cast<Index>(classes.size()), count, -1.0);
  for (size_t i = 0; i < classes.size(); ++i) {
    const Index own = numbers[classes[i]];
    Index column = 0;
    for (Index a = 0; a < count && pairs; ++a) {
      for (Index b = a + 1; b < count; ++b, ++column) {
        targets(static_cast<Index>(i), column) = own == a ? 1 : own == b ? -1 : 0;
      }
    }
    if (!pairs) {
      targets(static_cast<Index>(i), own) = 1;
    }
  }
  return targets;
}

class Stopwatch final : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& /*event*/) override {}
  void OnVerifying() override {
    trained = Now();
    busiest = BusiestSince(begun);
    verifying = ThreadSeconds();
  }
  const std::map<std::string, double> begun = ThreadSeconds();
  std::map<std::string, double> verifying;
  double trained = 0;
  double busiest = 0;
};

struct Times {
  double training = 0;
  double busiest = 0;       // of the training
  double verification = 0;  // of the busiest thread
  int64_t steps = 0;
};

Times Train(const LearnerEntry& entry, const TrainingProblem& problem, Index at_once, int threads) {
  RunContext context(CancellationToken(), threads, std::make_shared<SharedCache>(kCacheBytes));
  const RunLimits limits{.parts_at_once = at_once};
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {}, limits);
  Stopwatch watch;
  const double begun = Now();
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem, limits, {}, context, watch);
  if (!outcome.ok()) {
    std::fprintf(stderr, "%s\n", outcome.status().ToString().c_str());
    std::exit(1);
  }
  return {watch.trained - begun, watch.busiest, BusiestSince(watch.verifying), outcome->iterations};
}

Index AtOnce(const LearnerEntry& entry, const TrainingProblem& problem, bool pairs) {
  TrainingRecipe recipe;
  recipe.coding = pairs ? CodingChoice::kOneVsOne : CodingChoice::kOneVsAll;
  ProblemShape shape;
  shape.outputs = problem.num_outputs();
  for (Index output = 0; output < shape.outputs; ++output) {
    shape.rows = std::max(shape.rows, static_cast<Index>(RowsOfOutput(problem, output).size()));
  }
  shape.columns = problem.tasks[0].inputs->blocks[0].values.cols();
  shape.source_columns = shape.columns;
  shape.sources = 1;
  shape.kernels = static_cast<Index>(problem.kernels.size());
  return PartsAtOnce(entry, recipe, shape).value_or(1);
}

// Processor seconds that the distances of all parts take, and the sums of their kernels after that.
std::pair<double, double> KernelSeconds(const TrainingProblem& problem) {
  std::pair<double, double> seconds;
  for (const TrainingProblem& part : SplitOutputs(problem)) {
    RunContext context;
    const double begun = ProcessorSeconds();
    const auto family =
        MakeExactKernelFamily(part.tasks[0].inputs, part.tasks[0].rows, part.kernels, context);
    const double made = ProcessorSeconds();
    if (family.ok() && (*family)->Combine(Vector::Ones((*family)->num_kernels()), context).ok()) {
      seconds.first += made - begun;
      seconds.second += ProcessorSeconds() - made;
    }
  }
  return seconds;
}

// `most`: parts at once; 0: as many as a recipe would take.
void Compare(const std::string& data, const Table& table, int threads, Index most) {
  const double width = std::sqrt(static_cast<double>(table.features.cols()));
  for (const char* name : {"svm", "lp_mkl", "kernel_ridge"}) {
    const LearnerEntry& entry = *FindLearner(name);
    std::vector<double> widths = {0.5 * width};
    if (entry.name == "lp_mkl") {
      widths = {0.25 * width, 0.5 * width, width, 2 * width};
    }
    for (const bool pairs : {false, true}) {
      TrainingProblem problem = MakeProblem(TargetKind::kClassification, table.features,
                                            Targets(table.classes, pairs), widths);
      if (!HasPartPerOutput(entry, {}, problem)) {
        continue;
      }
      auto inputs = std::make_shared<PreparedData>(*problem.tasks[0].inputs);
      inputs->cache_key = data;
      problem.tasks[0].inputs = std::move(inputs);
      const Index at_once = most > 0 ? most : AtOnce(entry, problem, pairs);
      for (const int count : {1, threads}) {
        const Times before = Train(entry, problem, 1, count);
        const Times after = Train(entry, problem, at_once, count);
        std::printf(
            "%-6s %-12s %s %zu rows, %d threads, parts at once 1 and %td: passed %.3f and %.3f s, "
            "busiest thread %.3f and %.3f s, ratio %.2f; verification %.3f and %.3f s, ratio %.2f; "
            "steps %lld and %lld\n",
            data.c_str(), name, pairs ? "one-vs-one" : "one-vs-all", table.classes.size(), count,
            at_once, before.training, after.training, before.busiest, after.busiest,
            before.busiest / after.busiest, before.verification, after.verification,
            before.verification / after.verification, static_cast<long long>(before.steps),
            static_cast<long long>(after.steps));
        if (count == 1) {
          const auto [distances, sums] = KernelSeconds(problem);
          std::printf(
              "  distances of all parts: %.3f s of a processor, %.0f %% of a training; "
              "sums of kernels: %.3f s\n",
              distances, 100 * distances / before.busiest, sums);
        }
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: outputs_bench FOLDER [rows] [threads] [parts at once]\n");
    return 2;
  }
  const mercer::Index rows = argc > 2 ? std::atoi(argv[2]) : 1500;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  const auto most = static_cast<mercer::Index>(argc > 4 ? std::atoi(argv[4]) : 0);
  for (const std::string data : {"digits", "letter"}) {
    const std::string path = std::string(argv[1]) + "/" + data + "/" + data + ".csv.gz";
    mercer::Compare(data, mercer::Read(path, rows), threads, most);
  }
  return 0;
}
