// Kinds mkl_lowrank (factors V by their Gram matrices VV'), mkl_gaussian (the part with exact Gram
// matrices) and edge_cases.
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/objectives/loss.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

constexpr double kDefaultGap = 1e-9;

double AskedGap(const json& fixture) {
  const json& tolerance = fixture.at("tolerance");
  return kTighter * (tolerance.contains("solve_to_gap_rel")
                         ? tolerance.at("solve_to_gap_rel").get<double>()
                         : kDefaultGap);
}

absl::Status AddDecision(const json& input, const TrainingProblem& problem,
                         const Solution& solution, const std::optional<PreparedData>& test,
                         json& result) {
  const double bias = solution.point.function.bias(0);
  MERCER_ASSIGN_OR_RETURN(const Vector train,
                          DecisionValues(solution.point.function, *problem.tasks[0].inputs));
  const Vector scores = train.array() - bias;
  result["decision_without_bias_train"] = FromVector(scores);
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  const Vector costs = Vector::Constant(scores.size(), input.at("C").get<double>());
  result["bias"] = bias;
  result["bias_interval"] = FromInterval(
      loss->ExactBias(problem.tasks[0].targets.col(0), costs, scores, RunContext()).value(), false);
  if (test.has_value()) {
    MERCER_ASSIGN_OR_RETURN(const Vector values, DecisionValues(solution.point.function, *test));
    result["decision_without_bias_test"] = FromVector(values.array() - bias);
  }
  return absl::OkStatus();
}

// Where a kernel is given twice only these are unique.
void AddTwinWeights(const json& expected, const Vector& weights, json& result) {
  if (expected.contains("weights_sum_of_first_two") && weights.size() == 3) {
    result["weights_sum_of_first_two"] = weights(0) + weights(1);
    result["third_weight"] = weights(2);
  }
}

absl::StatusOr<Answer> Solve(const json& input, TrainingProblem problem,
                             const std::optional<PreparedData>& test, double relative_gap) {
  const OptionValues options = {{"p", ToNumber(input.at("p"))}, {"C", ToNumber(input.at("C"))}};
  MERCER_ASSIGN_OR_RETURN(const Solution solution, Train("lp_mkl", options, problem, relative_gap));
  const Vector weights = solution.point.summary.kernel_weights.col(0);
  MERCER_ASSIGN_OR_RETURN(const Vector energies,
                          Energies(problem, solution.point.witness.tasks[0].dual.col(0)));
  json result;
  result["objective"] = solution.certificate.primal;
  result["primal"] = solution.certificate.primal;
  result["dual"] = solution.certificate.dual;
  result["weights"] = FromVector(weights);
  result["s"] = FromVector(energies);
  result["block_norms"] = FromVector(weights.array() * energies.array().sqrt());
  MERCER_RETURN_IF_ERROR(AddDecision(input, problem, solution, test, result));
  return Answer{std::move(result), solution.certificate.accuracy};
}

}  // namespace

absl::StatusOr<Answer> SolveLowRank(const json& fixture) {
  const json& input = fixture.at("input");
  std::vector<Matrix> grams;
  std::vector<Matrix> test_grams;
  for (size_t k = 0; k < input.at("V").size(); ++k) {
    const Matrix factor = ToMatrix(input.at("V").at(k));
    grams.push_back(factor * factor.transpose());
    if (input.contains("V_test")) {
      test_grams.push_back(ToMatrix(input.at("V_test").at(k)) * factor.transpose());
    }
  }
  std::optional<PreparedData> test;
  if (!test_grams.empty()) {
    test = SquareData(test_grams);
  }
  MERCER_ASSIGN_OR_RETURN(Answer answer, Solve(input, GramProblem(grams, ToVector(input.at("y"))),
                                               test, AskedGap(fixture)));
  AddTwinWeights(fixture.at("expected"), ToVector(answer.body.at("weights")), answer.body);
  return answer;
}

absl::StatusOr<Answer> SolveGaussian(const json& fixture) {
  const json& input = fixture.at("input");
  TrainingProblem problem = GaussianProblem(ToMatrix(input.at("X")), ToVector(input.at("sigma")),
                                            ToVector(input.at("y")));
  MERCER_ASSIGN_OR_RETURN(
      Answer exact, Solve(input, std::move(problem), FeatureData(ToMatrix(input.at("X_test"))),
                          AskedGap(fixture)));
  return Answer{json{{"exact_gram", std::move(exact.body)}}, exact.gap_relative};
}

absl::StatusOr<Answer> SolveEdgeCases(const json& fixture) {
  Answer answer{json::array(), 0};
  for (const json& item : fixture.at("cases")) {
    json entry = {{"name", item.at("name")}};
    absl::StatusOr<Answer> solved = SolveLowRank(item);
    if (solved.ok()) {
      entry["gap_relative"] = solved->gap_relative;
      entry["result"] = std::move(solved->body);
      answer.gap_relative = std::max(answer.gap_relative, solved->gap_relative);
    } else {
      entry["error"] = ErrorText(solved.status());
    }
    answer.body.push_back(std::move(entry));
  }
  return answer;
}

}  // namespace mercer::solve
