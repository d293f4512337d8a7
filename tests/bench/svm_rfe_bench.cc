// The learner svm_rfe on one table, without a server. tests/bench/svm_rfe_peers.py sets scikit-learn
// beside it.
//
//   svm_rfe_bench FILE.csv[.gz] [--skip N] [--threads N] [--runs N] [--OPTION VALUE ...]
//
// FILE: numbers with a header, the label of two classes last; the first N columns are skipped, the
// others standardised. It prints the seconds of the fastest run, the verified gap, and the numbers
// of the best columns, from 0. The options are those of the learner.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/clock.h"

#include "core/learners/registry.h"
#include "tests/bench/bench_tables.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

struct Settings {
  Index skip = 0;
  OptionValues options;
  int threads = 1;
  int runs = 3;
};

TrainingProblem MakeRfeProblem(const Settings& settings, const BenchTable& table) {
  const double positive = table.labels.maxCoeff();
  const Vector targets =
      (table.labels.array() == positive).select(Vector::Ones(table.labels.size()), -1.0);
  return MakeProblem(TargetKind::kClassification,
                     table.features.rightCols(table.features.cols() - settings.skip), targets, {});
}

absl::StatusOr<TrainingOutcome> TrainOnce(const Settings& settings,
                                          const TrainingProblem& problem) {
  const LearnerEntry& entry = *FindLearner("svm_rfe");
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, entry.create(settings.options));
  RunContext context(CancellationToken(), settings.threads, nullptr);
  QuietObserver observer;
  return RunTraining(entry, settings.options, *learner, problem, RunLimits(), {}, context,
                     observer);
}

absl::Status Measure(const Settings& settings, const TrainingProblem& problem) {
  constexpr Index kHead = 16;
  double best = kInfinity;
  TrainingOutcome outcome;
  for (int run = 0; run < settings.runs; ++run) {
    const absl::Time start = absl::Now();
    MERCER_ASSIGN_OR_RETURN(outcome, TrainOnce(settings, problem));
    best = std::min(best, absl::ToDoubleSeconds(absl::Now() - start));
  }
  std::printf("seconds %.4f gap %.2e head", best, outcome.certificate.accuracy);
  const Matrix& ranking = outcome.point.summary.tables.at(0).values;
  for (Index place = 0; place < std::min(kHead, ranking.rows()); ++place) {
    std::printf(" %d", static_cast<int>(ranking(place, 2)) - 1);
  }
  std::puts("");
  return absl::OkStatus();
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Settings settings;
  const mercer::LearnerEntry& entry = *mercer::FindLearner("svm_rfe");
  const std::map<std::string, std::function<void(const char*)>> own = {
      {"--skip", [&](const char* value) { settings.skip = std::atoi(value); }},
      {"--threads", [&](const char* value) { settings.threads = std::atoi(value); }},
      {"--runs", [&](const char* value) { settings.runs = std::atoi(value); }}};
  bool known = argc > 1 && argc % 2 == 0;
  for (int i = 2; known && i + 1 < argc; i += 2) {
    const auto option = own.find(argv[i]);
    if (option != own.end()) {
      option->second(argv[i + 1]);
      continue;
    }
    known = false;
    for (const mercer::OptionField& field : entry.fields) {
      const auto value = mercer::ParseOptionText(field, argv[i + 1]);
      if ("--" + field.name == argv[i] && value.ok()) {
        settings.options[field.name] = *value;
        known = true;
      }
    }
  }
  mercer::BenchTable table;
  if (known) {
    table = mercer::ReadBenchTable(argv[1], 1000000);
  }
  if (table.labels.size() == 0) {
    std::fputs("usage: svm_rfe_bench FILE.csv[.gz] [--OPTION VALUE ...]; no rows were read\n",
               stderr);
    return 2;
  }
  const absl::Status status = mercer::Measure(settings, mercer::MakeRfeProblem(settings, table));
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
