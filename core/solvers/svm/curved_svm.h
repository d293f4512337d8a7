// Problem      min_{f, b}  1/2 |f|^2 + sum_i c(i) l(y(i), f(x_i) + b)  for a loss with a curvature:
//              squared hinge, logistic, square.
//              Dual: max  sum_i -conjugate_i(-dual(i)) - 1/2 dual'K dual,  dual in the boxes of the
//              loss, sum dual = 0.
//              A ridge on explicit features, the rows x_i of X, is this problem with K = X X':
//              f(x_i) = x_i'w, |f| = |w|, w = X'dual.
// Source       docs/mathematics/svm.md, section 5.
// Notation     f = K eta; a(i) = -slope of the loss at f(x_i) + b; D = its curvature there, J the
//              samples with D > 0; g = a - eta.
// Method       Newton's method on the primal in (eta, b), semismooth for the squared hinge, exact
//              for the square:
//                change of eta = g - E_J lam,  (1 / D + K_JJ) lam = (K g)_J + db 1,  1'lam = sum a,
//              then an exact line search. b is minimised out after every step, so that a is a
//              feasible dual point with a certificate; near the solution eta is a better one, for
//              it does not multiply the rounding of f by D.
// Guarantees   The primal decreases at every step; any positive semidefinite kernel, any cost. Same
//              bits for every slicing into steps, save and restore, and number of threads.
// Cost         Per step one factorisation of order |J| and products with the kernel; with r
//              explicit features the Gram matrix of the rows J and some passes over the rows.
//              Square: 1 or 2 steps, squared hinge: 3 to 10, logistic: 5 to 30. With narrow kernels
//              at large costs the squared hinge has many kinks along a step: where one ends it
//              early, whole steps from support to support (a primal-dual active set method) are
//              tried, up to six systems more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/curved_system.h"
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

class CurvedSvmSolver : public SvmSolver {
 public:
  // Stops when the certified relative gap is at most `relative_gap`; where the system keeps weights,
  // that of weights() and the best dual.
  CurvedSvmSolver(std::unique_ptr<CurvedSystem> system, double relative_gap)
      : system_(std::move(system)), size_(system_->size()), relative_gap_(relative_gap) {}
  // Works on the features of a kernel that has them.
  CurvedSvmSolver(const KernelOperator& kernel, double relative_gap)
      : CurvedSvmSolver(MakeCurvedSystem(kernel), relative_gap) {}

  // Begins at the function of the start's dual; nothing else of the start is used.
  absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                     RunContext& context) override;
  SvmStop stop() const override { return state_.stop; }
  int64_t iterations() const override { return state_.iterations; }
  const Vector& dual() const override { return state_.best_dual; }
  const Vector& scores() const override { return state_.best_scores; }
  const SvmCertificate& certificate() const override { return certificate_; }
  SvmWarmStart Successor() const override { return {}; }
  // The function with the lowest primal value so far, where the system keeps weights.
  const Vector& weights() const { return state_.weights; }
  double bias() const { return state_.bias; }
  double primal() const { return state_.primal; }
  double NextCost() const override;
  std::string SaveState() const override;
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                            RunContext& context) override;

 protected:
  absl::Status Iterate(RunContext& context) override;

 private:
  struct StateLengths {
    Index rows = 0;
    Index weights = 0;
  };
  struct State {
    Vector eta;
    Vector weights;  // X'eta, or empty
    Vector scores;   // K eta
    double bias = 0;
    double primal = kInfinity;  // of eta and bias
    double slope = kInfinity;   // least so far of the primal along a Newton direction, in magnitude
    Vector dual;                // a
    Vector dual_scores;
    double best_gap = kInfinity;
    Vector best_dual;
    Vector best_scores;
    int64_t iterations = 0;
    int64_t stalls = 0;
    SvmStop stop = SvmStop::kRunning;

    static void VisitFields(auto& visit, auto& self, const StateLengths& of) {
      const Index n = of.rows;
      visit(Sized(self.eta, n), Sized(self.scores, n), Sized(self.dual, n),
            Sized(self.dual_scores, n), Sized(self.best_dual, n), Sized(self.best_scores, n),
            Finite(self.bias), self.primal, self.slope, self.best_gap, self.iterations, self.stalls,
            UpTo(self.stop, SvmStop::kPrecision));
      visit.Require([&] {
        return self.eta.allFinite() && self.scores.allFinite() && self.dual.allFinite() &&
               self.dual_scores.allFinite() && self.best_dual.allFinite() &&
               self.best_scores.allFinite();
      });
      if (of.weights > 0) {
        visit(Sized(self.weights, of.weights));
        visit.Require([&] { return self.weights.allFinite(); });
      }
    }
  };

  StateLengths Lengths() const { return {size_, system_->num_weights()}; }
  absl::Status SetProblem(const SvmProblem& problem);
  void SetSlopes(const Vector& scores, double bias, Vector& dual) const;
  CurvedStep MakeStep() const;
  absl::Status MakePoint(State& next, RunContext& context) const;
  absl::Status SolveOnSupport(const std::vector<Index>& support, State& solved,
                              RunContext& context) const;
  std::vector<Index> SupportOf(const State& state) const;
  absl::Status Predict(State& state, RunContext& context) const;
  absl::Status FollowSupports(State& state, RunContext& context) const;
  absl::Status Judge(State& next, const Vector& dual, const Vector& scores,
                     const RunContext& context) const;
  absl::Status JudgeFunction(State& next, RunContext& context) const;
  absl::Status Commit(State next, RunContext& context);
  struct Ray {
    double slope = 0;   // at its beginning
    double length = 0;  // of the step along it
  };

  absl::Status NewtonStep(State& next, Ray& ray, RunContext& context) const;
  absl::Status Take(State next, const RunContext& context);

  const std::unique_ptr<CurvedSystem> system_;
  const Index size_;
  const double relative_gap_;
  SvmProblem problem_;
  State state_;
  SvmCertificate certificate_;  // of the best dual
};

// Upper bound on what solving on features in double precision takes beside them.
size_t FeatureSolverBytes(Index rows, Index columns);

}  // namespace mercer
