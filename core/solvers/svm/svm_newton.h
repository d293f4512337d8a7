// Problem      min_{dual}  1/2 dual'K dual - targets'dual + epsilon |dual|_1  subject to
//              A <= dual <= B  and  sum dual = 0:  the support vector machine (hinge) and support
//              vector regression (epsilon-insensitive), as in smo.h.
// Source       docs/mathematics/svm.md, section 3, in the form that suits an exact kernel.
// Method       Proximal point steps in the dual, centre abar and step sigma; each subproblem is
//              dual to the minimisation of a convex, continuously differentiable, piecewise
//              quadratic function of (f, b), f = K eta, solved by a semismooth Newton method: with
//              J the free samples and g = a - eta,
//                (I/sigma + K_JJ) lam = (K g)_J + db 1,  1'lam = 0,  change of eta = g - E_J lam,
//              then an exact line search. b is minimised out after every step, so that the current
//              a is always a feasible dual point; its certificate costs a sort for the best bias.
// Guarantees   The subproblem decreases at every step; any positive semidefinite kernel, any cost.
//              Same bits for every slicing into steps, save and restore, and number of threads.
// Cost         Per Newton step one factorisation of order |J| and the kernel columns of J and of
//              the samples that met a bound. About 20 steps for small costs, 60 for large ones, 2
//              to 10 from a good start.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_newton_model.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

// The solver for kernels whose entries are asked for (FactorSvmSolver is that for kernels of
// explicit features). Scores and certificate are known after every step.
class SvmNewtonSolver : public SvmSolver {
 public:
  // Stops when the certified relative gap is at most `relative_gap`.
  SvmNewtonSolver(const KernelOperator& kernel, double relative_gap)
      : kernel_(kernel), relative_gap_(relative_gap) {}

  absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                     RunContext& context) override;
  SvmStop stop() const override { return state_.stop; }
  int64_t iterations() const override { return state_.iterations; }
  const Vector& dual() const override { return state_.dual; }
  const Vector& scores() const override { return state_.dual_scores; }
  const SvmCertificate& certificate() const override { return certificate_; }
  SvmWarmStart Successor() const override { return {.proximal_step = state_.step}; }
  double NextCost() const override;
  std::string SaveState() const override;
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                            RunContext& context) override;

 protected:
  absl::Status Iterate(RunContext& context) override;

 private:
  // The iterate: f = K eta, and a = dual, the maximiser of the subproblem at (f, bias).
  struct State {
    Vector center;
    Vector center_scores;
    double step = 0;
    double pivot_scale = 0;  // small eigenvalues of the last Newton system
    Vector eta;
    Vector scores;
    double bias = 0;
    Vector dual;
    Vector dual_scores;
    int64_t iterations = 0;
    int64_t subproblem_iterations = 0;
    int64_t since_refresh = 0;
    int64_t stalls = 0;
    double best_gap = kInfinity;  // of best_dual
    Vector best_dual;
    Vector best_scores;
    SvmStop stop = SvmStop::kRunning;

    static void VisitFields(auto& visit, auto& self, Index n) {
      visit(Sized(self.center, n), Sized(self.center_scores, n), Positive(self.step),
            self.pivot_scale, Sized(self.eta, n), Sized(self.scores, n), self.bias,
            Sized(self.dual, n), Sized(self.dual_scores, n), SizedOrEmpty(self.best_dual, n),
            SizedOrEmpty(self.best_scores, n), self.iterations, self.subproblem_iterations,
            self.since_refresh, self.stalls, self.best_gap, UpTo(self.stop, SvmStop::kPrecision));
      visit.Require([&] {
        return self.center.allFinite() && self.center_scores.allFinite() && self.eta.allFinite() &&
               self.scores.allFinite() && self.dual.allFinite() && self.dual_scores.allFinite();
      });
    }
  };

  absl::Status SetProblem(const SvmProblem& problem);
  double CostUnit() const;
  // What the least proximal step is in proportion to, at a centre.
  double StepUnit(const Vector& dual) const;
  // The same of the first step, at a start with these scores.
  double StartUnit(const Vector& dual, const Vector& scores) const;
  ProximalModel Model(const State& state) const { return {box_, state.center, state.step}; }
  absl::Status Multiply(const Vector& dual, Vector& scores, RunContext& context) const;
  absl::Status MakePoint(State& next, RunContext& context) const;
  absl::StatusOr<SvmCertificate> Certify(const State& state, const RunContext& context) const;
  static void KeepBest(double gap, State& state);
  absl::Status Commit(State next, const RunContext& context);
  absl::Status NewtonStep(State& next, double* progress, RunContext& context) const;
  struct NewtonSystem;
  absl::Status SolveSystem(NewtonSystem& system, RunContext& context) const;
  bool SubproblemSolved() const;
  double GainOverCentre() const;
  absl::Status Recentre(bool solved, RunContext& context);

  const KernelOperator& kernel_;
  const double relative_gap_;
  SvmProblem problem_;
  SvmDualBox box_;
  State state_;
  SvmCertificate certificate_;
};

// out += K(:, columns) coefficients, where coefficients(j) belongs to columns[j]. Errors:
// kCancelled.
absl::Status AddKernelColumns(const KernelOperator& kernel, const std::vector<Index>& columns,
                              const Vector& coefficients, Vector& out, RunContext& context);

// Writes the lower triangle of K(rows, rows); the upper one is arbitrary. Errors: kCancelled.
absl::Status GatherKernel(const KernelOperator& kernel, const std::vector<Index>& rows, Matrix& out,
                          RunContext& context);

}  // namespace mercer
