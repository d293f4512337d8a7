#include "core/training/run/composite_learner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "absl/time/time.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/process/side_by_side.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/point_encoding.h"
#include "core/training/run/merged_outputs.h"
#include "core/training/terms/basis.h"

namespace mercer {
namespace {

// One output's run: it has not begun, or it is live, or it rests as (state, point).
struct Part {
  bool begun = false;
  bool had_share = false;  // of the time, and has not come to its end within it
  bool due = false;        // has a step of this round before it
  StepReport report;       // of its last step
  std::string state;       // of a part at rest; else empty
  TrainedPoint point;      // with `state`; basis rows by number alone: outputs share most of them

  static void VisitFields(auto& visit, auto& self) {
    visit(self.begun, self.had_share, self.due, self.report, self.state);
  }

  // Of a live part.
  struct Live {
    TrainingProblem problem;
    TrainingProblem neighbour;  // of warm_start
    WarmStart warm_start;
    std::unique_ptr<Learner> learner;
  };
  std::unique_ptr<Live> live;
  std::optional<absl::Duration> share_end;  // of its share of the time, by the clock

  bool HasRestingModel() const { return !state.empty() && report.has_model; }
};

bool Finished(const StepReport& report, double target) {
  return report.stop.has_value() || (report.has_model && report.accuracy <= target);
}

class CompositeLearner : public Learner {
 public:
  CompositeLearner(const LearnerEntry& entry, OptionValues options, const RunLimits& limits)
      : entry_(entry), options_(std::move(options)), limits_(limits) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* /*warm_start*/) override {
    problem_ = &problem;
    parts_ = std::vector<Part>(static_cast<size_t>(problem.tasks[0].targets.cols()));
    round_ = 0;
    steps_ = 0;
    return Begin(0);
  }

  // A step is a round: one step of each of the parts that the round is for. What a round that was
  // cut short has left to do is done by the next call, whether or not the state was saved in
  // between.
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    target_ = target;
    std::vector<size_t> due = Where([](const Part& part) { return part.due; });
    if (due.empty()) {
      MERCER_ASSIGN_OR_RETURN(due, BeginRound(context));
    }
    MERCER_RETURN_IF_ERROR(
        ForParts(due, context, [&](size_t p, RunContext& own) { return StepPart(p, own); }));
    steps_ += round_;
    return Report();
  }

  // Parts that have nothing yet are constant, when another has come further.
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    std::vector<std::optional<TrainedPoint>> found(parts_.size());
    MERCER_RETURN_IF_ERROR(ForParts(Where(IsLive), context, [&](size_t p, RunContext& own) {
      return LiveModel(*parts_[p].live->learner, own, found[p]);
    }));
    for (const size_t p : Where([](const Part& part) { return part.HasRestingModel(); })) {
      found[p] = parts_[p].point;
    }
    if (std::none_of(found.begin(), found.end(), [](const auto& one) { return one.has_value(); })) {
      return absl::FailedPreconditionError("no output has a model yet");
    }
    std::vector<TrainedPoint> points;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (found[p].has_value()) {
        points.push_back(*std::move(found[p]));
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
      writer.WriteBool(IsLive(part));
      if (IsLive(part)) {
        writer.WriteString(part.live->learner->SaveState());
      }
    }
    writer.WriteInt64(round_);
    writer.WriteInt64(steps_);
    return std::move(writer).Take();
  }

  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    const absl::Status damaged = absl::DataLossError("not the state of these sub-problems");
    ByteReader reader(state);
    const auto count = static_cast<size_t>(problem.tasks[0].targets.cols());
    if (reader.ReadUint64() != count) {
      return damaged;
    }
    problem_ = &problem;
    parts_ = std::vector<Part>(count);
    std::vector<std::optional<std::string>> live_states(count);
    for (size_t p = 0; p < count; ++p) {
      Part& part = parts_[p];
      ReadFields(reader, part);
      if (!part.state.empty()) {
        part.point = ReadPoint(*problem.tasks[0].inputs, reader);
      }
      if (reader.ReadBool()) {
        live_states[p] = reader.ReadString();
      }
    }
    round_ = reader.ReadInt64();
    steps_ = reader.ReadInt64();
    if (!reader.AtEnd() || !IsPossible(live_states)) {
      return damaged;
    }
    // The first one by itself: what all need, as distances, is in the cache then.
    std::vector<size_t> live;
    for (size_t p = 0; p < count; ++p) {
      if (live_states[p].has_value()) {
        live.push_back(p);
      }
    }
    const auto second = live.begin() + (live.empty() ? 0 : 1);
    for (const auto& some :
         {std::vector<size_t>(live.begin(), second), std::vector<size_t>(second, live.end())}) {
      MERCER_RETURN_IF_ERROR(ForParts(some, context, [&](size_t p, RunContext& own) {
        return Restore(p, *live_states[p], own);
      }));
    }
    return absl::OkStatus();
  }

 private:
  static bool IsLive(const Part& part) { return part.live != nullptr; }
  size_t MostAtOnce() const {
    return static_cast<size_t>(std::max<Index>(limits_.parts_at_once, 1));
  }

  std::vector<size_t> Where(const std::function<bool(const Part&)>& holds) const {
    std::vector<size_t> found;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (holds(parts_[p])) {
        found.push_back(p);
      }
    }
    return found;
  }

  static absl::Status ForParts(const std::vector<size_t>& parts, RunContext& context,
                               const std::function<absl::Status(size_t, RunContext&)>& work) {
    return SideBySide(static_cast<Index>(parts.size()), context, [&](Index i, RunContext& own) {
      return work(parts[static_cast<size_t>(i)], own);
    });
  }

  // Whether what was read of the parts goes together with these states of live ones.
  bool IsPossible(const std::vector<std::optional<std::string>>& live_states) const {
    size_t live = 0;
    int64_t due = 0;
    bool again = false;  // some part that is due has rested, or has not begun
    bool anew = false;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      const bool rests = !part.state.empty();
      const bool is_live = live_states[p].has_value();
      const bool has_model = rests ? part.point.function.num_outputs() == 1 : is_live;
      if ((rests && is_live) || (part.report.has_model && !has_model)) {
        return false;
      }
      live += is_live || part.due ? 1 : 0;
      due += part.due ? 1 : 0;
      again = again || (part.due && rests);
      anew = anew || (part.due && !rests && !is_live);
    }
    constexpr int64_t kMostSteps = std::numeric_limits<int64_t>::max() / 2;
    return !(again && anew) && live <= MostAtOnce() && due <= round_ &&
           round_ <= static_cast<int64_t>(MostAtOnce()) && steps_ >= 0 && steps_ <= kMostSteps;
  }

  // Puts those parts to rest that are not among the next, and makes these due.
  absl::StatusOr<std::vector<size_t>> BeginRound(RunContext& context) {
    WatchShares(context);
    const std::vector<size_t> next = NextParts();
    const auto is_next = [&](size_t p) { return std::binary_search(next.begin(), next.end(), p); };
    std::vector<size_t> leaving = Where(IsLive);
    leaving.erase(std::remove_if(leaving.begin(), leaving.end(), is_next), leaving.end());
    MERCER_RETURN_IF_ERROR(
        ForParts(leaving, context, [&](size_t p, RunContext& own) { return Collect(p, own); }));
    ShareTime(next, context);
    for (const size_t p : next) {
      parts_[p].due = true;
    }
    round_ = static_cast<int64_t>(next.size());
    return next;
  }

  // In order, those first that had no share of the time yet. Parts that rest wait until all others
  // have begun: they may be what these begin with. The first part goes ahead of the others: they
  // begin at its solution, and what all need, as distances, is in the cache then.
  std::vector<size_t> NextParts() const {
    const auto waits = [&](const Part& part) { return !Finished(part.report, target_); };
    const bool some_new = std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      return waits(part) && part.state.empty() && !IsLive(part);
    });
    for (const bool had_share : {false, true}) {
      std::vector<size_t> next = Where([&](const Part& part) {
        return waits(part) && part.had_share == had_share && (part.state.empty() || !some_new);
      });
      if (!next.empty()) {
        const bool alone = next.front() == 0 && !had_share && !parts_.back().begun;
        const auto steps =
            static_cast<size_t>(std::max<int64_t>(limits_.max_iterations - steps_, 1));
        next.resize(std::min({next.size(), alone ? 1 : MostAtOnce(), steps}));
        return next;
      }
    }
    const std::vector<size_t> live = Where(IsLive);
    return {live.empty() ? parts_.size() - 1 : live.back()};
  }

  // Notes which live parts had their share of the time. With a limit, every part gets as much of
  // what is left as those after it, once; what parts that end early leave goes to the others in
  // order. Without a limit nothing depends on the time.
  void WatchShares(const RunContext& context) {
    const absl::Duration now = context.clock().Monotonic();
    for (Part& part : parts_) {
      part.had_share = part.had_share || (part.share_end.has_value() && now >= *part.share_end);
    }
  }

  // Parts side by side share the time of all of them.
  void ShareTime(const std::vector<size_t>& next, const RunContext& context) {
    const absl::Duration left = context.TimeLeft();
    if (left == absl::InfiniteDuration()) {
      return;
    }
    const auto waiting = std::count_if(parts_.begin(), parts_.end(), [&](const Part& part) {
      return !part.had_share && !Finished(part.report, target_);
    });
    const double share =
        static_cast<double>(next.size()) / static_cast<double>(std::max<int64_t>(waiting, 1));
    for (const size_t p : next) {
      std::optional<absl::Duration>& end = parts_[p].share_end;
      end = end.value_or(context.clock().Monotonic() + std::min(share, 1.0) * left);
    }
  }

  absl::Status StepPart(size_t p, RunContext& context) {
    Part& part = parts_[p];
    if (!IsLive(part)) {
      MERCER_RETURN_IF_ERROR(Open(p, context));
    }
    MERCER_ASSIGN_OR_RETURN(part.report, part.live->learner->Step(context, target_));
    part.begun = true;
    part.due = false;
    return absl::OkStatus();
  }

  // Leaves `model` as it is when the learner has none.
  static absl::Status LiveModel(const Learner& learner, RunContext& context,
                                std::optional<TrainedPoint>& model) {
    absl::StatusOr<TrainedPoint> point = learner.CurrentModel(context);
    if (point.ok()) {
      DropBasisValues(point->function.bases);
      model = *std::move(point);
    }
    return absl::IsFailedPrecondition(point.status()) ? absl::OkStatus() : point.status();
  }

  absl::StatusOr<TrainedPoint> ConstantPart(size_t part, RunContext& context) const {
    const TrainingProblem problem = SplitOutput(*problem_, static_cast<Index>(part));
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, entry_.create(options_));
    MERCER_RETURN_IF_ERROR(learner->Start(problem, nullptr));
    return learner->ConstantModel(context);
  }

  absl::StatusOr<std::unique_ptr<Part::Live>> MakeLive(size_t p) const {
    auto live = std::make_unique<Part::Live>();
    live->problem = SplitOutput(*problem_, static_cast<Index>(p));
    MERCER_ASSIGN_OR_RETURN(live->learner, entry_.create(options_));
    return live;
  }

  absl::Status Restore(size_t p, std::string_view state, RunContext& context) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Part::Live> live, MakeLive(p));
    MERCER_RETURN_IF_ERROR(live->learner->RestoreState(live->problem, state, context));
    parts_[p].live = std::move(live);
    return absl::OkStatus();
  }

  absl::Status Begin(size_t p) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Part::Live> live, MakeLive(p));
    const std::optional<size_t> neighbour = NeighbourOf(p);
    if (neighbour.has_value()) {
      live->neighbour = SplitOutput(*problem_, static_cast<Index>(*neighbour));
      live->warm_start = {&parts_[*neighbour].point, &live->neighbour};
    }
    MERCER_RETURN_IF_ERROR(
        live->learner->Start(live->problem, neighbour.has_value() ? &live->warm_start : nullptr));
    parts_[p].live = std::move(live);
    return absl::OkStatus();
  }

  // A part that has rested leaves its state to the learner that goes on from it.
  absl::Status Open(size_t p, RunContext& context) {
    Part& part = parts_[p];
    if (part.state.empty()) {
      return Begin(p);
    }
    MERCER_RETURN_IF_ERROR(Restore(p, part.state, context));
    part.state = {};
    part.point = {};
    return absl::OkStatus();
  }

  // The part whose solution this one begins with, the nearest before it that rests with one:
  // outputs differ in their targets, but what was learned about the kernels carries over. Which one
  // that is depends on numbers of steps alone.
  std::optional<size_t> NeighbourOf(size_t p) const {
    while (p > 0) {
      if (parts_[--p].HasRestingModel()) {
        return p;
      }
    }
    return std::nullopt;
  }

  // Puts a live part to rest and frees its memory.
  absl::Status Collect(size_t p, RunContext& context) {
    Part& part = parts_[p];
    if (part.report.has_model) {
      MERCER_ASSIGN_OR_RETURN(part.point, part.live->learner->CurrentModel(context));
      DropBasisValues(part.point.function.bases);
    }
    part.state = part.live->learner->SaveState();
    part.live = nullptr;
    part.share_end.reset();
    return absl::OkStatus();
  }

  // The parts so far as one run: sums of bounds, the worst accuracy.
  StepReport Report() const {
    StepReport total;
    total.primal = 0;
    total.dual = 0;
    total.accuracy = 0;
    total.has_model = true;
    total.steps = round_;
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
      total.active_groups = std::max(total.active_groups, report.active_groups);
      total.support_vectors = std::max(total.support_vectors, report.support_vectors);
      total.inner_iterations += report.inner_iterations;
      if (IsLive(part)) {
        total.stage = report.stage;
      }
    }
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
  const RunLimits limits_;
  double target_ = 0;  // that the present step is asked for
  const TrainingProblem* problem_ = nullptr;
  std::vector<Part> parts_;
  int64_t round_ = 0;  // how many parts the round was begun with
  int64_t steps_ = 0;  // of all parts, in the rounds before
};

}  // namespace

std::unique_ptr<Learner> MakeCompositeLearner(const LearnerEntry& entry,
                                              const OptionValues& options,
                                              const RunLimits& limits) {
  return std::make_unique<CompositeLearner>(entry, options, limits);
}

}  // namespace mercer
