// Functions that are learned with their own gradient: values, merging, saving, damage, prediction.
#include "core/training/terms/differentiable_term.h"

#include <cmath>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "core/training/model/model.h"
#include "core/training/model/predictor.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

constexpr Index kColumns = 3;
constexpr double kWidth = 1.4;

// The function of rows 0 and 2, or of `first` and the one after the next, with slopes.
ModelFunction LearnedTogether(const PreparedData& inputs, Index first, double factor) {
  KernelSpec kernel;
  kernel.type = KernelType::kGaussian;
  const std::vector<Index> rows = {first, first + 2};
  ModelFunction function;
  function.bias = Vector::Zero(1);
  function.bases.push_back({SelectBasis(inputs, rows, BlocksOfKernels(inputs, {kernel})), rows});
  DifferentiableTerm term;
  term.outputs = {0};
  term.num_inputs = kColumns;
  term.columns = {0, 1, 2};
  term.names = {"a", "b", "c"};
  term.center = Vector::Constant(kColumns, 0.5);
  term.directions = Matrix::Identity(kColumns, 1);
  term.slopes = factor * Vector::LinSpaced(kColumns, 0.1, 0.3);
  term.anchors = {0, 1};
  term.width = kWidth;
  term.sums = factor * Vector::LinSpaced(2, -1, 2);
  term.moments = factor * NormalMatrix(2, kColumns, 7);
  function.terms = {std::make_shared<const DifferentiableTerm>(std::move(term))};
  return function;
}

const DifferentiableTerm& DifferentiablePart(const ModelFunction& function) {
  return static_cast<const DifferentiableTerm&>(*function.terms.front());
}

Matrix ValuesAtRows(const ModelFunction& function, const RowMatrix& rows) {
  RunContext context;
  return EvaluateFunction(function, Prepared(rows), context).value();
}

Matrix SlopesAt(const ModelFunction& function, int output, const RowMatrix& rows) {
  RunContext context;
  return EvaluateGradients(function, output, Prepared(rows), context).value();
}

TEST(DifferentiableTermTest, ValuesAreThoseOfTheFormula) {
  const RowMatrix rows = NormalMatrix(6, kColumns, 1);
  const ModelFunction function = LearnedTogether(Prepared(rows), 1, 1);
  const DifferentiableTerm& term = DifferentiablePart(function);
  const Matrix values = ValuesAtRows(function, rows);
  for (Index i = 0; i < rows.rows(); ++i) {
    double expected = term.slopes.dot(rows.row(i));
    for (Index j = 0; j < 2; ++j) {
      const Vector r = (rows.row(i) - rows.row(1 + 2 * j)).transpose();
      expected += std::exp(-0.5 * r.squaredNorm() / (kWidth * kWidth)) *
                  (term.sums(j) + term.moments.row(j).dot(r) / (kWidth * kWidth));
    }
    EXPECT_NEAR(values(i, 0), expected, 1e-14);
  }
}

TEST(DifferentiableTermTest, TheGradientIsThatOfTheValues) {
  constexpr double kStep = 1e-5;
  const RowMatrix rows = NormalMatrix(6, kColumns, 1);
  const ModelFunction function = LearnedTogether(Prepared(rows), 0, 1);
  const Matrix gradients = SlopesAt(function, 0, rows);
  for (Index l = 0; l < kColumns; ++l) {
    RowMatrix up = rows;
    RowMatrix down = rows;
    up.col(l).array() += kStep;
    down.col(l).array() -= kStep;
    const Vector slope = (ValuesAtRows(function, up) - ValuesAtRows(function, down)) / (2 * kStep);
    EXPECT_LE((slope - gradients.col(l)).cwiseAbs().maxCoeff(), 1e-8);
  }
}

TEST(DifferentiableTermTest, WhatIsSaidOfARowDoesNotDependOnItsNeighbours) {
  const RowMatrix rows = NormalMatrix(41, kColumns, 3);
  const ModelFunction function = LearnedTogether(Prepared(rows), 4, 1);
  const Matrix values = ValuesAtRows(function, rows);
  const Matrix gradients = SlopesAt(function, 0, rows);
  for (const Index row : {0, 7, 40}) {
    EXPECT_EQ(ValuesAtRows(function, rows.row(row))(0, 0), values(row, 0));
    EXPECT_EQ(SlopesAt(function, 0, rows.row(row)), gradients.row(row));
  }
}

TEST(DifferentiableTermTest, OutputsAreSideBySideAndScaled) {
  const RowMatrix rows = NormalMatrix(6, kColumns, 1);
  const PreparedData inputs = Prepared(rows);
  const ModelFunction first = LearnedTogether(inputs, 0, 1);
  const ModelFunction second = LearnedTogether(inputs, 3, -2);
  const ModelFunction merged = MergeOutputs({first, second}, inputs);
  EXPECT_TRUE(ValuesAtRows(merged, rows).col(0).isApprox(ValuesAtRows(first, rows).col(0), 1e-14));
  EXPECT_TRUE(ValuesAtRows(merged, rows).col(1).isApprox(ValuesAtRows(second, rows).col(0), 1e-14));
  EXPECT_TRUE(SlopesAt(merged, 1, rows).isApprox(SlopesAt(second, 0, rows), 1e-14));
  ModelFunction scaled = first;
  scaled.terms[0] = first.terms[0]->Scaled(-0.5);
  EXPECT_TRUE(ValuesAtRows(scaled, rows).isApprox(-0.5 * ValuesAtRows(first, rows), 1e-14));
}

Model ModelOfFunction(ModelFunction function) {
  Model model;
  const Dataset data = RegressionData(6, kColumns, 1);
  model.preprocessing = Preprocessing::Fit(data, {0, 1, 2, 3}, {}, RunContext()).value();
  model.learner = "coordinate_gradients";
  model.target = "target";
  model.coding = OutputCoding::Regression();
  model.function = std::move(function);
  return model;
}

TEST(DifferentiableTermTest, ASavedModelPredictsTheSame) {
  const RowMatrix rows = NormalMatrix(6, kColumns, 1);
  const ModelFunction function = LearnedTogether(Prepared(rows), 1, 1);
  const auto saved = LoadModel(SaveModel(ModelOfFunction(function)));
  ASSERT_TRUE(saved.ok()) << saved.status();
  const auto predictor = Predictor::Make(std::make_shared<const Model>(*saved));
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  RunContext context;
  const auto prediction =
      (*predictor)
          ->PredictPrepared(Prepared(rows),
                            {.contributions = true, .gradients = true, .projections = true},
                            context);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->decision_values, ValuesAtRows(function, rows));
  ASSERT_EQ(prediction->contributions.size(), 2);
  EXPECT_EQ(prediction->contributions[0], ValuesAtRows(function, rows));
  ASSERT_EQ(prediction->gradients.size(), 1);
  EXPECT_EQ(prediction->gradients[0].values, SlopesAt(function, 0, rows));
  EXPECT_LE((prediction->gradients[0].projections.col(0) - Vector(rows.col(0).array() - 0.5))
                .cwiseAbs()
                .maxCoeff(),
            1e-15);
}

TEST(DifferentiableTermTest, WhatDoesNotFitIsDataLoss) {
  const ModelFunction function = LearnedTogether(Prepared(NormalMatrix(6, kColumns, 1)), 0, 1);
  const auto with = [&](auto change) {
    auto term = std::make_shared<DifferentiableTerm>(DifferentiablePart(function));
    change(*term);
    Model model = ModelOfFunction(function);
    model.function.terms[0] = std::move(term);
    return absl::IsDataLoss(CheckModel(model));
  };
  EXPECT_FALSE(with([](DifferentiableTerm&) {}));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.columns = {0, 1}; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.slopes.resize(2); }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.sums.resize(1); }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.moments.resize(2, 2); }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.anchors = {0, 2}; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.anchors = {-1, 0}; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.basis = 1; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.width = 0; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.sums(0) = kInfinity; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.num_inputs = 4; }));
  EXPECT_TRUE(with([](DifferentiableTerm& term) { term.num_inputs = Index{1} << 62; }));
}

TEST(DifferentiableTermTest, RowsThatOverflowAreNamed) {
  RowMatrix rows = NormalMatrix(6, kColumns, 1);
  const ModelFunction function = LearnedTogether(Prepared(rows), 0, 1);
  rows(4, 1) = std::nan("");
  RunContext context;
  const auto values = EvaluateFunction(function, Prepared(rows), context);
  ASSERT_FALSE(values.ok());
  EXPECT_NE(values.status().message().find("row 5"), std::string::npos);
}

}  // namespace
}  // namespace mercer
