// Proximal Newton method for a restricted master: the risk is replaced by its quadratic model at
// the current point, the model plus penalties is minimised on d x d matrices alone (GroupModel),
// and a line search on the objective follows. With the squared hinge loss the Gram matrix of the
// active rows is updated by the rows that changed.
//
// Source       docs/mathematics/infinite_features.md, section 6.
// Guarantees   The objective never increases, but for rounding.
// Cost         Per iteration one pass over the columns, two when the whole step is refused; the
//              rows that changed for the Gram matrix (all rows with the logistic loss); a few
//              factorisations of the order of the number of nonzero weights.
#pragma once

#include "core/solvers/group/group_curvature.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {

class NewtonGroupSolver final : public GroupSolver {
 protected:
  absl::Status Iterate(RunContext& context) override;
  absl::Status Prepare(Index known, const GroupPoint& point, const GroupEvaluation& evaluation,
                       RunContext& context) override;
  absl::Status CheckProblem(const GroupProblem& problem) const override;
  void SaveExtra(ByteWriter& writer) const override;
  bool LoadExtra(ByteReader& reader) override;
  std::string_view name() const override { return "newton"; }

 private:
  // A change of the point; `slope` is the derivative of the objective's bound along it, < 0.
  struct Direction {
    GroupPoint change;
    double slope = 0;
  };

  absl::StatusOr<Direction> FindDirection(RunContext& context);
  GroupPoint PointAt(const Direction& direction, double size) const;
  // The size of the step that lowers the objective most, about, from the scores at both ends; 0
  // when none does.
  absl::StatusOr<double> SearchSize(const Direction& direction, const GroupEvaluation& end,
                                    RunContext& context) const;
  // What the objective may be after a step with this slope.
  double Allowed(double slope) const;
  absl::Status Polish(RunContext& context);

  GroupCurvature curvature_;
  int64_t stalls_ = 0;  // steps in succession that made no progress to speak of
};

}  // namespace mercer
