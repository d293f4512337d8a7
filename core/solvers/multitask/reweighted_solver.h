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

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/task_norm.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/multitask_solver.h"
#include "core/solvers/multitask/working_set_solver.h"

namespace mercer {

struct ReweightedOptions {
  double p = 0.5;
  // Against the largest joint norm of the solution of p = 1; 0: `smoothing` is given.
  double smoothing_share = 1e-3;
  double smoothing = 0;
  // What ends a run: so small a measure of stationarity (0: none), or so small a decrease of risk
  // and penalty.
  double stationarity = 0;
  double relative_decrease = 1e-4;
  double relative_gap = 1e-5;  // of the convex problems
  int64_t max_steps = 30;      // convex problems
};

// A solution of a convex problem.
struct ReweightedStep {
  double convex_objective = 0;
  double objective = 0;  // risk and concave penalty
  double risk = 0;
  Vector joint_norms;
  Vector block_weights;  // of the convex problem
};

// Of the best function that it tells, primal is risk and penalty, and lower is that less the gap of
// the convex problem that touches there: no bound of the optimum, which nothing bounds, but so that
// their relative gap is the measure of stationarity.
class ReweightedSolver : public MultitaskSolver {
 public:
  // The norm of the problem says the form alone.
  ReweightedSolver(MultitaskProblem problem, const ReweightedOptions& options)
      : problem_(std::move(problem)), options_(options) {}

  // Errors: kInvalidArgument, kCancelled.
  absl::Status Start(RunContext& context) override;
  // An iteration of a convex problem. Errors: kCancelled, after which Start or Load must follow.
  absl::Status Step(RunContext& context) override;
  // The measure of stationarity at which a run ends. One that has stopped goes on when it is asked
  // for less than it was then.
  void SetRelativeGap(double stationarity) override;

  MultitaskStop stop() const override { return state_.stop; }
  const MultitaskBest& best() const override { return state_.best; }
  int64_t iterations() const override;
  double NextCost() const override { return convex_ != nullptr ? convex_->NextCost() : 0; }
  // Since the run began, or was restored.
  const std::vector<ReweightedStep>& steps() const { return steps_; }
  // The function of the last step, and what the problem that touches there says of it.
  const MultitaskPoint& point() const { return point_; }
  // Known when p = 1 is solved, unless its solution is 0.
  const std::optional<ConcaveTaskNorm>& penalty() const { return penalty_; }
  // That of the best function; of the function 0 before there is a penalty the smoothing is 0, and
  // its bounds are those of p = 1, at whose optimum it is stationary here as well.
  double smoothing() const { return state_.best_smoothing; }
  // The gap of the convex problem that touches at the function, as a share of risk and penalty: 0
  // at stationary points alone.
  double stationarity() const { return state_.stationarity; }

  void Save(ByteWriter& writer) const override;
  absl::Status Load(ByteReader& reader, RunContext& context) override;

 private:
  struct State {
    double smoothing = 0;  // of the penalty; 0 until it is known
    Vector touched;        // joint norms where the convex problem touches; of the first one, none
    int64_t steps = 0;
    int64_t iterations = 0;  // of convex problems that are solved
    double objective = kInfinity;
    double stationarity = kInfinity;
    double touching =
        kInfinity;  // objective of the best function in the problem that touches there
    MultitaskStop stop = MultitaskStop::kRunning;
    double asked_at_stop = 0;  // stationarity that was asked for when the run stopped
    MultitaskBest best;
    double best_smoothing = 0;

    static void VisitFields(auto& visit, auto& self, const MultitaskProblem& of) {
      visit(NotNegative(self.smoothing), SizedOrEmpty(self.touched, of.num_blocks()), self.steps,
            self.iterations, self.objective, self.stationarity, self.touching,
            UpTo(self.stop, MultitaskStop::kIterationLimit), NotNegative(self.asked_at_stop),
            Nested(self.best, NoSizes()), NotNegative(self.best_smoothing));
      visit.Require([&] {
        return std::isfinite(self.smoothing) && std::isfinite(self.best_smoothing) &&
               self.touched.allFinite() && (self.touched.array() >= 0).all() &&
               (self.touched.size() == 0 || self.smoothing > 0) && !std::isnan(self.objective) &&
               !std::isnan(self.stationarity) && !std::isnan(self.touching) && self.best.Fits(of);
      });
    }
  };

  // Makes the penalty, if it is known, and the norm of the convex problem of the state.
  absl::Status MakeNorm();
  absl::Status Begin(RunContext& context);
  // Takes the best function so far of the convex problem for that of this one.
  absl::StatusOr<ReweightedStep> Touch(RunContext& context);
  // Whether the dual of the solved problem shows that the function where it touches is as nearly
  // stationary as was asked for.
  bool IsStationary();
  absl::Status EndStep(RunContext& context);
  void Stop(MultitaskStop why);

  MultitaskProblem problem_;
  ReweightedOptions options_;
  std::optional<ConcaveTaskNorm> penalty_;
  std::unique_ptr<WorkingSetSolver> convex_;
  std::vector<ReweightedStep> steps_;
  MultitaskPoint point_;
  State state_;
};

}  // namespace mercer
