// Multi-task problems with a penalty that is concave in the joint norms (ConcaveTaskNorm), by
// convex problems in turn: each minimises the risk and the bound of the penalty that touches at the
// norms of the last solution, beginning with the solution of p = 1.
//
// Source       Hunter, Lange: A tutorial on MM algorithms. Am. Stat. 58 (2004) 30-37;
//              docs/mathematics/sparse_multitask_svm.md.
// Guarantees   Risk and penalty never rise by more than the gap of a convex problem. What is found
//              is a stationary point, which depends on the start; stationarity() says how nearly.
// Cost         Of the convex problems the first takes most; 8 to 12 others follow, on the blocks
//              that are selected and those that violate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/task_norm.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/working_set_solver.h"

namespace mercer {

struct ReweightedOptions {
  double p = 0.5;
  // Against the largest joint norm of the solution of p = 1; 0: `smoothing` is given.
  double smoothing_share = 1e-3;
  double smoothing = 0;
  double relative_decrease = 1e-4;  // of risk and penalty, at which a run ends
  double relative_gap = 1e-5;       // of the convex problems
  int64_t max_steps = 30;           // convex problems
};

// A solution of a convex problem.
struct ReweightedStep {
  double convex_objective = 0;
  double objective = 0;  // risk and concave penalty
  double risk = 0;
  Vector joint_norms;
  Vector block_weights;  // of the convex problem
};

class ReweightedSolver {
 public:
  // The norm of the problem says the form alone.
  ReweightedSolver(MultitaskProblem problem, const ReweightedOptions& options)
      : problem_(std::move(problem)), options_(options) {}

  // Errors: kInvalidArgument, kCancelled.
  absl::Status Start(RunContext& context);
  // An iteration of a convex problem. Errors: kCancelled, after which Start must follow.
  absl::Status Step(RunContext& context);
  absl::Status Run(RunContext& context);

  bool done() const { return stop_ != MultitaskStop::kRunning; }
  MultitaskStop stop() const { return stop_; }
  const std::vector<ReweightedStep>& steps() const { return steps_; }
  // The function of the last step, and what the problem that touches there says of it.
  const MultitaskPoint& point() const { return point_; }
  const std::optional<ConcaveTaskNorm>& penalty() const { return penalty_; }
  // The gap of the convex problem that touches at the function, as a share of risk and penalty: 0
  // at stationary points alone.
  double stationarity() const { return stationarity_; }
  int64_t iterations() const {
    return iterations_ + (convex_ != nullptr ? convex_->iterations() : 0);
  }

 private:
  absl::Status Begin(std::vector<Index> blocks, RunContext& context);
  absl::Status EndStep(RunContext& context);

  MultitaskProblem problem_;
  const ReweightedOptions options_;
  std::optional<ConcaveTaskNorm> penalty_;  // known from the first step on
  std::unique_ptr<WorkingSetSolver> convex_;
  std::vector<ReweightedStep> steps_;
  MultitaskPoint point_;
  double stationarity_ = kInfinity;
  int64_t iterations_ = 0;
  MultitaskStop stop_ = MultitaskStop::kRunning;
};

}  // namespace mercer
