#include "core/training/run/composite_learner.h"

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/point_encoding.h"
#include "core/training/run/merged_outputs.h"
#include "core/training/terms/basis.h"

namespace mercer {
namespace {

// One output's run. At most one has a live learner; the others rest as (state, point).
struct Part {
  bool begun = false;
  bool had_share = false;  // of the time, and has not come to its end within it
  StepReport report;       // of its last step
  std::string state;       // empty before the first collection
  TrainedPoint point;      // with `state`; basis rows by number alone: outputs share most of them

  static void VisitFields(auto& visit, auto& self) {
    visit(self.begun, self.had_share, self.report, self.state);
  }
};

bool Finished(const StepReport& report, double target) {
  return report.stop.has_value() || (report.has_model && report.accuracy <= target);
}

class CompositeLearner : public Learner {
 public:
  CompositeLearner(const LearnerEntry& entry, OptionValues options)
      : entry_(entry), options_(std::move(options)) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* /*warm_start*/) override {
    problem_ = &problem;
    parts_.resize(static_cast<size_t>(problem.tasks[0].targets.cols()));
    return Open(0, nullptr);
  }

  // Each step is a step of one part, or ends the work on a part, or takes up another: so a
  // cancelled step leaves the state of the step before it.
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    target_ = target;
    WatchShare(context);
    const size_t next = NextPart();
    if (learner_ != nullptr && next != live_) {
      MERCER_RETURN_IF_ERROR(Collect(context));
      return Report();
    }
    if (learner_ == nullptr) {
      MERCER_RETURN_IF_ERROR(Open(next, &context));
      WatchShare(context);
    }
    MERCER_ASSIGN_OR_RETURN(parts_[live_].report, learner_->Step(context, target));
    parts_[live_].begun = true;
    return Report();
  }

  // Parts that have nothing yet are constant, when another has come further.
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    TrainedPoint of_live;
    bool live_has_model = false;
    if (learner_ != nullptr) {
      absl::StatusOr<TrainedPoint> found = learner_->CurrentModel(context);
      if (!found.ok() && !absl::IsFailedPrecondition(found.status())) {
        return found.status();
      }
      live_has_model = found.ok();
      if (live_has_model) {
        of_live = *std::move(found);
        DropBasisValues(of_live.function.bases);
      }
    }
    if (!live_has_model && std::none_of(parts_.begin(), parts_.end(),
                                        [](const Part& part) { return part.report.has_model; })) {
      return absl::FailedPreconditionError("no output has a model yet");
    }
    std::vector<TrainedPoint> points;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (live_has_model && p == live_) {
        points.push_back(std::move(of_live));
      } else if (!parts_[p].state.empty() && parts_[p].report.has_model) {
        points.push_back(parts_[p].point);
      } else {
        MERCER_ASSIGN_OR_RETURN(points.emplace_back(), ConstantPart(p, context));
      }
    }
    return MergePoints(std::move(points), *problem_->tasks[0].inputs);
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    std::vector<TrainedPoint> points;
    for (size_t p = 0; p < parts_.size(); ++p) {
      MERCER_ASSIGN_OR_RETURN(points.emplace_back(), ConstantPart(p, context));
    }
    return MergePoints(std::move(points), *problem_->tasks[0].inputs);
  }

  std::string SaveState() const override {
    ByteWriter writer;
    writer.WriteUint64(parts_.size());
    for (const Part& part : parts_) {
      WriteFields(part, writer);
      if (!part.state.empty()) {
        WritePoint(part.point, writer);
      }
    }
    writer.WriteBool(learner_ != nullptr);
    writer.WriteUint64(live_);
    writer.WriteString(learner_ != nullptr ? learner_->SaveState() : std::string());
    return std::move(writer).Take();
  }

  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    const absl::Status damaged = absl::DataLossError("not the state of these sub-problems");
    ByteReader reader(state);
    if (reader.ReadUint64() != static_cast<uint64_t>(problem.tasks[0].targets.cols())) {
      return damaged;
    }
    problem_ = &problem;
    parts_.assign(static_cast<size_t>(problem.tasks[0].targets.cols()), Part());
    for (Part& part : parts_) {
      ReadFields(reader, part);
      if (!part.state.empty()) {
        part.point = ReadPoint(*problem.tasks[0].inputs, reader);
      }
    }
    const bool live = reader.ReadBool();
    const uint64_t position = reader.ReadUint64();
    const std::string live_state = reader.ReadString();
    if (!reader.AtEnd() || position >= parts_.size()) {
      return damaged;
    }
    for (size_t p = 0; p < parts_.size(); ++p) {
      const bool at_rest = !parts_[p].state.empty();
      const bool has_model =
          at_rest ? parts_[p].point.function.num_outputs() == 1 : live && p == position;
      if (parts_[p].report.has_model && !has_model) {
        return damaged;
      }
    }
    live_ = static_cast<size_t>(position);
    learner_.reset();
    return live ? Restore(live_, live_state, context) : absl::OkStatus();
  }

 private:
  // In order, those first that had no share of the time yet.
  size_t NextPart() const {
    size_t waiting = parts_.size();
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!Finished(parts_[p].report, target_)) {
        if (!parts_[p].had_share) {
          return p;
        }
        waiting = std::min(waiting, p);
      }
    }
    return waiting < parts_.size() ? waiting : live_;
  }

  // Watches over the time of the part. With a limit, every part gets as much of what is left as
  // those after it, once; what parts that end early leave goes to the others in order. Without a
  // limit nothing depends on the time.
  void WatchShare(const RunContext& context) {
    const absl::Duration left = context.TimeLeft();
    if (learner_ == nullptr || left == absl::InfiniteDuration()) {
      return;
    }
    const absl::Duration now = context.clock().Monotonic();
    if (!share_end_.has_value()) {
      const auto waiting = std::count_if(parts_.begin(), parts_.end(), [&](const Part& part) {
        return !part.had_share && !Finished(part.report, target_);
      });
      share_end_ = now + left / std::max<int64_t>(waiting, 1);
    } else if (now >= *share_end_) {
      parts_[live_].had_share = true;
    }
  }

  absl::StatusOr<TrainedPoint> ConstantPart(size_t part, RunContext& context) const {
    const TrainingProblem problem = SplitOutput(*problem_, static_cast<Index>(part));
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, entry_.create(options_));
    MERCER_RETURN_IF_ERROR(learner->Start(problem, nullptr));
    return learner->ConstantModel(context);
  }

  absl::Status MakeLearner(size_t part) {
    live_ = part;
    share_end_.reset();
    live_problem_ =
        std::make_unique<TrainingProblem>(SplitOutput(*problem_, static_cast<Index>(part)));
    MERCER_ASSIGN_OR_RETURN(learner_, entry_.create(options_));
    return absl::OkStatus();
  }

  absl::Status Restore(size_t part, std::string_view state, RunContext& context) {
    MERCER_RETURN_IF_ERROR(MakeLearner(part));
    const absl::Status restored = learner_->RestoreState(*live_problem_, state, context);
    if (!restored.ok()) {
      learner_.reset();
    }
    return restored;
  }

  // A part that has rested is restored, for which `context` is needed.
  absl::Status Open(size_t part, RunContext* context) {
    if (!parts_[part].state.empty()) {
      return Restore(part, parts_[part].state, *context);
    }
    MERCER_RETURN_IF_ERROR(MakeLearner(part));
    const absl::Status started = learner_->Start(*live_problem_, WarmStartOf(part));
    if (!started.ok()) {
      learner_.reset();
    }
    return started;
  }

  // A solution to begin this part with: outputs differ in their targets, but what was learned about
  // the kernels carries over. Null for the first output.
  const WarmStart* WarmStartOf(size_t part) {
    if (part == 0 || parts_[part - 1].state.empty() || !parts_[part - 1].report.has_model) {
      return nullptr;
    }
    neighbour_problem_ =
        std::make_unique<TrainingProblem>(SplitOutput(*problem_, static_cast<Index>(part) - 1));
    warm_start_ = {&parts_[part - 1].point, neighbour_problem_.get()};
    return &warm_start_;
  }

  // Puts the live part to rest and frees its memory.
  absl::Status Collect(RunContext& context) {
    Part& part = parts_[live_];
    if (part.report.has_model) {
      MERCER_ASSIGN_OR_RETURN(part.point, learner_->CurrentModel(context));
      DropBasisValues(part.point.function.bases);
    }
    part.state = learner_->SaveState();
    learner_.reset();
    return absl::OkStatus();
  }

  // The parts so far as one run: sums of bounds, the worst accuracy.
  StepReport Report() const {
    StepReport total;
    total.primal = 0;
    total.dual = 0;
    total.accuracy = 0;
    total.has_model = true;
    bool all_stopped = true;
    StopReason reason = StopReason::kConverged;
    for (const Part& part : parts_) {
      const StepReport& report = part.report;
      total.has_model = total.has_model && report.has_model;
      all_stopped = all_stopped && report.stop.has_value();
      reason = Worse(reason, report.stop.value_or(StopReason::kConverged));
      total.fraction +=
          (Finished(report, target_) ? 1.0 : report.fraction) / static_cast<double>(parts_.size());
      if (!part.begun) {
        continue;
      }
      total.primal += report.primal;
      total.dual += report.dual;
      total.accuracy = std::max(total.accuracy, report.accuracy);
      total.active_kernels = std::max(total.active_kernels, report.active_kernels);
      total.support_vectors = std::max(total.support_vectors, report.support_vectors);
      total.inner_iterations += report.inner_iterations;
    }
    total.stage = parts_[live_].report.stage;
    // The reason to stop: a part that can do no more, and has not converged, ends the run when the
    // others are done.
    if (all_stopped || (AllFinished() && reason != StopReason::kConverged)) {
      total.stop = reason;
    }
    return total;
  }

  bool AllFinished() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return Finished(part.report, target_); });
  }

  // The reason of two parts together: one that has not reached its accuracy speaks for both.
  static StopReason Worse(StopReason a, StopReason b) {
    const auto rank = [](StopReason reason) {
      return reason == StopReason::kConverged ? 0 : reason == StopReason::kObjectiveZero ? 1 : 2;
    };
    return rank(b) > rank(a) ? b : a;
  }

  const LearnerEntry& entry_;
  const OptionValues options_;
  double target_ = 0;  // that the present step is asked for
  const TrainingProblem* problem_ = nullptr;
  std::vector<Part> parts_;
  size_t live_ = 0;
  std::unique_ptr<TrainingProblem> live_problem_;
  std::unique_ptr<TrainingProblem> neighbour_problem_;  // of warm_start_
  WarmStart warm_start_;                                // of the live part
  std::unique_ptr<Learner> learner_;                    // of the part live_; null between two parts
  std::optional<absl::Duration> share_end_;  // of the live part's share of the time, by the clock
};

}  // namespace

std::vector<Index> RowsOfOutput(const TrainingProblem& problem, Index output) {
  const Matrix& targets = problem.tasks[0].targets;
  std::vector<Index> kept;
  for (Index i = 0; i < targets.rows(); ++i) {
    if (problem.kind == TargetKind::kRegression || targets(i, output) != 0) {
      kept.push_back(i);
    }
  }
  return kept;
}

TrainingProblem SplitOutput(const TrainingProblem& problem, Index output) {
  return Narrow(problem, RowsOfOutput(problem, output), output);
}

std::vector<TrainingProblem> SplitOutputs(const TrainingProblem& problem) {
  std::vector<TrainingProblem> parts;
  for (Index output = 0; output < problem.tasks[0].targets.cols(); ++output) {
    parts.push_back(SplitOutput(problem, output));
  }
  return parts;
}

bool HasPartPerOutput(const LearnerEntry& entry, const TrainingProblem& problem) {
  const Matrix& targets = problem.tasks[0].targets;
  const bool all_rows = problem.kind == TargetKind::kRegression || (targets.array() != 0.0).all();
  return targets.cols() > 1 && !(entry.joint_outputs && all_rows);
}

std::unique_ptr<Learner> MakeCompositeLearner(const LearnerEntry& entry,
                                              const OptionValues& options) {
  return std::make_unique<CompositeLearner>(entry, options);
}

}  // namespace mercer
