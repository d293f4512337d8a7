// The certificate of docs/mathematics/infinite_features.md, section 5: a dual point made from the
// slopes of any primal point. The dual of the master is, N* being the dual norms,
//
//   max over a  -sum_t sum_i conjugate(y(i,t), c(i,t), a(i,t))
//   subject to  1'a_t = 0 for all tasks (with a bias),
//               N_p*([Phi_g,t'a_t]_t) <= lambda_p u(g)  and
//               N_s*(sum_t Phi_g,t'a_t) <= lambda_s u(g)  for all groups.
//
// Slopes are balanced by shrinking those of the heavier sign, which keeps them inside the domains
// of the conjugates, and then scaled.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/process/row_sums.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {
namespace {

// By what the positive and the negative slopes of each task are multiplied so that they sum to 0.
struct Balance {
  Vector positive;
  Vector negative;
};

Balance BalanceOf(const GroupProblem& problem, const GroupEvaluation& evaluation) {
  const Index tasks = problem.num_tasks();
  Balance balance{Vector::Ones(tasks), Vector::Ones(tasks)};
  for (Index t = 0; problem.bias && t < tasks; ++t) {
    const double up = evaluation.positive_sum(t);
    const double down = -evaluation.negative_sum(t);
    if (up > down) {
      balance.positive(t) = down / up;
    } else if (down > up) {
      balance.negative(t) = up / down;
    }
  }
  return balance;
}

double LargestRatio(const GroupProblem& problem, const Matrix& products) {
  double largest = 0;
  for (Index g = 0; g < problem.num_groups(); ++g) {
    const auto block = products.middleRows(problem.first_column(g), problem.group_size(g));
    largest = std::max(largest, GroupRatio(problem, block, problem.group_weights(g)));
  }
  return largest;
}

// Calls visit(y, c, balanced slope, sum) for all samples; returns the sums of each task, added up.
template <typename Sum, typename Visit>
absl::StatusOr<Sum> SumBalancedSlopes(const GroupProblem& problem,
                                      const GroupEvaluation& evaluation, const Balance& balance,
                                      const Sum& zero, const RunContext& context,
                                      const Visit& visit) {
  Sum total = zero;
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const GroupTask& task = problem.task(t);
    const Vector& slopes = evaluation.slopes[static_cast<size_t>(t)];
    const auto add = [&](Index begin, Index end, Sum& sum) {
      for (Index i = begin; i < end; ++i) {
        const double slope = slopes(i);
        if (slope != 0) {
          visit(task.targets(i), task.costs(i),
                slope * (slope > 0 ? balance.positive(t) : balance.negative(t)), sum);
        }
      }
    };
    MERCER_ASSIGN_OR_RETURN(const Sum of_task,
                            SumOverRows(slopes.size(), kRowBlock, zero, context, add));
    total += of_task;
  }
  return total;
}

// The dual value of the balanced slopes at the best scale of at most `largest`, for the square and
// the squared hinge loss: a parabola in the scale, -scale sum y a - scale^2 sum a^2 / (4 c). The
// square loss may take a negative scale; the squared hinge, whose dual variables have a sign, may
// not.
absl::StatusOr<double> DualOfQuadratic(const GroupProblem& problem,
                                       const GroupEvaluation& evaluation, const Balance& balance,
                                       double largest, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(
      const Eigen::Array2d sums,
      SumBalancedSlopes(problem, evaluation, balance, Eigen::Array2d(0, 0), context,
                        [](double target, double cost, double slope, Eigen::Array2d& sum) {
                          sum(0) -= target * slope;
                          sum(1) += slope * slope / (4 * cost);
                        }));
  const double linear = sums(0);
  const double curvature = sums(1);
  if (!(curvature > 0)) {
    return 0.0;
  }
  const double lowest = problem.loss->curve() == LossCurve::kQuadratic ? -largest : 0.0;
  const double scale = std::clamp(linear / (2 * curvature), lowest, largest);
  return scale * linear - scale * scale * curvature;
}

// The dual value for losses with bounded slopes (logistic, hinge): every multiple of them between 0
// and 1 is admissible, so that the scale is 1 or what the constraints allow.
absl::StatusOr<double> DualOfBounded(const GroupProblem& problem, const GroupEvaluation& evaluation,
                                     const Balance& balance, double largest,
                                     const RunContext& context) {
  const double scale = std::min(1.0, largest);
  return SumBalancedSlopes(problem, evaluation, balance, 0.0, context,
                           [&](double target, double cost, double slope, double& sum) {
                             sum -= problem.loss->Conjugate(target, cost, scale * slope);
                           });
}

}  // namespace

double GroupCertificate::RelativeGap() const {
  return Gap() / std::max({std::abs(primal), std::abs(dual), 1e-300});
}

double GroupRatio(const GroupProblem& problem, const ConstMatrixRef& products, double weight) {
  double ratio = 0;
  if (problem.has_specific()) {
    ratio = problem.specific.norm.DualNorm(products) / (weight * problem.specific.lambda);
  }
  if (problem.has_shared()) {
    const Vector sum = products.rowwise().sum();
    ratio = std::max(ratio, problem.shared.norm.DualNorm(sum) / (weight * problem.shared.lambda));
  }
  return ratio;
}

std::vector<Vector> BalancedSlopes(const GroupProblem& problem, const GroupEvaluation& evaluation) {
  const Balance balance = BalanceOf(problem, evaluation);
  std::vector<Vector> balanced;
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const Vector& slopes = evaluation.slopes[static_cast<size_t>(t)];
    balanced.push_back(balance.positive(t) * slopes.cwiseMax(0.0) +
                       balance.negative(t) * slopes.cwiseMin(0.0));
  }
  return balanced;
}

absl::StatusOr<GroupCertificate> CertifyGroupProblem(const GroupProblem& problem,
                                                     const GroupEvaluation& evaluation,
                                                     double other_ratio,
                                                     const RunContext& context) {
  GroupCertificate certificate;
  certificate.primal = evaluation.objective();
  const Balance balance = BalanceOf(problem, evaluation);
  const Matrix products = evaluation.positive * balance.positive.asDiagonal() +
                          evaluation.negative * balance.negative.asDiagonal();
  certificate.largest_ratio = std::max(other_ratio, LargestRatio(problem, products));
  // A dual that breaks a constraint by rounding would prove nothing: the scale keeps a distance of
  // some units in the last place.
  const double largest =
      certificate.largest_ratio > 0 ? (1 - 4e-16) / certificate.largest_ratio : kInfinity;
  const LossCurve curve = problem.loss->curve();
  const bool quadratic = curve == LossCurve::kQuadratic || curve == LossCurve::kPiecewiseQuadratic;
  MERCER_ASSIGN_OR_RETURN(
      certificate.dual, quadratic ? DualOfQuadratic(problem, evaluation, balance, largest, context)
                                  : DualOfBounded(problem, evaluation, balance, largest, context));
  return certificate;
}

}  // namespace mercer
