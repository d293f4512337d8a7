// The proximal subproblem of the semismooth Newton method as a function of scores f and bias b
// (docs/mathematics/svm.md, section 3):
//
//   F(f, b) = 1/2 |f|^2 + sum_i psi_i(r_i),  r = targets - f - b,
//   psi_i(r) = max over a in [lower(i), upper(i)] of
//              a r - epsilon |a| - (a - center(i))^2 / (2 step).
//
// psi_i is continuously differentiable and piecewise quadratic; its slope is the maximiser
//
//   a_i = clip(soft(center(i) + step r_i, step epsilon), lower(i), upper(i)),
//   soft(u, t) = sign(u) max(0, |u| - t).
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"

namespace mercer {

struct SvmDualBox {
  Vector targets;
  Vector lower;  // box of the signed dual; it contains 0
  Vector upper;
  double epsilon = 0;
  // A typical distance between targets, > 0: the first step of the search for a bias.
  double score_unit = 1;
};

// Makes the box of the hinge or the epsilon-insensitive loss. Errors: kInvalidArgument (other
// losses, sizes, no samples, labels other than -1 and +1, negative costs, numbers that are not
// finite, no sample of positive cost on one of the sides).
absl::StatusOr<SvmDualBox> MakeSvmDualBox(const Loss& loss, const Vector& targets,
                                          const Vector& costs);

// The subproblem of one centre and step. It is a view on its parts and cheap to make.
struct ProximalModel {
  const SvmDualBox& box;
  const Vector& center;
  double step;                      // of the proximal term, > 0
  const RunContext* run = nullptr;  // null: all on the calling thread; the same bits

  // Writes the maximisers a_i at the scores and the bias.
  void DualPoint(const Vector& scores, double bias, Vector& dual) const;
  // The bias at which sum_i a_i = 0, from the guess `bias`, with the maximisers there. What
  // rounding leaves of the sum is taken off the free samples, so that bounds stay exact. Requires
  // that some lower is negative and some upper positive. Errors: kCancelled.
  absl::StatusOr<double> BalanceDual(const Vector& scores, double bias, Vector& dual,
                                     const RunContext& context) const;
  // sum_i change(i) a_i, with the maximisers at scores + t change: what the slope along a ray is
  // made of. Arbitrary when the run is cancelled.
  double DualAlong(const Vector& scores, double bias, const Vector& change, double t) const;
  // The free samples, whose a_i moves with r_i: strictly inside the box and off the flat part at
  // zero.
  std::vector<Index> FreeSamples(const Vector& scores, double bias) const;

 private:
  double Maximizer(Index i, double residual) const;
  // Writes the maximisers of as many rows from `begin` on as there are scores.
  void Maximize(Index begin, ConstVectorRef scores, double bias, VectorRef dual) const;
  template <typename Partial, typename AddRows>
  Partial SumRows(const Partial& zero, const AddRows& add) const;
  bool IsFree(Index i, double maximizer) const {
    return maximizer > box.lower(i) && maximizer < box.upper(i) &&
           (maximizer != 0 || box.epsilon == 0);
  }
  // The sums of a, of |a|, and the number of free samples.
  Eigen::Array3d SumDual(const Vector& scores, double bias) const;
};

// F along the ray eta + t direction (coefficients of the function, of sum 0) that changes f + b by
// t total_change. Its slope in t,
//   sum_i total_change(i) (eta(i) + t direction(i) - a_i(t)),
// is a sum of small differences near the solution, where the two halves of F's gradient cancel.
struct ProximalRay {
  const ProximalModel& model;
  const Vector& scores;
  double bias;
  const Vector& eta;
  const Vector& direction;
  const Vector& total_change;

  double Slope(double t) const;
  absl::StatusOr<double> Minimize(const RunContext& context) const;
};

// For a convex function with this slope along a ray: a t > 0 at which the slope is at most 1e-2 of
// its initial size, found by doubling and regula falsi; when the trials run out the left end of the
// bracket, where the function is lower than at 0. 0 when the ray does not descend. Errors:
// kCancelled.
absl::StatusOr<double> MinimizeOnRay(const std::function<double(double)>& slope,
                                     const RunContext& context);

}  // namespace mercer
