// Kinds mixed_norm_mkl and mixed_norm_mkl_one_vs_one: kernels in groups, and any loss.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/objectives/loss.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

std::string ColumnName(const std::string& block, Index column) {
  return absl::StrCat(block, "_", column);
}

// The member of an object, or nothing where it has none.
const json& PartOf(const json& object, const std::string& name) {
  static const json& nothing = *new json(nullptr);
  return object.contains(name) ? object.at(name) : nothing;
}

// The kernel of place k; a Gram matrix of its own is the block "gram<k>".
KernelSpec SpecOf(const json& kernel, size_t k) {
  KernelSpec spec;
  const std::string type = kernel.at("type");
  spec.labels.group = absl::StrCat("g", kernel.at("group").get<int>());
  spec.block = kernel.value("source", absl::StrCat("gram", k));
  if (type == "gaussian") {
    spec.bandwidth = std::sqrt(kernel.at("width").get<double>() / 2);
  } else if (type == "exp_distance") {
    spec.type = KernelType::kDistance;
    spec.bandwidth = kernel.at("width");
  } else if (type == "linear") {
    spec.type = KernelType::kLinear;
  } else if (type == "polynomial") {
    spec.type = KernelType::kPolynomial;
    spec.degree = kernel.at("degree");
    spec.offset = kernel.at("offset");
  } else {
    spec.type = KernelType::kPrecomputed;
  }
  for (const json& column : PartOf(kernel, "columns")) {
    spec.columns.push_back(ColumnName(spec.block, column.get<Index>()));
  }
  if (kernel.at("normalisation") == "trace") {
    spec.normalization.scaling = KernelScaling::kTrace;
  }
  return spec;
}

std::vector<KernelSpec> KernelsOf(const json& input) {
  std::vector<KernelSpec> kernels;
  for (const json& kernel : input.at("kernels")) {
    kernels.push_back(SpecOf(kernel, kernels.size()));
  }
  return kernels;
}

// Training rows with `of_rows` empty, test rows with "_test".
PreparedData DataOf(const json& input, const std::string& of_rows) {
  PreparedData data;
  for (const auto& [name, rows] : PartOf(input, "features" + of_rows).items()) {
    PreparedBlock& block = data.blocks.emplace_back();
    block.name = name;
    block.values = SharedMatrix(RowMatrix(ToMatrix(rows)));
    data.rows = block.values.rows();
    for (Index j = 0; j < block.values.cols(); ++j) {
      block.sources.push_back(ColumnName(name, j));
    }
  }
  const auto add_square = [&](const std::string& name, SquareKind kind, const json& rows) {
    data.squares.push_back({name, kind, SharedMatrix(RowMatrix(ToMatrix(rows)))});
    data.rows = data.squares.back().values.rows();
  };
  for (const auto& [name, rows] : PartOf(input, "distances" + of_rows).items()) {
    add_square(name, SquareKind::kDistance, rows);
  }
  size_t k = 0;
  for (const json& kernel : input.at("kernels")) {
    if (kernel.contains("gram" + of_rows)) {
      add_square(absl::StrCat("gram", k), SquareKind::kKernel, kernel.at("gram" + of_rows));
    }
    ++k;
  }
  return data;
}

Vector CostsOf(const json& input, const Vector& y) {
  Vector costs = input.contains("sample_weight") ? ToVector(input.at("sample_weight"))
                                                 : Vector::Ones(y.size());
  if (input.contains("class_weight")) {
    for (Index i = 0; i < y.size(); ++i) {
      costs(i) *= input.at("class_weight").at(y(i) > 0 ? "+1" : "-1").get<double>();
    }
  }
  return costs;
}

OptionValues OptionsOf(const json& input) {
  OptionValues options = {{"C", input.at("C").get<double>()}};
  if (input.contains("loss")) {
    options["loss"] = input.at("loss").get<std::string>();
  }
  if (input.contains("epsilon")) {
    options["epsilon"] = input.at("epsilon").get<double>();
  }
  return options;
}

// The loss of the input; the hinge where it names none.
absl::StatusOr<std::unique_ptr<Loss>> LossOf(const json& input) {
  const std::string name = input.value("loss", "hinge");
  for (size_t kind = 0; kind < AllLosses().size(); ++kind) {
    if (AllLosses()[kind].name == name) {
      return MakeLoss(static_cast<LossKind>(kind), input.value("epsilon", 0.1));
    }
  }
  return absl::InvalidArgumentError("no loss has this name: " + name);
}

TrainingProblem ProblemOf(const json& input, const Loss& loss) {
  TrainingProblem problem;
  problem.kind = loss.is_margin_loss() ? TargetKind::kClassification : TargetKind::kRegression;
  problem.kernels = KernelsOf(input);
  TaskData& task = problem.tasks.emplace_back();
  task.inputs = std::make_shared<const PreparedData>(DataOf(input, ""));
  const Vector y = ToVector(input.at("y"));
  task.rows = IndexRange(0, y.size());
  task.targets = y;
  task.costs = CostsOf(input, y);
  return problem;
}

double AskedMixedGap(const json& fixture) {
  return kTighter * fixture.at("tolerance").at("run_with_relative_gap").get<double>();
}

// The weights of groups, 1 over the sum of those of their kernels, and all else that follows from
// the weights of kernels.
void AddWeights(const TrainingProblem& problem, const Vector& weights, const Vector& energies,
                json& result) {
  const KernelGroups groups = GroupsOf(problem.kernels);
  Vector inner = weights;
  json gamma = json::array();
  double norm = 0;
  for (Index j = 0; j < groups.num_groups(); ++j) {
    double sum = 0;
    double largest = 0;
    for (Index k = 0; k < weights.size(); ++k) {
      if (groups.group_of[static_cast<size_t>(k)] == j) {
        sum += weights(k);
        largest = std::max(largest, energies(k));
      }
    }
    for (Index k = 0; k < weights.size(); ++k) {
      if (groups.group_of[static_cast<size_t>(k)] == j && sum > 0) {
        inner(k) /= sum;
      }
    }
    gamma.push_back(sum > 0 ? 1 / sum : 0);
    norm += std::sqrt(largest);
  }
  result["eta"] = FromVector(weights);
  result["lambda"] = FromVector(inner);
  result["gamma"] = std::move(gamma);
  result["quad"] = FromVector(energies);
  result["group_norm"] = norm;
}

}  // namespace

absl::StatusOr<Answer> SolveMixedNorm(const json& fixture) {
  const json& input = fixture.at("inputs");
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, LossOf(input));
  TrainingProblem problem = ProblemOf(input, *loss);
  const double cost = input.at("C");
  MERCER_ASSIGN_OR_RETURN(const Solution solution, Train("mixed_norm_mkl", OptionsOf(input),
                                                         problem, AskedMixedGap(fixture)));
  const TaskData& task = problem.tasks[0];
  const Vector dual = solution.point.witness.tasks[0].dual.col(0);
  MERCER_ASSIGN_OR_RETURN(const Vector energies, Energies(problem, dual));
  json result;
  result["objective"] = solution.certificate.primal;
  result["primal"] = solution.certificate.primal;
  result["dual"] = solution.certificate.dual;
  result["beta"] = FromVector(dual);
  AddWeights(problem, solution.point.summary.kernel_weights.col(0), energies, result);
  MERCER_ASSIGN_OR_RETURN(const Vector decision,
                          DecisionValues(solution.point.function, *task.inputs));
  result["decision_train"] = FromVector(decision);
  const double bias = solution.point.function.bias(0);
  result["b"] = -bias;
  MERCER_ASSIGN_OR_RETURN(const BiasInterval interval,
                          loss->ExactBias(task.targets.col(0), cost * task.costs,
                                          decision.array() - bias, RunContext()));
  result["b_interval"] = FromInterval(interval, true);
  if (fixture.at("expected").contains("decision_test")) {
    MERCER_ASSIGN_OR_RETURN(const Vector test,
                            DecisionValues(solution.point.function, DataOf(input, "_test")));
    result["decision_test"] = FromVector(test);
  }
  return Answer{std::move(result), solution.certificate.accuracy};
}

namespace {

Dataset DatasetOf(const PreparedData& data) {
  Dataset dataset;
  dataset.rows = data.rows;
  for (const PreparedBlock& prepared : data.blocks) {
    FeatureBlock& block = dataset.blocks.emplace_back();
    block.name = prepared.name;
    block.values = prepared.values;
    for (const std::string& column : prepared.sources) {
      block.columns.push_back({column, false, {}});
    }
  }
  return dataset;
}

}  // namespace

absl::StatusOr<Answer> SolveMixedNormPairs(const json& fixture) {
  const json& input = fixture.at("inputs");
  Dataset dataset = DatasetOf(DataOf(input, ""));
  dataset.role_columns.push_back(
      {ColumnRole::kTarget, {"label", false, {}}, ToVector(input.at("labels"))});
  TrainingRecipe recipe;
  recipe.learner = "mixed_norm_mkl";
  recipe.options = {{"C", ToNumber(input.at("C"))}};
  for (KernelSpec& kernel : KernelsOf(input)) {
    recipe.kernels.emplace_back().prototype = std::move(kernel);
  }
  recipe.coding = CodingChoice::kOneVsOne;
  recipe.limits.relative_gap = AskedMixedGap(fixture);
  MERCER_ASSIGN_OR_RETURN(const Coded coded,
                          TrainCoded(recipe, dataset, DatasetOf(DataOf(input, "_test"))));
  const OutputCoding& coding = coded.model.coding;
  const auto label = [&](int place) {
    return json::parse(coding.classes()[static_cast<size_t>(place)]);
  };
  json pairs = json::array();
  for (Index o = 0; o < coding.num_outputs(); ++o) {
    json pair;
    pair["positive"] = label(coding.Pair(o).first);
    pair["negative"] = label(coding.Pair(o).second);
    pair["objective"] = coded.model.certificate.outputs[static_cast<size_t>(o)].primal;
    pair["eta"] = FromVector(coded.model.summary.kernel_weights.col(o));
    pair["b"] = -coded.model.function.bias(o);
    pair["decision_test"] = FromVector(coded.test.decision_values.col(o));
    pairs.push_back(std::move(pair));
  }
  json result;
  result["pairs"] = std::move(pairs);
  Matrix votes;
  Matrix margin_sums;
  coding.Vote(coded.test.decision_values, &votes, &margin_sums);
  result["votes"] = FromMatrix(votes);
  result["margin_sum"] = FromMatrix(margin_sums);
  result["label_test"] = json::array();
  for (const int place : coded.test.classes) {
    result["label_test"].push_back(label(place));
  }
  return Answer{std::move(result), coded.model.certificate.worst_accuracy};
}

}  // namespace mercer::solve
