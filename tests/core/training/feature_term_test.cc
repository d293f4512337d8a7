#include "core/training/terms/feature_term.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/encoding/encoding.h"
#include "core/training/model/predictor.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

// Two pairs of Fourier features of three inputs, for the second and third of three outputs.
FeatureTerm TwoPairs() {
  FeatureTerm term;
  term.num_inputs = 3;
  term.groups = {{2.0, 0.3, -0.2, 0.5}, {4.0, -1.0, 0.25, 0.0}};
  term.outputs = {1, 2};
  term.coefficients = Matrix{{0.5, 1.0}, {-0.25, 2.0}, {1.5, -1.0}, {0.75, 0.125}};
  return term;
}

double PairsAt(const FeatureTerm& term, const Vector& x, Index output) {
  double sum = 0;
  for (size_t g = 0; g < term.groups.size(); ++g) {
    const double argument = Eigen::Map<const Vector>(term.groups[g].data() + 1, 3).dot(x);
    const auto row = static_cast<Index>(2 * g);
    sum += term.coefficients(row, output) * std::cos(argument) +
           term.coefficients(row + 1, output) * std::sin(argument);
  }
  return sum;
}

// A model of three classes whose function has a bias and the term.
Model ModelOf(FeatureTerm term) {
  Model model;
  RoleColumn labels;
  labels.values = Vector{{0.0, 1.0, 2.0}};
  model.coding = *OutputCoding::FromLabels(labels, {0, 1, 2}, CodingChoice::kAuto, RunContext());
  model.function.bias = Vector{{0.5, -0.5, 0.25}};
  const PreparedData inputs = Prepared(NormalMatrix(2, 3, 1));
  model.summary.feature_names = FeatureGroupNames(term, inputs);
  model.summary.feature_weights = Matrix::Ones(static_cast<Index>(term.groups.size()), 3);
  AddTerm(std::move(term), model.function);
  return model;
}

TEST(FeatureTermTest, AddsItsFeaturesToItsOutputs) {
  const FeatureTerm term = TwoPairs();
  const PreparedData rows = Prepared(NormalMatrix(700, 3, 5));
  RunContext context;
  const absl::StatusOr<Matrix> values = EvaluateFunction(ModelOf(term).function, rows, context);
  ASSERT_TRUE(values.ok()) << values.status();
  const auto x = rows.blocks[0].values.view();
  for (Index i = 0; i < 700; ++i) {
    EXPECT_EQ((*values)(i, 0), 0.5);
    EXPECT_NEAR((*values)(i, 1), -0.5 + PairsAt(term, x.row(i), 0), 1e-14);
    EXPECT_NEAR((*values)(i, 2), 0.25 + PairsAt(term, x.row(i), 1), 1e-14);
  }
}

TEST(FeatureTermTest, ARowsValueDoesNotDependOnItsNeighbours) {
  const auto model = std::make_shared<const Model>(ModelOf(TwoPairs()));
  const absl::StatusOr<std::unique_ptr<Predictor>> predictor = Predictor::Make(model);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  const PreparedData all = Prepared(NormalMatrix(1300, 3, 7));
  RunContext context;
  const absl::StatusOr<Prediction> together = (*predictor)->PredictPrepared(all, {}, context);
  ASSERT_TRUE(together.ok()) << together.status();
  for (const Index row : {0, 1, 255, 256, 1023, 1299}) {
    const absl::StatusOr<Prediction> alone =
        (*predictor)->PredictPrepared(SelectRows(all, {row}), {}, context);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(alone->decision_values.row(0), together->decision_values.row(row)) << row;
  }
}

TEST(FeatureTermTest, SharesAddUpToTheDecisionValues) {
  const auto model = std::make_shared<const Model>(ModelOf(TwoPairs()));
  const PreparedData rows = Prepared(NormalMatrix(20, 3, 3));
  RunContext context;
  const absl::StatusOr<Prediction> prediction =
      (*Predictor::Make(model))->PredictPrepared(rows, {.contributions = true}, context);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->contribution_names,
            (std::vector<std::string>{"feature 1: fourier(bandwidth=2)",
                                      "feature 2: fourier(bandwidth=4)", "bias"}));
  Matrix sum = Matrix::Zero(20, 3);
  for (const Matrix& share : prediction->contributions) {
    sum += share;
  }
  EXPECT_LE((sum - prediction->decision_values).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_EQ(prediction->contributions[0].col(0), Vector::Zero(20));
}

TEST(FeatureTermTest, AModelFileKeepsItAndOneWithoutIsOfTheFirstVersion) {
  const Model model = ModelOf(TwoPairs());
  const std::string bytes = SaveModel(model);
  const absl::StatusOr<Model> loaded = LoadModel(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(SaveModel(*loaded), bytes);
  EXPECT_EQ(TermAt<FeatureTerm>(loaded->function).groups, TwoPairs().groups);
  EXPECT_EQ(loaded->summary.feature_names, model.summary.feature_names);
  EXPECT_EQ(FormatVersion(bytes), 2u);

  Model without = model;
  without.function.terms.clear();
  without.summary = {};
  EXPECT_EQ(FormatVersion(SaveModel(without)), 1u);
  EXPECT_TRUE(LoadModel(SaveModel(without)).ok());
}

TEST(FeatureTermTest, AnInconsistentTermIsDamage) {
  const auto expect_damage = [](FeatureTerm term) {
    const absl::Status status = LoadModel(SaveModel(ModelOf(std::move(term)))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  };
  FeatureTerm term = TwoPairs();
  term.outputs = {1, 3};
  expect_damage(term);
  term.outputs = {2, 1};
  expect_damage(term);
  term = TwoPairs();
  term.coefficients(0, 0) = std::numeric_limits<double>::quiet_NaN();
  expect_damage(term);
  term = TwoPairs();
  term.coefficients = Matrix::Ones(3, 2);
  expect_damage(term);
  term = TwoPairs();
  term.groups[1].pop_back();
  expect_damage(term);
  term = TwoPairs();
  term.num_inputs = 0;
  expect_damage(term);
}

// Damage that a checksum would hide: the payload is changed before it is framed.
TEST(FeatureTermTest, ChangedContentIsDamageOrAnotherModelNeverACrash) {
  const std::string bytes = SaveModel(ModelOf(TwoPairs()));
  const absl::StatusOr<std::string_view> payload = UnframePayload("MRCRMODL", 2, "model", bytes);
  ASSERT_TRUE(payload.ok()) << payload.status();
  for (size_t i = 0; i < payload->size(); ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string damaged(*payload);
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      const absl::StatusOr<Model> model = LoadModel(FramePayload("MRCRMODL", 2, damaged));
      if (model.ok()) {
        Predictor::Make(std::make_shared<const Model>(*model)).status().IgnoreError();
      } else {
        EXPECT_EQ(model.status().code(), absl::StatusCode::kDataLoss)
            << "byte " << i << ": " << model.status();
      }
    }
  }
}

TEST(FeatureTermTest, RowsThatDoNotFitAreRefusedByName) {
  RunContext context;
  const ModelFunction function = ModelOf(TwoPairs()).function;
  EXPECT_EQ(EvaluateFunction(function, Prepared(NormalMatrix(4, 2, 1)), context).status().code(),
            absl::StatusCode::kInvalidArgument);
  RowMatrix huge = NormalMatrix(4, 3, 1);
  huge.row(2).setConstant(1e200);
  const absl::Status status =
      EvaluateFunction(function, Prepared(std::move(huge)), context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("row 3"), std::string::npos) << status;
}

TEST(FeatureTermTest, OutputsOfPartsKeepTheirTerms) {
  const PreparedData inputs = Prepared(NormalMatrix(6, 3, 3));
  const auto part = [](double bias) {
    ModelFunction function;
    function.bias = Vector::Constant(1, bias);
    FeatureTerm term = TwoPairs();
    term.outputs = {0};
    term.coefficients = term.coefficients.col(0).eval() * bias;
    AddTerm(std::move(term), function);
    return function;
  };
  RunContext context;
  const ModelFunction merged = MergeOutputs({part(1.0), part(-2.0)}, inputs);
  const absl::StatusOr<Matrix> values = EvaluateFunction(merged, inputs, context);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->col(0), *EvaluateFunction(part(1.0), inputs, context));
  EXPECT_EQ(values->col(1), *EvaluateFunction(part(-2.0), inputs, context));
}

}  // namespace
}  // namespace mercer
