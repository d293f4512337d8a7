// Problem      min_{w, b}  1/2 |w|^2 + sum_i c(i) l(y(i), x_i'w + b),  l the squared hinge or the
//              square loss: a ridge on explicit features, rows x_i of the n x m matrix X; the bias
//              is not penalised.
//              Dual: max  sum_i -conjugate_i(-dual(i)) - 1/2 |X'dual|^2,  dual in the boxes of the
//              loss, sum dual = 0.
// Method       Newton's method in (w, b), semismooth for the squared hinge, exact for the square,
//              with a line search; after every step b is the best one for w, so that the slopes are
//              a feasible dual point, which its best multiple turns into a bound.
// Guarantees   The objective never rises. Same bits for every slicing into steps, save and restore,
//              and number of threads.
// Cost         Per step X'DX over the rows of positive curvature, one factorisation of order m, and
//              a few products with X. Square: 1 or 2 steps, squared hinge: 3 to 15.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"

namespace mercer {

struct FeatureRidgeProblem {
  const Matrix* features = nullptr;  // X; must outlive the solver
  std::shared_ptr<const Loss> loss;  // square or squared hinge
  Vector targets;
  Vector costs;  // > 0
};

// Not thread-safe. Errors of all calls: kCancelled; a cancelled Step leaves the state of the call
// before.
class FeatureRidge {
 public:
  struct Point {
    Vector weights;
    double bias = 0;

    static void VisitFields(auto& visit, auto& self, Index columns) {
      visit(Sized(self.weights, columns), Finite(self.bias));
      visit.Require([&] { return self.weights.allFinite(); });
    }
  };

  // Takes the problem, at w = 0 with the best bias for that. When it is cancelled, only Start or
  // Load may follow.
  absl::Status Start(FeatureRidgeProblem problem, RunContext& context);
  // Makes one step; does nothing when stuck().
  absl::Status Step(RunContext& context);

  const Point& point() const { return state_.point; }
  double primal() const { return state_.primal; }
  double dual_value() const { return state_.dual_value; }
  // Computes the feasible dual that has the value dual_value().
  absl::Status Dual(Vector& dual, RunContext& context) const;
  // Whether steps make no progress any more in floating point.
  bool stuck() const { return state_.stalls >= kMostStalls; }
  int64_t iterations() const { return state_.iterations; }
  // About how many multiplications a step takes.
  double StepOperations() const;

  void Save(ByteWriter& writer) const;
  // Reads a state; false when it is none of a problem of these sizes.
  bool Load(FeatureRidgeProblem problem, ByteReader& reader);

 private:
  static constexpr int64_t kMostStalls = 3;

  struct State {
    Point point;
    double primal = kInfinity;
    Point dual_point;  // whose slopes give the best dual, times dual_scale
    double dual_scale = 0;
    double dual_value = -kInfinity;
    int64_t iterations = 0;
    int64_t stalls = 0;

    static void VisitFields(auto& visit, auto& self, Index columns) {
      visit(Nested(self.point, columns), Nested(self.dual_point, columns), self.primal,
            self.dual_scale, self.dual_value, self.iterations, self.stalls);
    }
  };
  struct Direction {
    Vector weights;
    double bias = 0;
    double slope = 0;  // of the objective along it
  };

  absl::Status Scores(const Point& point, Vector& scores, RunContext& context) const;
  absl::Status Slopes(const Point& point, Vector& slopes, RunContext& context) const;
  absl::Status Evaluate(State& state, const Vector& scores, RunContext& context) const;
  absl::Status FindDirection(const Vector& scores, Direction& direction, RunContext& context) const;
  absl::StatusOr<Matrix> Curvature(const Vector& curvatures, RunContext& context) const;
  double FindLength(const Direction& direction, const Vector& scores, const Vector& change,
                    const RunContext& context) const;

  FeatureRidgeProblem problem_;
  State state_;
};

// Upper bound on what solving takes beside the features.
size_t FeatureRidgeBytes(Index rows, Index columns);

}  // namespace mercer
