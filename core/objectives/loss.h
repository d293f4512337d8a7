// Losses of one sample, and what training and certificates ask of them.
//
// The empirical risk is sum_i c(i) l(y(i), f(i) + b): a sum, never a mean; c(i) > 0 is the cost of
// sample i (C times its weights), y(i) its target (-1 or +1 for the margin losses), f(i) its score
// without the bias b. The dual variable of a sample is signed, dual(i) = -d/df c(i) l(y(i), f(i)),
// so that f = K dual, and Fenchel's dual of the problem is
//
//   max  sum_i -conjugate_i(-dual(i)) - 1/2 dual'K dual   subject to  sum_i dual(i) = 0,
//
// the condition only when there is a bias.
//
// No loss carries a factor 1/2. Each is one file of losses/, and losses/losses.inc lists them.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

enum class LossKind {
#define MERCER_LOSS(Name) k##Name,
#include "core/objectives/losses/losses.inc"
#undef MERCER_LOSS
};

// How a loss depends on the score. Solvers are made for some of these.
enum class LossCurve {
  kPiecewiseLinear,     // no curvature, slopes that jump
  kQuadratic,           // one curvature everywhere
  kPiecewiseQuadratic,  // that curvature up to the margin, none beyond
  kSmooth,              // a curvature that changes continuously
};

// Values in [low, high]; ends may be infinite.
struct Interval {
  double low = -kInfinity;
  double high = kInfinity;
};

// All minimisers b of a risk in b, and the one that everybody uses: the midpoint, or the finite
// end, or 0 for the whole line.
struct BiasInterval {
  double low = 0;
  double high = 0;
  double chosen = 0;
};

// Immutable and safe for concurrent use.
class Loss {
 public:
  virtual ~Loss() = default;

  LossKind kind() const { return kind_; }
  std::string_view name() const;
  // True for losses of the margin y f, whose targets are -1 and +1.
  virtual bool is_margin_loss() const = 0;
  virtual LossCurve curve() const = 0;
  // The others have a curvature: their duals are determined by the scores.
  bool is_piecewise_linear() const { return curve() == LossCurve::kPiecewiseLinear; }
  // Upper bound of Curvature for a cost of 1; infinite where slopes jump.
  virtual double largest_curvature() const { return kInfinity; }
  // Half width of the flat part around the target; 0 except for the epsilon-insensitive loss.
  virtual double epsilon() const { return 0; }

  // The value c l(y, score).
  virtual double Value(double target, double cost, double score) const = 0;
  // A subgradient of Value in the score; at a kink that of least magnitude.
  virtual double Slope(double target, double cost, double score) const = 0;
  // The second derivative of Value in the score; at a jump of the slope, and between jumps of
  // piecewise linear losses, 0.
  virtual double Curvature(double target, double cost, double score) const = 0;
  // sup_score slope score - Value(score); +infinity where unbounded.
  virtual double Conjugate(double target, double cost, double slope) const = 0;
  // argmin_x Value(x) + (x - point)^2 / (2 step). Requires step > 0.
  virtual double Prox(double target, double cost, double point, double step) const = 0;
  // Values that dual(i) may take.
  virtual Interval DualBox(double target, double cost) const = 0;
  // The same for many samples at once: the sum of their values, and their slopes; their curvatures.
  // The bits are those of one by one.
  virtual double ValueAndSlopes(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                                VectorRef slopes) const = 0;
  virtual void Curvatures(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                          VectorRef curvatures) const = 0;
  // All minimisers b of sum_i Value(y(i), c(i), scores(i) + b); samples of cost 0 do not count. A
  // margin loss whose samples are all of one class gives a half line, the logistic loss then gives
  // +-infinity. Errors: kCancelled.
  virtual absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                                 ConstVectorRef scores,
                                                 const RunContext& context) const = 0;

  // sum_i Value(y(i), c(i), scores(i) + bias). This sum and the next are over training rows, as
  // row_sums.h has them.
  double TotalValue(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                    double bias) const;
  // sum_i -Conjugate(-dual(i)): the linear part of the dual objective; -infinity for a dual outside
  // its box.
  double DualValue(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef dual) const;
  // The same bits of what may be millions of samples. Errors: kCancelled.
  absl::StatusOr<double> TotalValue(ConstVectorRef targets, ConstVectorRef costs,
                                    ConstVectorRef scores, double bias,
                                    const RunContext& context) const;
  absl::StatusOr<double> DualValue(ConstVectorRef targets, ConstVectorRef costs,
                                   ConstVectorRef dual, const RunContext& context) const;
  // Makes any `dual` feasible: clips it to the box; then, when `balanced`, multiplies the entries
  // of the heavier sign so that the sum is 0 up to 1e-13 of its parts (every box contains 0, so it
  // stays inside; a dual that is feasible already keeps its bits). Entries that are not finite
  // become 0.
  void RepairDual(ConstVectorRef targets, ConstVectorRef costs, bool balanced,
                  VectorRef dual) const;

 protected:
  explicit Loss(LossKind kind) : kind_(kind) {}

 private:
  LossKind kind_;
};

// What the file of a loss says.
struct LossFormula {
  std::string_view name = {};     // "squared_hinge", the word of options
  std::string_view formula = {};  // "max(0, 1 - y f)^2"
  absl::StatusOr<std::unique_ptr<Loss>> (*make)(double epsilon) = nullptr;
};

namespace losses {
#define MERCER_LOSS(Name) LossFormula Name();
#include "core/objectives/losses/losses.inc"
#undef MERCER_LOSS
}  // namespace losses

// In the order of LossKind.
absl::Span<const LossFormula> AllLosses();

// Errors: kInvalidArgument when epsilon is negative or not finite; it is used by
// kEpsilonInsensitive only.
absl::StatusOr<std::unique_ptr<Loss>> MakeLoss(LossKind kind, double epsilon = 0);

}  // namespace mercer
