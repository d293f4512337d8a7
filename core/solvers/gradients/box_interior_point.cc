#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/solvers/gradients/box_dual.h"

namespace mercer {
namespace {

constexpr int kMostBoxSteps = 60;
constexpr double kSmallBoxProducts = 1e-13;  // complementarity, of the value
constexpr double kBoxStepFraction = 0.9995;
constexpr double kBoxSnap = 1e-3;  // of the multiplier, in units of the box

// a and its room below an upper bound, with the multipliers z of a >= 0 and u of that bound;
// variables without one have an infinite room and u = 0.
struct BoxInterior {
  Vector a;
  Vector room;
  Vector z;
  Vector u;

  double Products() const {
    double sum = a.dot(z);
    for (Index p = 0; p < a.size(); ++p) {
      sum += u(p) > 0 ? u(p) * room(p) : 0;
    }
    return sum;
  }
};

struct BoxStep {
  Vector a;
  Vector z;
  Vector u;
};

class InteriorPointRun {
 public:
  InteriorPointRun(const BoxDual& box, Matrix h) : box_(box), h_(std::move(h)) {
    bounded_ = (box.bounds.array() < kInfinity).cast<double>();
    limits_ = static_cast<double>(box.size()) + bounded_.sum();
    const double typical = 1 / std::max(h_.diagonal().mean(), 1e-300);
    point_.a = (bounded_.array() > 0).select(0.5 * box.bounds, typical);
    Refresh();
    const double start = 0.1 * gradient_.cwiseAbs().mean() + 1e-3;
    point_.z = gradient_.cwiseMax(0.0).array() + start;
    point_.u = ((-gradient_).cwiseMax(0.0).array() + start) * bounded_.array();
  }

  // False when there is nothing to gain any more.
  absl::StatusOr<bool> Step(RunContext& context) {
    const double products = point_.Products();
    const double value = 0.5 * (point_.a.dot(gradient_) - point_.a.sum());
    if (products <= kSmallBoxProducts * std::abs(value)) {
      return false;
    }
    Matrix factor = h_;
    factor.diagonal() += point_.z.cwiseQuotient(point_.a) + point_.u.cwiseQuotient(point_.room);
    const absl::Status factored = FactorCholesky(factor, context);
    if (absl::IsInvalidArgument(factored)) {
      return false;
    }
    MERCER_RETURN_IF_ERROR(factored);
    const Vector none = Vector::Zero(box_.size());
    MERCER_ASSIGN_OR_RETURN(const BoxStep affine, Solve(factor, 0, none, none, context));
    const double reach = Reach(affine);
    BoxInterior ahead = point_;
    Move(affine, reach, ahead);
    const double ratio = std::max(ahead.Products(), 0.0) / products;
    const double target = ratio * ratio * ratio * products / limits_;
    MERCER_ASSIGN_OR_RETURN(const BoxStep step,
                            Solve(factor, target, affine.a.cwiseProduct(affine.z),
                                  -affine.a.cwiseProduct(affine.u), context));
    if (!step.a.allFinite() || !step.z.allFinite() || !step.u.allFinite()) {
      return false;
    }
    Move(step, std::min(1.0, kBoxStepFraction * Reach(step)), point_);
    Refresh();
    return true;
  }

  // Variables that are small against their multipliers are at their bounds.
  Vector Snapped() const {
    Vector a = point_.a;
    for (Index p = 0; p < a.size(); ++p) {
      const double scale = box_.Scale(p);
      if (a(p) < kBoxSnap * point_.z(p) * scale) {
        a(p) = 0;
      } else if (point_.room(p) < kBoxSnap * point_.u(p) * scale) {
        a(p) = box_.bounds(p);
      }
    }
    return box_.Clip(a);
  }

 private:
  void Refresh() {
    gradient_ = h_.selfadjointView<Eigen::Lower>() * point_.a;
    gradient_.array() -= 1;
    point_.room = box_.bounds - point_.a;
  }

  // Of the Newton equations for products equal to `target` less these corrections.
  absl::StatusOr<BoxStep> Solve(const Matrix& factor, double target, const Vector& of_lower,
                                const Vector& of_upper, RunContext& context) const {
    const Vector lower = (target - of_lower.array()) / point_.a.array() - point_.z.array();
    const Vector upper =
        ((target - of_upper.array()) / point_.room.array() - point_.u.array()) * bounded_.array();
    BoxStep step;
    step.a = -(gradient_ - point_.z + point_.u) + lower - upper;
    MERCER_RETURN_IF_ERROR(SolveCholesky(factor, step.a, context));
    step.z = lower - point_.z.cwiseQuotient(point_.a).cwiseProduct(step.a);
    step.u = upper + point_.u.cwiseQuotient(point_.room).cwiseProduct(step.a);
    return step;
  }

  // The longest step that leaves everything >= 0.
  double Reach(const BoxStep& step) const {
    double reach = 1 / kBoxStepFraction;
    const auto limit = [&reach](double value, double change) {
      if (change < 0) {
        reach = std::min(reach, -value / change);
      }
    };
    for (Index p = 0; p < step.a.size(); ++p) {
      limit(point_.a(p), step.a(p));
      limit(point_.z(p), step.z(p));
      if (bounded_(p) > 0) {
        limit(point_.room(p), -step.a(p));
        limit(point_.u(p), step.u(p));
      }
    }
    return reach;
  }

  static void Move(const BoxStep& step, double length, BoxInterior& point) {
    point.a += length * step.a;
    point.room -= length * step.a;
    point.z += length * step.z;
    point.u += length * step.u;
  }

  const BoxDual& box_;
  const Matrix h_;
  Vector bounded_;  // 1 where there is an upper bound, else 0
  double limits_ = 0;
  BoxInterior point_;
  Vector gradient_;
};

}  // namespace

absl::StatusOr<Vector> SolveByInteriorPoint(const BoxDual& box, int& steps, RunContext& context) {
  std::vector<Index> all(static_cast<size_t>(box.size()));
  std::iota(all.begin(), all.end(), Index{0});
  MERCER_ASSIGN_OR_RETURN(Matrix h, box.kernel.Block(all, context));
  h = box.signs.asDiagonal() * h * box.signs.asDiagonal();
  h.diagonal() += box.ridge;
  InteriorPointRun run(box, std::move(h));
  for (int step = 0; step < kMostBoxSteps; ++step, ++steps) {
    MERCER_ASSIGN_OR_RETURN(const bool more, run.Step(context));
    if (!more) {
      break;
    }
  }
  return run.Snapped();
}

}  // namespace mercer
