#include "core/solvers/multitask/reweighted_solver.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer {

absl::Status ReweightedSolver::Start(RunContext& context) {
  penalty_.reset();
  steps_.clear();
  stationarity_ = kInfinity;
  iterations_ = 0;
  convex_ = nullptr;
  stop_ = MultitaskStop::kRunning;
  // Refuses what Make refuses before anything is solved.
  const double smoothing = options_.smoothing > 0 ? options_.smoothing : 1.0;
  const TaskNormForm form = problem_.norm.form();
  MERCER_RETURN_IF_ERROR(ConcaveTaskNorm::Make(form, options_.p, smoothing).status());
  MERCER_ASSIGN_OR_RETURN(problem_.norm, TaskNorm::Make(form, 1, 2));
  return Begin({}, context);
}

absl::Status ReweightedSolver::Begin(std::vector<Index> blocks, RunContext& context) {
  iterations_ = iterations();
  convex_ = std::make_unique<WorkingSetSolver>(problem_, options_.relative_gap, std::move(blocks));
  return convex_->Start(context);
}

absl::Status ReweightedSolver::Step(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  if (!convex_->done()) {
    MERCER_RETURN_IF_ERROR(convex_->Step(context));
  }
  return convex_->done() ? EndStep(context) : absl::OkStatus();
}

absl::Status ReweightedSolver::Run(RunContext& context) {
  while (!done()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    MERCER_RETURN_IF_ERROR(Step(context));
  }
  return absl::OkStatus();
}

absl::Status ReweightedSolver::EndStep(RunContext& context) {
  const MultitaskBest& best = convex_->best();
  ReweightedStep step;
  step.convex_objective = best.primal;
  step.block_weights = problem_.norm.BlockWeights(problem_.num_blocks());
  const double gap = best.RelativeGap();
  MERCER_ASSIGN_OR_RETURN(point_, EvaluateMultitask(problem_, best.dual, best.weights, context));
  step.joint_norms = problem_.norm.JointNorms(point_.Norms());
  const double largest = step.joint_norms.maxCoeff();
  if (!penalty_.has_value() && largest > 0) {
    const double smoothing =
        options_.smoothing > 0 ? options_.smoothing : options_.smoothing_share * largest;
    MERCER_ASSIGN_OR_RETURN(penalty_,
                            ConcaveTaskNorm::Make(problem_.norm.form(), options_.p, smoothing));
  }
  step.risk = point_.risk;
  step.objective = point_.risk;
  if (!(largest > 0)) {
    // The function 0 touches its own bound: a stationary point.
    stationarity_ = std::max(gap, 0.0);
    stop_ = MultitaskStop::kRelativeGap;
    steps_.push_back(std::move(step));
    return absl::OkStatus();
  }
  step.objective += penalty_->Penalty(step.joint_norms);
  problem_.norm = penalty_->Majorizer(step.joint_norms);
  // Whatever dual there is bounds the next problem; that of this function is as good as any.
  MERCER_ASSIGN_OR_RETURN(point_, EvaluateMultitask(problem_, best.dual, best.weights, context));
  stationarity_ = (point_.primal - point_.dual_value) / step.objective;
  const double before = steps_.empty() ? kInfinity : steps_.back().objective;
  const double objective = step.objective;
  std::vector<Index> selected;
  for (Index k = 0; k < step.joint_norms.size(); ++k) {
    if (step.joint_norms(k) > 0) {
      selected.push_back(k);
    }
  }
  steps_.push_back(std::move(step));
  // The first step has solved another problem, whose objective says nothing of this one.
  if (before - objective <= std::max(options_.relative_decrease, 2 * gap) * objective) {
    stop_ = MultitaskStop::kRelativeGap;
  } else if (static_cast<int64_t>(steps_.size()) >= options_.max_steps) {
    stop_ = MultitaskStop::kIterationLimit;
  } else {
    return Begin(std::move(selected), context);
  }
  return absl::OkStatus();
}

}  // namespace mercer
