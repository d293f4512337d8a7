// Kind gradients_svm_rfe: the ranking of columns by recursive feature elimination, and the machine
// of each of its rounds, which is the final one of a run that keeps as many columns.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/learners/svm_rfe/elimination.h"
#include "core/learners/svm_rfe/options.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {

using nlohmann::json;

absl::StatusOr<Answer> SolveSvmRfe(const json& fixture) {
  constexpr double kGap = 1e-11;
  const Matrix values = ToMatrix(fixture.at("X"));
  TrainingProblem problem = GaussianProblem(values, Vector(), ToVector(fixture.at("y")));
  Answer answer;
  answer.body["weights_per_round"] = json::array();
  for (const Index count : svm_rfe::CountsOf(svm_rfe::SvmRfeOptions(), values.cols())) {
    const OptionValues options = {{"C", ToNumber(fixture.at("C"))}, {"columns", int64_t{count}}};
    MERCER_ASSIGN_OR_RETURN(const Solution solution, Train("svm_rfe", options, problem, kGap));
    answer.gap_relative = std::max(answer.gap_relative, solution.certificate.accuracy);
    answer.body["sizes"].push_back(count);
    answer.body["weights_per_round"].push_back(
        FromVector(solution.point.witness.FindArray("weights")->col(0)));
    std::vector<Index> ranking;
    for (const double column : solution.point.summary.tables.at(0).values.col(2)) {
      ranking.push_back(static_cast<Index>(column) - 1);
    }
    answer.body["ranking"] = std::move(ranking);
  }
  return answer;
}

}  // namespace mercer::solve
