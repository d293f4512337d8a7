// How good a dual vector is for one support vector machine with a fixed kernel, recomputed from its
// products alone: shares nothing with any solver. Formulas: docs/mathematics/README.md, section 3.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/objectives/loss.h"

namespace mercer {

// Bounds of the optimum of  min_{f, b} 1/2 |f|^2 + sum_i c(i) l(y(i), f(x_i) + b)  and of its dual.
struct SvmCertificate {
  // Value at primal_scale (f, bias), f = sum_i dual(i) k(x_i, .): an upper bound. Never above the
  // value at (f, bias).
  double primal = kInfinity;
  // Value of the dual objective at dual_scale dual, a feasible point: a lower bound.
  double dual = -kInfinity;
  // The two values at scale 1, that is of the model as it stands.
  double unscaled_primal = kInfinity;
  double unscaled_dual = -kInfinity;
  double primal_scale = 1;
  double dual_scale = 1;
  BiasInterval bias;          // minimisers of the risk for f
  double quadratic_form = 0;  // dual'K dual

  static void VisitFields(auto& visit, auto& self) {
    visit(self.primal, self.dual, self.unscaled_primal, self.unscaled_dual, self.primal_scale,
          self.dual_scale, self.bias.low, self.bias.high, self.bias.chosen, self.quadratic_form);
  }

  double Gap() const { return primal - dual; }
  // Gap() / max(|primal|, |dual|, 1e-300).
  double RelativeGap() const;
  // The same of the model as it stands.
  double UnscaledRelativeGap() const;
};

// `scores` = K dual; `dual` is feasible: in the boxes of `loss` and of sum 0 up to rounding
// (Loss::RepairDual makes it so; scores must be those of the repaired dual). The scales are chosen
// for losses with a piecewise linear dual (hinge, epsilon-insensitive), 1 for the others. A
// quadratic form slightly negative by rounding counts as 0. Errors: kInvalidArgument when something
// is not finite, sizes differ, or the dual leaves its boxes; kCancelled. Without `with_bias` b = 0,
// and the dual may have any sum.
absl::StatusOr<SvmCertificate> CertifySvm(const Loss& loss, ConstVectorRef targets,
                                          ConstVectorRef costs, ConstVectorRef dual,
                                          ConstVectorRef scores, bool with_bias = true,
                                          const RunContext& context = RunContext());

// argmin_{s >= 0} 1/2 s^2 quadratic + sum_i c(i) l(y(i), s values(i)) for a piecewise linear loss:
// the best multiple of a function with these values, bias included. Errors: kCancelled.
absl::StatusOr<double> BestPrimalScale(const Loss& loss, ConstVectorRef targets,
                                       ConstVectorRef costs, ConstVectorRef values,
                                       double quadratic, const RunContext& context);

}  // namespace mercer
