// What lp-norm MKL asks of its kernel weights d >= 0, in two forms, 1 < p < inf, q = p / (p - 1):
//
//   constrained   |d|_p <= 1                     dual  max  linear(a) - 1/2 |s(a)|_q
//   penalised     + 1/2 penalty |d|_p^2          dual  max  linear(a) - |s(a)|_q^2 / (8 penalty)
//
// s_k(a) = a'K_k a are the energies. The penalised problem of costs C whose weights have the norm t
// is the constrained one of costs t C: the same function, weights t times as large. Source:
// docs/mathematics/lp_mkl.md, section 7.
#pragma once

#include "core/base/numeric/types.h"
#include "core/objectives/dual_ray.h"
#include "core/objectives/loss.h"

namespace mercer {

// A step t along a direction of the dual: the linear part grows by t linear, energies become
// energies + 2 t slopes + t^2 curvatures.
struct EnergyCurve {
  double linear = 0;
  Vector energies;
  Vector slopes;
  Vector curvatures;  // >= 0
};

class WeightTerm {
 public:
  // `penalty` 0 is the constrained form.
  WeightTerm(double p, double penalty) : p_(p), q_minus_one_(1.0 / (p - 1.0)), penalty_(penalty) {}

  // Requires energies >= 0, here and below.
  double DualCost(ConstVectorRef energies) const;
  // The weights that belong to a dual of these energies; `current` when all of them are 0.
  Vector Weights(ConstVectorRef energies, ConstVectorRef current) const;
  // What the function of these weights and energies costs at the best weights for it.
  double PrimalCost(ConstVectorRef weights, ConstVectorRef energies) const;
  // The best multiple of a feasible dual of a piecewise linear loss.
  absl::StatusOr<DualRay> MaximizeOnRay(const Loss& loss, ConstVectorRef targets,
                                        ConstVectorRef costs, ConstVectorRef dual,
                                        ConstVectorRef energies, const RunContext& context) const;
  // The step in [0, longest] at which the dual objective is largest, by Newton's method within a
  // bracket; 0 when it does not grow.
  double MaximizeOnCurve(const EnergyCurve& curve, double longest) const;

 private:
  struct Slope {
    double first;
    double second;
  };

  bool constrained() const { return penalty_ == 0; }
  // |energies|_q and the powers (energies(k) / |energies|_q)^(q - 1).
  double NormAndPowers(ConstVectorRef energies, Vector& powers) const;
  Slope SlopeAt(const EnergyCurve& curve, double step) const;
  double FirstStep(const EnergyCurve& curve) const;

  double p_;
  double q_minus_one_;
  double penalty_;
};

}  // namespace mercer
