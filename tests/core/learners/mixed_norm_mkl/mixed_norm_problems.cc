#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"

namespace mercer::mixed_norm_mkl {
namespace {

using nlohmann::json;

Matrix ColumnsOf(const Matrix& values, const json& kernel) {
  if (!kernel.contains("columns")) {
    return values;
  }
  const auto columns = kernel["columns"].get<std::vector<Index>>();
  return values(Eigen::all, columns);
}

double ValueOf(const json& kernel, const Vector& x, const Vector& z) {
  const std::string type = kernel["type"];
  if (type == "gaussian") {
    return std::exp(-(x - z).squaredNorm() / kernel["width"].get<double>());
  }
  if (type == "linear") {
    return x.dot(z);
  }
  EXPECT_EQ(type, "polynomial");
  return std::pow(x.dot(z) + kernel["offset"].get<double>(), kernel["degree"].get<double>());
}

Matrix GramOf(const json& inputs, const json& kernel, const std::string& of_rows) {
  const std::string type = kernel["type"];
  if (type == "precomputed") {
    return JsonMatrix(kernel["gram" + of_rows]);
  }
  if (type == "exp_distance") {
    const Matrix distances =
        JsonMatrix(inputs["distances" + of_rows][kernel["source"].get<std::string>()]);
    return (-distances.array() / kernel["width"].get<double>()).exp();
  }
  const std::string source = kernel["source"];
  const Matrix rows = ColumnsOf(JsonMatrix(inputs["features" + of_rows][source]), kernel);
  const Matrix training = ColumnsOf(JsonMatrix(inputs["features"][source]), kernel);
  Matrix gram(rows.rows(), training.rows());
  for (Index i = 0; i < gram.rows(); ++i) {
    for (Index j = 0; j < gram.cols(); ++j) {
      gram(i, j) = ValueOf(kernel, rows.row(i), training.row(j));
    }
  }
  return gram;
}

}  // namespace

json ReadMixedFixture(const std::string& name) {
  return ReadFixtureFile("mixed-norm-mkl/" + name + ".json");
}

FixtureProblem ReadMixedProblem(const json& inputs) {
  FixtureProblem read;
  std::vector<int> groups;
  const bool has_test = inputs.contains("features_test") || inputs.contains("distances_test") ||
                        inputs["kernels"][0].contains("gram_test");
  for (const json& kernel : inputs["kernels"]) {
    groups.push_back(kernel["group"].get<int>());
    read.grams.push_back(GramOf(inputs, kernel, ""));
    if (has_test) {
      read.test_grams.push_back(GramOf(inputs, kernel, "_test"));
    }
  }
  const Vector y = JsonVector(inputs["y"]);
  read.problem = GroupedProblem(read.grams, groups, y);
  for (size_t k = 0; k < groups.size(); ++k) {
    read.problem.kernels[k].normalization.scaling = inputs["kernels"][k]["normalisation"] == "trace"
                                                        ? KernelScaling::kTrace
                                                        : KernelScaling::kNone;
  }
  Vector& costs = read.problem.tasks[0].costs;
  if (inputs.contains("sample_weight")) {
    costs = JsonVector(inputs["sample_weight"]);
  }
  if (inputs.contains("class_weight")) {
    for (Index i = 0; i < y.size(); ++i) {
      costs(i) *= inputs["class_weight"][y(i) > 0 ? "+1" : "-1"].get<double>();
    }
  }
  read.options = {{"C", inputs["C"].get<double>()}};
  if (inputs.contains("loss")) {
    read.options["loss"] = inputs["loss"].get<std::string>();
    read.problem.kind = KindOfLoss(inputs["loss"]);
  }
  if (inputs.contains("epsilon")) {
    read.options["epsilon"] = inputs["epsilon"].get<double>();
  }
  return read;
}

TargetKind KindOfLoss(const std::string& loss) {
  return loss == "square" || loss == "epsilon_insensitive" ? TargetKind::kRegression
                                                           : TargetKind::kClassification;
}

TrainingProblem GroupedProblem(const std::vector<Matrix>& grams, const std::vector<int>& groups,
                               const Vector& targets) {
  TrainingProblem problem = PrecomputedProblem(TargetKind::kClassification, grams, targets);
  for (size_t k = 0; k < groups.size(); ++k) {
    problem.kernels[k].labels.group = absl::StrCat("g", groups[k]);
  }
  return problem;
}

RandomKernels MakeRandomKernels(Index rows, int groups, const std::vector<double>& widths,
                                uint64_t seed) {
  RandomKernels made;
  RandomStream random(seed, "mixed norm kernels");
  Matrix x(rows, 2 * groups);
  for (double& value : x.reshaped()) {
    value = random.Normal();
  }
  made.targets.resize(rows);
  made.numbers.resize(rows);
  for (Index i = 0; i < rows; ++i) {
    const double score = std::sin(2 * x(i, 0)) + 0.7 * x(i, 1) + 0.4 * random.Normal();
    made.numbers(i) = score;
    made.targets(i) = score > 0 ? 1.0 : -1.0;
  }
  for (int g = 0; g < groups; ++g) {
    for (const double width : widths) {
      Matrix gram(rows, rows);
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < rows; ++j) {
          gram(i, j) = std::exp(-(x.row(i) - x.row(j)).segment(2 * g, 2).squaredNorm() / width);
        }
      }
      made.grams.push_back(gram / gram.trace());
      made.groups.push_back(g);
    }
  }
  return made;
}

absl::StatusOr<Fit> Train(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap) {
  TrainingProblem asked = problem;
  asked.relative_gap = relative_gap;
  MERCER_ASSIGN_OR_RETURN(TrainingOutcome outcome, RunToGap(Entry(), options, asked));
  return Fit{std::move(outcome.point), outcome.certificate, outcome.stop_reason};
}

Fit MustTrain(const TrainingProblem& problem, const OptionValues& options, double relative_gap) {
  absl::StatusOr<Fit> fit = Train(problem, options, relative_gap);
  EXPECT_TRUE(fit.ok()) << fit.status();
  return fit.ok() ? *std::move(fit) : Fit{};
}

Vector EnergiesOf(const std::vector<Matrix>& grams, const Vector& dual) {
  Vector energies(static_cast<Index>(grams.size()));
  for (size_t k = 0; k < grams.size(); ++k) {
    energies(static_cast<Index>(k)) = std::max(0.0, dual.dot(grams[k] * dual));
  }
  return energies;
}

Vector DecisionOf(const Fit& fit, const std::vector<Matrix>& rows) {
  Vector values = Vector::Constant(rows[0].rows(), fit.bias());
  for (size_t k = 0; k < rows.size(); ++k) {
    values += fit.weights()(static_cast<Index>(k)) * (rows[k] * fit.dual());
  }
  return values;
}

}  // namespace mercer::mixed_norm_mkl
