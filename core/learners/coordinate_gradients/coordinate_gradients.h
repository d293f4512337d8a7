// Problem      Functions f_0 and f_l, l = 1 .. d, of the space of a kernel G with
//                min C sum_p w_p l(y_i, f_0(x_j) + f(x_j)'(x_i - x_j)) + 1/2 |f_0|^2
//                    + 1/2 (sum_l |f_l|)^2
//              over pairs p = (i, j) of rows that are near each other: f_0 learns the target, f its
//              gradient, and few columns have an f_l other than 0 (fixed: 1/2 sum_l |f_l|^2).
// Source       Ying, Wu, Campbell: Learning the coordinate gradients. Adv. Comput. Math. 37 (2012)
//              355-378; docs/mathematics/coordinate_gradients.md.
// Notation     beta -> weights, of the sum 1; v -> dual, one for each pair.
// Method       Newton's method on the weights with a Newton solver of fixed weights inside
//              (solvers/gradients), or the alternation or the linear programs of the paper.
// Guarantees   The bounds are of the whole problem, all columns included. The ranking is by |f_l|,
//              which at the optimum is the weight, then by S_l. There is no bias.
// Cost         Memory of the columns, of some matrices of the order of the rows and of one of the
//              order of the pairs, 3000 at most. A step: some factorisations of that, and m^2 d.
// Verified by  tests/core/solvers/gradients: fixtures of an independent solver;
//              tests/core/learners/coordinate_gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/learners/coordinate_gradients/options.h"
#include "core/learners/coordinate_gradients/problem.h"
#include "core/solvers/gradients/coordinate_weight_solver.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::coordinate_gradients {

LearnerEntry Entry();

struct CoordinateGradientsState {
  bool begun = false;
  double gap = 0;  // that the solver ends at
  Vector dual;     // of fixed weights; learned ones are the solver's business
  double primal = kInfinity;
  double lower = -kInfinity;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& /*of*/) {
    visit(self.begun, NotNegative(self.gap), self.dual, self.primal, self.lower,
          UpTo(self.stop, StopReason::kObjectiveZero));
    visit.Require([&] { return self.dual.allFinite(); });
  }
};

class CoordinateGradientsLearner : public ResumableLearner<CoordinateGradientsState> {
 public:
  explicit CoordinateGradientsLearner(const CoordinateGradientsOptions& options)
      : ResumableLearner("coordinate_gradients", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;

  absl::Status Prepare(RunContext& context);
  std::unique_ptr<CoordinateWeightSolver> MakeSolver() const;
  absl::Status SolveFixed(RunContext& context);
  absl::Status SolveOwnGradient(RunContext& context);
  void TakeSolution(const Vector& dual, double upper, double lower);
  absl::Status StepWeights(RunContext& context);
  Vector BestWeights() const;
  absl::StatusOr<TrainedPoint> PointAt(const GradientPoint& at, RunContext& context) const;
  TrainedPoint PointOf(ModelFunction function, const GradientPoint& at,
                       std::vector<ModelTable> tables) const;
  void DescribeKernels(TrainedPoint& point) const;

  const CoordinateGradientsOptions options_;
  std::unique_ptr<const PreparedProblem> prepared_;  // made by the first step
  std::unique_ptr<CoordinateWeightSolver> solver_;   // of learned weights
};

}  // namespace mercer::coordinate_gradients
