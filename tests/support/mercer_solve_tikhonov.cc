// Kind mkl_tikhonov: a penalty on the kernel weights in the place of the bound on their norm, by SmoMklSolver, and the constrained
// problem of the same function, by the learner lp_mkl.
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/smo_mkl.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

std::vector<Matrix> ReadFactors(const json& values) {
  std::vector<Matrix> factors;
  for (const json& factor : values) {
    factors.push_back(ToMatrix(factor));
  }
  return factors;
}

// sum_k weights(k) rows(k) factors(k)' dual.
Vector Decision(const std::vector<Matrix>& rows, const std::vector<Matrix>& factors,
                const SmoMklPoint& point) {
  Vector values = Vector::Zero(rows.at(0).rows());
  for (size_t k = 0; k < rows.size(); ++k) {
    values +=
        point.weights(static_cast<Index>(k)) * (rows[k] * (factors[k].transpose() * point.dual));
  }
  return values;
}

absl::StatusOr<SmoMklPoint> SolvePenalised(const json& input, const TrainingProblem& problem,
                                           double relative_gap) {
  RunContext context;
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context));
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  SvmProblem svm{std::move(loss), task.targets.col(0), ToNumber(input.at("C")) * task.costs};
  SmoMklSolver solver(*family, {.p = ToNumber(input.at("p")),
                                .weight_penalty = ToNumber(input.at("lambda")),
                                .relative_gap = relative_gap});
  MERCER_RETURN_IF_ERROR(solver.Start(svm, Vector(), context));
  MERCER_RETURN_IF_ERROR(solver.Run(context));
  return solver.best();
}

}  // namespace

absl::StatusOr<Answer> SolveTikhonov(const json& fixture) {
  const json& input = fixture.at("input");
  const double gap = kTighter * fixture.at("tolerance").at("solve_to_gap_rel").get<double>();
  const std::vector<Matrix> factors = ReadFactors(input.at("V"));
  std::vector<Matrix> grams;
  for (const Matrix& factor : factors) {
    grams.push_back(factor * factor.transpose());
  }
  TrainingProblem problem = GramProblem(grams, ToVector(input.at("y")));
  MERCER_ASSIGN_OR_RETURN(const SmoMklPoint point, SolvePenalised(input, problem, gap));
  const double p = ToNumber(input.at("p"));
  const double norm = LpNorm(point.weights, p);
  const double constrained_cost = norm * ToNumber(input.at("C"));
  MERCER_ASSIGN_OR_RETURN(const Solution constrained,
                          Train("lp_mkl", {{"p", p}, {"C", constrained_cost}}, problem, gap));
  json result;
  result["objective"] = point.certificate.primal;
  result["primal"] = point.certificate.primal;
  result["dual"] = point.certificate.dual;
  result["weights"] = FromVector(point.weights);
  result["weights_p_norm"] = norm;
  result["constrained_C"] = constrained_cost;
  result["constrained_weights"] = FromVector(constrained.point.summary.kernel_weights.col(0));
  result["bias"] = point.certificate.bias;
  result["decision_without_bias_train"] = FromVector(Decision(factors, factors, point));
  result["decision_without_bias_test"] =
      FromVector(Decision(ReadFactors(input.at("V_test")), factors, point));
  return Answer{std::move(result), point.certificate.RelativeGap()};
}

}  // namespace mercer::solve
