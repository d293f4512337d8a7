// The only training loop: limits, cancellation, progress, checkpoints, stopping by accuracy, final
// verification.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/process/run_context.h"
#include "core/training/contract/learner.h"

namespace mercer {

struct RunLimits {
  double relative_gap = 1e-3;  // stop when the learner's accuracy is at most this; in (0, 1)
  int64_t max_iterations = 1'000'000;  // steps; >= 1
  // How long the search may take from the call on, by RunContext::clock; > 0; a resumed run is
  // given what is left. It ends a step that is under way. Restoring a state before the search and
  // verifying the model after it are not limited.
  absl::Duration max_time = absl::InfiniteDuration();
  // True: a run that ends before the learner has a model ends with the constant one, if the learner
  // knows one, whatever it takes to make. This is for runs behind others whose results would be
  // lost without a model.
  bool constant_if_none = false;
  // How many outputs that are runs of their own are learned side by side, and verified. What a run
  // finds may depend on it, and does not on the threads that they have.
  Index parts_at_once = 1;
};

// One progress event.
struct ProgressEvent {
  int64_t iteration = 0;  // steps done, from 1; continues after a resume
  StepReport report;
  std::string phase;  // "train", or "fold 2 of 5"
};

// Told of progress by the thread that trains (but see OnStage and StopRequested). Calls must return
// quickly.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void OnProgress(const ProgressEvent& event) = 0;
  // What is going on inside a step that takes long: the last step's report, if any, with another
  // stage and the share of it that is done. Called by every thread that works for the run, any
  // number of times: thread-safe.
  virtual void OnStage(const ProgressEvent& event) { (void)event; }
  // Asked after every step, and once more when the run is cancelled; a true answer is followed by
  // OnCheckpoint.
  virtual bool WantsCheckpoint() { return false; }
  // Asked once when an error of the disk (IsDiskError), or a stop, ends the search of a run that has
  // come further since it began, or since its last checkpoint; a true answer is followed by
  // OnCheckpoint. After a stop that comes before OnVerifying.
  virtual bool WantsLastCheckpoint() { return WantsCheckpoint(); }
  virtual void OnCheckpoint(std::string state) { (void)state; }
  // Called once when the verification starts.
  virtual void OnVerifying() {}
  // True when the user asked to end now with the best model so far. Asked after every step, and
  // within steps by every thread that works for the run: thread-safe, and as cheap as reading a
  // flag.
  virtual bool StopRequested() { return false; }
};

// Stands before the name of an option in the metric that says that it ended the search:
// "limit_reached.max_groups" has its value.
inline constexpr char kLimitPrefix[] = "limit_reached.";

struct TrainingOutcome {
  TrainedPoint point;       // function and summary in the user's unit, the witness in the problem's
  Certificate certificate;  // from verify, not from the learner's own report; in the user's unit
  std::vector<Metric> metrics;  // of the verifier, and TrainedPoint::limit_reached
  StopReason stop_reason = StopReason::kConverged;
  int64_t iterations = 0;
};

// Runs `learner` (made by `entry`) on `problem` from `state`, or when that is empty from the start,
// which is `warm_start` unless that is null. When the verified accuracy misses the one that the
// learner reported, training goes on with a tighter target, at most kMaxTightenings times; an
// outcome that says kConverged is one whose verified accuracy is at most limits.relative_gap.
// Errors: those of the learner; kCancelled; kFailedPrecondition with reason NO_MODEL when a limit
// or stop came before there was a model.
inline constexpr int kMaxTightenings = 4;
absl::StatusOr<TrainingOutcome> RunTraining(const LearnerEntry& entry, const OptionValues& options,
                                            Learner& learner, const TrainingProblem& problem,
                                            const RunLimits& limits, std::string_view state,
                                            RunContext& context, RunObserver& observer,
                                            const WarmStart* warm_start = nullptr);

}  // namespace mercer
