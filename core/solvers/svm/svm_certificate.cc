#include "core/solvers/svm/svm_certificate.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/paced_check.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"
#include "core/objectives/step_search.h"

namespace mercer {
namespace {

constexpr Index kNumbersPerRay = 4;  // of PacedCheck

// The slope at scale 0+ of row i's c l(y, s g), g = f + b, as a function of s, and its later jumps.
// The slope is a step function. That of the hinge loss is -c |g| up to the kink at s = 1 / (y g),
// and 0 behind it; where y g < 0 there is no kink, and it is c |g|. That of the epsilon-insensitive
// loss is -c |g|, 0 and c |g| before, between and behind its two kinks.
double RaySlope(const Loss& loss, double target, double cost, double g, Index i, RowSteps& jumps) {
  if (g == 0 || cost == 0) {
    return 0;
  }
  const double steep = cost * std::abs(g);
  double slope = -steep;
  const auto add_jump = [&](Index k, double at) {
    if (at > 0) {
      jumps.places(i, k) = at;
      jumps.jumps(i, k) = steep;
    } else {
      slope += steep;
    }
  };
  if (loss.is_margin_loss()) {
    if (target * g > 0) {
      add_jump(0, 1.0 / (target * g));
      return slope;
    }
    return steep;
  }
  add_jump(0, (target - loss.epsilon()) / g);
  add_jump(1, (target + loss.epsilon()) / g);
  return slope;
}

// Takes the best feasible multiple of the dual: along the ray the dual objective is the parabola
// s linear - s^2 quadratic / 2.
void ScaleDual(double linear, double box_scale, SvmCertificate& certificate) {
  const double quadratic = certificate.quadratic_form;
  const double scale =
      linear <= 0 ? 0.0 : (quadratic > 0 ? std::min(linear / quadratic, box_scale) : box_scale);
  const double value = scale * linear - 0.5 * scale * scale * quadratic;
  if (std::isfinite(scale) && value > certificate.dual) {
    certificate.dual = value;
    certificate.dual_scale = scale;
  }
}

// Takes the best multiple of the function and its bias.
absl::Status ScalePrimal(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                         ConstVectorRef scores, const RunContext& context,
                         SvmCertificate& certificate) {
  const double quadratic = certificate.quadratic_form;
  const Vector values = scores.array() + certificate.bias.chosen;
  MERCER_ASSIGN_OR_RETURN(const double scale,
                          BestPrimalScale(loss, targets, costs, values, quadratic, context));
  const Vector scaled = scale * values;
  MERCER_ASSIGN_OR_RETURN(const double risk, loss.TotalValue(targets, costs, scaled, 0.0, context));
  const double value = 0.5 * scale * scale * quadratic + risk;
  if (value < certificate.primal) {
    certificate.primal = value;
    certificate.primal_scale = scale;
  }
  return absl::OkStatus();
}

}  // namespace

// The slope of the function, s quadratic + (a step function of s), never falls; the minimum is where
// it crosses zero, at a jump or between two.
absl::StatusOr<double> BestPrimalScale(const Loss& loss, ConstVectorRef targets,
                                       ConstVectorRef costs, ConstVectorRef values,
                                       double quadratic, const RunContext& context) {
  const Index rows = targets.size();
  const Index kinks = loss.is_margin_loss() ? 1 : 2;
  RowSteps jumps{Matrix::Constant(rows, kinks, kInfinity), Matrix::Zero(rows, kinks)};
  Vector slopes(rows);
  PacedCheck check(context);
  for (Index i = 0; i < rows; ++i) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerRay));
    slopes(i) = RaySlope(loss, targets(i), costs(i), values(i), i, jumps);
  }
  const double slope = SumOfRows(slopes);
  const auto slope_at = [&](double risen, double place) {
    return slope + risen + quadratic * place;
  };
  MERCER_ASSIGN_OR_RETURN(const FoundStep jump, FindStep(jumps, slope_at, context));
  // Up to that jump the slope is a straight line.
  const double before = slope + jump.before;
  if (before >= 0) {
    return 0.0;
  }
  const double scale = quadratic > 0 ? std::min(jump.place, -before / quadratic) : jump.place;
  return std::isfinite(scale) ? scale : 1.0;  // rounding alone leaves it falling for ever
}

double SvmCertificate::RelativeGap() const {
  return (primal - dual) / std::max({std::abs(primal), std::abs(dual), 1e-300});
}

double SvmCertificate::UnscaledRelativeGap() const {
  return (unscaled_primal - dual) / std::max({std::abs(unscaled_primal), std::abs(dual), 1e-300});
}

absl::StatusOr<SvmCertificate> CertifySvm(const Loss& loss, ConstVectorRef targets,
                                          ConstVectorRef costs, ConstVectorRef dual,
                                          ConstVectorRef scores, bool with_bias,
                                          const RunContext& context) {
  const Index n = targets.size();
  if (costs.size() != n || dual.size() != n || scores.size() != n) {
    return absl::InvalidArgumentError("targets, costs, dual and scores differ in size");
  }
  if (!dual.allFinite() || !scores.allFinite()) {
    return absl::InvalidArgumentError("the dual or its kernel products are not finite");
  }
  SvmCertificate certificate;
  certificate.quadratic_form = DotOfRows(dual, scores);
  if (certificate.quadratic_form < 0 &&
      certificate.quadratic_form >
          -1e-10 * std::sqrt(SquaredNormOfRows(dual) * SquaredNormOfRows(scores))) {
    certificate.quadratic_form = 0;
  }
  MERCER_ASSIGN_OR_RETURN(const double linear, loss.DualValue(targets, costs, dual, context));
  if (!std::isfinite(linear)) {
    return absl::InvalidArgumentError("the dual is outside its box");
  }
  if (with_bias) {
    MERCER_ASSIGN_OR_RETURN(certificate.bias, loss.ExactBias(targets, costs, scores, context));
  }
  MERCER_ASSIGN_OR_RETURN(
      const double risk, loss.TotalValue(targets, costs, scores, certificate.bias.chosen, context));
  certificate.unscaled_dual = linear - 0.5 * certificate.quadratic_form;
  certificate.unscaled_primal = 0.5 * certificate.quadratic_form + risk;
  certificate.primal = certificate.unscaled_primal;
  certificate.dual = certificate.unscaled_dual;
  if (loss.is_piecewise_linear() && certificate.quadratic_form >= 0) {
    MERCER_ASSIGN_OR_RETURN(const double box_scale,
                            LargestDualScale(loss, targets, costs, dual, context));
    ScaleDual(linear, box_scale, certificate);
    MERCER_RETURN_IF_ERROR(ScalePrimal(loss, targets, costs, scores, context, certificate));
  }
  return certificate;
}

}  // namespace mercer
