#include "core/solvers/gradients/coordinate_planes.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/objectives/cutting_plane_program.h"

namespace mercer {
namespace {

constexpr Index kSlackForLong = 10;
constexpr double kLowerMaximum = 1e-12;  // of itself

}  // namespace

void CoordinatePlanes::AddValues(const GradientPoint& point) {
  values_.conservativeResize(point.energies.size(), values_.cols() + 1);
  values_.rightCols(1) = (point.energies.array() + (0.5 * point.base_norm - point.linear)).matrix();
}

void CoordinatePlanes::Add(const GradientPoint& point) {
  if (count() >= Most(point.energies.size(), point.dual.size())) {
    std::vector<Index> kept(slack_.size());
    std::iota(kept.begin(), kept.end(), Index{0});
    const auto longest = std::max_element(slack_.begin(), slack_.end());
    if (*longest == 0) {
      bound_ = kInfinity;  // without a plane that was tight the maximum may rise
    }
    kept.erase(kept.begin() + (longest - slack_.begin()));
    Keep(kept);
  }
  duals_.conservativeResize(point.dual.size(), count() + 1);
  duals_.rightCols(1) = point.dual;
  slack_.push_back(0);
  AddValues(point);
}

absl::StatusOr<std::optional<CoordinatePlanes::Maximum>> CoordinatePlanes::Maximize(
    const GradientProblem& problem, RunContext& context) {
  while (values_.cols() < count()) {
    const Vector weights = Vector::Zero(problem.num_columns());
    MERCER_ASSIGN_OR_RETURN(const GradientPoint point,
                            EvaluateGradients(problem, CoordinateWeights::kSimplex, weights,
                                              duals_.col(values_.cols()), context));
    AddValues(point);
  }
  MERCER_ASSIGN_OR_RETURN(const std::optional<CuttingPlaneMaximum> found,
                          MaximizeUnderPlanes(values_, context));
  if (!found.has_value()) {
    return std::nullopt;
  }
  Maximum maximum{found->point, duals_ * found->multipliers};
  maximum.lower = bound_ == kInfinity || found->bound < bound_ - kLowerMaximum * std::abs(bound_);
  bound_ = found->bound;
  std::vector<Index> kept;
  kept.reserve(slack_.size());
  for (size_t t = 0; t < slack_.size(); ++t) {
    const bool slack = !(found->multipliers(static_cast<Index>(t)) > 0);
    slack_[t] = slack ? slack_[t] + 1 : 0;
    if (!maximum.lower || slack_[t] < kSlackForLong) {
      kept.push_back(static_cast<Index>(t));
    }
  }
  if (kept.size() < slack_.size()) {
    Keep(kept);
  }
  return maximum;
}

void CoordinatePlanes::Keep(const std::vector<Index>& kept) {
  values_ = Matrix(values_(Eigen::all, kept));
  duals_ = Matrix(duals_(Eigen::all, kept));
  std::vector<Index> slack;
  slack.reserve(kept.size());
  for (const Index t : kept) {
    slack.push_back(slack_[static_cast<size_t>(t)]);
  }
  slack_ = std::move(slack);
}

}  // namespace mercer
