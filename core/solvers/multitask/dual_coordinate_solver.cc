#include "core/solvers/multitask/dual_coordinate_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kShareOfTasks = 0.1;  // of the gap of the whole, for the machines of all tasks
constexpr double kLeastOfPrimal = 1e-13;
// Of the largest weight of a task. In closed form weights never reach 0, but become too small to
// matter.
constexpr double kLeastWeight = 1e-12;
constexpr int64_t kMostVisits = 100;
constexpr size_t kPairsOfACheck = 64;  // of cancellation

// Of the signed dual variable of a row.
double LowerOfRow(const MultitaskTask& task, Index i) {
  return std::min(task.targets(i) * task.costs(i), 0.0);
}
double UpperOfRow(const MultitaskTask& task, Index i) {
  return std::max(task.targets(i) * task.costs(i), 0.0);
}

// Between the function of the dual and the dual, of the machine whose scores these are.
absl::StatusOr<double> GapOfMachine(const MultitaskProblem& problem, const MultitaskTask& task,
                                    const Vector& dual, const Vector& scores,
                                    const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                          problem.loss->ExactBias(task.targets, task.costs, scores, context));
  MERCER_ASSIGN_OR_RETURN(
      const double risk,
      problem.loss->TotalValue(task.targets, task.costs, scores, bias.chosen, context));
  MERCER_ASSIGN_OR_RETURN(const double linear,
                          problem.loss->DualValue(task.targets, task.costs, dual, context));
  return risk + DotOfRows(dual, scores) - linear;
}

}  // namespace

absl::Status DualCoordinateSolver::Start(RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckMultitaskProblem(problem_));
  if (problem_.norm.groups() != nullptr) {
    return absl::InvalidArgumentError("dual coordinate descent is not for blocks in groups");
  }
  const Index tasks = problem_.num_tasks();
  const Index blocks = problem_.num_blocks();
  pairs_ = nullptr;
  state_ = {};
  state_.weights = problem_.norm.FirstWeights(tasks, blocks);
  MERCER_ASSIGN_OR_RETURN(
      MultitaskPoint constants,
      EvaluateMultitask(problem_, DualOfConstants(problem_), Matrix::Zero(tasks, blocks), context));
  state_.best.Improve(constants);
  state_.duals = std::move(constants.dual);
  Aim();
  if (IsTrivial(problem_) || state_.best.RelativeGap() <= relative_gap_) {
    state_.stop = MultitaskStop::kRelativeGap;
  }
  return absl::OkStatus();
}

void DualCoordinateSolver::SetRelativeGap(double relative_gap) {
  state_.stop = StopAtGap(state_.stop, state_.best, relative_gap);
  relative_gap_ = relative_gap;
}

// What machines miss is to be little of what the weights miss.
void DualCoordinateSolver::Aim() {
  const double gap = std::max(state_.best.primal - state_.best.lower,
                              kLeastOfPrimal * std::abs(state_.best.primal));
  state_.machine_gap = kShareOfTasks * gap / static_cast<double>(problem_.num_tasks());
}

absl::StatusOr<std::unique_ptr<RowPairs>> DualCoordinateSolver::MakePairs(
    RunContext& context) const {
  Vector weights = state_.weights.row(state_.task);
  const double least = kLeastWeight * weights.maxCoeff();
  weights = (weights.array() > least).select(weights, 0.0);
  return MakeRowPairs(*problem_.tasks[static_cast<size_t>(state_.task)].blocks, weights, context);
}

absl::Status DualCoordinateSolver::BeginTask(RunContext& context) {
  state_.task = NextMachine(problem_, state_.task);
  if (state_.task == problem_.num_tasks()) {
    return EndTasks(context);
  }
  MERCER_ASSIGN_OR_RETURN(pairs_, MakePairs(context));
  MERCER_ASSIGN_OR_RETURN(state_.image,
                          pairs_->ImageOf(state_.duals[static_cast<size_t>(state_.task)], context));
  state_.visits = 0;
  state_.moving = true;
  return absl::OkStatus();
}

absl::Status DualCoordinateSolver::Step(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  return state_.moving ? RunEpoch(context) : BeginTask(context);
}

absl::Status DualCoordinateSolver::RunEpoch(RunContext& context) {
  const auto t = static_cast<size_t>(state_.task);
  const MultitaskTask& task = problem_.tasks[t];
  MERCER_ASSIGN_OR_RETURN(const Vector scores, pairs_->ScoresOf(state_.image, context));
  bool more = scores.allFinite() && state_.visits < kMostVisits;
  if (more && state_.visits > 0) {
    MERCER_ASSIGN_OR_RETURN(const double gap,
                            GapOfMachine(problem_, task, state_.duals[t], scores, context));
    more = gap > state_.machine_gap;
  }
  if (more) {
    MERCER_ASSIGN_OR_RETURN(more, DescendAlongPairs(scores - task.targets, context));
    ++state_.visits;
    ++state_.epochs;
  }
  if (!more) {
    pairs_ = nullptr;
    state_.image = Vector();
    state_.moving = false;
    ++state_.task;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DualCoordinateSolver::DescendAlongPairs(const Vector& slopes,
                                                             RunContext& context) {
  const auto t = static_cast<size_t>(state_.task);
  const MultitaskTask& task = problem_.tasks[t];
  Vector& dual = state_.duals[t];
  std::vector<std::pair<double, Index>> up;    // by slopes, the smallest first
  std::vector<std::pair<double, Index>> down;  // by slopes, the largest first
  for (Index i = 0; i < dual.size(); ++i) {
    if (dual(i) < UpperOfRow(task, i)) {
      up.emplace_back(slopes(i), i);
    }
    if (dual(i) > LowerOfRow(task, i)) {
      down.emplace_back(-slopes(i), i);
    }
  }
  std::sort(up.begin(), up.end());
  std::sort(down.begin(), down.end());
  const size_t most = std::min(up.size(), down.size());
  bool moved = false;
  for (size_t k = 0; k < most && up[k].first < -down[k].first; ++k) {
    if (k % kPairsOfACheck == 0) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    }
    const Index i = up[k].second;
    const Index j = down[k].second;
    const RowPair pair{i, j, task.targets(i) - task.targets(j),
                       std::min(UpperOfRow(task, i) - dual(i), dual(j) - LowerOfRow(task, j))};
    MERCER_ASSIGN_OR_RETURN(const double step, pairs_->Descend(pair, state_.image, context));
    dual(i) = std::min(dual(i) + step, UpperOfRow(task, i));
    dual(j) = std::max(dual(j) - step, LowerOfRow(task, j));
    moved = moved || step > 0;
  }
  return moved;
}

absl::Status DualCoordinateSolver::EndTasks(RunContext& context) {
  ++state_.steps;
  MERCER_ASSIGN_OR_RETURN(MultitaskPoint point,
                          EvaluateMultitask(problem_, state_.duals, state_.weights, context));
  state_.best.Improve(point);
  state_.stop = StopOf(state_.best, relative_gap_, state_.steps, options_.max_steps);
  state_.weights = problem_.norm.NextWeights(point.Norms(), point.energies);
  state_.duals = std::move(point.dual);
  state_.task = 0;
  Aim();
  return absl::OkStatus();
}

double DualCoordinateSolver::NextCost() const {
  constexpr double kOfEpoch = 20;  // operations on each number that it reads
  const Index t = std::min(state_.task, problem_.num_tasks() - 1);
  const MultitaskTask& task = problem_.tasks[static_cast<size_t>(t)];
  const auto rows = static_cast<double>(task.targets.size());
  return state_.moving ? kOfEpoch * rows * static_cast<double>(state_.image.size())
                       : rows * rows * static_cast<double>(problem_.num_blocks());
}

void DualCoordinateSolver::Save(ByteWriter& writer) const { WriteFields(state_, writer, problem_); }

absl::Status DualCoordinateSolver::Load(ByteReader& reader, RunContext& context) {
  State read;
  if (!ReadFields(reader, read, problem_)) {
    return absl::InvalidArgumentError("not a state of dual coordinate descent");
  }
  state_ = std::move(read);
  pairs_ = nullptr;
  if (state_.moving) {
    MERCER_ASSIGN_OR_RETURN(pairs_, MakePairs(context));
    if (pairs_->image_size() != state_.image.size()) {
      return absl::InvalidArgumentError("not a state of dual coordinate descent");
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
