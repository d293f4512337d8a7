#include "core/solvers/multitask/reweighted_solver.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kConvexShare = 0.1;  // of the measure asked for: the gap of a convex problem

}  // namespace

absl::Status ReweightedSolver::Start(RunContext& context) {
  // Refuses what Make refuses before anything is solved.
  const double smoothing = options_.smoothing > 0 ? options_.smoothing : 1.0;
  MERCER_RETURN_IF_ERROR(
      ConcaveTaskNorm::Make(problem_.norm.form(), options_.p, smoothing).status());
  state_ = {};
  steps_.clear();
  MERCER_RETURN_IF_ERROR(MakeNorm());
  MERCER_RETURN_IF_ERROR(Begin(context));
  return Touch(context).status();
}

int64_t ReweightedSolver::iterations() const {
  return state_.iterations + (convex_ != nullptr ? convex_->iterations() : 0);
}

absl::Status ReweightedSolver::MakeNorm() {
  const TaskNormForm form = problem_.norm.form();
  penalty_.reset();
  if (state_.smoothing > 0) {
    MERCER_ASSIGN_OR_RETURN(penalty_, ConcaveTaskNorm::Make(form, options_.p, state_.smoothing));
  }
  if (state_.touched.size() > 0) {
    problem_.norm = penalty_->Majorizer(state_.touched);
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(problem_.norm, TaskNorm::Make(form, 1, 2));
  return absl::OkStatus();
}

absl::Status ReweightedSolver::Begin(RunContext& context) {
  std::vector<Index> selected;
  for (Index k = 0; k < state_.touched.size(); ++k) {
    if (state_.touched(k) > 0) {
      selected.push_back(k);
    }
  }
  convex_ =
      std::make_unique<WorkingSetSolver>(problem_, options_.relative_gap, std::move(selected));
  return convex_->Start(context);
}

void ReweightedSolver::SetRelativeGap(double stationarity) {
  if (state_.stop == MultitaskStop::kRelativeGap && state_.stationarity > stationarity &&
      stationarity < state_.asked_at_stop && state_.touched.size() > 0) {
    state_.stop = MultitaskStop::kRunning;
  }
  options_.stationarity = stationarity;
  options_.relative_gap = kConvexShare * stationarity;
  if (convex_ != nullptr) {
    convex_->SetRelativeGap(options_.relative_gap);
  }
}

absl::Status ReweightedSolver::Step(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  if (convex_ == nullptr) {
    return Begin(context);
  }
  if (!convex_->done()) {
    const double before = convex_->best().primal;
    MERCER_RETURN_IF_ERROR(convex_->Step(context));
    // Later solutions are better than what their solvers begin with.
    if (state_.steps == 0 && convex_->best().primal < before) {
      MERCER_RETURN_IF_ERROR(Touch(context).status());
    }
  }
  return convex_->done() ? EndStep(context) : absl::OkStatus();
}

absl::StatusOr<ReweightedStep> ReweightedSolver::Touch(RunContext& context) {
  const MultitaskBest& best = convex_->best();
  MERCER_ASSIGN_OR_RETURN(point_, EvaluateMultitask(problem_, best.dual, best.weights, context));
  ReweightedStep step{.convex_objective = best.primal,
                      .risk = point_.risk,
                      .joint_norms = problem_.norm.JointNorms(point_.Norms()),
                      .block_weights = problem_.norm.BlockWeights(problem_.num_blocks())};
  state_.best_smoothing = state_.smoothing;
  const double largest = step.joint_norms.maxCoeff();
  if (state_.smoothing == 0 && largest > 0) {
    state_.best_smoothing =
        options_.smoothing > 0 ? options_.smoothing : options_.smoothing_share * largest;
  }
  step.objective = point_.risk;
  if (state_.best_smoothing > 0) {
    MERCER_ASSIGN_OR_RETURN(
        const ConcaveTaskNorm penalty,
        ConcaveTaskNorm::Make(problem_.norm.form(), options_.p, state_.best_smoothing));
    step.objective += penalty.Penalty(step.joint_norms);
    // Whatever dual there is bounds the problem that touches; that of this function is as good as
    // any.
    const TaskNorm touching = penalty.Majorizer(step.joint_norms);
    point_.primal = point_.risk + touching.Penalty(point_.Norms());
    point_.dual_value = touching.DualValue(point_.linear, touching.DualNorm(point_.energies));
  }
  state_.touching = point_.primal;
  state_.best.TakeFunction(point_, step.objective);
  state_.best.lower = step.objective - (point_.primal - point_.dual_value);
  state_.best.lower_dual = point_.dual;
  state_.stationarity = state_.best.RelativeGap();
  return step;
}

// The dual that a function comes with belongs to the problem before the one that touches there. How
// much more the function costs than the optimum of the latter is known when that is solved.
bool ReweightedSolver::IsStationary() {
  MultitaskBest& best = state_.best;
  const double lower = best.primal - (state_.touching - convex_->best().lower);
  if (state_.touched.size() == 0 || !(lower > best.lower)) {
    return false;
  }
  best.lower = lower;
  best.lower_dual = convex_->best().lower_dual;
  state_.stationarity = best.RelativeGap();
  return state_.stationarity < options_.stationarity;
}

absl::Status ReweightedSolver::EndStep(RunContext& context) {
  if (IsStationary()) {
    state_.iterations += convex_->iterations();
    convex_ = nullptr;
    Stop(MultitaskStop::kRelativeGap);
    return absl::OkStatus();
  }
  const double gap = convex_->best().RelativeGap();
  MERCER_ASSIGN_OR_RETURN(ReweightedStep step, Touch(context));
  state_.iterations += convex_->iterations();
  convex_ = nullptr;
  ++state_.steps;
  state_.smoothing = state_.best_smoothing;
  const double before = state_.objective;
  state_.objective = step.objective;
  const bool is_zero = !(step.joint_norms.maxCoeff() > 0);
  if (!is_zero) {
    state_.touched = step.joint_norms;
    MERCER_RETURN_IF_ERROR(MakeNorm());
  }
  steps_.push_back(std::move(step));
  // The first step has solved another problem, whose objective says nothing of this one. The
  // function 0 touches its own bound.
  const double decrease = state_.steps > 1 ? before - state_.objective : kInfinity;
  if (is_zero || state_.stationarity < options_.stationarity ||
      decrease <= std::max(options_.relative_decrease, 2 * gap) * state_.objective) {
    Stop(MultitaskStop::kRelativeGap);
  } else if (state_.steps >= options_.max_steps) {
    Stop(MultitaskStop::kIterationLimit);
  }
  return absl::OkStatus();
}

void ReweightedSolver::Stop(MultitaskStop why) {
  state_.stop = why;
  state_.asked_at_stop = options_.stationarity;
}

void ReweightedSolver::Save(ByteWriter& writer) const {
  WriteFields(state_, writer, problem_);
  writer.WriteBool(convex_ != nullptr);
  if (convex_ != nullptr) {
    convex_->Save(writer);
  }
}

absl::Status ReweightedSolver::Load(ByteReader& reader, RunContext& context) {
  State read;
  const bool fits = ReadFields(reader, read, problem_);
  const bool solving = reader.ReadBool();
  if (!fits || !reader.ok()) {
    return absl::InvalidArgumentError("not a state of the reweighted solver");
  }
  state_ = std::move(read);
  steps_.clear();
  convex_ = nullptr;
  MERCER_RETURN_IF_ERROR(MakeNorm());
  if (solving) {
    convex_ = std::make_unique<WorkingSetSolver>(problem_, options_.relative_gap);
    return convex_->Load(reader, context);
  }
  return absl::OkStatus();
}

}  // namespace mercer
