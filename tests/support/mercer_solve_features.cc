// Learning with infinitely many features: the kinds master, grfl, prox and features.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/features/candidate_scan.h"
#include "core/features/feature_family_spec.h"
#include "core/features/normalization.h"
#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/options.h"
#include "core/objectives/block_penalty.h"
#include "core/solvers/group/group_problem.h"
#include "core/training/model/predictor.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

constexpr double kOneClassGap = 1e-12;

absl::StatusOr<std::unique_ptr<Loss>> LossOfName(const std::string& name) {
  for (size_t kind = 0; kind < AllLosses().size(); ++kind) {
    if (AllLosses()[kind].name == name) {
      return MakeLoss(static_cast<LossKind>(kind));
    }
  }
  return absl::InvalidArgumentError("unknown loss");
}

BlockShape ShapeOf(const json& mode) {
  return mode == "flat" ? BlockShape::kFlat : BlockShape::kNested;
}

absl::StatusOr<GroupPenalty> PenaltyOf(const json& penalty, const json& lambda) {
  MERCER_ASSIGN_OR_RETURN(const BlockNorm norm,
                          BlockNorm::Make(ShapeOf(penalty.at("mode")), ToNumber(penalty.at("q"))));
  return GroupPenalty{norm, ToNumber(lambda)};
}

// A problem and its columns, which it points to.
struct OwnedGroupProblem {
  std::vector<std::unique_ptr<FeatureColumns>> columns;
  GroupProblem problem;
};

absl::StatusOr<OwnedGroupProblem> ReadGroupProblem(const json& item) {
  RunContext context;
  OwnedGroupProblem owned;
  GroupProblem& problem = owned.problem;
  MERCER_ASSIGN_OR_RETURN(problem.loss, LossOfName(item.at("loss")));
  problem.bias = item.at("bias");
  for (const json& task : item.at("tasks")) {
    const Matrix phi = ToMatrix(task.at("Phi"));
    owned.columns.push_back(std::make_unique<FeatureColumns>(phi.rows(), ColumnPrecision::kDouble));
    MERCER_RETURN_IF_ERROR(owned.columns.back()->Append(phi, Vector::Zero(phi.cols()),
                                                        Vector::Ones(phi.cols()), context));
    problem.tasks.push_back(
        {owned.columns.back().get(), ToVector(task.at("y")), Vector::Ones(phi.rows())});
  }
  for (const json& group : item.at("groups")) {
    problem.group_begin.push_back(problem.group_begin.back() + static_cast<Index>(group.size()));
  }
  MERCER_ASSIGN_OR_RETURN(problem.specific, PenaltyOf(item.at("penalty_p"), item.at("lambda_p")));
  MERCER_ASSIGN_OR_RETURN(problem.shared, PenaltyOf(item.at("penalty_s"), item.at("lambda_s")));
  problem.group_weights = ToVector(item.at("penalty_p").at("weights"));
  return owned;
}

json PointOf(const GroupSolver& solver, const json& test_phi) {
  const GroupPoint& point = solver.point();
  json result = {{"objective", solver.certificate().primal},
                 {"dual_objective", solver.certificate().dual},
                 {"V", FromMatrix(point.Weights())},
                 {"W", FromMatrix(point.specific)},
                 {"w_shared", FromVector(point.shared)},
                 {"b", FromVector(point.bias)},
                 {"train_scores", json::array()},
                 {"test_scores", json::array()}};
  for (const Vector& scores : solver.evaluation().scores) {
    result["train_scores"].push_back(FromVector(scores));
  }
  for (size_t t = 0; t < test_phi.size(); ++t) {
    const auto task = static_cast<Index>(t);
    const Vector scores =
        (ToMatrix(test_phi[t]) * point.Weights().col(task)).array() + point.bias(task);
    result["test_scores"].push_back(FromVector(scores));
  }
  return result;
}

// Columns of the groups at the rows of a patch or a table.
absl::StatusOr<Matrix> ColumnsOf(const FeatureFamilySpec& spec, const Matrix& rows,
                                 const std::vector<FeatureParameters>& groups) {
  MERCER_ASSIGN_OR_RETURN(const auto family, MakeFeatureFamily(spec, rows.cols()));
  const std::unique_ptr<const FeatureMap> map = family->Bind(groups);
  Matrix values(rows.rows(), map->num_columns());
  map->Evaluate(RowMatrix(rows), values);
  return values;
}

absl::StatusOr<json> GaborValues(const json& gabor) {
  FeatureFamilySpec spec;
  spec.kind = FeatureFamilyKind::kGabor;
  spec.subtract_patch_mean = false;
  for (const json& position : gabor.at("positions")) {
    spec.positions.push_back({position.at(0).get<int64_t>(), position.at(1).get<int64_t>()});
  }
  std::vector<FeatureParameters> groups;
  for (const json& theta : gabor.at("thetas_sigmaz_sigmay_f0_theta")) {
    groups.push_back(theta.get<std::vector<double>>());
  }
  MERCER_ASSIGN_OR_RETURN(const Matrix values,
                          ColumnsOf(spec, ToMatrix(gabor.at("patches_row_major")), groups));
  return FromMatrix(values.transpose());
}

// Pairs of cosine and sine of the directions; the bandwidth decides nothing.
std::vector<FeatureParameters> Pairs(const json& directions) {
  std::vector<FeatureParameters> groups;
  for (const json& direction : directions) {
    FeatureParameters& group = groups.emplace_back(FeatureParameters{1.0});
    for (const json& entry : direction) {
      group.push_back(ToNumber(entry));
    }
  }
  return groups;
}

FeatureNormalization NormalizationOf(const std::string& mode) {
  return mode == "group"    ? FeatureNormalization::kGroup
         : mode == "column" ? FeatureNormalization::kColumn
                            : FeatureNormalization::kNone;
}

// Scales, products with the slopes and violation ratios of one pair.
json JudgePair(const json& fixture, const CandidateSums& sums, Index rows, Index pair,
               const std::string& mode) {
  json judged = {{"mode", mode}, {"index", pair}};
  const auto columns = absl::MakeConstSpan(sums.columns).subspan(static_cast<size_t>(2 * pair), 2);
  const auto scales = GroupScales(NormalizationOf(mode), ScaleScope::kPerTask, {{columns, rows}});
  judged["rejected"] = !scales.has_value();
  if (scales.has_value()) {
    const BlockNorm norm;
    Matrix products = sums.products.middleRows(2 * pair, 2);
    products.array().colwise() /= scales->col(0).array();
    judged["scale"] = FromVector(scales->col(0));
    judged["H"] = FromMatrix(products);
    judged["ratio_p"] = norm.DualNorm(products) / fixture.at("lambda_p").get<double>();
    judged["ratio_s"] =
        norm.DualNorm(products.rowwise().sum()) / fixture.at("lambda_s").get<double>();
  }
  return judged;
}

absl::StatusOr<json> SolveProx(const json& item) {
  const Vector v = ToVector(item.at("v"));
  MERCER_ASSIGN_OR_RETURN(const BlockNorm norm,
                          BlockNorm::Make(BlockShape::kNested, ToNumber(item.at("q"))));
  Matrix block = v.transpose();
  json result = {{"norm", norm.Value(block)}, {"dual_norm", norm.DualNorm(block)}};
  norm.Prox(item.at("lam").get<double>(), block);
  result["prox"] = FromVector(block.row(0).transpose());
  return result;
}

absl::StatusOr<json> EvaluateLoss(const json& item) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, LossOfName(item.at("loss")));
  const Vector y = ToVector(item.at("y"));
  const Vector f = ToVector(item.at("f"));
  Vector slopes(y.size());
  Vector curvatures(y.size());
  const Vector costs = Vector::Ones(y.size());
  const double value = loss->ValueAndSlopes(y, costs, f, slopes);
  loss->Curvatures(y, costs, f, curvatures);
  return json{{"value", value},
              {"d1", FromVector(slopes)},
              {"d2", FromVector(curvatures)},
              {"conj_at_half_d1", -loss->DualValue(y, costs, -0.5 * slopes)}};
}

}  // namespace

absl::StatusOr<Answer> SolveGroupProblem(const json& fixture) {
  MERCER_ASSIGN_OR_RETURN(const OwnedGroupProblem owned, ReadGroupProblem(fixture.at("problem")));
  const GroupProblem& problem = owned.problem;
  const double gap = fixture.at("tolerance").value("scores_after_relative_gap", kOneClassGap);
  RunContext context;
  Answer answer;
  for (const GroupMethod method : {GroupMethod::kNewton, GroupMethod::kAdmm, GroupMethod::kFista}) {
    const std::unique_ptr<GroupSolver> solver = MakeGroupSolver(method);
    solver->SetAccuracy({.relative_gap = gap, .relative_decrease = 0});
    MERCER_RETURN_IF_ERROR(solver->Start(
        problem, GroupPoint::Zero(problem.num_columns(), problem.num_tasks()), context));
    MERCER_RETURN_IF_ERROR(solver->Run(context));
    json point = PointOf(*solver, fixture.value("test_phi", json::array()));
    const std::string name(GroupMethodName(method));
    if (answer.body.is_null()) {
      answer.body = point;
    }
    answer.body["solvers"][name] = std::move(point);
    // The optimum of one class is 0, where a relative gap means nothing.
    const double scale = std::max(1.0, std::abs(solver->certificate().primal));
    answer.gap_relative = std::max(answer.gap_relative, solver->certificate().Gap() / scale);
  }
  return answer;
}

absl::StatusOr<Answer> SolveFiniteFeatures(const json& fixture) {
  namespace learner = infinite_features;
  const Matrix x = ToMatrix(fixture.at("X"));
  TrainingProblem problem;
  problem.relative_gap = 1e-9;
  TaskData& task = problem.tasks.emplace_back();
  task.inputs = std::make_shared<const PreparedData>(FeatureData(x));
  task.rows = IndexRange(0, x.rows());
  task.targets = ToMatrix(fixture.at("y")).transpose();
  task.costs = Vector::Ones(x.rows());
  learner::InfiniteFeaturesOptions options;
  options.lambda = fixture.at("lambda_p");
  options.lambda_shared = fixture.at("lambda_s");
  options.lambda_unit = learner::LambdaUnit::kAbsolute;
  options.bandwidths = {1.0};
  MERCER_ASSIGN_OR_RETURN(const auto fourier, MakeFeatureFamily(FeatureFamilySpec(), x.cols()));
  MERCER_ASSIGN_OR_RETURN(const auto family,
                          MakeDictionary(fourier, Pairs(fixture.at("directions"))));
  learner::InfiniteFeaturesLearner run(options, family);
  RunContext context;
  QuietObserver observer;
  RunLimits limits;
  limits.relative_gap = problem.relative_gap;
  MERCER_ASSIGN_OR_RETURN(
      const TrainingOutcome outcome,
      RunTraining(learner::Entry(), learner::InfiniteFeaturesOptions::Fields().Values(options), run,
                  problem, limits, {}, context, observer));
  MERCER_ASSIGN_OR_RETURN(const Matrix scores,
                          EvaluateFunction(outcome.point.function,
                                           FeatureData(ToMatrix(fixture.at("X_test"))), context));
  return Answer{json{{"objective", outcome.certificate.primal},
                     {"test_scores", FromMatrix(scores)},
                     {"b", FromVector(outcome.point.function.bias)}},
                outcome.certificate.accuracy};
}

absl::StatusOr<Answer> SolveFeatures(const json& fixture) {
  const Matrix x = ToMatrix(fixture.at("X"));
  const std::vector<FeatureParameters> groups = Pairs(fixture.at("thetas"));
  MERCER_ASSIGN_OR_RETURN(const auto family, MakeFeatureFamily(FeatureFamilySpec(), x.cols()));
  const FeatureRows rows(std::make_shared<const PreparedData>(FeatureData(x)));
  const Matrix slopes = ToMatrix(fixture.at("alpha")).transpose();
  MERCER_ASSIGN_OR_RETURN(
      const CandidateSums sums,
      ScanCandidates(*family, rows, groups, slopes, FeaturePrecision::kDouble, RunContext()));
  json result;
  for (const json& item : fixture.at("fourier")) {
    result["fourier"].push_back(
        JudgePair(fixture, sums, x.rows(), item.at("index"), item.at("mode")));
  }
  MERCER_ASSIGN_OR_RETURN(result["gabor"]["values"], GaborValues(fixture.at("gabor")));
  return Answer{std::move(result), 0};
}

absl::StatusOr<Answer> SolveProxAndLosses(const json& fixture) {
  json result;
  for (const json& item : fixture.at("cases")) {
    MERCER_ASSIGN_OR_RETURN(json solved, SolveProx(item));
    result["cases"].push_back(std::move(solved));
  }
  for (const json& item : fixture.at("losses")) {
    MERCER_ASSIGN_OR_RETURN(json evaluated, EvaluateLoss(item));
    result["losses"].push_back(std::move(evaluated));
  }
  return Answer{std::move(result), 0};
}

}  // namespace mercer::solve
