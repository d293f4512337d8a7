// Kind svm: plain C-SVMs on given Gram matrices. The fixtures write decision = f - b; the core's
// bias is -b.
#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/objectives/loss.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

// Decision values are compared at 1e-5; they err by about the square root of the gap.
constexpr double kRelativeGap = 1e-12;

absl::StatusOr<Answer> SolveCase(const json& item) {
  TrainingProblem problem = GramProblem({ToMatrix(item.at("gram"))}, ToVector(item.at("y")));
  problem.tasks[0].costs = ToVector(item.at("C_i"));  // with C = 1
  MERCER_ASSIGN_OR_RETURN(const Solution solution,
                          Train("svm", {{"C", 1.0}}, problem, kRelativeGap));
  const ModelFunction& function = solution.point.function;
  MERCER_ASSIGN_OR_RETURN(const Vector train, DecisionValues(function, *problem.tasks[0].inputs));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  const Vector scores = train.array() - function.bias(0);
  json result;
  result["objective"] = solution.certificate.dual;
  result["primal"] = solution.certificate.primal;
  result["dual"] = solution.certificate.dual;
  result["beta"] = FromVector(solution.point.witness.tasks[0].dual.col(0));
  result["b"] = -function.bias(0);
  result["b_interval"] = FromInterval(
      loss->ExactBias(problem.tasks[0].targets.col(0), problem.tasks[0].costs, scores, RunContext())
          .value(),
      true);
  result["decision_train"] = FromVector(train);
  if (item.contains("gram_test")) {
    MERCER_ASSIGN_OR_RETURN(const Vector test,
                            DecisionValues(function, SquareData({ToMatrix(item.at("gram_test"))})));
    result["decision_test"] = FromVector(test);
  }
  return Answer{std::move(result), solution.certificate.accuracy};
}

}  // namespace

absl::StatusOr<Answer> SolveSvm(const json& fixture) {
  Answer answer{json::array(), 0};
  for (const json& item : fixture.at("cases")) {
    json entry = {{"name", item.at("name")}};
    absl::StatusOr<Answer> solved = SolveCase(item);
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
