// Models grad, gradkl, hessian, linear and errors: learning gradients of a function together with
// it, with weights of coordinates.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/gradients/coordinate_weight_solver.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/solvers/gradients/gradient_results.h"
#include "core/solvers/gradients/pair_solver.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

constexpr double kSelectedWeight = 1e-7;

struct GradientInputs {
  std::shared_ptr<const Loss> loss;
  double cost = 0;
  Matrix rows;
  Matrix tests;
  Vector targets;
  std::optional<double> width;  // of a Gaussian kernel
  GradientProblem problem;

  Matrix GramWith(const Matrix& others) const {
    Matrix gram = others * rows.transpose();
    for (Index i = 0; width.has_value() && i < others.rows(); ++i) {
      for (Index j = 0; j < rows.rows(); ++j) {
        const double squared = (others.row(i) - rows.row(j)).squaredNorm();
        gram(i, j) = std::exp(-0.5 * squared / (*width * *width));
      }
    }
    return gram;
  }
};

absl::StatusOr<PairWeights> ReadPairWeights(const json& given) {
  PairWeights weights;
  const std::string kind = given.at("kind");
  if (kind == "knn") {
    weights.neighbors = given.at("k");
    weights.include_self = given.at("include_self");
  } else if (kind == "gaussian") {
    weights.kind = PairWeighting::kGaussian;
    weights.width = given.at("s").get<double>();
    weights.drop = given.value("drop", weights.drop);
  } else {
    weights.kind = PairWeighting::kUniform;
  }
  return weights;
}

absl::Status ReadWidth(const json& fixture, const Matrix& squared, GradientInputs& inputs) {
  const json kernel = fixture.value("kernel", json{{"kind", "gaussian"}});
  if (kernel.at("kind") == "linear") {
    return absl::OkStatus();
  }
  FieldViolations violations;
  if (kernel.contains("sigma")) {
    inputs.width = kernel.at("sigma").get<double>();
    violations.Check(*inputs.width > 0, "kernel.sigma", "must be > 0");
  } else {
    const absl::StatusOr<double> median = MedianRowDistance(squared);
    violations.AddAll("kernel.sigma", median.status());
    inputs.width = median.value_or(1.0);
  }
  return violations.ToStatus();
}

absl::StatusOr<GradientInputs> ReadGradients(const json& fixture, RunContext& context) {
  GradientInputs inputs;
  const std::string loss = fixture.at("loss");
  MERCER_ASSIGN_OR_RETURN(inputs.loss, MakeLoss(loss == "square"  ? LossKind::kSquare
                                                : loss == "hinge" ? LossKind::kHinge
                                                                  : LossKind::kSquaredHinge));
  inputs.cost = ToNumber(fixture.at("C"));
  inputs.rows = ToMatrix(fixture.at("X"));
  inputs.targets = ToVector(fixture.at("y"));
  MERCER_RETURN_IF_ERROR(CheckGradientData(*inputs.loss, inputs.cost, inputs.rows, inputs.targets));
  MERCER_ASSIGN_OR_RETURN(const Matrix squared, SquaredRowDistances(inputs.rows, context));
  MERCER_ASSIGN_OR_RETURN(const PairWeights weights, ReadPairWeights(fixture.at("weights")));
  MERCER_ASSIGN_OR_RETURN(GradientPairs pairs, MakeGradientPairs(weights, squared, context));
  MERCER_RETURN_IF_ERROR(ReadWidth(fixture, squared, inputs));
  inputs.tests = fixture.contains("X_test") ? ToMatrix(fixture.at("X_test")) : inputs.rows;
  MERCER_ASSIGN_OR_RETURN(inputs.problem,
                          MakeGradientProblem(inputs.loss, inputs.cost, inputs.rows, inputs.targets,
                                              std::move(pairs), inputs.GramWith(inputs.rows)));
  return inputs;
}

json FromPairs(const GradientPairs& pairs) {
  return {{"i", pairs.targets}, {"j", pairs.anchors}, {"w", FromVector(pairs.weights)}};
}

json FromBounds(double upper, double lower) {
  return {{"objective", upper}, {"objective_interval", {lower, upper}}};
}

// Of all coordinates.
Matrix AllGradients(const GradientValues& values, const std::vector<Index>& columns, Index count) {
  Matrix all = Matrix::Zero(values.base.size(), count);
  for (size_t k = 0; k < columns.size(); ++k) {
    all.col(columns[k]) = values.gradients.col(static_cast<Index>(k));
  }
  return all;
}

absl::StatusOr<Answer> AnswerOf(const GradientInputs& inputs, const GradientPoint& point,
                                RunContext& context) {
  const GradientProblem& problem = inputs.problem;
  const Index columns = problem.num_columns();
  json result = FromBounds(point.upper, point.lower);
  result["pairs"] = FromPairs(problem.pairs);
  result["pair_predictions"] = FromVector(point.predictions);
  const GradientFunctions functions = MakeGradientFunctions(problem, point.weights, point.dual);
  result["f0_train"] = FromVector(ValuesAt(functions, problem.gram).base);
  const GradientValues tests = ValuesAt(functions, inputs.GramWith(inputs.tests));
  result["f0_test"] = FromVector(tests.base);
  result["grad_test"] = FromMatrix(AllGradients(tests, functions.columns, columns));
  const Vector norms = point.Norms();
  result["component_norms"] = FromVector(norms);
  const CoordinateRanking ranking = RankCoordinates(norms, point.energies);
  result["scores"] = FromVector(ranking.scores);
  result["ranking"] = ranking.order;
  result["S"] = FromVector(point.energies);
  result["S_max"] = point.energies.maxCoeff();
  result["beta"] = FromVector(point.weights);
  result["f0_norm2"] = point.base_norm;
  result["F_norm2"] = point.base_norm + 2 * point.weights.dot(point.energies);
  std::vector<Index> all;
  std::vector<Index> support;
  for (Index l = 0; l < columns; ++l) {
    all.push_back(l);
    if (point.weights(l) > kSelectedWeight) {
      support.push_back(l);
    }
  }
  result["support"] = support;
  MERCER_ASSIGN_OR_RETURN(const Matrix covariance,
                          GradientCovariance(problem, point.weights, point.dual, all, context));
  result["covariance"] = FromMatrix(covariance);
  MERCER_ASSIGN_OR_RETURN(
      const GradientDirections directions,
      LeadingDirections(problem, functions, DirectionMeasure::kNorm, columns, context));
  result["covariance_eigenvalues"] = FromVector(directions.eigenvalues);
  return Answer{std::move(result), RelativeGradientGap(point.upper, point.lower)};
}

}  // namespace

absl::StatusOr<Answer> SolveFixedGradients(const json& fixture) {
  RunContext context;
  MERCER_ASSIGN_OR_RETURN(const GradientInputs inputs, ReadGradients(fixture, context));
  const GradientProblem& problem = inputs.problem;
  const Vector weights = Vector::Ones(problem.num_columns());
  MERCER_ASSIGN_OR_RETURN(const auto kernel, DiagonalPairKernel::Make(problem, weights, context));
  const PairMachine machine{*problem.loss, problem.pair_targets, problem.pair_costs};
  MERCER_ASSIGN_OR_RETURN(const PairSolution solution, SolvePairs(machine, *kernel, {}, context));
  MERCER_ASSIGN_OR_RETURN(
      const GradientPoint point,
      EvaluateGradients(problem, CoordinateWeights::kFixed, weights, solution.dual, context));
  return AnswerOf(inputs, point, context);
}

absl::StatusOr<Answer> SolveCoordinateWeights(const json& fixture) {
  RunContext context;
  MERCER_ASSIGN_OR_RETURN(const GradientInputs inputs, ReadGradients(fixture, context));
  CoordinateWeightOptions options;
  options.relative_gap = kTighter * fixture.at("tolerance").at("solver_relative_gap").get<double>();
  CoordinateWeightSolver solver(inputs.problem, options);
  MERCER_RETURN_IF_ERROR(solver.Start({}, context));
  MERCER_RETURN_IF_ERROR(solver.Run(context));
  const GradientBest& best = solver.best();
  MERCER_ASSIGN_OR_RETURN(GradientPoint point,
                          EvaluateGradients(inputs.problem, CoordinateWeights::kSimplex,
                                            best.weights, best.dual, context));
  point.lower = std::max(point.lower, best.lower);
  return AnswerOf(inputs, point, context);
}

absl::StatusOr<Answer> SolveHessianGradients(const json& fixture) {
  RunContext context;
  MERCER_ASSIGN_OR_RETURN(const GradientInputs inputs, ReadGradients(fixture, context));
  const GradientProblem& problem = inputs.problem;
  MERCER_ASSIGN_OR_RETURN(Matrix values, HessianPairMatrix(problem, *inputs.width, context));
  const MatrixPairKernel kernel(std::move(values));
  const PairMachine machine{*problem.loss, problem.pair_targets, problem.pair_costs};
  MERCER_ASSIGN_OR_RETURN(const PairSolution solution, SolvePairs(machine, kernel, {}, context));
  MERCER_ASSIGN_OR_RETURN(const MachinePoint point,
                          EvaluateMachine(machine, kernel, solution.dual, context));
  json result = FromBounds(point.upper, point.lower);
  result["pairs"] = FromPairs(problem.pairs);
  result["pair_predictions"] = FromVector(point.predictions);
  result["F_norm2"] = point.norm;
  const HessianFunction function = MakeHessianFunction(problem, *inputs.width, point.dual);
  MERCER_ASSIGN_OR_RETURN(const GradientValues train, ValuesAt(function, inputs.rows, context));
  MERCER_ASSIGN_OR_RETURN(const GradientValues tests, ValuesAt(function, inputs.tests, context));
  result["f0_train"] = FromVector(train.base);
  result["f0_test"] = FromVector(tests.base);
  result["grad_test"] = FromMatrix(tests.gradients);
  result["component_norms"] = FromVector(DerivativeNorms(function, problem.gram));
  return Answer{std::move(result), RelativeGradientGap(point.upper, point.lower)};
}

// Pairs of one target have one prediction, w'x_i: a machine of rows.
absl::StatusOr<Answer> SolveLinearGradients(const json& fixture) {
  RunContext context;
  MERCER_ASSIGN_OR_RETURN(const GradientInputs inputs, ReadGradients(fixture, context));
  const GradientProblem& problem = inputs.problem;
  const PairMachine machine = CollapsedMachine(problem, inputs.targets);
  const MatrixPairKernel kernel(inputs.rows * inputs.rows.transpose());
  MERCER_ASSIGN_OR_RETURN(const PairSolution solution, SolvePairs(machine, kernel, {}, context));
  MERCER_ASSIGN_OR_RETURN(const MachinePoint point,
                          EvaluateMachine(machine, kernel, solution.dual, context));
  json result = FromBounds(point.upper, point.lower);
  const Vector w = inputs.rows.transpose() * point.dual;
  result["pairs"] = FromPairs(problem.pairs);
  result["w"] = FromVector(w);
  result["component_norms"] = FromVector(w.cwiseAbs());
  result["F_norm2"] = point.norm;
  result["f0_train"] = FromVector(inputs.rows * w);
  result["f0_test"] = FromVector(inputs.tests * w);
  result["grad_test"] = FromMatrix(w.transpose().replicate(inputs.tests.rows(), 1));
  result["pair_predictions"] = FromVector(point.predictions(problem.pairs.targets));
  return Answer{std::move(result), RelativeGradientGap(point.upper, point.lower)};
}

absl::StatusOr<Answer> RefuseGradients(const json& fixture) {
  RunContext context;
  json cases = json::array();
  for (const json& given : fixture.at("cases")) {
    const absl::Status status = ReadGradients(given, context).status();
    cases.push_back(status.ok() ? json{{"result", "accepted"}}
                                : json{{"error", std::string(status.message())}});
  }
  return Answer{std::move(cases), 0};
}

}  // namespace mercer::solve
