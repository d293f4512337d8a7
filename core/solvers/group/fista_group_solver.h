// Accelerated proximal gradient method (FISTA) for a restricted master, with backtracking and
// restarts of the momentum. The baseline: no second derivatives, a few products with the columns
// per iteration, and many iterations on correlated columns.
//
// Source       docs/mathematics/infinite_features.md, section 8; Beck and Teboulle: A fast
//              iterative shrinkage-thresholding algorithm for linear inverse problems. SIAM J.
//              Imaging Sci. 2 (2009) 183-202; restarts: O'Donoghue and Candes: Adaptive restart for
//              accelerated gradient schemes. Found. Comput. Math. 15 (2015) 715-732.
// Notation     The variables are W, w and beta, b(t) = beta(t) / sqrt(n_t): with a bias column of
//              unit norm the Lipschitz constant is about d, with a column of ones n.
// Cost         Two passes per iteration, one more for every doubling of the Lipschitz constant.
#pragma once

#include "core/solvers/group/group_problem.h"

namespace mercer {

class FistaGroupSolver final : public GroupSolver {
 protected:
  absl::Status Iterate(RunContext& context) override;
  absl::Status Prepare(Index known, const GroupPoint& point, const GroupEvaluation& evaluation,
                       RunContext& context) override;
  absl::Status CheckProblem(const GroupProblem& problem) const override;
  void SaveExtra(ByteWriter& writer) const override;
  bool LoadExtra(ByteReader& reader) override;
  std::string_view name() const override { return "fista"; }

 private:
  // The proximal gradient step of length 1 / state_.lipschitz from `from`, whose evaluation is
  // `at`.
  GroupPoint ProximalStep(const GroupPoint& from, const GroupEvaluation& at) const;
  void RestartIfUphill(const GroupPoint& from, GroupPoint before);

  struct State {
    GroupPoint previous;  // the point before the current one; empty: no momentum
    double momentum = 1;
    double lipschitz = 1;
    double best_gap = kInfinity;
    int64_t stalls = 0;  // iterations since the gap became markedly smaller

    static void VisitFields(auto& visit, auto& self, const GroupProblem& of) {
      visit(self.previous, Positive(self.momentum), Positive(self.lipschitz), self.best_gap,
            self.stalls);
      visit.Require([&] {
        const GroupPoint& previous = self.previous;
        return previous.Fits(of) || (previous.bias.size() == 0 && previous.shared.size() == 0);
      });
    }
  };

  State state_;
};

}  // namespace mercer
