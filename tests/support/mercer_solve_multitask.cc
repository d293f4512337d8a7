// Kinds linear, kernel and scores: several tasks that share blocks of columns or kernels. The
// problems are convex ones, those of concave penalties (mm), of general exponents (lplq), the
// baselines that a joint machine is compared with, and measures of scores and selections.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/data/metrics/weighted_metrics.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/task_norm.h"
#include "core/solvers/multitask/alternation_solver.h"
#include "core/solvers/multitask/column_kernels.h"
#include "core/solvers/multitask/reweighted_solver.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

// Of the largest norm: blocks below are not selected.
constexpr double kSelected = 1e-9;

struct TaskInputs {
  std::vector<Matrix> training;  // one table of columns, or a Gram matrix for each block
  std::vector<Matrix> test;      // the same; test rows x training rows
  Vector targets;
};

struct Multitask {
  MultitaskProblem problem;
  std::vector<TaskInputs> inputs;
  std::vector<Index> block_of;  // of each column; empty for Gram matrices
};

std::vector<Matrix> ToMatrices(const json& list) {
  std::vector<Matrix> matrices;
  for (const json& rows : list) {
    matrices.push_back(ToMatrix(rows));
  }
  return matrices;
}

std::vector<TaskInputs> ReadTasks(const json& fixture) {
  const bool linear = fixture.at("kind") == "linear";
  std::vector<TaskInputs> inputs;
  for (const json& task : fixture.at("tasks")) {
    inputs.push_back(linear
                         ? TaskInputs{{ToMatrix(task.at("X"))}, {ToMatrix(task.at("X_test"))}, {}}
                         : TaskInputs{ToMatrices(task.at("K")), ToMatrices(task.at("K_test")), {}});
    inputs.back().targets = ToVector(task.at("y"));
  }
  return inputs;
}

absl::StatusOr<Multitask> MakeMultitask(const json& fixture, std::vector<TaskInputs> inputs) {
  Multitask made;
  MERCER_ASSIGN_OR_RETURN(made.problem.loss, MakeLoss(LossKind::kHinge));
  const TaskNormForm form =
      fixture.at("form") == "plain" ? TaskNormForm::kPlain : TaskNormForm::kSquared;
  // Concave penalties begin with p = 1.
  const double p = fixture.at("problem") == "mm" ? 1.0 : fixture.at("p").get<double>();
  const Vector beta = fixture.contains("beta") ? ToVector(fixture.at("beta")) : Vector();
  MERCER_ASSIGN_OR_RETURN(made.problem.norm, TaskNorm::Make(form, p, fixture.at("q"), beta));
  std::shared_ptr<const ColumnBlocks> blocks;
  if (fixture.at("kind") == "linear") {
    made.block_of = fixture.at("groups").get<std::vector<Index>>();
    blocks = std::make_shared<const ColumnBlocks>(made.block_of);
  }
  for (const TaskInputs& task : inputs) {
    MultitaskTask& of_problem = made.problem.tasks.emplace_back();
    of_problem.targets = task.targets;
    of_problem.costs = Vector::Constant(task.targets.size(), ToNumber(fixture.at("C")));
    if (blocks != nullptr) {
      of_problem.blocks = std::make_shared<const ColumnKernels>(
          std::make_shared<const Matrix>(task.training[0]), blocks);
      continue;
    }
    const TrainingProblem grams = GramProblem(task.training, task.targets);
    RunContext context;
    MERCER_ASSIGN_OR_RETURN(of_problem.blocks, MakeExactKernelFamily(grams.tasks[0].inputs, {},
                                                                     grams.kernels, context));
  }
  made.inputs = std::move(inputs);
  return made;
}

// f(x) + bias of a task at rows that are given as its own are.
Vector Decide(const Multitask& of, const MultitaskPoint& point, Index task,
              const std::vector<Matrix>& rows) {
  const auto t = static_cast<size_t>(task);
  Vector values;
  if (of.block_of.empty()) {
    values = Vector::Zero(rows[0].rows());
    for (size_t k = 0; k < rows.size(); ++k) {
      values += point.weights(task, static_cast<Index>(k)) * (rows[k] * point.dual[t]);
    }
  } else {
    Vector sums = of.inputs[t].training[0].transpose() * point.dual[t];
    for (Index c = 0; c < sums.size(); ++c) {
      sums(c) *= point.weights(task, of.block_of[static_cast<size_t>(c)]);
    }
    values = rows[0] * sums;
  }
  return values.array() + point.biases[t].chosen;
}

json FromBiases(const MultitaskPoint& point) {
  json biases = json::array();
  for (const BiasInterval& bias : point.biases) {
    biases.push_back(bias.chosen);
  }
  return biases;
}

json FromIndices(const std::vector<Index>& indices) { return json(indices); }

std::vector<Index> SelectedBlocks(const Vector& norms) {
  std::vector<Index> selected;
  for (Index k = 0; k < norms.size(); ++k) {
    if (norms(k) > kSelected * norms.maxCoeff()) {
      selected.push_back(k);
    }
  }
  return selected;
}

double AreaUnderRoc(const Vector& scores, const std::vector<bool>& positive) {
  return WeightedAreaUnderRoc(scores, positive, nullptr, RunContext()).value();
}

// What all problems tell of a function.
json FromPoint(const Multitask& of, const MultitaskPoint& point) {
  json result;
  const Vector norms = of.problem.norm.JointNorms(point.Norms());
  result["block_norms"] = FromVector(norms);
  result["support"] = FromIndices(SelectedBlocks(norms));
  result["bias"] = FromBiases(point);
  result["decision_train"] = json::array();
  result["decision_test"] = json::array();
  for (Index t = 0; t < of.problem.num_tasks(); ++t) {
    const TaskInputs& inputs = of.inputs[static_cast<size_t>(t)];
    result["decision_train"].push_back(FromVector(Decide(of, point, t, inputs.training)));
    result["decision_test"].push_back(FromVector(Decide(of, point, t, inputs.test)));
  }
  return result;
}

struct Solved {
  MultitaskBest best;
  MultitaskPoint point;  // of its function
};

absl::StatusOr<Solved> SolveJointly(const MultitaskProblem& problem, double relative_gap) {
  RunContext context;
  WorkingSetSolver solver(problem, relative_gap);
  MERCER_RETURN_IF_ERROR(solver.Start(context));
  MERCER_RETURN_IF_ERROR(solver.Run(context));
  MERCER_ASSIGN_OR_RETURN(MultitaskPoint point, EvaluateMultitask(problem, solver.best().dual,
                                                                  solver.best().weights, context));
  return Solved{solver.best(), std::move(point)};
}

double AskedTaskGap(const json& fixture) {
  return kTighter * fixture.at("tolerance").at("gap_rel").get<double>();
}

absl::StatusOr<Answer> SolveConvex(const json& fixture) {
  MERCER_ASSIGN_OR_RETURN(const Multitask given, MakeMultitask(fixture, ReadTasks(fixture)));
  MERCER_ASSIGN_OR_RETURN(const Solved solved, SolveJointly(given.problem, AskedTaskGap(fixture)));
  json result = FromPoint(given, solved.point);
  result["objective"] = solved.best.primal;
  result["primal"] = solved.best.primal;
  result["dual"] = solved.best.lower;
  result["dual_objective"] = solved.best.lower;
  const Vector beta = given.problem.norm.BlockWeights(given.problem.num_blocks());
  const Vector norms = given.problem.norm.JointNorms(solved.point.Norms());
  const Vector parts = norms.cwiseProduct(beta);
  const double omega = parts.sum();
  result["omega"] = omega;
  const bool on_simplex = given.problem.norm.form() == TaskNormForm::kSquared && omega > 0;
  result["d"] = FromVector(on_simplex ? Vector(parts / omega) : parts);
  result["bias_interval"] = json::array();
  for (const BiasInterval& bias : solved.point.biases) {
    result["bias_interval"].push_back(FromInterval(bias, false));
  }
  return Answer{std::move(result), solved.best.RelativeGap()};
}

absl::StatusOr<Answer> SolveConcave(const json& fixture) {
  MERCER_ASSIGN_OR_RETURN(const Multitask given, MakeMultitask(fixture, ReadTasks(fixture)));
  ReweightedSolver solver(given.problem, {.p = fixture.at("p"),
                                          .smoothing = fixture.at("epsilon"),
                                          .relative_decrease = 1e-11,
                                          .relative_gap = 1e-10});
  RunContext context;
  MERCER_RETURN_IF_ERROR(solver.Start(context));
  MERCER_RETURN_IF_ERROR(solver.Run(context));
  json result = FromPoint(given, solver.point());
  result["path"] = json::array();
  result["objectives"] = json::array();
  for (const ReweightedStep& step : solver.steps()) {
    result["objectives"].push_back(step.objective);
    if (result["path"].size() < fixture.at("expected").at("path").size()) {
      result["path"].push_back({{"step", result["path"].size()},
                                {"convex_objective", step.convex_objective},
                                {"loss", step.risk / ToNumber(fixture.at("C"))},
                                {"penalty", solver.penalty()->Sum(step.joint_norms)},
                                {"objective", step.objective},
                                {"block_norms", FromVector(step.joint_norms)},
                                {"beta", FromVector(step.block_weights)}});
    }
  }
  result["steps"] = solver.steps().size();
  result["objective"] = solver.steps().back().objective;
  result["block_norms"] = FromVector(solver.steps().back().joint_norms);
  result["stationarity"] = solver.stationarity();
  return Answer{std::move(result), solver.stationarity()};
}

absl::StatusOr<Answer> SolveGeneralExponents(const json& fixture) {
  MERCER_ASSIGN_OR_RETURN(const Multitask given, MakeMultitask(fixture, ReadTasks(fixture)));
  AlternationSolver solver(given.problem, {.relative_gap = AskedTaskGap(fixture)});
  RunContext context;
  MERCER_RETURN_IF_ERROR(solver.Start(context));
  MERCER_RETURN_IF_ERROR(solver.Run(context));
  MERCER_ASSIGN_OR_RETURN(
      const MultitaskPoint point,
      EvaluateMultitask(given.problem, solver.best().dual, solver.best().weights, context));
  json result = FromPoint(given, point);
  result["objective"] = solver.best().primal;
  result["primal"] = solver.best().primal;
  result["dual"] = solver.best().lower;
  result["dual_objective"] = solver.best().lower;
  result["norms"] = FromMatrix(point.Norms());
  result["weights"] = FromMatrix(point.weights);
  return Answer{std::move(result), solver.best().RelativeGap()};
}

TaskInputs Stacked(const std::vector<TaskInputs>& tasks) {
  Index rows = 0;
  for (const TaskInputs& task : tasks) {
    rows += task.targets.size();
  }
  TaskInputs stacked{{Matrix(rows, tasks[0].training[0].cols())}, {tasks[0].test[0]}, Vector(rows)};
  Index begin = 0;
  for (const TaskInputs& task : tasks) {
    stacked.training[0].middleRows(begin, task.targets.size()) = task.training[0];
    stacked.targets.segment(begin, task.targets.size()) = task.targets;
    begin += task.targets.size();
  }
  return stacked;
}

// One model of the baselines: what it tells, and the sum of its machines at the rows of all tests.
struct Baseline {
  json told;
  Vector scores;
  std::vector<Index> support;
  double gap = 0;
};

absl::StatusOr<Baseline> SolveBaseline(const json& fixture, std::vector<TaskInputs> tasks,
                                       const Matrix& tests) {
  MERCER_ASSIGN_OR_RETURN(const Multitask given, MakeMultitask(fixture, std::move(tasks)));
  MERCER_ASSIGN_OR_RETURN(const Solved solved, SolveJointly(given.problem, AskedTaskGap(fixture)));
  const Vector norms = given.problem.norm.JointNorms(solved.point.Norms());
  Baseline baseline{
      {}, Vector::Zero(tests.rows()), SelectedBlocks(norms), solved.best.RelativeGap()};
  baseline.told = {{"objective", solved.best.primal},
                   {"dual_objective", solved.best.lower},
                   {"block_norms", FromVector(norms)},
                   {"support", FromIndices(baseline.support)},
                   {"bias", FromBiases(solved.point)}};
  for (Index t = 0; t < given.problem.num_tasks(); ++t) {
    baseline.scores += Decide(given, solved.point, t, {tests});
  }
  return baseline;
}

absl::StatusOr<Answer> SolveBaselines(const json& fixture) {
  const std::vector<TaskInputs> tasks = ReadTasks(fixture);
  const Vector y = ToVector(fixture.at("y_pooled_test"));
  Matrix tests(y.size(), tasks[0].test[0].cols());
  Index begin = 0;
  for (const TaskInputs& task : tasks) {
    tests.middleRows(begin, task.test[0].rows()) = task.test[0];
    begin += task.test[0].rows();
  }
  std::vector<bool> positive;
  for (const double label : y) {
    positive.push_back(label > 0);
  }
  json result;
  double worst = 0;
  const auto tell = [&](const std::string& name, const Baseline& baseline) {
    result["models"][name] = baseline.told;
    worst = std::max(worst, baseline.gap);
  };
  const auto tell_scores = [&](const std::string& name, const Vector& scores) {
    result["pooled_test_scores"][name] = FromVector(scores);
    result["auc"][name] = AreaUnderRoc(scores, positive);
  };
  MERCER_ASSIGN_OR_RETURN(const Baseline joint, SolveBaseline(fixture, tasks, tests));
  tell("mtl", joint);
  tell_scores("mtl", joint.scores);
  MERCER_ASSIGN_OR_RETURN(const Baseline full, SolveBaseline(fixture, {Stacked(tasks)}, tests));
  tell("full", full);
  tell_scores("full", full.scores);
  Vector sum = Vector::Zero(y.size());
  std::vector<Index> together;
  for (size_t t = 0; t < tasks.size(); ++t) {
    MERCER_ASSIGN_OR_RETURN(const Baseline own, SolveBaseline(fixture, {tasks[t]}, tests));
    tell(absl::StrCat("sep", t), own);
    sum += own.scores;
    std::vector<Index> united;
    std::set_union(together.begin(), together.end(), own.support.begin(), own.support.end(),
                   std::back_inserter(united));
    together = std::move(united);
  }
  tell_scores("sep", sum);
  result["sep_support_union"] = FromIndices(together);
  return Answer{std::move(result), worst};
}

// 2 |both| / (|selected| + |relevant|) of ascending lists; 0 when nothing is selected.
double FMeasure(const std::vector<Index>& selected, const std::vector<Index>& relevant) {
  std::vector<Index> both;
  std::set_intersection(selected.begin(), selected.end(), relevant.begin(), relevant.end(),
                        std::back_inserter(both));
  return selected.empty() ? 0.0
                          : 2.0 * static_cast<double>(both.size()) /
                                static_cast<double>(selected.size() + relevant.size());
}

absl::StatusOr<Answer> SolveScores(const json& fixture) {
  const Vector scores = ToVector(fixture.at("scores"));
  std::vector<bool> positive;
  for (const json& label : fixture.at("labels")) {
    positive.push_back(label.get<double>() > 0);
  }
  const auto selected = fixture.at("selected").get<std::vector<Index>>();
  const auto relevant = fixture.at("relevant").get<std::vector<Index>>();
  json result;
  result["auc"] = AreaUnderRoc(scores, positive);
  result["auc_negated"] = AreaUnderRoc(-scores, positive);
  result["auc_all_equal_scores"] = AreaUnderRoc(Vector::Zero(scores.size()), positive);
  result["fmeasure"] = FMeasure(selected, relevant);
  result["fmeasure_empty"] = FMeasure({}, relevant);
  return Answer{std::move(result), 0};
}

}  // namespace

absl::StatusOr<Answer> SolveMultitask(const json& fixture) {
  const std::string problem = fixture.at("problem");
  if (problem == "convex") {
    return SolveConvex(fixture);
  }
  if (problem == "mm") {
    return SolveConcave(fixture);
  }
  if (problem == "lplq") {
    return SolveGeneralExponents(fixture);
  }
  if (problem == "baselines") {
    return SolveBaselines(fixture);
  }
  if (problem == "scores") {
    return SolveScores(fixture);
  }
  return absl::InvalidArgumentError(absl::StrCat("no problem of several tasks is '", problem, "'"));
}

}  // namespace mercer::solve
