// Problem      min_{dual}  1/2 dual'K dual - targets'dual + epsilon |dual|_1  subject to
//              A <= dual <= B  and  sum dual = 0,  for a kernel K = X X' of explicit features: the
//              support vector machine (hinge) and support vector regression (epsilon-insensitive).
// Source       docs/mathematics/svm.md, section 3.
// Method       Proximal point steps in the dual, centre c and step sigma; each subproblem is dual
//              to the minimisation over (v, b) of
//                F(v, b) = 1/2 |v|^2 + sum_i psi_i(targets(i) - (X v)(i) - b)
//              with the convex, continuously differentiable, piecewise quadratic psi_i of
//              svm_newton_model.h, by a semismooth Newton method: with J the free samples,
//                (I + sigma X_J'X_J) dv + sigma X_J'1 db = X'a - v,  1'(X_J dv + 1 db) = 0,
//              then an exact line search. b is minimised out after every step, so that the current
//              a is always feasible for the dual.
// Guarantees   The subproblem decreases at every step; any features, any cost. Same bits for every
//              slicing into steps, save and restore, and number of threads.
// Cost         Per Newton step two passes over the rows of the factor and a system of order min(r,
//              |J|); where J is larger than r, the Gram matrix of the features of the samples that
//              have become free or have ceased to be. About 5 steps for small costs, 70 for large ones, 5 to 20 from a
//              good start.
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
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_newton_model.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

// The solver for kernels of explicit features (SvmNewtonSolver is that for kernels whose entries
// are asked for).
class FactorSvmSolver : public SvmSolver {
 public:
  // Stops when the certified relative gap is at most `relative_gap`.
  FactorSvmSolver(const FactoredKernel& kernel, double relative_gap)
      : kernel_(kernel), relative_gap_(relative_gap) {}
  // Of the steps to come; a run that has stopped stays so.
  void set_relative_gap(double relative_gap) { relative_gap_ = relative_gap; }

  // A solver that is where this one is, on another kernel of the same rows: function, bias, both
  // dual points and the proximal step stay, and the step no longer shrinks, since a subproblem of
  // changing kernels is not to blame for taking long. `kernel` must outlive it. Null when the
  // function is none of the other kernel's, or of a larger norm there. Errors: kCancelled.
  absl::StatusOr<std::unique_ptr<FactorSvmSolver>> OnKernel(const FactoredKernel& kernel,
                                                            double relative_gap,
                                                            RunContext& context) const;
  // The y for which the function is rows root root' y: the form in which another kernel of the same
  // rows can take it over.
  Vector FunctionInMetric() const;
  // 1/2 |v|^2 + sum_i psi_i: no Newton step and no change to a better kernel raises it while the
  // centre stays.
  double SubproblemValue() const { return Objective(state_); }

  absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                     RunContext& context) override;
  SvmStop stop() const override { return state_.stop; }
  int64_t iterations() const override { return state_.iterations; }
  const Vector& dual() const override { return state_.dual; }
  const Vector& scores() const override { return state_.dual_scores; }
  const SvmCertificate& certificate() const override { return certificate_; }
  SvmWarmStart Successor() const override;
  double NextCost() const override;
  std::string SaveState() const override;
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                            RunContext& context) override;

 protected:
  absl::Status Iterate(RunContext& context) override;

 private:
  struct Sizes {
    Index samples;
    Index rank;
  };
  // The iterate: f = X v, and a = dual, the maximiser of the subproblem at (f, bias).
  struct State {
    Vector center;
    Vector center_reduced;  // X'center
    double step = 0;
    Vector coefficients;  // v
    Vector scores;        // f
    double bias = 0;
    Vector dual;
    Vector dual_reduced;           // X'a
    Vector dual_scores;            // X X'a, once done
    std::vector<Index> gram_rows;  // J of the last step with more of them than features
    // X_J'X_J, or the Gram matrix of the factor's rows J, which all kernels of these rows have in
    // common: lower triangle.
    Matrix gram;
    int64_t gram_changes = 0;  // since it was formed anew
    int64_t iterations = 0;
    int64_t subproblem_iterations = 0;
    int64_t stalls = 0;
    bool keeps_step = false;  // never shrinks it, as the kernel changes from step to step
    double best_gap = kInfinity;
    SvmStop stop = SvmStop::kRunning;

    bool gram_is_of_rows() const { return keeps_step; }

    static void VisitFields(auto& visit, auto& self, const Sizes& of) {
      visit(Sized(self.center, of.samples), Sized(self.center_reduced, of.rank),
            Sized(self.coefficients, of.rank), Sized(self.scores, of.samples),
            Sized(self.dual, of.samples), Sized(self.dual_reduced, of.rank), self.dual_scores,
            Positive(self.step), self.bias, self.best_gap, self.gram_rows,
            EntriesOf(self.gram, of.rank), self.gram_changes, self.iterations,
            self.subproblem_iterations, self.stalls, self.keeps_step,
            UpTo(self.stop, SvmStop::kPrecision));
      visit.Require([&] {
        const Index scores = self.stop == SvmStop::kRunning ? 0 : of.samples;
        return self.center.allFinite() && self.center_reduced.allFinite() &&
               self.coefficients.allFinite() && self.scores.allFinite() && self.dual.allFinite() &&
               self.dual_reduced.allFinite() && self.dual_scores.size() == scores &&
               AreAscending(self.gram_rows, of.samples);
      });
    }
  };
  struct Settings;
  struct NewtonDirection {
    Vector coefficients;
    double bias = 0;
  };

  absl::Status SetProblem(const SvmProblem& problem);
  double CostUnit() const;
  double FirstStep() const;
  ProximalModel Model(const State& state) const { return {box_, state.center, state.step}; }
  ProximalModel Model(const State& state, const RunContext& context) const {
    return {box_, state.center, state.step, &context};
  }
  std::vector<Index> InsideBox(const Vector& dual) const;
  absl::Status MakePoint(State& next, RunContext& context) const;
  absl::Status Commit(State next, RunContext& context);
  absl::StatusOr<Matrix> FeaturesOf(const std::vector<Index>& samples, RunContext& context) const;
  absl::Status ChangeGram(State& state, const std::vector<Index>& added,
                          const std::vector<Index>& removed, RunContext& context) const;
  absl::Status UpdateGram(State& next, std::vector<Index> free, RunContext& context) const;
  absl::Status FindDirection(State& next, std::vector<Index> free, const NewtonDirection& rhs,
                             NewtonDirection& direction, RunContext& context) const;
  absl::Status DirectionOfSamples(double step, const std::vector<Index>& free,
                                  const NewtonDirection& rhs, NewtonDirection& direction,
                                  RunContext& context) const;
  absl::Status DirectionOfFeatures(const State& next, const NewtonDirection& rhs,
                                   NewtonDirection& direction, RunContext& context) const;
  absl::Status Predict(State& next, std::vector<Index> free, RunContext& context) const;
  double Objective(const State& state) const;
  absl::Status NewtonStep(State& next, double* progress, RunContext& context) const;
  absl::StatusOr<bool> NearlyFinished(const RunContext& context) const;
  absl::StatusOr<bool> SubproblemSolved(const RunContext& context) const;
  double GainOverCentre() const;
  absl::StatusOr<double> DualObjective(const State& state, const RunContext& context) const;
  absl::StatusOr<double> QuickGap(const State& state, const RunContext& context) const;
  absl::Status Recentre(bool solved, RunContext& context);
  absl::Status TryToFinish(RunContext& context);

  const FactoredKernel kernel_;
  double relative_gap_;
  SvmProblem problem_;
  SvmDualBox box_;
  State state_;
  SvmCertificate certificate_;
};

}  // namespace mercer
