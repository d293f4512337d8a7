// Problem      min over changes of W and w of  sum_t g_t'dV_t + 1/2 dV_t'H_t dV_t + penalties,
//              dV_t = dW_t + dw: the quadratic model of a restricted master at a point, its biases
//              minimised out.
// Source       docs/mathematics/infinite_features.md, section 6: sweeps of proximal steps over the
//              blocks, which find out which are zero, and Newton's method on the entries along
//              which the penalties are smooth. Works on d x d matrices alone.
// Guarantees   The value never increases. Duplicate, constant and zero columns are harmless, and so
//              are rows whose costs differ by many orders of magnitude: steps are chosen with the
//              blocks in mind that they carry to 0.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/base/process/run_context.h"
#include "core/solvers/group/group_problem.h"
#include "core/solvers/group/group_system.h"

namespace mercer {

class GroupModel {
 public:
  // The model at `point`. hessians[t] is d x d and symmetric, tasks may share them; gradient is
  // d x T. `problem` must outlive this.
  GroupModel(const GroupProblem& problem, const GroupPoint& point,
             std::vector<std::shared_ptr<const Matrix>> hessians, Matrix gradient);

  // Minimises the model until the residual of the optimality conditions, as a share of the
  // penalties, is at most `share` times that of the first sweep. Errors: kCancelled.
  absl::Status Minimize(double share, RunContext& context);

  const Matrix& specific() const { return specific_; }
  const Vector& shared() const { return shared_; }

 private:
  struct Weights {
    Matrix specific;
    Vector shared;
    double& Of(const GroupUnknown& unknown) {
      return unknown.task < 0 ? shared(unknown.column) : specific(unknown.column, unknown.task);
    }
  };

  const Matrix& Hessian(Index task) const { return *hessians_[static_cast<size_t>(task)]; }
  double Sweep();
  double MoveSpecific(Index group);
  double MoveShared(Index group);
  // Newton's method on the smooth entries of tasks [begin, end), with the shared part when there is
  // one; the other tasks stay.
  absl::Status MinimizeOnSupport(Index begin, Index end, RunContext& context);
  absl::StatusOr<bool> NewtonStep(Index begin, Index end, RunContext& context);
  enum class PenaltyCurvature { kOwn, kGuarded };
  GroupSystem MakeSystem(Index begin, Index end, PenaltyCurvature curvature) const;
  // Three ways on, each for when the one before does not gain enough: what the step carries past 0
  // stays there; the step is chosen anew for that; the penalties are replaced by bounds that are
  // smooth at 0. False when nothing has moved.
  bool StepStoppingAtZero(const GroupSystem& system, const Vector& step);
  absl::StatusOr<bool> BentStep(const GroupSystem& system, Vector step, RunContext& context);
  absl::StatusOr<bool> GuardedStep(Index begin, Index end, RunContext& context);
  double LargestStep(const GroupSystem& system, const Vector& step) const;
  Weights After(const GroupSystem& system, const Vector& step) const;
  Weights AfterStoppingAtZero(const GroupSystem& system, const Vector& step, double size) const;
  Vector StepsToZero(const GroupSystem& system, const Vector& step) const;
  void StopBlocksAtZero(Weights& point) const;
  bool MoveTo(Weights next, double goal);
  double Penalty(const Matrix& specific, const Vector& shared) const;
  double Weight(const GroupUnknown& unknown) const {
    return unknown.task < 0 ? shared_(unknown.column) : specific_(unknown.column, unknown.task);
  }
  bool HasKink(const GroupUnknown& unknown) const;

  const GroupProblem& problem_;
  std::vector<std::shared_ptr<const Matrix>> hessians_;
  Matrix gradient_;  // of the quadratic part at the current weights, by V
  Matrix specific_;
  Vector shared_;
  Vector specific_steps_;  // per group: an upper bound of the curvature of its block
  Vector shared_steps_;
  std::vector<Index> group_of_column_;
};

}  // namespace mercer
