// Kind multiclass: one-vs-all and one-vs-one on Gaussian kernels, through the whole path from a
// data set to a model.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "tests/support/mercer_solve.h"
#include "tests/support/mercer_solve_json.h"
#include "tests/support/mercer_solve_training.h"

namespace mercer::solve {
namespace {

using nlohmann::json;

Dataset MakeDataset(const Matrix& values) {
  Dataset dataset;
  dataset.rows = values.rows();
  FeatureBlock& block = dataset.blocks.emplace_back();
  block.name = std::string(kDefaultBlock);
  for (Index j = 0; j < values.cols(); ++j) {
    block.columns.push_back({absl::StrCat("x", j + 1), false, {}});
  }
  block.values = SharedMatrix(RowMatrix(values));
  return dataset;
}

absl::StatusOr<Coded> TrainCodedFixture(const json& fixture, CodingChoice coding) {
  const json& input = fixture.at("input");
  Dataset dataset = MakeDataset(ToMatrix(input.at("X")));
  dataset.role_columns.push_back(
      {ColumnRole::kTarget, {"label", false, {}}, ToVector(input.at("label"))});
  TrainingRecipe recipe;
  recipe.learner = "lp_mkl";
  recipe.options = {{"p", ToNumber(input.at("p"))}, {"C", ToNumber(input.at("C"))}};
  KernelGrid& grid = recipe.kernels.emplace_back();
  grid.bandwidths = input.at("sigma").get<std::vector<double>>();
  recipe.coding = coding;
  recipe.limits.relative_gap =
      kTighter * fixture.at("tolerance").at("solve_to_gap_rel").get<double>();
  return TrainCoded(recipe, dataset, MakeDataset(ToMatrix(input.at("X_test"))));
}

json Label(const OutputCoding& coding, int class_index) {
  return json::parse(coding.classes()[static_cast<size_t>(class_index)]);
}

json Outputs(const Coded& coded) {
  const OutputCoding& coding = coded.model.coding;
  json outputs = json::array();
  for (Index o = 0; o < coding.num_outputs(); ++o) {
    json output;
    if (coding.kind() == CodingKind::kOneVsOne) {
      output["positive"] = Label(coding, coding.Pair(o).first);
      output["negative"] = Label(coding, coding.Pair(o).second);
    } else {
      output["positive"] = Label(coding, static_cast<int>(o));
    }
    const OutputBounds& bounds = coded.model.certificate.outputs[static_cast<size_t>(o)];
    output["objective"] = bounds.primal;
    output["primal"] = bounds.primal;
    output["dual"] = bounds.dual;
    output["weights"] = FromVector(coded.model.summary.kernel_weights.col(o));
    output["bias"] = coded.model.function.bias(o);
    output["decision_test"] = FromVector(coded.test.decision_values.col(o));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

json Predicted(const Coded& coded) {
  json labels = json::array();
  for (const int class_index : coded.test.classes) {
    labels.push_back(Label(coded.model.coding, class_index));
  }
  return labels;
}

}  // namespace

absl::StatusOr<Answer> SolveMulticlass(const json& fixture) {
  MERCER_ASSIGN_OR_RETURN(const Coded all, TrainCodedFixture(fixture, CodingChoice::kOneVsAll));
  MERCER_ASSIGN_OR_RETURN(const Coded pairs, TrainCodedFixture(fixture, CodingChoice::kOneVsOne));
  Matrix votes;
  Matrix margin_sums;
  pairs.model.coding.Vote(pairs.test.decision_values, &votes, &margin_sums);
  json result;
  result["one_vs_all"] = Outputs(all);
  result["one_vs_one"] = Outputs(pairs);
  result["predict_one_vs_all"] = Predicted(all);
  result["predict_one_vs_one"] = Predicted(pairs);
  result["votes"] = FromMatrix(votes);
  result["margin_sums"] = FromMatrix(margin_sums);
  return Answer{std::move(result), std::max(all.model.certificate.worst_accuracy,
                                            pairs.model.certificate.worst_accuracy)};
}

}  // namespace mercer::solve
