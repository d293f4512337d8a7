// Gradient learning with coordinate weights on the simplex (gradient_problem.h): the optimum J of
// the functions at fixed weights is convex in the weights, its slope is -S_l.
//
// Method       kNewton: Newton's method on the simplex, among the coordinates of positive weight
//              and some of those with the largest S_l; the second derivative is Z'(Q + ridge)^-1 Z
//              over the free dual variables, Z(p, l) = (x_i - x_j)_l (G r_l)(j). J of the hinge
//              has kinks: its dual has an extra -1/2 smoothing v_p^2 / c_p, which goes to 0.
//              kAlternation: every step sets beta to the shares of the norms |f_l| at beta. From
//              weights that are all positive, since a weight of 0 stays 0.
//              kSilp: planes above -J, one of each dual (coordinate_planes.h), and the weights where
//              the least of them is largest, a linear program. The next dual is that of weights a
//              tenth of the way from the best ones to those: J is seldom known well near a vertex
//              of the program. Either the program's maximum becomes lower or that share of the
//              gap is gone.
// Source       docs/mathematics: learning gradients with coordinate weights.
// Guarantees   Bounds are those of EvaluateGradients, of the whole problem; the point of the least
//              upper bound and the largest lower bound are kept. Same bits for every number of
//              threads, slicing into steps, save and restore.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/coordinate_planes.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/solvers/gradients/pair_solver.h"

namespace mercer {

enum class CoordinateMethod : uint8_t { kNewton, kAlternation, kSilp };
enum class GradientStop : uint8_t { kRunning, kRelativeGap, kPrecision, kIterationLimit };

struct CoordinateWeightOptions {
  CoordinateMethod method = CoordinateMethod::kNewton;
  double relative_gap = 1e-6;
  int64_t max_steps = 100;
};

// The best function of a run and the largest lower bound, which may come from another dual.
struct GradientBest {
  Vector weights;
  Vector dual;
  Vector bound_dual;  // of the lower bound
  double upper = kInfinity;
  double lower = -kInfinity;

  double RelativeGap() const { return RelativeGradientGap(upper, lower); }
  void Improve(const GradientPoint& point);

  static void VisitFields(auto& visit, auto& self, const GradientProblem& of) {
    visit(Sized(self.weights, of.num_columns()), Sized(self.dual, of.num_pairs()),
          Sized(self.bound_dual, of.num_pairs()), Finite(self.upper), Finite(self.lower));
    visit.Require([&] {
      return self.dual.allFinite() && self.bound_dual.allFinite() &&
             (self.weights.array() >= 0).all();
    });
  }
};

// Not thread-safe.
class CoordinateWeightSolver {
 public:
  // Of a problem that must outlive this.
  CoordinateWeightSolver(const GradientProblem& problem, const CoordinateWeightOptions& options)
      : problem_(problem), options_(options) {}

  // Begins at these weights of the sum 1, or, without any, at 1/d for the alternation and at the
  // coordinates of the largest S_l of f_0 alone for the others. done() may hold at once: a
  // function whose every dual variable is at its bound is tried first. Errors: kCancelled.
  absl::Status Start(const Vector& weights, RunContext& context);
  // One change of the weights. Errors: kCancelled, after which Start or Load must follow.
  absl::Status Step(RunContext& context);
  // Until done.
  absl::Status Run(RunContext& context);

  bool done() const { return stop() != GradientStop::kRunning; }
  GradientStop stop() const { return state_.stop; }
  int64_t steps() const { return state_.steps; }
  const GradientBest& best() const { return state_.best; }
  // Of the hinge at this moment; 0 where nothing is smoothed.
  double smoothing() const { return state_.smoothing; }

  void Save(ByteWriter& writer) const;
  // Goes on where Save has left, for the same problem and options. Errors: kInvalidArgument.
  absl::Status Load(ByteReader& reader);

 private:
  struct State {
    Vector weights;
    Vector dual;           // of the functions at these weights
    double value = 0;      // their J, smoothed
    double smoothing = 0;  // of the hinge
    bool stalled = false;  // the last step has gained nothing
    int64_t idle = 0;      // such steps in a row, without smoothing to take away
    int64_t steps = 0;
    GradientStop stop = GradientStop::kRunning;
    GradientBest best;

    static void VisitFields(auto& visit, auto& self, const GradientProblem& of) {
      visit(Sized(self.weights, of.num_columns()), Sized(self.dual, of.num_pairs()),
            Finite(self.value), NotNegative(self.smoothing), self.stalled, self.idle, self.steps,
            UpTo(self.stop, GradientStop::kIterationLimit), Nested(self.best, of));
      visit.Require([&] { return self.dual.allFinite() && (self.weights.array() >= 0).all(); });
    }
  };
  struct Solved {
    PairSolution functions;
    Vector weights;
  };

  PairMachine Machine() const;
  absl::StatusOr<Solved> Solve(Vector weights, const Vector& dual, RunContext& context) const;
  void Accept(Solved solved);
  // Whether the best point is good enough.
  bool EndWhenCertified();
  // At the weights and the dual of the state.
  absl::StatusOr<GradientPoint> Bound(RunContext& context);
  absl::Status TrySaturated(RunContext& context);
  absl::Status BeginAtLargest(RunContext& context);
  // By Newton's method or by norms, from a point whose slopes are known; whether smoothing was taken
  // away instead.
  absl::StatusOr<bool> StepBySlopes(RunContext& context);
  absl::Status StepByNewton(const GradientPoint& point, RunContext& context);
  absl::Status StepByNorms(const GradientPoint& point, RunContext& context);
  absl::Status StepByPlanes(RunContext& context);
  // Takes smoothing away where its share of the gap is large; whether it has.
  absl::StatusOr<bool> Sharpen(const GradientPoint& point, RunContext& context);
  // The minimiser of the quadratic model among `columns`; empty when there is none.
  absl::StatusOr<Vector> ModelMinimizer(const GradientPoint& point,
                                        const std::vector<Index>& columns,
                                        RunContext& context) const;

  const GradientProblem& problem_;
  const CoordinateWeightOptions options_;
  State state_;
  CoordinatePlanes planes_;  // of kSilp
};

}  // namespace mercer
