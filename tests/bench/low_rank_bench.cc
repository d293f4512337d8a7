// Low-rank lp-norm MKL from 10^5 to 10^6 rows: whole trainings, factors included, and their
// verification. Up to 8000 rows also the exact kernels, as many landmarks may take longer.
//
//   low_rank_bench [--gap G] [--tolerance T] [--alone 1] [THREADS [KERNELS [LANDMARKS [C [ROWS ...]]]]]
//   defaults: 1e-4, 1e-8 (compression_tolerance), 0, and 2 20 100 1 100000 1000000
//   low_rank_bench 2 20 300 1 5700                                       many landmarks of few rows
//
// Rows: x ~ N(0, I) in 10 columns, score sin(1.5 x0) + 0.7 x1 x2 + 0.5 x3 + 0.25 noise, classes
// above and below its median. Gaussian kernels with bandwidths from 1 to 100, p = 2, relative gap
// G. Per number of rows: wall and processor seconds to the certified gap, microseconds per row
// and their ratio to the first line, the accuracy on 20,000 other rows, the memory's peak so far,
// the verifier's gap and seconds. With two threads or more the first number of rows is run with one
// thread as well, unless alone.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/model/predictor.h"
#include "core/training/run/verification.h"

namespace mercer {
namespace {

constexpr Index kColumns = 10;
constexpr Index kTestRows = 20'000;
constexpr Index kMostRowsOfExact = 8'000;

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

rusage Usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double ProcessorSeconds() {
  const rusage usage = Usage();
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct Settings {
  int threads = 2;
  int kernels = 20;
  int64_t landmarks = 100;
  double cost = 1;
  double gap = 1e-4;
  double tolerance = 1e-8;
  bool exact = false;
};

struct Clouds {
  std::shared_ptr<PreparedData> data;
  Vector labels;
};

Clouds MakeClouds(Index rows, const std::string& purpose) {
  RandomStream random(1, purpose);
  RowMatrix x(rows, kColumns);
  Vector score(rows);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < kColumns; ++j) {
      x(i, j) = random.Normal();
    }
    score(i) =
        std::sin(1.5 * x(i, 0)) + 0.7 * x(i, 1) * x(i, 2) + 0.5 * x(i, 3) + 0.25 * random.Normal();
  }
  // All terms are symmetric about 0: so is the median.
  Clouds clouds;
  clouds.labels = score.unaryExpr([](double s) { return s > 0 ? 1.0 : -1.0; });
  clouds.data = std::make_shared<PreparedData>();
  clouds.data->rows = rows;
  PreparedBlock block;
  block.name = "features";
  for (Index j = 0; j < kColumns; ++j) {
    block.sources.push_back("x" + std::to_string(j));
  }
  block.values = SharedMatrix(std::move(x));
  clouds.data->blocks.push_back(std::move(block));
  return clouds;
}

TrainingProblem MakeProblem(const Clouds& clouds, const Settings& settings) {
  TrainingProblem problem;
  problem.relative_gap = settings.gap;
  TaskData task;
  task.inputs = clouds.data;
  task.rows = IndexRange(0, clouds.labels.size());
  task.targets = clouds.labels;
  task.costs = Vector::Ones(clouds.labels.size());
  problem.tasks.push_back(std::move(task));
  for (int k = 0; k < settings.kernels; ++k) {
    KernelSpec spec;
    spec.bandwidth = std::pow(100.0, k / std::max(1.0, settings.kernels - 1.0));
    problem.kernels.push_back(spec);
  }
  return problem;
}

double Accuracy(const ModelFunction& function, RunContext& context) {
  const Clouds test = MakeClouds(kTestRows, "test");
  const auto values = EvaluateFunction(function, *test.data, context);
  if (!values.ok()) {
    return 0;
  }
  return 100.0 * (values->col(0).cwiseProduct(test.labels).array() > 0).cast<double>().mean();
}

// Seconds, or 0 after an error.
double Measure(const Clouds& clouds, const Settings& settings, double seconds_per_row) {
  const TrainingProblem problem = MakeProblem(clouds, settings);
  OptionValues options = {{"p", 2.0}, {"C", settings.cost}};
  if (!settings.exact) {
    options["approximation"] = std::string("nystrom");
    options["landmarks"] = settings.landmarks;
    options["compression_tolerance"] = settings.tolerance;
  }
  RunContext context(CancellationToken(), settings.threads, nullptr);
  const LearnerEntry entry = lp_mkl::Entry();
  const auto learner = entry.create(options);
  const double start = WallSeconds();
  const double start_processor = ProcessorSeconds();
  absl::Status status = learner.ok() ? (*learner)->Start(problem, nullptr) : learner.status();
  StepReport report;
  while (status.ok() && !report.stop.has_value() && !(report.accuracy <= settings.gap)) {
    const auto step = (*learner)->Step(context, settings.gap);
    status = step.status();
    report = step.ok() ? *step : report;
  }
  const double seconds = WallSeconds() - start;
  const double processor = ProcessorSeconds() - start_processor;
  const auto point =
      status.ok() ? (*learner)->CurrentModel(context) : absl::StatusOr<TrainedPoint>(status);
  if (!point.ok()) {
    std::printf("%s\n", point.status().ToString().c_str());
    return 0;
  }
  const double peak = static_cast<double>(Usage().ru_maxrss) / 1024.0;
  const double start_verifying = WallSeconds();
  const auto verified =
      VerifyFunction(entry, options, problem, point->function, point->witness, context);
  const double verifying = WallSeconds() - start_verifying;
  const auto rows = static_cast<double>(clouds.labels.size());
  std::printf(
      "%8.0f rows  %s  threads %d  %.1f s (processor %.1f)  %.1f us a row (x %.2f)  Newton steps "
      "%ld  "
      "accuracy %.2f %%  peak %.0f MB, verified %.0f MB  gap %.1e (%.1f s)\n",
      rows, settings.exact ? "exact" : "low rank", settings.threads, seconds, processor,
      1e6 * seconds / rows, seconds_per_row > 0 ? seconds / rows / seconds_per_row : 1.0,
      static_cast<long>(report.inner_iterations), Accuracy(point->function, context), peak,
      static_cast<double>(Usage().ru_maxrss) / 1024.0,
      verified.ok() ? verified->certificate.accuracy : kInfinity, verifying);
  std::fflush(stdout);
  return seconds;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Settings settings;
  double alone = 0;
  const std::map<std::string, double*> flags = {
      {"--gap", &settings.gap}, {"--tolerance", &settings.tolerance}, {"--alone", &alone}};
  for (; argc > 1 && argv[1][0] == '-'; argc -= 2, argv += 2) {
    const auto flag = flags.find(argv[1]);
    if (flag == flags.end() || argc == 2) {
      std::fprintf(stderr, "%s: not a flag, or without its value\n", argv[1]);
      return 1;
    }
    *flag->second = std::atof(argv[2]);
  }
  settings.threads = argc > 1 ? std::atoi(argv[1]) : settings.threads;
  settings.kernels = argc > 2 ? std::atoi(argv[2]) : settings.kernels;
  settings.landmarks = argc > 3 ? std::atoi(argv[3]) : settings.landmarks;
  settings.cost = argc > 4 ? std::atof(argv[4]) : settings.cost;
  std::vector<mercer::Index> sizes;
  for (int i = 5; i < argc; ++i) {
    sizes.push_back(std::atol(argv[i]));
  }
  if (sizes.empty()) {
    sizes = {100'000, 1'000'000};
  }
  std::printf(
      "%d Gaussian kernels of bandwidths 1..100, %ld landmarks, C = %g, p = 2, relative gap %g, "
      "compression tolerance %g\n",
      settings.kernels, static_cast<long>(settings.landmarks), settings.cost, settings.gap,
      settings.tolerance);
  double seconds_per_row = 0;
  for (const mercer::Index rows : sizes) {
    const mercer::Clouds clouds = mercer::MakeClouds(rows, "train");
    if (seconds_per_row == 0 && settings.threads > 1 && alone == 0) {
      mercer::Settings one = settings;
      one.threads = 1;
      mercer::Measure(clouds, one, 0);
    }
    const double seconds = mercer::Measure(clouds, settings, seconds_per_row);
    seconds_per_row = seconds_per_row > 0 ? seconds_per_row : seconds / static_cast<double>(rows);
    if (rows <= mercer::kMostRowsOfExact) {
      mercer::Settings exact = settings;
      exact.exact = true;
      mercer::Measure(clouds, exact, seconds_per_row);
    }
  }
  return 0;
}
