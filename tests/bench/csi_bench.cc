// The learner csi on one table: what its pivots take, and what solving all outputs on them takes. One thread, processor time.
//
//   csi_bench FILE.csv[.gz] [--rows N] [--outputs N] [--pivots N] [--width W] [--lambda L] [--gap G] [--loss squared_hinge|square]
//
// FILE: numbers with a header, the label or the target last; its columns are standardised and its rows shuffled. Classes are learnt one
// against all others, the first N of them (all); so is the one target of --loss square. The kernel is a Gaussian one. It prints seconds
// of both parts, Newton steps, and the bounds and the gap that are verified.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <time.h>
#include <utility>
#include <vector>

#include "core/learners/registry.h"
#include "tests/bench/bench_tables.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

struct Settings {
  Index rows = 1000000;
  Index outputs = 1000;
  int64_t pivots = 100;
  double width = 3;
  double lambda = 1;
  double gap = 1e-3;
  std::string loss = "squared_hinge";
};

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Matrix TargetsOf(const Settings& settings, const Vector& labels) {
  if (settings.loss == "square") {
    const double mean = labels.mean();
    const double size = std::sqrt((labels.array() - mean).square().mean());
    return (labels.array() - mean) / size;
  }
  const std::set<double> classes(labels.begin(), labels.end());
  const auto outputs = std::min(static_cast<Index>(classes.size()), settings.outputs);
  Matrix targets(labels.size(), outputs);
  for (Index o = 0; o < outputs; ++o) {
    const double positive = *std::next(classes.begin(), o);
    targets.col(o) = (labels.array() == positive).select(Vector::Ones(labels.size()), -1.0);
  }
  return targets;
}

TrainingProblem MakeCsiProblem(const Settings& settings, const BenchTable& table) {
  const TargetKind kind =
      settings.loss == "square" ? TargetKind::kRegression : TargetKind::kClassification;
  TrainingProblem problem =
      MakeProblem(kind, table.features, TargetsOf(settings, table.labels), {settings.width});
  problem.relative_gap = settings.gap;
  return problem;
}

absl::Status Measure(const Settings& settings, const TrainingProblem& problem) {
  const LearnerEntry& entry = *FindLearner("csi");
  const OptionValues options = {{"lambda", settings.lambda}, {"max_pivots", settings.pivots}};
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, entry.create(options));
  MERCER_RETURN_IF_ERROR(learner->Start(problem, nullptr));
  RunContext context;
  StepReport report;
  double of_pivots = 0;
  double of_outputs = 0;
  while (!report.stop.has_value() && !(report.accuracy <= settings.gap)) {
    const bool solving = report.has_model;
    const double start = ThreadSeconds();
    MERCER_ASSIGN_OR_RETURN(report, learner->Step(context, settings.gap));
    (solving ? of_outputs : of_pivots) += ThreadSeconds() - start;
  }
  MERCER_ASSIGN_OR_RETURN(const TrainedPoint point, learner->CurrentModel(context));
  MERCER_ASSIGN_OR_RETURN(const Verification verified,
                          entry.verify(options, problem, point.witness, context));
  std::printf("rows %td outputs %td pivots %d lambda %g gap %g: pivots %.2f s, solve %.3f s\n",
              problem.tasks[0].targets.rows(), problem.tasks[0].targets.cols(),
              static_cast<int>(settings.pivots), settings.lambda, settings.gap, of_pivots,
              of_outputs);
  std::printf("  steps %td primal %.12g dual %.12g gap %.2e\n", report.inner_iterations,
              verified.certificate.primal, verified.certificate.dual,
              verified.certificate.accuracy);
  return absl::OkStatus();
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Settings settings;
  const std::map<std::string, std::function<void(const char*)>> options = {
      {"--rows", [&](const char* value) { settings.rows = std::atoi(value); }},
      {"--outputs", [&](const char* value) { settings.outputs = std::atoi(value); }},
      {"--pivots", [&](const char* value) { settings.pivots = std::atoi(value); }},
      {"--width", [&](const char* value) { settings.width = std::atof(value); }},
      {"--lambda", [&](const char* value) { settings.lambda = std::atof(value); }},
      {"--gap", [&](const char* value) { settings.gap = std::atof(value); }},
      {"--loss", [&](const char* value) { settings.loss = value; }}};
  for (int i = 2; i + 1 < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end()) {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
    option->second(argv[i + 1]);
  }
  mercer::BenchTable table;
  if (argc > 1) {
    table = mercer::ReadBenchTable(argv[1], settings.rows);
  }
  if (table.labels.size() == 0) {
    std::fputs("usage: csi_bench FILE.csv[.gz] [--OPTION VALUE ...]; no rows were read\n", stderr);
    return 2;
  }
  const absl::Status status = mercer::Measure(settings, mercer::MakeCsiProblem(settings, table));
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
