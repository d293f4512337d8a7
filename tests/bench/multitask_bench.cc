// Solvers of problems of several tasks that share their columns, two threads.
//
//   multitask_bench sizes [NAME]     the joint interior point on its working set, by size of data
//   multitask_bench methods          against machines and weights in turn: reduced gradient, closed
//                                    form, Newton's steps; and against dual coordinate descent,
//                                    whose iterations are epochs of a task
//   multitask_bench path             ten costs from 0.1 to 10, each from the last, against one
//   multitask_bench precision        what gap is reached at the least, by cost and form
//   multitask_bench recordings FILE  four tasks of 180 rows of a gzipped CSV file with the columns
//                                    task, recording, features, label (p300_muse.csv.gz)
//
// Two kinds of random data. `recordings`: 64 channels of 14 frames; in six channels the rows of the
// rarer class, one in six, have a bump over the frames whose size is the task's own; noise that
// runs on in time (0.7) and over channels (0.5), and offsets of tasks. `toy`: normal numbers, whose
// first columns are shifted by class, by signs of each task; classes alternate. Columns have mean 0
// and variance 1 in each task; every column is a block.
//
// Every run is a process of its own; its memory is what that grew by, the data included. Seconds
// are wall time; processor seconds stand beside it, since other programs may disturb it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/solvers/multitask/alternation_solver.h"
#include "core/solvers/multitask/column_kernels.h"
#include "core/solvers/multitask/dual_coordinate_solver.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "tests/bench/bench_tables.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

constexpr double kGap = 1e-6;
constexpr int kThreads = 2;
constexpr uint64_t kSeed = 1;
constexpr double kMostSeconds = 120;
constexpr Index kChannels = 64;
constexpr Index kFrames = 14;

double Seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

enum class DataKind { kRecordings, kToy, kFile };

struct Setting {
  const char* name = "";
  DataKind kind = DataKind::kToy;
  Index tasks = 4;
  Index rows = 180;
  Index columns = kChannels * kFrames;
  double cost = 10;
  TaskNormForm form = TaskNormForm::kSquared;
  double gap = kGap;
  std::string path = {};  // of a file
};

struct Result {
  bool ok = false;
  double gap = kInfinity;
  double primal = 0;
  int64_t iterations = 0;
  Index working = 0;
  Index selected = 0;
  int64_t passes = 0;
  double seconds = 0;
  double processor = 0;
  double bytes = 0;
};

struct TaskRows {
  Matrix inputs;
  Vector targets;
};

TaskRows MakeRecordings(const Setting& setting, Index task) {
  constexpr Index kTelling = 6;
  RandomStream random(kSeed, "multitask_bench", static_cast<uint64_t>(task));
  TaskRows made{Matrix(setting.rows, kChannels * kFrames), Vector(setting.rows)};
  const double offset = random.Normal();
  Vector sizes(kTelling);
  for (double& size : sizes) {
    size = 0.8 + 0.4 * random.Normal();
  }
  Matrix noise(kChannels, kFrames);
  for (Index i = 0; i < setting.rows; ++i) {
    made.targets(i) = i % 6 == 0 ? 1 : -1;
    for (Index f = 0; f < kFrames; ++f) {
      for (Index c = 0; c < kChannels; ++c) {
        const double fresh = random.Normal();
        const double own = c == 0 ? fresh : 0.5 * noise(c - 1, f) + std::sqrt(0.75) * fresh;
        noise(c, f) = own;
      }
      for (Index c = 0; c < kChannels && f > 0; ++c) {
        noise(c, f) = 0.7 * noise(c, f - 1) + std::sqrt(0.51) * noise(c, f);
      }
    }
    for (Index c = 0; c < kChannels; ++c) {
      for (Index f = 0; f < kFrames; ++f) {
        const double away = (static_cast<double>(f) - 7) / 2;
        const bool bump = made.targets(i) > 0 && c % 10 == 0 && c / 10 < kTelling;
        made.inputs(i, c * kFrames + f) =
            noise(c, f) + offset + (bump ? sizes(c / 10) * std::exp(-0.5 * away * away) : 0);
      }
    }
  }
  return made;
}

TaskRows MakeToy(const Setting& setting, Index task) {
  constexpr Index kTelling = 4;
  RandomStream random(kSeed, "multitask_bench", static_cast<uint64_t>(task));
  TaskRows made{Matrix(setting.rows, setting.columns), Vector(setting.rows)};
  Vector shifts(kTelling);
  for (double& shift : shifts) {
    shift = random.Uniform() < 0.5 ? -0.4 : 0.4;
  }
  for (Index i = 0; i < setting.rows; ++i) {
    made.targets(i) = i % 2 == 0 ? 1 : -1;
    for (Index j = 0; j < setting.columns; ++j) {
      made.inputs(i, j) = random.Normal() + (j < kTelling ? made.targets(i) * shifts(j) : 0);
    }
  }
  return made;
}

// Random rows of a task; none where there is no file.
TaskRows ReadRows(const Setting& setting, Index task) {
  std::vector<std::vector<double>> rows;
  for (std::vector<double>& row : ReadNumbers(setting.path)) {
    if (row[0] == static_cast<double>(task + 1)) {
      rows.push_back(std::move(row));
    }
  }
  RandomStream(kSeed, "multitask_bench", static_cast<uint64_t>(task)).Shuffle(rows);
  const Index count = std::min(setting.rows, static_cast<Index>(rows.size()));
  TaskRows made{Matrix(count, setting.columns), Vector(count)};
  for (Index i = 0; i < count; ++i) {
    const std::vector<double>& row = rows[static_cast<size_t>(i)];
    made.inputs.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data() + 2, setting.columns);
    made.targets(i) = row.back();
  }
  return made;
}

MultitaskProblem MakeProblem(const Setting& setting) {
  MultitaskProblem problem{
      MakeLoss(LossKind::kHinge).value(), {}, TaskNorm::Make(setting.form, 1, 2).value()};
  const auto blocks = std::make_shared<const ColumnBlocks>(IndexRange(0, setting.columns));
  for (Index t = 0; t < setting.tasks; ++t) {
    TaskRows rows = setting.kind == DataKind::kRecordings ? MakeRecordings(setting, t)
                    : setting.kind == DataKind::kToy      ? MakeToy(setting, t)
                                                          : ReadRows(setting, t);
    for (Index j = 0; j < rows.inputs.cols(); ++j) {
      auto column = rows.inputs.col(j).array();
      column -= column.mean();
      column /= std::sqrt(column.square().mean());
    }
    const Index count = rows.targets.size();
    problem.tasks.push_back({std::make_shared<const ColumnKernels>(
                                 std::make_shared<const Matrix>(std::move(rows.inputs)), blocks),
                             std::move(rows.targets), Vector::Constant(count, setting.cost)});
  }
  return problem;
}

// Until the gap is reached or the time is over.
bool Finish(MultitaskSolver& solver, RunContext& context, Result& result) {
  const double start = Seconds(CLOCK_MONOTONIC);
  const double processor = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  bool ok = true;
  while (ok && !solver.done() && Seconds(CLOCK_MONOTONIC) - start < kMostSeconds) {
    ok = solver.Step(context).ok();
  }
  result.seconds += Seconds(CLOCK_MONOTONIC) - start;
  result.processor += Seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
  result.gap = solver.best().RelativeGap();
  result.primal = solver.best().primal;
  result.iterations += solver.iterations();
  result.selected = (solver.best().weights.colwise().sum().array() > 0).count();
  return ok;
}

// From where `before` is, where there is one.
bool SolveOnWorkingSet(WorkingSetSolver& solver, const WorkingSetSolver* before,
                       RunContext& context, Result& result) {
  const double start = Seconds(CLOCK_MONOTONIC);
  const double processor = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  bool ok = (before != nullptr ? solver.StartFrom(*before, context) : solver.Start(context)).ok();
  result.seconds += Seconds(CLOCK_MONOTONIC) - start;
  result.processor += Seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
  ok = ok && Finish(solver, context, result);
  result.working = solver.working_blocks();
  result.passes += solver.passes();
  return ok;
}

enum class Method { kWorkingSet, kReducedGradient, kClosedForm, kNewton, kCoordinates, kPath };

TaskWeightRule RuleOf(Method method) {
  return method == Method::kNewton       ? TaskWeightRule::kNewton
         : method == Method::kClosedForm ? TaskWeightRule::kClosedForm
                                         : TaskWeightRule::kReducedGradient;
}

Result Run(const Setting& setting, Method method) {
  Result result;
  MultitaskProblem problem = MakeProblem(setting);
  RunContext context(CancellationToken(), kThreads, nullptr);
  if (method == Method::kWorkingSet) {
    WorkingSetSolver solver(problem, setting.gap);
    result.ok = SolveOnWorkingSet(solver, nullptr, context, result);
  } else if (method == Method::kPath) {
    constexpr int kCosts = 10;
    constexpr double kLeastCost = 0.1;
    std::unique_ptr<WorkingSetSolver> before;
    result.ok = true;
    for (int i = 0; i < kCosts && result.ok; ++i) {
      const double cost = kLeastCost * std::pow(setting.cost / kLeastCost, i / (kCosts - 1.0));
      for (MultitaskTask& task : problem.tasks) {
        task.costs.setConstant(cost);
      }
      auto solver = std::make_unique<WorkingSetSolver>(problem, setting.gap);
      result.ok = SolveOnWorkingSet(*solver, before.get(), context, result);
      before = std::move(solver);
    }
  } else if (method == Method::kCoordinates) {
    DualCoordinateSolver solver(problem, {.relative_gap = setting.gap, .max_steps = 1000000});
    result.ok = solver.Start(context).ok() && Finish(solver, context, result);
    result.iterations = solver.epochs();
    result.working = problem.num_blocks();
    result.passes = solver.iterations();
  } else {
    AlternationOptions options;
    options.rule = RuleOf(method);
    options.relative_gap = setting.gap;
    options.max_steps = 1000000;
    AlternationSolver solver(problem, options);
    result.ok = solver.Start(context).ok() && Finish(solver, context, result);
    result.working = problem.num_blocks();
    result.passes = solver.iterations();
  }
  return result;
}

// In a process of its own.
Result Measure(const Setting& setting, Method method) {
  void* shared =
      mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return {};
  }
  std::fflush(stdout);
  const int64_t grown = PeakGrowth([&] {
    const Result of_child = Run(setting, method);
    std::memcpy(shared, &of_child, sizeof(Result));
    return of_child.ok;
  });
  Result result;
  std::memcpy(&result, shared, sizeof(Result));
  munmap(shared, sizeof(Result));
  result.bytes = static_cast<double>(grown);
  result.ok = result.ok && grown > 0;
  return result;
}

void PrintHead() {
  std::printf(
      "| run | form, C | gap | objective | iterations | working blocks | selected | passes | s | "
      "processor s | MB |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
}

Result MeasureRow(const Setting& setting, Method method, const char* name) {
  const Result run = Measure(setting, method);
  std::printf(
      "| %s: %ld x %ld x %ld%s | %s, %g | %.1e | %.9g | %ld | %ld | %ld | %ld | %.2f | %.2f | %.0f "
      "|\n",
      name, static_cast<long>(setting.tasks), static_cast<long>(setting.rows),
      static_cast<long>(setting.columns), run.ok ? "" : ", failed",
      setting.form == TaskNormForm::kSquared ? "squared" : "plain", setting.cost, run.gap,
      run.primal, static_cast<long>(run.iterations), static_cast<long>(run.working),
      static_cast<long>(run.selected), static_cast<long>(run.passes), run.seconds, run.processor,
      run.bytes / (1 << 20));
  std::fflush(stdout);
  return run;
}

std::vector<Setting> Sizes() {
  return {{.name = "recordings", .kind = DataKind::kRecordings},
          {.name = "same", .columns = kChannels * kFrames},
          {.name = "wide", .rows = 100, .columns = 5000},
          {.name = "many", .tasks = 20, .rows = 1000, .columns = 2000},
          {.name = "one", .tasks = 1, .rows = 2000, .columns = 500},
          {.name = "plain", .kind = DataKind::kRecordings, .form = TaskNormForm::kPlain}};
}

void CompareMethods() {
  for (Setting setting :
       {Setting{.name = "small", .rows = 60, .columns = 100, .cost = 1, .gap = 1e-2},
        Setting{.name = "recordings", .kind = DataKind::kRecordings, .gap = 1e-2}}) {
    MeasureRow(setting, Method::kReducedGradient, "reduced gradient to 1e-2");
    MeasureRow(setting, Method::kNewton, "Newton on weights to 1e-2");
    MeasureRow(setting, Method::kWorkingSet, "interior point to 1e-2");
    for (const double gap : {1e-1, 1e-2, 1e-3}) {
      setting.gap = gap;
      MeasureRow(setting, Method::kCoordinates, "coordinate descent");
      MeasureRow(setting, Method::kClosedForm, "closed form");
    }
    setting.gap = kGap;
    MeasureRow(setting, Method::kNewton, "Newton on weights");
    MeasureRow(setting, Method::kWorkingSet, "interior point");
  }
}

void ComparePath() {
  for (Setting setting :
       {Setting{.name = "recordings", .kind = DataKind::kRecordings},
        Setting{.name = "wide", .rows = 100, .columns = 5000},
        Setting{.name = "plain", .kind = DataKind::kRecordings, .form = TaskNormForm::kPlain}}) {
    for (const double gap : {1e-3, kGap}) {
      setting.gap = gap;
      const Result one = MeasureRow(setting, Method::kWorkingSet, "one cost");
      const Result ten = MeasureRow(setting, Method::kPath, "ten costs");
      std::printf("\nten costs take %.2f times one, to a gap of %g\n\n",
                  ten.processor / one.processor, gap);
    }
  }
}

void ShowPrecision() {
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    for (const double cost : {0.1, 1.0, 10.0, 100.0, 1e4, 1e6}) {
      const Setting setting{.name = "precision",
                            .rows = 100,
                            .columns = 60,
                            .cost = cost,
                            .form = form,
                            .gap = 1e-12};
      MeasureRow(setting, Method::kWorkingSet, "few columns");
      Setting wide = setting;
      wide.columns = 400;
      MeasureRow(wide, Method::kWorkingSet, "many columns");
    }
  }
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::string which = argc > 2 ? argv[2] : "";
  std::printf("seed %llu, gap %g, %d threads, at most %g s a run\n\n",
              static_cast<unsigned long long>(kSeed), kGap, kThreads, kMostSeconds);
  PrintHead();
  if (what == "sizes") {
    for (const Setting& setting : Sizes()) {
      if (which.empty() || which == setting.name) {
        MeasureRow(setting, Method::kWorkingSet, setting.name);
      }
    }
  } else if (what == "methods") {
    CompareMethods();
  } else if (what == "path") {
    ComparePath();
  } else if (what == "precision") {
    ShowPrecision();
  } else if (what == "recordings" && !which.empty()) {
    for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
      for (const double cost : {0.1, 1.0, 10.0}) {
        MeasureRow({.name = "file",
                    .kind = DataKind::kFile,
                    .columns = 70,
                    .cost = cost,
                    .form = form,
                    .path = which},
                   Method::kWorkingSet, "file");
      }
    }
  } else {
    std::fprintf(stderr, "sizes, methods, path, precision or recordings FILE\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) { return mercer::Main(argc, argv); }
