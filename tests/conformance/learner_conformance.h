// What every learner of the registry must keep, as a GoogleTest suite over (learner, kind of
// target). A test program includes learner_conformance_suite.h once and instantiates
// LearnerConformance with the cases that it wants.
#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/training/model/point_encoding.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/run_training.h"
#include "tests/support/field_violation.h"
#include "tests/support/sanitized.h"
#include "tests/support/thorough.h"
#include "tests/support/toy_data.h"

namespace mercer {

struct LearnerCase {
  const LearnerEntry* entry;
  TargetKind kind;
};

// The cases of `entries`: each with every kind of target that it can do.
inline std::vector<LearnerCase> LearnerCases(const std::vector<const LearnerEntry*>& entries) {
  std::vector<LearnerCase> cases;
  for (const LearnerEntry* entry : entries) {
    if (entry->classification) {
      cases.push_back({entry, TargetKind::kClassification});
    }
    if (entry->regression) {
      cases.push_back({entry, TargetKind::kRegression});
    }
  }
  return cases;
}

inline std::string LearnerCaseName(const ::testing::TestParamInfo<LearnerCase>& info) {
  return info.param.entry->name +
         (info.param.kind == TargetKind::kRegression ? "_regression" : "_classification");
}

// A choice with what else it needs: a learner that refuses it by itself, naming its field, gets the first choice of another field
// with which it takes it.
inline OptionValues WithWhatItNeeds(const LearnerEntry& entry, const std::string& field,
                                    const std::string& choice) {
  const TargetKind kind =
      entry.classification ? TargetKind::kClassification : TargetKind::kRegression;
  const TrainingProblem problem = ToyProblem(kind, 20, 2, {1});
  const auto start = [&](const OptionValues& options) {
    const auto learner = entry.create(options);
    return learner.ok() ? (*learner)->Start(problem, nullptr) : learner.status();
  };
  const OptionValues alone = {{field, choice}};
  const bool is_refused = !Violation(start(alone), field).empty();
  for (const OptionField& other : is_refused ? entry.fields : std::vector<OptionField>()) {
    for (const std::string& needed : other.choices) {
      const OptionValues both = {{field, choice}, {other.name, needed}};
      if (other.name != field && start(both).ok()) {
        return both;
      }
    }
  }
  return alone;
}

// Models of at most a dozen features, unless the options say how many: the suite's trainings stay short.
inline void KeepModelsSmall(const LearnerEntry& entry, std::vector<OptionValues>& variants) {
  constexpr int64_t kMostGroups = 12;
  const bool has_groups =
      std::any_of(entry.fields.begin(), entry.fields.end(),
                  [](const OptionField& field) { return field.name == "max_groups"; });
  for (OptionValues& options : variants) {
    const auto selection = options.find("selection");
    const bool fixed =
        selection != options.end() && selection->second == OptionValue(std::string("fixed"));
    if (has_groups && !fixed) {
      options.emplace("max_groups", kMostGroups);
    }
  }
}

// The defaults, and options under which a learner works in another way: every other choice, and
// hard problems.
inline std::vector<OptionValues> OptionVariants(const LearnerEntry& entry, TargetKind kind) {
  std::vector<OptionValues> variants = {{}};
  for (const OptionField& field : entry.fields) {
    for (const std::string& choice : field.choices) {
      if (OptionValue(choice) != field.default_value &&
          FitsKind(field, choice, kind == TargetKind::kRegression)) {
        variants.push_back(WithWhatItNeeds(entry, field.name, choice));
      }
    }
    if (field.name == "C" || field.name == "lambda") {
      variants.push_back({{field.name, field.name == "C" ? 300.0 : 1e-3}});
    }
  }
  KeepModelsSmall(entry, variants);
  return variants;
}

// Those of `variants` that a test trains with. What a sanitized run looks for, in memory and not in numbers, lies where all of them
// pass: the first has to do there, unless MERCER_THOROUGH is set, as it is by night.
inline std::vector<OptionValues> ToRun(std::vector<OptionValues> variants) {
  if (kSanitized && !IsThorough()) {
    variants.resize(1);
  }
  return variants;
}

inline std::string OptionText(const OptionValues& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text += name + " = " + FormatOptionValue(value) + " ";
  }
  return text.empty() ? "defaults" : text;
}

inline void PrintTo(const LearnerCase& learner, std::ostream* out) { *out << learner.entry->name; }

// Remembers reports and checkpoints; what happens after each step can be added.
class ConformanceObserver : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& event) override {
    reports.push_back(event.report);
    if (after_step) {
      after_step(event);
    }
  }
  bool WantsCheckpoint() override { return wants_checkpoints; }
  void OnCheckpoint(std::string state) override { checkpoints.push_back(std::move(state)); }
  void OnVerifying() override {
    if (on_verifying) {
      on_verifying();
    }
  }
  bool StopRequested() override {
    return stop || (stop_when_model && !reports.empty() && reports.back().has_model);
  }

  std::function<void(const ProgressEvent&)> after_step;
  std::function<void()> on_verifying;
  bool wants_checkpoints = false;
  bool stop_when_model = false;
  std::atomic<bool> stop = false;
  std::vector<StepReport> reports;
  std::vector<std::string> checkpoints;
};

struct RunSettings {
  OptionValues options = {};
  double relative_gap = 1e-3;
  int64_t max_iterations = 5000;
  absl::Duration max_time = absl::InfiniteDuration();
  int threads = 1;
  std::shared_ptr<SharedCache> cache = {};
  CancellationToken token = {};
  std::string state = {};
  bool constant_if_none = false;
};

class LearnerConformance : public ::testing::TestWithParam<LearnerCase> {
 protected:
  // What a sanitized run looks for, in memory and not in numbers, lies mostly where both kinds of target pass: there the first kind has to
  // do, unless MERCER_THOROUGH is set. One test trains the other, too, whose loss may have solvers of its own.
  void SetUp() override {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (kSanitized && !IsThorough() && entry().classification &&
        kind() != TargetKind::kClassification && test.find("ThreadsDoNotChangeTheBits/") != 0) {
      GTEST_SKIP() << "classification has to do in a sanitized run";
    }
  }

  const LearnerEntry& entry() const { return *GetParam().entry; }
  TargetKind kind() const { return GetParam().kind; }

  // A problem that no function fits perfectly, with as many kernels as there are bandwidths.
  TrainingProblem Problem(Index rows, Index columns,
                          const std::vector<double>& bandwidths = {0.7, 2.0, 6.0}) const {
    return ToyProblem(kind(), rows, columns,
                      entry().uses_kernels ? bandwidths : std::vector<double>());
  }

  // Operations of factors that are expected of a training.
  double FactorOperations(const OptionValues& options, const ProblemShape& shape) const {
    const absl::StatusOr<LearnerWork> work = entry().estimate_work(options, shape);
    EXPECT_TRUE(work.ok()) << work.status();
    return work.ok() ? work->training[WorkKind::kFactorOperations] +
                           work->shared[WorkKind::kFactorOperations]
                     : 0;
  }

  // So many rows, or half of them for a learner of which a test that trains often would take long.
  Index QuickRows(Index rows) const {
    constexpr double kMostOperations = 5e9;
    ProblemShape shape;
    shape.columns = 4;
    shape.kernels = 3;
    shape.rows = rows;
    return FactorOperations({}, shape) > kMostOperations ? rows / 2 : rows;
  }

  absl::StatusOr<TrainingOutcome> Train(TrainingProblem problem, const RunSettings& settings,
                                        ConformanceObserver& observer) const {
    problem.relative_gap = settings.relative_gap;
    absl::StatusOr<std::unique_ptr<Learner>> learner = entry().create(settings.options);
    if (!learner.ok()) {
      return learner.status();
    }
    const RunLimits limits{settings.relative_gap, settings.max_iterations, settings.max_time,
                           settings.constant_if_none};
    RunContext context(settings.token, settings.threads, settings.cache);
    return RunTraining(entry(), settings.options, **learner, problem, limits, settings.state,
                       context, observer);
  }

  absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem,
                                        const RunSettings& settings = {}) const {
    ConformanceObserver observer;
    return Train(problem, settings, observer);
  }

  // Everything that a run leaves behind.
  static std::string Bits(const TrainingOutcome& outcome) {
    ByteWriter writer;
    WriteFields(outcome.point.function, writer);
    WritePoint(outcome.point, writer);
    WriteFields(outcome.certificate, writer);
    writer.WriteInt64(outcome.iterations);
    return std::move(writer).Take();
  }

  // Values of the function at `rows`.
  static Vector Values(const TrainedPoint& point, const PreparedData& rows) {
    auto model = std::make_shared<Model>();
    model->function = point.function;
    const absl::StatusOr<std::unique_ptr<Predictor>> predictor = Predictor::Make(model);
    EXPECT_TRUE(predictor.ok()) << predictor.status();
    RunContext context;
    const absl::StatusOr<Prediction> prediction = (*predictor)->PredictPrepared(rows, {}, context);
    EXPECT_TRUE(prediction.ok()) << prediction.status();
    return prediction->decision_values.col(0);
  }

 public:
  static void ExpectFinite(const TrainingOutcome& outcome, const std::string& what) {
    EXPECT_TRUE(std::isfinite(outcome.certificate.primal))
        << what << ": primal " << outcome.certificate.primal;
    EXPECT_TRUE(std::isfinite(outcome.certificate.dual))
        << what << ": dual " << outcome.certificate.dual;
    EXPECT_LE(outcome.certificate.dual,
              outcome.certificate.primal + Slack(outcome.certificate.primal))
        << what;
    for (const std::shared_ptr<const Term>& term : outcome.point.function.terms) {
      const TermPlace place = outcome.point.function.place();
      EXPECT_TRUE(term->CheckShape(place).ok()) << what;
      EXPECT_TRUE(term->CheckValues(place, std::numeric_limits<Index>::max()).ok()) << what;
    }
    EXPECT_TRUE(outcome.point.function.bias.allFinite())
        << what << ": bias " << outcome.point.function.bias;
  }

  // Rounding of a sum of this size.
  static double Slack(double value) { return 1e-12 * std::abs(value) + 1e-300; }

  // Errors that say that the input is wrong, or that a limit came before there was a model.
  static bool IsRefusal(const absl::Status& status) {
    return absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  }
};

}  // namespace mercer
