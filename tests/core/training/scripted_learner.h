// A learner whose reports are a script, so that tests of the training loop decide what happens.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/encoding/bytes.h"
#include "core/training/run/run_training.h"
#include "tests/support/toy_data.h"

namespace mercer {

// Accuracy falls to one half with every step, from 1; what the verifier finds is `factor` times
// that.
struct Script {
  double verified_factor = 1;
  int first_model = 1;  // step from which there is a model
  int stop_at = 0;      // step that ends with `stop`; 0: none
  StopReason stop = StopReason::kNumericalLimit;
  double verified_primal = 1;  // what the verifier finds
  bool knows_deadlines =
      true;  // steps end early for a deadline or a stop; else for cancellation only
  int model_within =
      0;  // step that has a point once it is begun, even when it is cut short; 0: none
  double model_bias = 0;                       // of the model; the witness says 0
  std::vector<std::string> kernel_names = {};  // in the summary, with the weights 1, 2, ...
  std::function<void(int step)> during_step = [](int) {};
  std::vector<std::string> stages = {};  // of every step
  int fails_at = 0;                      // step that ends with `failure`; 0: none
  absl::Status failure = {};
  bool limited = false;                 // by max_groups = 7
  std::vector<ModelTable> tables = {};  // in the summary
};

class ScriptedLearner : public Learner {
 public:
  explicit ScriptedLearner(Script script) : script_(std::move(script)) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* /*warm_start*/) override {
    rows_ = static_cast<Index>(problem.tasks[0].rows.size());
    return absl::OkStatus();
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double /*target*/) override {
    begun_ = steps_ + 1;
    script_.during_step(begun_);
    for (const std::string& stage : script_.stages) {
      context.ReportStage(stage, 0.25);
    }
    if (script_.knows_deadlines ? context.cancelled() : context.cancellation().cancelled()) {
      return absl::CancelledError("in the middle of a step");
    }
    if (begun_ == script_.fails_at) {
      return script_.failure;
    }
    ++steps_;
    StepReport report;
    report.stage = "solve";
    report.fraction =
        steps_ % 2 == 0 ? 0.1 : 0.01 * steps_;  // up and down: the loop must not show that
    report.accuracy = Accuracy();
    report.primal = 1;
    report.dual = 1 - report.accuracy;
    report.has_model = steps_ >= script_.first_model;
    if (steps_ == script_.stop_at) {
      report.stop = script_.stop;
    }
    return report;
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& /*context*/) const override {
    const bool cut_short = script_.model_within > 0 && begun_ >= script_.model_within;
    if (steps_ < script_.first_model && !cut_short) {
      return absl::FailedPreconditionError("there is no model yet");
    }
    TrainedPoint point;
    point.function.bias = Vector::Constant(1, script_.model_bias);
    point.witness.tasks.push_back({Matrix::Zero(rows_, 1), Vector::Zero(1)});
    point.witness.values.emplace_back("accuracy", Accuracy());
    if (script_.limited) {
      point.limit_reached = Metric{"max_groups", 7};
    }
    const auto kernels = static_cast<Index>(script_.kernel_names.size());
    point.summary.kernel_names = script_.kernel_names;
    point.summary.kernel_weights = Vector::LinSpaced(kernels, 1.0, static_cast<double>(kernels));
    point.summary.tables = script_.tables;
    return point;
  }
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& /*context*/) override {
    TrainedPoint point;
    point.function.bias = Vector::Zero(1);
    point.witness.tasks.push_back({Matrix::Zero(rows_, 1), Vector::Zero(1)});
    point.witness.values.emplace_back("accuracy", 1.0);
    return point;
  }
  std::string SaveState() const override {
    ByteWriter writer;
    writer.WriteInt64(steps_);
    return std::move(writer).Take();
  }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& /*context*/) override {
    ByteReader reader(state);
    steps_ = static_cast<int>(reader.ReadInt64());
    begun_ = steps_;
    return reader.AtEnd() ? Start(problem, nullptr) : absl::DataLossError("not a state");
  }

 private:
  double Accuracy() const { return std::ldexp(1.0, -steps_); }

  Script script_;
  int steps_ = 0;
  int begun_ = 0;
  Index rows_ = 0;
};

inline LearnerEntry ScriptedEntry(const Script& script) {
  LearnerEntry entry;
  entry.name = "scripted";
  entry.create = [script](const OptionValues&) -> absl::StatusOr<std::unique_ptr<Learner>> {
    return std::make_unique<ScriptedLearner>(script);
  };
  entry.verify = [script](const OptionValues&, const TrainingProblem& problem,
                          const Witness& witness, RunContext&) -> absl::StatusOr<Verification> {
    const double primal = script.verified_primal;
    const double gap = script.verified_factor * *witness.FindValue("accuracy");
    return Verification{MakeGapCertificate(primal, primal * (1 - gap)),
                        Vector::Zero(problem.tasks[0].costs.size()), 1.0};
  };
  return entry;
}

// Remembers all it is told.
class RecordingObserver : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& event) override { events.push_back(event); }
  void OnStage(const ProgressEvent& event) override {
    const std::lock_guard lock(*mutex_);
    stages.push_back(event);
  }
  bool WantsCheckpoint() override { return wants_checkpoints; }
  bool WantsLastCheckpoint() override { return wants_checkpoints || wants_last_checkpoint; }
  void OnCheckpoint(std::string state) override { checkpoints.push_back(std::move(state)); }
  void OnVerifying() override { ++verifications; }
  bool StopRequested() override {
    return stop_now || (stop_after > 0 && static_cast<int>(events.size()) >= stop_after) ||
           (stop_when_asked && stop_when_asked());
  }

  std::vector<ProgressEvent> stages;
  bool wants_checkpoints = false;
  bool wants_last_checkpoint = false;
  int stop_after = 0;  // steps; 0: never
  bool stop_now = false;
  std::function<bool()> stop_when_asked;
  std::vector<ProgressEvent> events;
  std::vector<std::string> checkpoints;
  int verifications = 0;

 private:
  // Of stages, which all threads of a run tell.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace mercer
