// A learner whose steps a test can count, hold and break.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/encoding/bytes.h"
#include "core/training/contract/learner.h"

namespace mercer::server {

// What a test tells the learner, and what it saw. Thread-safe.
class StepControl {
 public:
  // Steps may be taken up to this number (over all jobs).
  void Allow(int64_t steps) {
    absl::MutexLock lock(&mutex_);
    allowed_ = steps;
  }
  void AllowAll() { Allow(std::numeric_limits<int64_t>::max()); }
  // Waits until so many steps were begun or are waiting for permission.
  void WaitUntilAsked(int64_t steps) {
    const auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return asked_ >= steps; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&reached));
  }
  int64_t asked() {
    absl::MutexLock lock(&mutex_);
    return asked_;
  }
  // Steps that went ahead, over all attempts.
  int64_t taken() {
    absl::MutexLock lock(&mutex_);
    return asked_taken_;
  }
  // Waits until so many steps went ahead and the next one waits for permission.
  void WaitUntilHeldAfter(int64_t steps) {
    const auto held = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return asked_taken_ >= steps && waiting_ > 0;
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&held));
  }
  // Whether the step that waits for permission has been told to end, or has ended. With one worker.
  bool IsHeldOneInterrupted() {
    absl::MutexLock lock(&mutex_);
    return waiting_ == 0 || held_->cancelled();
  }
  void FailAtStep(int64_t step, absl::Status status) {
    absl::MutexLock lock(&mutex_);
    failing_step_ = step;
    failure_ = std::move(status);
  }
  // Called by the learner at the begin of each step.
  absl::Status EnterStep(int64_t step, const RunContext& context) {
    const auto may_go = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return asked_taken_ < allowed_;
    };
    absl::MutexLock lock(&mutex_);
    ++asked_;
    if (step == failing_step_) {
      return failure_;
    }
    // The token cannot notify, so it is looked at every millisecond.
    ++waiting_;
    held_ = &context;
    bool cancelled = false;
    while (!cancelled &&
           !mutex_.AwaitWithTimeout(absl::Condition(&may_go), absl::Milliseconds(1))) {
      cancelled = context.cancelled();
    }
    --waiting_;
    if (cancelled) {
      return absl::CancelledError("cancelled");
    }
    ++asked_taken_;
    return context.CheckCancelled();
  }

  std::atomic<int64_t> memory_bytes{1000};
  std::atomic<int64_t> model_from{1};  // the step that gives a learner its first model

 private:
  absl::Mutex mutex_;
  int64_t allowed_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::max();
  int64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t asked_taken_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  const RunContext* held_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the last step to wait
  int64_t failing_step_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

// Iterates a chaotic map for `seed` steps, so that any slip in a resumed run changes the model.
class ChaoticLearner final : public Learner {
 public:
  explicit ChaoticLearner(StepControl* control) : control_(control) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* /*warm_start*/) override {
    problem_ = &problem;
    values_ = Vector::Constant(static_cast<Index>(problem.tasks[0].rows.size()), 0.3) +
              0.1 * problem.tasks[0].targets.col(0);
    return absl::OkStatus();
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double /*target*/) override {
    const absl::Status entered = control_->EnterStep(step_ + 1, context);
    if (!entered.ok()) {
      return entered;
    }
    ++step_;
    for (Index i = 0; i < values_.size(); ++i) {
      values_(i) = 3.9 * values_(i) * (1 - values_(i));
    }
    const auto total = static_cast<int64_t>(problem_->seed);
    StepReport report;
    report.stage = step_ <= 2 ? "warm-up" : "solve";
    report.fraction = static_cast<double>(step_) / static_cast<double>(total);
    report.has_model = step_ >= control_->model_from;
    if (step_ >= total) {
      report.stop = StopReason::kConverged;
    }
    return report;
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& /*context*/) const override {
    if (step_ < control_->model_from) {
      return absl::FailedPreconditionError("there is no model yet");
    }
    TrainedPoint point;
    point.function.bias = Vector::Constant(1, values_.sum());
    TaskWitness task;
    task.dual = values_;
    task.bias = point.function.bias;
    point.witness.tasks = {task};
    return point;
  }
  std::string SaveState() const override {
    ByteWriter writer;
    writer.WriteInt64(step_);
    writer.WriteVector(values_);
    return std::move(writer).Take();
  }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& /*context*/) override {
    problem_ = &problem;
    ByteReader reader(state);
    step_ = reader.ReadInt64();
    values_ = reader.ReadVector();
    return reader.AtEnd() ? absl::OkStatus() : absl::DataLossError("not a state");
  }

 private:
  StepControl* const control_;
  const TrainingProblem* problem_ = nullptr;
  int64_t step_ = 0;
  Vector values_;
};

inline LearnerEntry MakeChaoticEntry(StepControl* control) {
  LearnerEntry entry;
  entry.name = "chaotic";
  entry.uses_kernels = false;
  entry.create = [control](const OptionValues&) {
    return std::make_unique<ChaoticLearner>(control);
  };
  entry.verify = [](const OptionValues&, const TrainingProblem& problem, const Witness& witness,
                    RunContext&) {
    Verification verification;
    verification.certificate.kind = CertificateKind::kNone;
    verification.values = Vector::Constant(problem.tasks[0].costs.size(), witness.tasks[0].bias(0));
    return verification;
  };
  entry.estimate_work = [](const OptionValues&, const ProblemShape&) { return LearnerWork(); };
  entry.estimate_memory = [control](const OptionValues&, const ProblemShape&) {
    return static_cast<size_t>(control->memory_bytes.load());
  };
  return entry;
}

}  // namespace mercer::server
