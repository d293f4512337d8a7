// Problem      min_{f, b}  1/2 |f|^2 + C sum_i c_i l(y_i, f(x_i) + b), where |f|^2 is the least of
//              sum_k |f_k|^2 / d_k over weights d of a set (weight_regularizer.h).
// Source       docs/mathematics/lp_mkl.md, sections 3 and 4.
// Notation     d -> weights, a -> dual (signed), s_k = a'K_k a -> energies; f_k = d_k K_k a.
// Method       Machines of fixed weights to an adaptive accuracy, each from the last solution;
//              weights by two over-relaxed steps, then by Newton's method on the optimum as a
//              function of the weights, guarded by that optimum, or by the gap where some weights
//              maximise it; where it is refused or slow, by the others for as many steps again; or
//              all by a method of its own (weight_method.h). Weights that are known: a single
//              machine.
// Guarantees   The best point's bounds are those of the whole problem, all kernels of the list
//              included.
// Cost         Per machine one combination of kernels, all energies, and the solver's steps.
//              Several outputs that share the weights have a machine each (machines.h); what is said
//              of a machine holds of their sum.
//
//   MklState state{.dual = Vector::Zero(rows)};
//   MklLoop loop(regularizer, problem, {}, state);
//   loop.Begin(weights, 0.1, target);
//   loop.SetKernels(family);
//   while (state.best.gap > target) {
//     MERCER_ASSIGN_OR_RETURN(const MklProgress progress, loop.Solve(context));
//     if (progress == MklProgress::kSolved) {
//       MERCER_RETURN_IF_ERROR(loop.MoveWeights(target, context));
//     } else if (progress != MklProgress::kSolving) {
//       break;
//     }
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/weight_regularizer.h"
#include "core/solvers/mkl/best_point.h"
#include "core/solvers/mkl/inner_solver.h"
#include "core/solvers/mkl/machines.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/solvers/mkl/weight_method.h"
#include "core/solvers/svm/svm_problem.h"

namespace mercer {

// How weights follow from the solution of a machine.
enum class WeightSteps : uint8_t { kNewton, kOverRelaxed, kAlternation };

struct MklLoopOptions {
  InnerSolverChoice inner_solver = InnerSolverChoice::kAuto;
  WeightSteps steps = WeightSteps::kNewton;
  WeightMethod* method = nullptr;  // in place of the steps; must outlive the loop
};

// What the next weights came from, for when they turn out worse.
struct LastWeights {
  Vector weights;
  Vector dual;
  Vector energies;
  double upper = kInfinity;  // of what steps must not raise, at these weights
  bool newton = false;       // the step away from here
  int64_t reductions = 0;

  // Weights that were left are whole, or none were: then no optimum is above their bound.
  static void VisitFields(auto& visit, auto& self, const MklSizes& of) {
    visit(SizedOrEmpty(self.weights, of.kernels), SizedOrEmpty(self.dual, of.rows),
          SizedOrEmpty(self.energies, of.kernels), self.upper, self.newton, self.reductions);
    visit.Require([&] {
      const bool none = self.weights.size() == 0;
      return (self.dual.size() == 0) == none && (self.energies.size() == 0) == none &&
             (!none || self.upper == kInfinity);
    });
  }
};

// All that decides the future except kernels, options, problem and the solver of the machine.
struct MklState {
  bool solving = false;  // a machine is being solved
  Vector weights;
  Vector dual;  // where the next machine starts
  double inner_gap = 0;
  // Of the closed form where some weights maximise and Newton's method has no model; 0: the first.
  double power = 0;
  int64_t outer = 0;
  int64_t fruitless = 0;    // machines since the gap improved
  int64_t newton_from = 0;  // the outer step from which Newton's method is tried
  LastWeights last;
  BestPoint best;

  static void VisitFields(auto& visit, auto& self, const MklSizes& of) {
    visit(self.solving, Sized(self.weights, of.kernels), Sized(self.dual, of.rows), self.inner_gap,
          self.power, self.outer, self.fruitless, self.newton_from, Nested(self.last, of));
    self.best.VisitArrays(visit, self.best, of);
    self.best.VisitNumbers(visit, self.best);
  }
};

enum class MklProgress : uint8_t {
  kSolving,         // the machine needs further calls
  kSolved,          // weights may move
  kObjectiveZero,   // nothing can be lower
  kNumericalLimit,  // the gap does not shrink any more
};

// Not thread-safe. Regularizer, state and kernels are the caller's and must outlive the loop. After
// an error the state is half changed: the caller restores one that was saved, or begins anew.
class MklLoop {
 public:
  MklLoop(const WeightRegularizer& regularizer, const SvmProblem& problem,
          const MklLoopOptions& options, MklState& state, std::vector<MachineRows> machines = {})
      : regularizer_(regularizer),
        problem_(problem),
        options_(options),
        state_(state),
        inner_(options.inner_solver, problem, std::move(machines)) {}

  // Begins a list of kernels with these weights, at the dual of the state; its first machine is
  // solved to `inner_gap`, or where weights are known to what the target needs.
  void Begin(Vector weights, double inner_gap, double target);
  // After Begin, for a single machine: the function that its first run begins at, as another loop on
  // features of the same kernels left it.
  void BeginAt(SvmWarmStart start) { inner_.set_successor(std::move(start)); }
  // The kernels of the list, or null for a while without any.
  void SetKernels(const KernelFamily* family);

  // Works on the machine of the present weights, about 0.2 s at a time; at its end the point is
  // bounded and remembered. Errors: kCancelled, those of kernels and solver.
  absl::StatusOr<MklProgress> Solve(RunContext& context);
  // Whether the machine at hand is to be bounded among the kernels that have a weight, or had one
  // before the last step, alone: for steps between passes over all kernels. The lower bound is then
  // none of the whole problem, the point is not remembered, and no kernel comes in by the next step
  // unless BoundAll follows.
  void set_working_only(bool working_only) { working_only_ = working_only; }
  // After kSolved: bounds the machine that was solved among all kernels. Errors: kCancelled.
  absl::Status BoundAll(RunContext& context);
  // After kSolved: new weights, and the dual that their machine starts from. Errors: kCancelled.
  absl::Status MoveWeights(double target, RunContext& context);
  // Makes the dual of the state feasible.
  void RepairDual() { inner_.Repair(state_.dual); }
  // Between machines: the next one is that of these weights, solved to a part of the target among
  // all kernels. It is no step of the run: the caller puts the state back that was before.
  void TryWeights(Vector weights, double target);

  const Machines& inner() const { return inner_; }
  // Of all kernels, at the machine that was solved last.
  const Vector& energies() const { return energies_; }
  // At that machine, and whether they are those among all kernels.
  const PointBounds& bounds() const { return bounds_; }
  bool bounds_all() const { return bounds_all_; }
  // The coefficients of the function that the bounds are about, by a multiple of it.
  const Vector& function() const { return function_; }
  // sum over machines of dual_m'K_k dual_m for the kernels of the list; of kernels that are not
  // asked for 0. Errors: kCancelled.
  absl::StatusOr<Vector> EnergiesOf(const Vector& dual, const std::vector<Index>& kernels,
                                    RunContext& context) const;
  // The machines that are being solved: their dual so far, with the best biases, is a function,
  // too.
  absl::StatusOr<Vector> BiasesSoFar(RunContext& context) const;

  void Save(ByteWriter& writer) const { inner_.Save(writer); }
  // For the state that is in place, and its kernels, if it has any.
  absl::Status Load(ByteReader& reader, RunContext& context);

 private:
  bool HasFixedWeights() const { return regularizer_.AreFixed(state_.weights.size()); }
  absl::Status Prepare(RunContext& context);
  absl::Status BoundSolution(RunContext& context);
  absl::Status BoundAmong(const std::vector<Index>& kernels, RunContext& context);
  absl::Status Retreat(const RunContext& context);
  absl::Status Advance(double target, RunContext& context);
  absl::Status FollowMethod(double target, RunContext& context);
  absl::StatusOr<double> GapWithout(const Vector& others, const RunContext& context) const;
  absl::StatusOr<Vector> NextWeights(LastWeights& from, RunContext& context);
  Vector RelaxedWeights();
  absl::StatusOr<std::optional<Vector>> NewtonWeights(RunContext& context) const;
  void PostponeNewton();
  absl::Status RescaleDual(const Vector& energies, const RunContext& context);
  double NextInnerGap(double gap, double target) const;

  const WeightRegularizer& regularizer_;
  const SvmProblem& problem_;
  const MklLoopOptions options_;
  MklState& state_;
  Machines inner_;
  const KernelFamily* family_ = nullptr;
  std::unique_ptr<KernelOperator> kernel_;  // of kernel_weights_
  Vector kernel_weights_;
  PointBounds bounds_;  // at the machine that was solved last
  Vector function_;
  bool bounds_all_ = true;
  bool working_only_ = false;
  Vector energies_;
};

}  // namespace mercer
