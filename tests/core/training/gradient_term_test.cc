// Gradients that are learned beside the values: merging, saving, damage, prediction.
#include "core/training/terms/gradient_term.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/model/model.h"
#include "core/training/model/predictor.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

KernelSpec Gaussian(double bandwidth) {
  KernelSpec kernel;
  kernel.type = KernelType::kGaussian;
  kernel.bandwidth = bandwidth;
  kernel.block = "features";
  return kernel;
}

RowMatrix ThreeRows() {
  RowMatrix values(3, 2);
  values << 0, 0, 1, 0, 0.5, -1;
  return values;
}

// f(x) = K(x, z_a), and in column 1 the gradient factor K(x, z_b), z being two of the three rows.
ModelFunction Learned(const PreparedData& inputs, std::vector<Index> rows, double factor) {
  Matrix coefficients = Matrix::Zero(2, 2);
  coefficients(0, 0) = 1;
  coefficients(1, 1) = factor;
  ModelFunction function = MakeKernelFunctions(inputs, rows, {Gaussian(1)}, Vector::Ones(1),
                                               coefficients, Vector::Zero(2));
  const auto all = std::static_pointer_cast<const KernelTerm>(function.terms.front());
  KernelTerm value = *all;
  value.outputs = {0};
  value.weights = all->weights.leftCols(1);
  value.coefficients = all->coefficients.leftCols(1);
  GradientTerm gradient;
  gradient.outputs = {0};
  gradient.num_inputs = 2;
  gradient.columns = {1};
  gradient.names = {"height"};
  gradient.functions = *all;
  gradient.functions.outputs = {0};
  gradient.functions.weights = all->weights.rightCols(1);
  gradient.functions.coefficients = all->coefficients.rightCols(1);
  gradient.directions = Matrix::Ones(1, 1);
  gradient.center = Vector::Constant(1, 0.25);
  function.bias = Vector::Zero(1);
  function.terms = {std::make_shared<const KernelTerm>(std::move(value)),
                    std::make_shared<const GradientTerm>(std::move(gradient))};
  return function;
}

Model ModelOf(ModelFunction function) {
  Model model;
  const Dataset data = RegressionData(3, 2, 1);
  model.preprocessing = Preprocessing::Fit(data, {0, 1, 2}, {}, RunContext()).value();
  model.learner = "coordinate_gradients";
  model.target = "target";
  model.coding = OutputCoding::Regression();
  model.function = std::move(function);
  return model;
}

double Kernel(const RowMatrix& rows, Index a, Index b) {
  return std::exp(-0.5 * (rows.row(a) - rows.row(b)).squaredNorm());
}

Matrix GradientsOf(const ModelFunction& function, int output, const PreparedData& rows) {
  RunContext context;
  Matrix gradients = Matrix::Zero(rows.rows, 2);
  for (const GradientTerm* term : TermsOf<GradientTerm>(function.terms)) {
    const auto values = term->MakeValues(function.place(), context);
    EXPECT_TRUE(values.ok()) << values.status();
    EXPECT_TRUE((*values)->AddGradients(rows, output, gradients, context).ok());
  }
  return gradients;
}

TEST(GradientTermTest, AddsNothingToValuesAndTellsItsGradient) {
  const PreparedData inputs = Prepared(ThreeRows());
  const ModelFunction function = Learned(inputs, {0, 1}, 3);
  RunContext context;
  const Matrix values = EvaluateFunction(function, inputs, context).value();
  const Matrix gradients = GradientsOf(function, 0, inputs);
  for (Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(values(i, 0), Kernel(ThreeRows(), i, 0), 1e-14);
    EXPECT_EQ(gradients(i, 0), 0);
    EXPECT_NEAR(gradients(i, 1), 3 * Kernel(ThreeRows(), i, 1), 1e-14);
  }
}

TEST(GradientTermTest, OutputsKeepTheirGradientsSideBySideAndScaled) {
  const PreparedData inputs = Prepared(ThreeRows());
  const ModelFunction first = Learned(inputs, {0, 1}, 3);
  const ModelFunction second = Learned(inputs, {2, 0}, -2);
  const ModelFunction merged = MergeOutputs({first, second}, inputs);
  ASSERT_EQ(TermsOf<GradientTerm>(merged.terms).size(), 2);
  EXPECT_TRUE(GradientsOf(merged, 0, inputs).isApprox(GradientsOf(first, 0, inputs), 1e-14));
  EXPECT_TRUE(GradientsOf(merged, 1, inputs).isApprox(GradientsOf(second, 0, inputs), 1e-14));
  ModelFunction scaled = first;
  scaled.terms[1] = first.terms[1]->Scaled(-0.5);
  EXPECT_TRUE(GradientsOf(scaled, 0, inputs).isApprox(-0.5 * GradientsOf(first, 0, inputs), 1e-14));
}

TEST(GradientTermTest, PredictionsTellThemOnRequestAlsoOfAModelThatWasSaved) {
  const PreparedData inputs = Prepared(ThreeRows());
  const auto saved = LoadModel(SaveModel(ModelOf(Learned(inputs, {0, 1}, 3))));
  ASSERT_TRUE(saved.ok()) << saved.status();
  const auto predictor = Predictor::Make(std::make_shared<const Model>(*saved));
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  RunContext context;
  EXPECT_TRUE((*predictor)->PredictPrepared(inputs, {}, context)->gradients.empty());
  const auto prediction =
      (*predictor)->PredictPrepared(inputs, {.gradients = true, .projections = true}, context);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  ASSERT_EQ(prediction->gradients.size(), 1);
  const LearnedGradient& gradient = prediction->gradients[0];
  EXPECT_EQ(gradient.columns, std::vector<std::string>{saved->preprocessing.OutputNames()[1]});
  for (Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(gradient.values(i, 0), 3 * Kernel(ThreeRows(), i, 1), 1e-14);
    EXPECT_NEAR(gradient.projections(i, 0), ThreeRows()(i, 1) - 0.25, 1e-14);
  }
}

TEST(GradientTermTest, AModelWithoutOneIsNamed) {
  const PreparedData inputs = Prepared(ThreeRows());
  ModelFunction values = Learned(inputs, {0, 1}, 3);
  values.terms.pop_back();
  const auto predictor = Predictor::Make(std::make_shared<const Model>(ModelOf(values)));
  RunContext context;
  const auto refused = (*predictor)->PredictPrepared(inputs, {.projections = true}, context);
  ASSERT_EQ(GetFieldViolations(refused.status()).size(), 1);
  EXPECT_EQ(GetFieldViolations(refused.status())[0].field, "projections");
}

TEST(GradientTermTest, AnOutputHasOneGradient) {
  const PreparedData inputs = Prepared(ThreeRows());
  Model model = ModelOf(Learned(inputs, {0, 1}, 3));
  model.function.terms.push_back(model.function.terms[1]);
  EXPECT_TRUE(absl::IsDataLoss(CheckModel(model)));
}

TEST(GradientTermTest, WhatDoesNotFitIsDataLoss) {
  const PreparedData inputs = Prepared(ThreeRows());
  const ModelFunction function = Learned(inputs, {0, 1}, 3);
  const auto with = [&](auto change) {
    auto term =
        std::make_shared<GradientTerm>(static_cast<const GradientTerm&>(*function.terms[1]));
    change(*term);
    Model model = ModelOf(function);
    model.function.terms[1] = std::move(term);
    return CheckModel(model);
  };
  EXPECT_TRUE(with([](GradientTerm&) {}).ok());
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.columns = {2}; })));
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.columns = {0, 1}; })));
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.num_inputs = 3; })));
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.names.clear(); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.center(0) = kInfinity; })));
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.directions.resize(2, 1); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](GradientTerm& term) { term.functions.basis = 1; })));
}

}  // namespace
}  // namespace mercer
