// Proximal Newton method for a restricted master: the risk is replaced by its quadratic model at
// the current point, the model plus penalties is minimised on d x d matrices alone (MasterModel),
// and a line search on the objective follows. With the squared hinge loss the Gram matrix of the
// active rows is updated by the rows that changed.
//
// Source       docs/mathematics/infinite_features.md, section 6.
// Guarantees   The objective never increases, but for rounding.
// Cost         Per iteration one pass over the columns, two when the whole step is refused; the
//              rows that changed for the Gram matrix (all rows with the logistic loss); a few
//              factorisations of the order of the number of nonzero weights.
#pragma once

#include "core/solvers/group/feature_master.h"
#include "core/solvers/group/master_curvature.h"

namespace mercer {

class NewtonMaster final : public MasterSolver {
 protected:
  absl::Status Iterate(RunContext& context) override;
  absl::Status Prepare(Index known, const MasterPoint& point, const MasterEvaluation& evaluation,
                       RunContext& context) override;
  absl::Status CheckProblem(const MasterProblem& problem) const override;
  void SaveExtra(ByteWriter& writer) const override;
  bool LoadExtra(ByteReader& reader) override;
  std::string_view name() const override { return "newton"; }

 private:
  // A change of the point; `slope` is the derivative of the objective's bound along it, < 0.
  struct Direction {
    MasterPoint change;
    double slope = 0;
  };

  absl::StatusOr<Direction> FindDirection(RunContext& context);
  MasterPoint PointAt(const Direction& direction, double size) const;
  // The size of the step that lowers the objective most, about, from the scores at both ends; 0
  // when none does.
  absl::StatusOr<double> SearchSize(const Direction& direction, const MasterEvaluation& end,
                                    RunContext& context) const;
  // What the objective may be after a step with this slope.
  double Allowed(double slope) const;
  absl::Status Polish(RunContext& context);

  MasterCurvature curvature_;
  int64_t stalls_ = 0;  // steps in succession that made no progress to speak of
};

}  // namespace mercer
