// Alternating direction method of multipliers for a restricted master: scores and weights are split
// from their linear relation, so that losses and penalties are met by their proximal operators
// alone; the linear part is solved for all tasks jointly. The only solver that takes the hinge
// loss, whose slopes are the multipliers of the scores.
//
//   min sum_t l(s_t) + penalties(U, u)  subject to  s_t = Phi_t (w_t + w) + b_t 1, U = W, u = w
//
// Source       Rakotomamonjy, Flamary, Yger: Learning with infinitely many features. Machine
//              Learning 91 (2013) 43-66, equations (18) to (28), Algorithm 2, corrected:
//              docs/mathematics/infinite_features.md, section 7; Boyd, Parikh, Chu, Peleato,
//              Eckstein: Distributed optimization and statistical learning via the alternating
//              direction method of multipliers. Found. Trends Mach. Learn. 3 (2011) 1-122.
// Notation     The paper's xi and eta are `scores` and `weights` of AdmmPenalties.
// Differences  (1) All weights and biases in one system, where the paper alternates between them.
//              (2) Penalties are adapted after 10, 20, 40, 80, 160 and 320 iterations only, within
//              bounds: more often it diverged on separable data. That of the weights may fall to
//              1e-4: with a small lambda and a bound of 0.01 the gap stayed above 1e-3. (3) The
//              point is (U, u), which is exactly sparse, with the best biases, and stops by its
//              certificate.
// Cost         A step is ten iterations, 13 passes; a factorisation of order d after a change of
//              the penalties.
#pragma once

#include <vector>

#include "core/solvers/group/admm_systems.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {

class AdmmGroupSolver final : public GroupSolver {
 protected:
  absl::Status Iterate(RunContext& context) override;
  absl::Status Prepare(Index known, const GroupPoint& point, const GroupEvaluation& evaluation,
                       RunContext& context) override;
  absl::Status CheckProblem(const GroupProblem& problem) const override;
  absl::Status ChooseSlopes(GroupEvaluation& evaluation, RunContext& context) override;
  void SaveExtra(ByteWriter& writer) const override;
  bool LoadExtra(ByteReader& reader) override;
  std::string_view name() const override { return "admm"; }

 private:
  struct State {
    std::vector<Vector> scores;       // s, by tasks
    std::vector<Vector> multipliers;  // of s; slopes of the loss at s
    GroupPoint weights;               // U and u; the biases of the last system
    GroupPoint weight_multipliers;
    AdmmPenalties penalties;
    int64_t iterations = 0;
    double best_gap = kInfinity;
    int64_t stalls = 0;  // steps since the gap became markedly smaller

    // The tasks are there before they are read.
    static void VisitFields(auto& visit, auto& self, const GroupProblem& of) {
      for (size_t t = 0; t < self.scores.size(); ++t) {
        const Index rows = of.tasks[t].targets.size();
        visit(Sized(self.scores[t], rows), Sized(self.multipliers[t], rows));
      }
      visit(self.weights, Sized(self.weight_multipliers.specific, of.num_columns(), of.num_tasks()),
            Sized(self.weight_multipliers.shared, of.num_columns()), self.penalties,
            self.iterations, self.best_gap, self.stalls);
      visit.Require([&] {
        return self.weights.Fits(of) && self.penalties.scores > 0 && self.penalties.weights > 0;
      });
    }
  };
  // The squared residuals of the last iteration, of the scores (f against s) and of the weights (W
  // against U): that of the split, what it is measured against, how far s or U has moved, and what
  // that is measured against, the multipliers.
  struct Residuals {
    Eigen::Array4d scores = Eigen::Array4d::Zero();
    Eigen::Array4d weights = Eigen::Array4d::Zero();
  };
  class ScorePass;

  absl::Status RunIterations(State& state, Residuals& residuals, RunContext& context);
  void UpdateWeights(const GroupPoint& solution, State& state, Residuals& residuals) const;
  void AdaptPenalties(const Residuals& residuals, State& state) const;
  double LipschitzConstant() const;

  State state_;
  AdmmSystems systems_;
};

}  // namespace mercer
