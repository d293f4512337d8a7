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
#include <optional>
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
  // Stops when the certified relative gap is at most `relative_gap`.
  CurvedSvmSolver(std::unique_ptr<CurvedSystem> system, double relative_gap)
      : system_(std::move(system)),
        size_(system_->size()),
        num_weights_(system_->num_weights()),
        relative_gap_(relative_gap) {}
  // Works on the features of a kernel that has them.
  CurvedSvmSolver(const KernelOperator& kernel, double relative_gap)
      : CurvedSvmSolver(MakeCurvedSystem(kernel), relative_gap) {}

  // Begins at the function of the start's dual; nothing else of the start is used.
  absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                     RunContext& context) override;
  SvmStop stop() const override { return state_.stop; }
  int64_t iterations() const override { return state_.iterations; }
  const SvmProblem& problem() const { return problem_; }
  const Vector& dual() const override { return state_.best_dual; }
  // Where the system keeps weights, there is a function beside that of the dual: weights(), whose
  // scores these are then, and whose bias and primal value stand in the certificate.
  const Vector& weights() const { return state_.weights; }
  const Vector& scores() const override {
    return num_weights_.has_value() ? state_.scores : state_.best_products;
  }
  const SvmCertificate& certificate() const override { return state_.certificate; }
  SvmWarmStart Successor() const override { return {}; }
  double NextCost() const override;
  std::string SaveState() const override;
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                            RunContext& context) override;

 protected:
  absl::Status Iterate(RunContext& context) override;

 private:
  struct StateLengths {
    Index rows = 0;
    std::optional<Index> weights;
  };
  struct State {
    Vector eta;
    Vector weights;  // those kept, or empty
    Vector scores;   // K eta
    double bias = 0;
    double primal = kInfinity;  // of eta, or of the weights, and bias
    double slope = kInfinity;   // least so far of the primal along a Newton direction, in magnitude
    Vector dual;                // a
    Vector dual_products;       // of a, as the system makes them
    double best_gap = kInfinity;
    Vector best_dual;
    Vector best_products;
    SvmCertificate certificate = {};  // of the best dual; not saved
    int64_t iterations = 0;
    int64_t stalls = 0;
    SvmStop stop = SvmStop::kRunning;

    static void VisitFields(auto& visit, auto& self, const StateLengths& of) {
      const Index n = of.rows;
      const Index products = of.weights.value_or(n);
      visit(Sized(self.eta, n), Sized(self.scores, n), Sized(self.dual, n),
            Sized(self.dual_products, products), Sized(self.best_dual, n),
            Sized(self.best_products, products), Finite(self.bias), self.primal, self.slope,
            self.best_gap, self.iterations, self.stalls, UpTo(self.stop, SvmStop::kPrecision));
      visit.Require([&] {
        return self.eta.allFinite() && self.scores.allFinite() && self.dual.allFinite() &&
               self.dual_products.allFinite() && self.best_dual.allFinite() &&
               self.best_products.allFinite();
      });
      if (of.weights.has_value()) {
        visit(Sized(self.weights, *of.weights));
        visit.Require([&] { return self.weights.allFinite(); });
      }
    }
  };

  StateLengths Lengths() const { return {size_, num_weights_}; }
  // What the products of eta are.
  const Vector& FunctionOf(const State& state) const {
    return num_weights_.has_value() ? state.weights : state.scores;
  }
  absl::Status SetProblem(const SvmProblem& problem);
  absl::Status SetFunction(State& state, RunContext& context) const;
  void SetSlopes(const Vector& scores, double bias, Vector& dual) const;
  double QuadraticForm(const Vector& coefficients, const Vector& products) const;
  CurvedStep MakeStep() const;
  absl::Status MakePoint(State& next, RunContext& context) const;
  absl::Status SolveOnSupport(const std::vector<Index>& support, State& solved,
                              RunContext& context) const;
  std::vector<Index> SupportOf(const State& state) const;
  absl::Status Predict(State& state, RunContext& context) const;
  absl::Status FollowSupports(State& state, RunContext& context) const;
  absl::StatusOr<SvmCertificate> Certify(const State& state, const Vector& dual,
                                         const Vector& products, const RunContext& context) const;
  absl::Status Judge(State& next, const Vector& dual, const Vector& products,
                     const RunContext& context) const;
  absl::Status JudgeFunction(State& next, RunContext& context) const;
  absl::Status Commit(State next, RunContext& context);
  struct Ray {
    double slope = 0;   // at its beginning
    double length = 0;  // of the step along it
  };

  absl::Status NewtonStep(State& next, Ray& ray, RunContext& context) const;

  const std::unique_ptr<CurvedSystem> system_;
  const Index size_;
  const std::optional<Index> num_weights_;
  const double relative_gap_;
  SvmProblem problem_;
  State state_;
};

// Upper bound on what solving on features in double precision takes beside them.
size_t FeatureSolverBytes(Index rows, Index columns);

}  // namespace mercer
