// Kinds without a solver: certificate, weight_update, normalisation.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/kernels/spec/normalization.h"
#include "core/objectives/loss.h"
#include "core/objectives/lp_weights.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

// The largest multiple of the dual inside the box.
double LargestScale(const Vector& dual, double cost) {
  const double largest = dual.lpNorm<Eigen::Infinity>();
  return largest > 0 ? cost / largest : kInfinity;
}

struct Point {
  Vector targets;
  Vector costs;
  Vector dual;    // feasible
  Vector scores;  // sum_k weights(k) K_k dual
};

absl::StatusOr<Point> ReadPoint(const json& input, const Loss& loss,
                                const std::vector<Matrix>& grams, const Vector& weights) {
  Point point;
  point.targets = ToVector(input.at("y"));
  point.costs = Vector::Constant(point.targets.size(), input.at("C").get<double>());
  point.dual = point.targets.cwiseProduct(ToVector(input.at("alpha")));
  loss.RepairDual(point.targets, point.costs, true, point.dual);
  point.scores = Vector::Zero(point.targets.size());
  for (size_t k = 0; k < grams.size(); ++k) {
    point.scores += weights(static_cast<Index>(k)) * (grams[k] * point.dual);
  }
  return point;
}

json NormalisedBlocks(const Matrix& gram, const Matrix& gram_test) {
  return {{"gram", FromMatrix(gram)}, {"gram_test", FromMatrix(gram_test)}};
}

absl::StatusOr<json> Scaled(KernelScaling scaling, const Matrix& gram, const Matrix& gram_test) {
  MERCER_ASSIGN_OR_RETURN(const double factor,
                          ScalingFactor(scaling, {gram.rows(), gram.trace(), gram.sum()}));
  json blocks = NormalisedBlocks(factor * gram, factor * gram_test);
  blocks["factor"] = factor;
  return blocks;
}

}  // namespace

absl::StatusOr<Answer> SolveCertificate(const json& fixture) {
  const json& input = fixture.at("input");
  const double p = ToNumber(input.at("p"));
  const Vector weights = ToVector(input.at("weights"));
  std::vector<Matrix> grams;
  for (const json& factor : input.at("V")) {
    grams.push_back(ToMatrix(factor) * ToMatrix(factor).transpose());
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  MERCER_ASSIGN_OR_RETURN(const Point point, ReadPoint(input, *loss, grams, weights));
  MERCER_ASSIGN_OR_RETURN(const Vector energies,
                          Energies(GramProblem(grams, point.targets), point.dual));
  const Vector norms = weights.array() * energies.array().sqrt();

  const double linear = loss->DualValue(point.targets, point.costs, point.dual);
  const double curvature = LpNorm(energies, DualExponent(p));
  // The best multiple t of the dual: it maximises t * linear - t^2 * curvature / 2 within the box.
  const double largest = LargestScale(point.dual, point.costs(0));
  const double scale = linear > 0 ? std::min(linear / curvature, largest) : 0.0;
  const double lower = scale * linear - 0.5 * scale * scale * curvature;
  const BiasInterval bias =
      loss->ExactBias(point.targets, point.costs, point.scores, RunContext()).value();
  const double risk = loss->TotalValue(point.targets, point.costs, point.scores, bias.chosen);
  const double upper = HalfSquaredBlockNorm(norms, p) + risk;

  json result;
  result["alpha_repaired"] = FromVector(point.targets.cwiseProduct(point.dual));
  result["s"] = FromVector(energies);
  result["dual_at_repaired"] = linear - 0.5 * curvature;
  result["best_scale"] = scale;
  result["dual_best_scaled"] = lower;
  result["block_norms"] = FromVector(norms);
  result["decision_without_bias"] = FromVector(point.scores);
  result["bias_interval"] = FromInterval(bias, false);
  result["hinge_sum"] = risk / point.costs(0);
  result["primal_with_given_weights"] = 0.5 * weights.dot(energies) + risk;
  result["primal_block_norm"] = upper;
  result["weights_after_update"] = FromVector(WeightsFromNorms(norms, p, weights));
  result["weights_overrelaxed"] = FromVector(OverRelaxedWeights(weights, energies, p));
  result["gap"] = upper - lower;
  return Answer{std::move(result), (upper - lower) / std::max(std::abs(upper), std::abs(lower))};
}

absl::StatusOr<Answer> SolveWeightUpdate(const json& fixture) {
  json cases = json::array();
  bool unchanged = true;
  for (const json& item : fixture.at("input").at("cases")) {
    const double p = ToNumber(item.at("p"));
    const Vector norms = ToVector(item.at("block_norms"));
    const Vector current = UniformWeights(norms.size(), p);
    cases.push_back({{"weights", FromVector(WeightsFromNorms(norms, p, current))},
                     {"half_squared_block_norm", FromNumber(HalfSquaredBlockNorm(norms, p))},
                     {"r", std::isinf(p) ? 2.0 : 2 * p / (p + 1)},
                     {"q", FromNumber(DualExponent(p))}});
    const Vector zero = Vector::Zero(norms.size());
    unchanged = unchanged && (std::isinf(p) || WeightsFromNorms(zero, p, current) == current);
  }
  return Answer{
      json{{"cases", std::move(cases)}, {"all_zero", unchanged ? "unchanged" : "changed"}}, 0};
}

absl::StatusOr<Answer> SolveNormalisation(const json& fixture) {
  const json& input = fixture.at("inputs");
  const Matrix gram = ToMatrix(input.at("gram"));
  const Matrix gram_test = ToMatrix(input.at("gram_test"));
  json result;
  MERCER_ASSIGN_OR_RETURN(result["trace"], Scaled(KernelScaling::kTrace, gram, gram_test));
  MERCER_ASSIGN_OR_RETURN(result["mean_diagonal"],
                          Scaled(KernelScaling::kMeanDiagonal, gram, gram_test));
  MERCER_ASSIGN_OR_RETURN(result["variance"], Scaled(KernelScaling::kVariance, gram, gram_test));

  Matrix unit = gram;
  Matrix unit_test = gram_test;
  MERCER_RETURN_IF_ERROR(NormalizeUnitDiagonal(unit, unit_test, ToVector(input.at("self_test"))));
  result["unit_diagonal"] = NormalisedBlocks(unit, unit_test);
  MERCER_ASSIGN_OR_RETURN(result["unit_diagonal_then_trace"],
                          Scaled(KernelScaling::kTrace, unit, unit_test));

  Matrix centred = gram;
  Matrix centred_test = gram_test;
  CentreGram(centred, centred_test);
  result["centre"] = NormalisedBlocks(centred, centred_test);
  // The factor from the sums of the matrix that is not centred.
  MERCER_ASSIGN_OR_RETURN(
      const double factor,
      ScalingFactor(KernelScaling::kCentredTrace, {gram.rows(), gram.trace(), gram.sum()}));
  result["centre_then_trace"] = NormalisedBlocks(factor * centred, factor * centred_test);
  result["centre_then_trace"]["factor"] = factor;
  return Answer{std::move(result), 0};
}

}  // namespace mercer::solve
