#include "core/objectives/cutting_plane_program.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kPlaneAccuracy = 1e-10;  // of gamma, which is known within 0 and 1 before
constexpr double kPlaneError = 1e-7;      // of the same, above which rounding has spoilt it
constexpr double kPlaneRounding = 1e-14;  // of entries
constexpr Index kCornersAtOnce = 100;

// Ends the simplex method when the work must end.
class EndsWhenCancelled : public ClpEventHandler {
 public:
  explicit EndsWhenCancelled(const RunContext& context,
                             std::unique_ptr<EndsWhenCancelled> clone = nullptr)
      : context_(context), clone_(std::move(clone)) {}

  int event(Event which) override {
    constexpr int kGoOn = -1;
    constexpr int kEnd = 0;
    return which == endOfIteration && context_.cancelled() ? kEnd : kGoOn;
  }
  // A model takes one when it has freed that before, and would free it again after an exception:
  // the first takes no memory.
  ClpEventHandler* clone() const override {
    return clone_ != nullptr ? clone_.release() : new EndsWhenCancelled(context_);
  }

 private:
  const RunContext& context_;
  mutable std::unique_ptr<EndsWhenCancelled> clone_;
};

// What is known of gamma: any corner bounds it from below, any plane from above.
struct PlaneBounds {
  Vector least;  // of the planes at each corner
  double lower = 0;
  double upper = 0;
  Index corner = 0;  // of the lower bound
  Index plane = 0;   // of the upper one

  explicit PlaneBounds(const ConstMatrixRef& planes) : least(planes.rowwise().minCoeff()) {
    lower = least.maxCoeff(&corner);
    upper = planes.colwise().maxCoeff().minCoeff(&plane);
  }
  double width() const { return upper - lower; }
  double rounding() const { return kPlaneRounding * std::max(std::abs(lower), std::abs(upper)); }
};

// The program among some of the corners, for the planes (planes - lower) / width, whose gamma is
// from 0 to 1; those that are far above that somewhere are scaled.
class CornerProgram {
 public:
  // With one corner, that of the lower bound, where gamma is 0: a vertex to begin at.
  CornerProgram(const ConstMatrixRef& planes, const PlaneBounds& bounds, const RunContext& context)
      : planes_(planes), lower_(bounds.lower), width_(bounds.width()), scales_(planes.cols()) {
    constexpr int kLogsNothing = 0;
    constexpr int kNone = 0;
    constexpr int kPerturbsNothing = 100;
    constexpr int kMostPivots = 100'000;
    simplex_.setLogLevel(kLogsNothing);
    simplex_.scaling(kNone);
    simplex_.setPerturbation(kPerturbsNothing);
    simplex_.setMaximumIterations(kMostPivots);
    simplex_.setPrimalTolerance(kPlaneAccuracy);
    simplex_.setDualTolerance(kPlaneAccuracy);
    const EndsWhenCancelled handler(context, std::make_unique<EndsWhenCancelled>(context));
    simplex_.passInEventHandler(&handler);
    const auto sum_of_weights = static_cast<int>(planes.cols());
    simplex_.resize(sum_of_weights + 1, 0);
    for (int t = 0; t < sum_of_weights; ++t) {
      const double largest = (planes.col(t).array() - lower_).abs().maxCoeff() / width_;
      scales_(t) = 1 / std::max(1.0, largest);
      simplex_.setRowBounds(t, -COIN_DBL_MAX, 0);
    }
    simplex_.setRowBounds(sum_of_weights, 1, 1);
    rows_.resize(static_cast<size_t>(simplex_.numberRows()));
    std::iota(rows_.begin(), rows_.end(), 0);
    AddColumn(scales_, /*weight=*/0, /*cost=*/-1);  // gamma
    AddCorner(bounds.corner);
    simplex_.createStatus();
    simplex_.setColumnStatus(1, ClpSimplex::basic);
    simplex_.setRowStatus(sum_of_weights, ClpSimplex::atLowerBound);
  }

  void AddCorner(Index corner) {
    const Vector values = (planes_.row(corner).transpose().array() - lower_) / width_;
    AddColumn(-values.cwiseProduct(scales_), /*weight=*/1, /*cost=*/0);
    corners_.push_back(corner);
  }
  // From the last vertex. False when it was cancelled, has failed or takes too long.
  bool Solve() {
    simplex_.primal();
    return simplex_.isProvenOptimal();
  }

  const std::vector<Index>& corners() const { return corners_; }
  Vector Point() const {
    Vector point = Vector::Zero(planes_.rows());
    for (size_t k = 0; k < corners_.size(); ++k) {
      point(corners_[k]) = std::max(0.0, simplex_.primalColumnSolution()[k + 1]);
    }
    return point / point.sum();
  }
  Vector Multipliers() const {
    const Eigen::Map<const Vector> prices(simplex_.dualRowSolution(), planes_.cols());
    const Vector multipliers = (-prices).cwiseProduct(scales_).cwiseMax(0.0);
    return multipliers / multipliers.sum();
  }

 private:
  void AddColumn(Vector entries, double weight, double cost) {
    entries.conservativeResize(entries.size() + 1);
    entries(entries.size() - 1) = weight;
    simplex_.addColumn(static_cast<int>(rows_.size()), rows_.data(), entries.data(), 0,
                       COIN_DBL_MAX, cost);
  }

  const ConstMatrixRef planes_;
  const double lower_;
  const double width_;
  Vector scales_;
  std::vector<int> rows_;  // all
  std::vector<Index> corners_;
  ClpSimplex simplex_;
};

// Where the values above `level` are largest, lower indices first among equals.
std::vector<Index> LargestAbove(const Vector& values, double level) {
  std::vector<Index> order;
  for (Index l = 0; l < values.size(); ++l) {
    if (values(l) > level) {
      order.push_back(l);
    }
  }
  const size_t count = std::min(order.size(), static_cast<size_t>(kCornersAtOnce));
  std::partial_sort(
      order.begin(), order.begin() + static_cast<Index>(count), order.end(),
      [&](Index a, Index b) { return values(a) != values(b) ? values(a) > values(b) : a < b; });
  order.resize(count);
  return order;
}

absl::StatusOr<std::optional<CuttingPlaneMaximum>> MaximizeByCorners(const ConstMatrixRef& planes,
                                                                     const RunContext& context) {
  const PlaneBounds bounds(planes);
  CuttingPlaneMaximum found;
  if (bounds.width() <= bounds.rounding()) {
    found.point = Vector::Unit(planes.rows(), bounds.corner);
    found.multipliers = Vector::Unit(planes.cols(), bounds.plane);
    found.bound = bounds.upper;
    return found;
  }
  const double farthest =
      std::max(planes.maxCoeff() - bounds.lower, bounds.lower - planes.minCoeff());
  if (!std::isfinite(farthest / bounds.width())) {
    return std::nullopt;
  }
  CornerProgram program(planes, bounds, context);
  std::vector<Index> corners = LargestAbove(bounds.least, -kInfinity);
  std::erase(corners, bounds.corner);
  do {
    for (const Index corner : corners) {
      program.AddCorner(corner);
    }
    if (static_cast<Index>(program.corners().size()) > kMostCorners) {
      return std::nullopt;
    }
    const bool solved = program.Solve();
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    if (!solved) {
      return std::nullopt;
    }
    found.multipliers = program.Multipliers();
    const Vector values = planes * found.multipliers;
    found.bound = values.maxCoeff();
    const double level = values(program.corners()).maxCoeff();
    corners = LargestAbove(values, level + kPlaneAccuracy * bounds.width() + bounds.rounding());
  } while (!corners.empty());
  found.point = program.Point();
  const double reached = (planes.transpose() * found.point).minCoeff();
  if (!(found.bound - reached <= kPlaneError * bounds.width() + bounds.rounding())) {
    return std::nullopt;
  }
  return found;
}

}  // namespace

absl::StatusOr<std::optional<CuttingPlaneMaximum>> MaximizeUnderPlanes(const ConstMatrixRef& planes,
                                                                       const RunContext& context) {
  if (!planes.allFinite()) {
    return std::nullopt;
  }
  using Result = absl::StatusOr<std::optional<CuttingPlaneMaximum>>;
  return RunSafely("a linear program", [&]() -> Result {
    try {
      return MaximizeByCorners(planes, context);
    } catch (const CoinError&) {  // which is no std::exception
      return std::nullopt;
    }
  });
}

}  // namespace mercer
