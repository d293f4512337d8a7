// Kinds ikl (infinite kernel learning) and csi (Cholesky with side information).
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_columns.h"
#include "core/kernels/lowrank/csi.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

absl::StatusOr<double> MetricOf(const Solution& solution, const std::string& name) {
  for (const Metric& metric : solution.metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  return absl::NotFoundError("no metric " + name);
}

}  // namespace

absl::StatusOr<Answer> SolveInfiniteKernels(const json& fixture) {
  const Matrix x = ToMatrix(fixture.at("X"));
  const Vector y = ToVector(fixture.at("y"));
  const double cost = fixture.at("C");
  TrainingProblem listed = GaussianProblem(x, ToVector(fixture.at("finite_sigmas")), y);
  MERCER_ASSIGN_OR_RETURN(const Solution finite,
                          Train("lp_mkl", {{"p", 1.0}, {"C", cost}}, listed, 1e-9));
  TrainingProblem open = GaussianProblem(x, Vector(), y);
  MERCER_ASSIGN_OR_RETURN(const Solution infinite,
                          Train("ikl",
                                {{"C", cost},
                                 {"min_bandwidth", ToNumber(fixture.at("interval").at(0))},
                                 {"max_bandwidth", ToNumber(fixture.at("interval").at(1))},
                                 {"violation", 1e-6}},
                                open, 1e-8));
  MERCER_ASSIGN_OR_RETURN(const double bound, MetricOf(infinite, "ikl.family_dual"));
  return Answer{json{{"finite_objective", finite.certificate.primal},
                     {"infinite_objective_upper", infinite.certificate.primal},
                     {"infinite_objective_lower", bound}},
                std::max(finite.certificate.accuracy, infinite.certificate.accuracy)};
}

absl::StatusOr<Answer> SolveCsi(const json& fixture) {
  const DenseKernelColumns kernel(ToMatrix(fixture.at("K")));
  MERCER_ASSIGN_OR_RETURN(CsiFactor factor,
                          CsiFactor::Make(kernel, ToMatrix(fixture.at("Y")),
                                          {.max_columns = fixture.at("columns").get<Index>(),
                                           .kappa = fixture.at("kappa").get<double>()}));
  RunContext context;
  while (!factor.progress().done) {
    MERCER_RETURN_IF_ERROR(factor.Advance(context));
  }
  const std::vector<Index>& pivots = factor.cholesky().pivots();
  const Matrix columns = factor.cholesky().factor();
  // New points: G_I g(x) = K(I, x).
  const Matrix of_pivots = columns(pivots, Eigen::all);
  const Matrix test = of_pivots.triangularView<Eigen::Lower>()
                          .solve(ToMatrix(fixture.at("K_test_pivots")).transpose())
                          .transpose();
  return Answer{json{{"pivots", pivots},
                     {"J", factor.objective()},
                     {"G", FromMatrix(columns)},
                     {"G_test", FromMatrix(test)}},
                0};
}

}  // namespace mercer::solve
