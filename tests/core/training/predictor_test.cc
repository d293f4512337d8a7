#include "core/training/model/predictor.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/run/evaluation.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

double MetricOf(const std::vector<Metric>& metrics, const std::string& name) {
  for (const Metric& metric : metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  return std::nan("");
}

// A model that skips preprocessing, with a hand-made function.
std::shared_ptr<Model> HandMade(ModelFunction function, Index num_square_columns = 0) {
  auto model = std::make_shared<Model>();
  model->function = std::move(function);
  model->num_square_columns = num_square_columns;
  return model;
}

absl::StatusOr<Prediction> Predict(std::shared_ptr<const Model> model, const PreparedData& rows,
                                   const PredictOptions& options = {}) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                          Predictor::Make(std::move(model)));
  RunContext context;
  return predictor->PredictPrepared(rows, options, context);
}

TEST(PredictorTest, IsTheSumOfTheDefinition) {
  const PreparedData inputs = Prepared(NormalMatrix(20, 3, 1));
  const PreparedData rows = Prepared(NormalMatrix(7, 3, 2));
  const Vector weights{{0.5, 2.0}};
  const Vector coefficients = Vector::LinSpaced(20, -1, 1);
  const std::vector<Index> all = IndexRange(0, 20);
  const std::vector<KernelSpec> kernels = {Gaussian(1), Gaussian(3)};
  const absl::StatusOr<Prediction> prediction =
      Predict(HandMade(MakeKernelFunction(inputs, all, kernels, weights, coefficients, 0.3)), rows);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  const auto z = inputs.blocks[0].values.view();
  const auto x = rows.blocks[0].values.view();
  for (Index i = 0; i < 7; ++i) {
    double expected = 0.3;
    for (Index j = 0; j < 20; ++j) {
      const double distance = (x.row(i) - z.row(j)).squaredNorm();
      expected += coefficients(j) * (0.5 * std::exp(-distance / 2) + 2 * std::exp(-distance / 18));
    }
    EXPECT_NEAR(prediction->decision_values(i, 0), expected, 1e-12) << "row " << i;
  }
}

TEST(PredictorTest, OneRowGivesTheBitsOfManyRows) {
  const Dataset data = ClassificationData(90, 4, 3, 3);
  const std::shared_ptr<const Model> model = ExampleModel(ExampleRecipe(), data);
  const Dataset rows = ClassificationData(2500, 4, 3, 8);  // several chunks
  const absl::StatusOr<Prediction> together = PredictRows(model, rows);
  ASSERT_TRUE(together.ok()) << together.status();
  for (const Index row : {0, 7, 1023, 1024, 2499}) {
    const absl::StatusOr<Prediction> alone = PredictRows(model, SelectRows(rows, {row}));
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(alone->decision_values.row(0), together->decision_values.row(row)) << "row " << row;
    EXPECT_EQ(alone->classes[0], together->classes[static_cast<size_t>(row)]);
  }
}

TEST(PredictorTest, ContributionsAddUpToTheDecisionValues) {
  const Dataset data = ClassificationData(60, 2, 3, 3);
  const absl::StatusOr<Prediction> prediction =
      PredictRows(ExampleModel(ExampleRecipe(), data), ClassificationData(1500, 2, 3, 9),
                  {.contributions = true});
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  ASSERT_EQ(prediction->contribution_names,
            (std::vector<std::string>{"gaussian(bandwidth=1)", "gaussian(bandwidth=3)", "bias"}));
  const Matrix sum =
      prediction->contributions[0] + prediction->contributions[1] + prediction->contributions[2];
  EXPECT_LT((sum - prediction->decision_values).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_GT(prediction->contributions[1].cwiseAbs().maxCoeff(), 1e-3);
}

TEST(PredictorTest, OutputsWithOtherWeightsShareNoWeights) {
  const PreparedData inputs = Prepared(NormalMatrix(4, 2, 1));
  const std::vector<KernelSpec> kernels = {Gaussian(1), Gaussian(2)};
  std::vector<ModelFunction> parts;
  for (const double weight : {0.1, 0.5, 0.9}) {
    parts.push_back(MakeKernelFunction(inputs, {0, 1, 2, 3}, kernels, Vector{{weight, 1 - weight}},
                                       Vector::Ones(4), weight));
  }
  auto model = HandMade(MergeOutputs(parts, inputs));
  const RoleColumn labels = NumericColumn(ColumnRole::kTarget, "label", Vector{{0.0, 1.0, 2.0}});
  model->coding = *OutputCoding::FromLabels(labels, {0, 1, 2}, CodingChoice::kAuto, RunContext());
  const PreparedData rows = Prepared(NormalMatrix(3, 2, 5));
  const absl::StatusOr<Prediction> merged = Predict(model, rows);
  ASSERT_TRUE(merged.ok()) << merged.status();
  for (size_t o = 0; o < parts.size(); ++o) {
    const absl::StatusOr<Prediction> alone = Predict(HandMade(parts[o]), rows);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_LT((alone->decision_values.col(0) - merged->decision_values.col(static_cast<Index>(o)))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-14);
  }
}

TEST(PredictorTest, ConstantModelPredictsItsBias) {
  ModelFunction function;
  function.bias = Vector::Constant(1, -2.5);
  const absl::StatusOr<Prediction> prediction =
      Predict(HandMade(function), Prepared(NormalMatrix(3, 1, 1)), {.contributions = true});
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->decision_values, Matrix::Constant(3, 1, -2.5));
  EXPECT_EQ(prediction->contribution_names, (std::vector<std::string>{"bias"}));
}

TEST(PredictorTest, InconsistentModelIsDataLoss) {
  ModelFunction function;
  function.bias = Vector::Zero(2);  // regression has one output
  EXPECT_EQ(Predictor::Make(HandMade(function)).status().code(), absl::StatusCode::kDataLoss);
}

TEST(PredictorTest, SquareBlocksNeedOneColumnPerRowOfTheDataSet) {
  PreparedData inputs;
  inputs.rows = 4;
  inputs.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(4, 4))});
  KernelSpec kernel;
  kernel.type = KernelType::kPrecomputed;
  kernel.block = "gram";
  const auto model = HandMade(
      MakeKernelFunction(inputs, {1, 3}, {kernel}, Vector::Ones(1), Vector{{2.0, 5.0}}, 0.5), 4);
  PreparedData rows;
  rows.rows = 1;
  rows.squares.push_back(
      {"gram", SquareKind::kKernel, SharedMatrix(RowMatrix{{10.0, 20.0, 30.0, 40.0}})});
  const absl::StatusOr<Prediction> prediction = Predict(model, rows);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->decision_values(0, 0), 0.5 + 2 * 20 + 5 * 40);

  rows.squares[0].values = SharedMatrix(RowMatrix::Zero(1, 5));
  const absl::Status status = Predict(model, rows).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'gram': has 5 columns, must have 4"), std::string::npos)
      << status;
}

// Three kernels, of which one has no weight, at two of four training rows: predictions ask for the
// two others at these rows.
TEST(PredictorTest, SquareBlocksInUseAreThoseOfKernelsAndRowsWithAWeight) {
  PreparedData inputs;
  inputs.rows = 4;
  std::vector<KernelSpec> kernels(3);
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].type = k == 2 ? KernelType::kDistance : KernelType::kPrecomputed;
    kernels[k].block = std::string(1, static_cast<char>('a' + k));
    inputs.squares.push_back({kernels[k].block,
                              k == 2 ? SquareKind::kDistance : SquareKind::kKernel,
                              SharedMatrix(RowMatrix::Identity(4, 4))});
  }
  const auto model =
      HandMade(MakeKernelFunction(inputs, {1, 2, 3}, kernels, Vector{{1.0, 0.0, 2.0}},
                                  Vector{{2.0, 0.0, 5.0}}, 0.5),
               4);
  const std::vector<SquareUse> uses = SquaresInUse(*model);
  ASSERT_EQ(uses.size(), 2);
  EXPECT_EQ(uses[0].name, "a");
  EXPECT_EQ(uses[0].kind, SquareKind::kKernel);
  EXPECT_EQ(uses[1].name, "c");
  EXPECT_EQ(uses[1].kind, SquareKind::kDistance);
  for (const SquareUse& use : uses) {
    EXPECT_EQ(use.columns, (std::vector<Index>{1, 3})) << use.name;
  }
  PreparedData rows;
  rows.rows = 1;
  rows.squares.push_back({"a", SquareKind::kKernel, SharedMatrix(RowMatrix::Ones(1, 4))});
  const absl::Status status = Predict(model, rows).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("no square block 'c', which the model reads"), std::string::npos)
      << status;
  rows.squares.push_back({"c", SquareKind::kDistance, SharedMatrix(RowMatrix::Zero(1, 4))});
  const absl::StatusOr<Prediction> prediction = Predict(model, rows);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_DOUBLE_EQ(prediction->decision_values(0, 0), 0.5 + 3 * (2 + 5));
}

TEST(PredictorTest, NamesMissingColumnsAndUnseenCategories) {
  Dataset data = ClassificationData(30, 2, 2, 3);
  AddColours(data, {"red", "blue"});
  const std::shared_ptr<const Model> model = ExampleModel(ExampleRecipe(), data);

  Dataset other_colours = data;
  other_colours.blocks[0].columns[2].categories = {"red", "green"};
  const absl::Status unseen = PredictRows(model, other_colours).status();
  EXPECT_EQ(unseen.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(unseen.message().find("colour"), std::string::npos) << unseen;
  EXPECT_NE(unseen.message().find("green"), std::string::npos) << unseen;

  Dataset renamed = data;
  renamed.blocks[0].columns[0].name = "x9";
  const absl::Status missing = PredictRows(model, renamed).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(missing.message().find("x1"), std::string::npos) << missing;
}

// Kernels of low rank: several terms of one output on the same landmarks.
TEST(PredictorTest, TermsOnOneBasisAreNoSharesOfKernels) {
  const PreparedData inputs = Prepared(NormalMatrix(6, 2, 1));
  ModelFunction function =
      MakeKernelFunction(inputs, {0, 1, 2}, {Gaussian(1)}, Vector::Ones(1), Vector::Ones(3), 0.0);
  const PreparedData rows = Prepared(NormalMatrix(3, 2, 2));
  EXPECT_TRUE(Predict(HandMade(function), rows, {.contributions = true}).ok());
  KernelTerm second = TermAt<KernelTerm>(function);
  second.kernels = {Gaussian(2)};
  AddTerm(std::move(second), function);
  const absl::Status refused = Predict(HandMade(function), rows, {.contributions = true}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(GetFieldViolations(refused).size(), 1u);
  EXPECT_EQ(GetFieldViolations(refused)[0].field, "contributions");
  EXPECT_TRUE(Predict(HandMade(function), rows).ok());
}

TEST(PredictorTest, CancelledPredictionEnds) {
  const std::shared_ptr<const Model> model =
      ExampleModel(ExampleRecipe(), ClassificationData(30, 2, 2, 3));
  CancellationToken token;
  token.Cancel();
  RunContext context(token, 1, nullptr);
  const absl::StatusOr<std::unique_ptr<Predictor>> predictor = Predictor::Make(model);
  ASSERT_TRUE(predictor.ok());
  EXPECT_EQ((*predictor)->Predict(ClassificationData(5, 2, 2, 3), {}, context).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(EvaluatePredictionTest, UnknownLabelsAreWrongAndMissingOnesAreLeftOut) {
  const RoleColumn training = NumericColumn(ColumnRole::kTarget, "label", Vector{{0.0, 1.0}});
  const OutputCoding coding =
      *OutputCoding::FromLabels(training, {0, 1}, CodingChoice::kAuto, RunContext());
  Prediction prediction;
  prediction.decision_values = Vector{{-1.0, 1.0, 1.0, -1.0, 3.0}};
  prediction.classes = coding.Decide(prediction.decision_values);
  const std::vector<Metric> metrics =
      EvaluatePrediction(
          coding, prediction,
          NumericColumn(ColumnRole::kTarget, "label", Vector{{0.0, 1.0, 7.0, 1.0, std::nan("")}}),
          RunContext())
          .value();
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "auc"), 0.75);
  EXPECT_TRUE(EvaluatePrediction(
                  coding, prediction,
                  NumericColumn(ColumnRole::kTarget, "label", Vector::Constant(5, std::nan(""))),
                  RunContext())
                  .value()
                  .empty());
}

TEST(EvaluatePredictionTest, WeightsCountRows) {
  const RoleColumn training = NumericColumn(ColumnRole::kTarget, "label", Vector{{0.0, 1.0}});
  const OutputCoding coding =
      *OutputCoding::FromLabels(training, {0, 1}, CodingChoice::kAuto, RunContext());
  Prediction prediction;
  prediction.decision_values = Vector{{-1.0, 1.0, 1.0, -1.0}};
  prediction.classes = coding.Decide(prediction.decision_values);
  const RoleColumn labels =
      NumericColumn(ColumnRole::kTarget, "label", Vector{{0.0, 1.0, 0.0, 1.0}});
  const Vector weights{{2.0, 1.0, 1.0, 0.0}};  // the last row does not count
  const std::vector<Metric> metrics =
      EvaluateWeighted(coding, prediction, labels, &weights, RunContext()).value();
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "balanced_accuracy"), (2.0 / 3 + 1) / 2);
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "auc"), (2 + 0.5) / 3);
  const Vector nothing = Vector::Zero(4);
  EXPECT_TRUE(EvaluateWeighted(coding, prediction, labels, &nothing, RunContext()).value().empty());
}

TEST(EvaluatePredictionTest, RegressionMeasuresErrors) {
  Prediction prediction;
  prediction.decision_values = Vector{{1.0, 2.0, 9.0}};
  const std::vector<Metric> metrics =
      EvaluatePrediction(OutputCoding::Regression(), prediction,
                         NumericColumn(ColumnRole::kTarget, "y", Vector{{1.0, 4.0, std::nan("")}}),
                         RunContext())
          .value();
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "rmse"), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(MetricOf(metrics, "r2"), 1 - 4 / 4.5);
}

}  // namespace
}  // namespace mercer
