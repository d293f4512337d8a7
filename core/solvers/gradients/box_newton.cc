#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/solvers/gradients/box_dual.h"
#include "core/solvers/gradients/pair_system.h"

namespace mercer {
namespace {

constexpr double kAtBoxBound = 1e-14;        // of the width of the box
constexpr double kSmallBoxResidual = 1e-13;  // of the gradient, whose constant part is 1
constexpr double kBoxDescent = 1e-4;
constexpr double kShortestBoxStep = 1e-4;
constexpr double kBoxRounding = 1e-15;  // of the value
constexpr double kFlatBoxValue = 1e-10;
// Of conjugate gradients for a step: as near as the point is to the solution.
constexpr double kFinestStep = 1e-8;
constexpr double kCoarsestStep = 1e-2;
// Of many pairs, of a step and, in products, of all: the next change of the weights goes on from there.
constexpr Index kMostStepProducts = 100;
constexpr double kMostBoxWork = 400;

// How far a step of each variable by itself goes, in units of the gradient.
double BoxResidual(const BoxDual& box, const BoxPoint& point) {
  const Vector curvature = (box.kernel.diagonal() + box.ridge).cwiseMax(1e-300);
  const Vector moved = box.Clip(point.a - point.gradient.cwiseQuotient(curvature));
  return curvature.cwiseProduct(point.a - moved).cwiseAbs().maxCoeff();
}

}  // namespace

// With z = 1 - y t the loss of a variable is the largest a z - 1/2 ridge a^2 of its box.
absl::StatusOr<BoxPoint> EvaluateBox(const BoxDual& box, Vector a, RunContext& context) {
  BoxPoint point;
  point.a = std::move(a);
  MERCER_ASSIGN_OR_RETURN(const Vector product,
                          box.kernel.Product(box.signs.cwiseProduct(point.a), context));
  const Vector margins = box.signs.cwiseProduct(product);
  const Vector regular = box.ridge.cwiseProduct(point.a);
  point.gradient = margins + regular;
  point.gradient.array() -= 1;
  const double norm = point.a.dot(margins);
  point.value = 0.5 * norm + 0.5 * point.a.dot(regular) - point.a.sum();
  double risk = 0;
  for (Index p = 0; p < box.size(); ++p) {
    const double z = 1 - margins(p);
    if (z > 0) {
      const double best =
          box.ridge(p) > 0 ? std::min(z / box.ridge(p), box.bounds(p)) : box.bounds(p);
      risk += best * (z - 0.5 * box.ridge(p) * best);
    }
  }
  const double primal = risk + 0.5 * norm;
  point.gap = (primal + point.value) / std::max(primal, 1e-300);
  return point;
}

std::vector<Index> FreeVariables(const BoxDual& box, const BoxPoint& point) {
  std::vector<Index> free;
  for (Index p = 0; p < box.size(); ++p) {
    const double a = point.a(p);
    const bool low = a <= kAtBoxBound * box.Scale(p) && point.gradient(p) > 0;
    const bool high = a >= box.bounds(p) * (1 - kAtBoxBound) && point.gradient(p) < 0;
    if (!low && !high) {
      free.push_back(p);
    }
  }
  return free;
}

absl::StatusOr<bool> ImproveByNewton(const BoxDual& box, int most_steps, BoxPoint& point,
                                     int& steps, RunContext& context) {
  double work = 0;
  for (int step = 0; step < most_steps && work < kMostBoxWork; ++step) {
    const double residual = BoxResidual(box, point);
    if (residual <= kSmallBoxResidual) {
      return true;
    }
    const double accuracy = std::clamp(residual, kFinestStep, kCoarsestStep);
    const std::vector<Index> free = FreeVariables(box, point);
    absl::StatusOr<PairSystem> system =
        PairSystem::Make(box.kernel, box.ridge, free, PairSystem::Indefinite::kIsAnError, context);
    ++steps;
    Vector direction = -box.signs(free).cwiseProduct(point.gradient(free));
    const absl::Status solved = system.ok()
                                    ? system->Solve(direction, accuracy, kMostStepProducts, context)
                                    : system.status();
    if (absl::IsInvalidArgument(solved)) {
      return false;
    }
    MERCER_RETURN_IF_ERROR(solved);
    if (box.size() > kMostFactoredPairs) {
      work += system->work();
    }
    if (!direction.allFinite()) {
      return false;
    }
    Vector whole = Vector::Zero(box.size());
    whole(free) = box.signs(free).cwiseProduct(direction);
    bool moved = false;
    for (double length = 1; !moved && length > kShortestBoxStep; length *= 0.5) {
      MERCER_ASSIGN_OR_RETURN(BoxPoint next,
                              EvaluateBox(box, box.Clip(point.a + length * whole), context));
      const double slope = point.gradient.dot(next.a - point.a);
      const double allowed = kBoxDescent * slope + kBoxRounding * std::abs(point.value);
      // Where the value is flat to rounding the gradient still tells.
      const bool nearer =
          length == 1 &&
          std::abs(next.value - point.value) <= kFlatBoxValue * std::abs(point.value) &&
          BoxResidual(box, next) <= 0.5 * BoxResidual(box, point);
      if (nearer || (next.value <= point.value + allowed && next.a != point.a)) {
        point = std::move(next);
        moved = true;
      }
    }
    if (!moved) {
      return false;
    }
  }
  return BoxResidual(box, point) <= kSmallBoxResidual;
}

}  // namespace mercer
