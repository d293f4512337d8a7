// The system of one step of Newton's method on the entries along which the penalties of a
// restricted master are smooth: the second derivatives of the risk by weights of tasks and shared
// weights, plus those of the penalties, block by block.
//
// Small systems are factored, and large ones of one task's weights. In the others tasks meet in the
// blocks of the penalties and in the shared weights only, so conjugate gradients with the factor of
// each task as preconditioner take few iterations, and never is there a matrix of all unknowns.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// A weight that Newton's method moves: one of a task, or a shared one.
struct GroupUnknown {
  Index column;
  Index task;  // -1: shared
};

class GroupSystem {
 public:
  // An empty system. hessians[t] holds the second derivatives of task t's risk, d x d and
  // symmetric, and must outlive this.
  explicit GroupSystem(const std::vector<std::shared_ptr<const Matrix>>& hessians)
      : hessians_(hessians) {}

  // Adds the unknowns of one block with the gradient and the second derivatives of its penalty.
  void AddBlock(const std::vector<GroupUnknown>& unknowns, const Vector& gradient, Matrix hessian);
  // Adds the gradient of the risk, d x T.
  void AddRisk(const Matrix& gradient);

  const std::vector<GroupUnknown>& unknowns() const { return unknowns_; }
  Index size() const { return static_cast<Index>(unknowns_.size()); }
  // The gradient of risk and penalties together, by unknowns.
  const Vector& gradient() const { return gradient_; }

  // The step to where the quadratic model is least; nothing when rounding leaves none. Errors of
  // this and the next: kCancelled.
  absl::StatusOr<std::optional<Vector>> Solve(RunContext& context) const {
    return Solve(Vector::Constant(size(), kFree), context);
  }
  // The same among the steps whose entries are those of `given` where that is not kFree.
  absl::StatusOr<std::optional<Vector>> Solve(const Vector& given, RunContext& context) const;
  static constexpr double kFree = kInfinity;

 private:
  class Preconditioner;

  const GroupUnknown& unknown(Index a) const { return unknowns_[static_cast<size_t>(a)]; }
  Index num_tasks() const { return static_cast<Index>(hessians_.size()); }
  bool HasOneTask() const;
  double RiskCurvature(const GroupUnknown& row, const GroupUnknown& col) const;
  // What is added to the diagonal: W and w may move against each other without any curvature, which
  // would leave the system singular.
  double Ridge() const;
  Vector Diagonal() const;
  Vector LargestPenaltyCurvatures() const;
  // The second derivatives of the risk by the columns that have unknowns alone.
  struct Restriction {
    std::vector<Index> row_of_column;                     // -1: has none
    std::vector<std::shared_ptr<const Matrix>> hessians;  // by tasks
  };
  Restriction Restrict() const;
  Vector Times(const Restriction& restriction, const Vector& values) const;
  absl::StatusOr<std::optional<Vector>> SolveDense(const Vector& given, RunContext& context) const;
  absl::StatusOr<std::optional<Vector>> SolveByGradients(const Vector& given,
                                                         RunContext& context) const;

  const std::vector<std::shared_ptr<const Matrix>>& hessians_;
  std::vector<GroupUnknown> unknowns_;
  std::vector<Matrix> blocks_;  // of the penalties, in the order of the unknowns
  Vector gradient_;
};

// A matrix whose column t is hessians[t] times weights.col(t).
Matrix ProductsWithHessians(const std::vector<std::shared_ptr<const Matrix>>& hessians,
                            const Matrix& weights);

}  // namespace mercer
