// Problem      min over changes of W and w of  sum_t g_t'dV_t + 1/2 dV_t'H_t dV_t + penalties,  dV_t = dW_t + dw: the quadratic
//              model of a restricted master at a point, its biases minimised out.
// Source       The specification of learning with infinitely many features, section (b.9): sweeps of proximal steps over the blocks,
//              which find out which are zero, and Newton's method on the entries along which the penalties are smooth. Works on
//              d x d matrices alone.
// Guarantees   The value never increases. Duplicate, constant and zero columns are harmless.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/base/run_context.h"
#include "core/solvers/feature_master.h"
#include "core/solvers/master_system.h"

namespace mercer {

class MasterModel {
 public:
  // hessians[t] is d x d and symmetric, tasks may share them; gradient d x T. `problem` must outlive this.
  MasterModel(const MasterProblem& problem, const MasterPoint& point,
              std::vector<std::shared_ptr<const Matrix>> hessians, Matrix gradient);

  // Until the residual of the optimality conditions, as a share of the penalties, is at most `share` times that of the first sweep.
  // Errors: kCancelled.
  absl::Status Minimize(double share, RunContext& context);

  const Matrix& specific() const { return specific_; }
  const Vector& shared() const { return shared_; }

 private:
  struct Change {
    Matrix specific;
    Vector shared;
  };

  const Matrix& Hessian(Index task) const { return *hessians_[static_cast<size_t>(task)]; }
  double Sweep();
  double MoveSpecific(Index group);
  double MoveShared(Index group);
  // Newton's method for tasks [begin, end), with the shared part when there is one; the other tasks stay.
  absl::Status MinimizeOnSupport(Index begin, Index end, RunContext& context);
  absl::StatusOr<bool> NewtonStep(Index begin, Index end, RunContext& context);
  MasterSystem MakeSystem(Index begin, Index end) const;
  double LargestStep(const MasterSystem& system, const Vector& step) const;
  bool LineSearch(const MasterSystem& system, const Vector& step);
  Change ChangeOf(const MasterSystem& system, const Vector& step) const;
  bool StopBlocksAtZero(Change& point) const;
  double Penalty(const Matrix& specific, const Vector& shared) const;
  double& Weight(const MasterUnknown& unknown) {
    return unknown.task < 0 ? shared_(unknown.column) : specific_(unknown.column, unknown.task);
  }
  double Weight(const MasterUnknown& unknown) const {
    return unknown.task < 0 ? shared_(unknown.column) : specific_(unknown.column, unknown.task);
  }
  bool HasKink(const MasterUnknown& unknown) const;

  const MasterProblem& problem_;
  std::vector<std::shared_ptr<const Matrix>> hessians_;
  Matrix gradient_;  // of the quadratic part at the current weights, by V
  Matrix specific_;
  Vector shared_;
  Vector specific_steps_;  // per group: an upper bound of the curvature of its block
  Vector shared_steps_;
  std::vector<Index> group_of_column_;
};

}  // namespace mercer
