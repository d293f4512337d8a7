// Kernels and data that are odd or no good, by a whole recipe: what is refused is named with its
// kernel and group, and what is odd alone trains.
#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"
#include "tests/support/learner_runs.h"
#include "tests/support/toy_data.h"

namespace mercer::mixed_norm_mkl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TrainingRecipe Recipe() {
  TrainingRecipe recipe;
  recipe.learner = "mixed_norm_mkl";
  recipe.options["C"] = 10.0;
  recipe.seed = 3;
  return recipe;
}

KernelGrid GivenKernel(const std::string& block, const std::string& name,
                       const std::string& group) {
  KernelGrid grid;
  grid.prototype.type = KernelType::kPrecomputed;
  grid.prototype.block = block;
  grid.prototype.labels = {name, group};
  return grid;
}

KernelGrid GaussianKernel(double bandwidth, const std::string& group) {
  KernelGrid grid;
  grid.prototype.bandwidth = bandwidth;
  grid.prototype.labels.group = group;
  return grid;
}

absl::StatusOr<TrainedModel> TrainRecipe(const TrainingRecipe& recipe, const Dataset& dataset) {
  RunContext context;
  QuietObserver observer;
  return RunRecipe({FindLearner("mixed_norm_mkl"), &recipe, &dataset, "digest", "v"}, {}, context,
                   observer);
}

absl::StatusOr<Matrix> Predicted(const TrainedModel& trained, const Dataset& rows) {
  const auto predictor = Predictor::Make(std::make_shared<const Model>(trained.model));
  if (!predictor.ok()) {
    return predictor.status();
  }
  RunContext context;
  const absl::StatusOr<Prediction> prediction = (*predictor)->Predict(rows, {}, context);
  return prediction.ok() ? absl::StatusOr<Matrix>(prediction->decision_values)
                         : prediction.status();
}

// Two classes with the linear kernel as a matrix "gram", and as distances "far".
Dataset SquareData(Index rows = 30) {
  Dataset data = ClassificationData(rows, 3, 2, 5);
  const RowMatrix x = data.blocks[0].values.view();
  RowMatrix far(rows, rows);
  for (Index i = 0; i < rows; ++i) {
    far.row(i) = (x.rowwise() - x.row(i)).rowwise().squaredNorm().transpose();
  }
  data.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix(x * x.transpose()))});
  data.squares.push_back({"far", SquareKind::kDistance, SharedMatrix(far)});
  return data;
}

// A recipe of a good group and of the kernel "hue" of the group "colours", which reads the matrix.
absl::Status RefusalOf(const RowMatrix& gram, KernelScaling scaling = KernelScaling::kNone) {
  Dataset data = SquareData(gram.rows());
  data.squares[0].values = SharedMatrix(gram);
  TrainingRecipe recipe = Recipe();
  recipe.kernels = {GaussianKernel(1, "shape"), GivenKernel("gram", "hue", "colours")};
  recipe.kernels[1].prototype.normalization.scaling = scaling;
  return TrainRecipe(recipe, data).status();
}

constexpr char kNamed[] = "kernels[1] 'hue' of group 'colours'";

TEST(MixedNormBadInputTest, IndefiniteMatricesAreRefusedWithTheSizeOfTheViolation) {
  RowMatrix gram = SquareData().squares[0].values.view();
  gram.diagonal().array() -= 2;
  gram.diagonal() = gram.diagonal().cwiseMax(1e-3);
  const absl::Status status = RefusalOf(gram);
  EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
  EXPECT_THAT(Text(status), AllOf(HasSubstr(kNamed), HasSubstr("it has an eigenvalue of -"),
                                  HasSubstr("or less")));
  EXPECT_THAT(GetErrorMetadata(status),
              testing::Contains(testing::Pair("remedy", "preprocessing.square_repair")));
}

TEST(MixedNormBadInputTest, RepairsAreToldInTheModel) {
  Dataset data = SquareData();
  RowMatrix gram = data.squares[0].values.view();
  gram.diagonal().array() -= 2;
  data.squares[0].values = SharedMatrix(gram);
  TrainingRecipe recipe = Recipe();
  recipe.kernels = {GaussianKernel(1, "shape"), GivenKernel("gram", "hue", "colours")};
  for (const SquareRepairRule rule :
       {SquareRepairRule::kShift, SquareRepairRule::kClip, SquareRepairRule::kFlip}) {
    recipe.preprocessing.square_repair = rule;
    const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    ASSERT_EQ(trained->model.preprocessing.repairs().size(), 1u);
    EXPECT_NEAR(trained->model.preprocessing.repairs()[0].smallest(), -2, 1e-9);
    EXPECT_LE(trained->model.certificate.accuracy, 1e-3);
  }
}

TEST(MixedNormBadInputTest, AsymmetricMatricesAreRefusedWithRowAndColumn) {
  RowMatrix gram = SquareData().squares[0].values.view();
  gram(7, 4) += 1;
  const absl::Status status = RefusalOf(gram);
  EXPECT_EQ(GetReason(status), "NOT_SYMMETRIC") << status;
  EXPECT_THAT(Text(status),
              AllOf(HasSubstr(kNamed), HasSubstr("block 'gram'"), HasSubstr("row 8, column 5")));
}

TEST(MixedNormBadInputTest, RaggedMatricesAreRefusedByName) {
  Dataset data = SquareData();
  data.squares[0].values = SharedMatrix(RowMatrix(RowMatrix::Identity(30, 29)));
  TrainingRecipe recipe = Recipe();
  recipe.kernels = {GaussianKernel(1, "shape"), GivenKernel("gram", "hue", "colours")};
  const absl::Status status = TrainRecipe(recipe, data).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("'gram'"));
}

TEST(MixedNormBadInputTest, ValuesThatAreNotFiniteAreNamed) {
  for (const double bad : {std::nan(""), kInfinity}) {
    for (const size_t square : {size_t{0}, size_t{1}}) {
      Dataset data = SquareData();
      RowMatrix values = data.squares[square].values.view();
      values(11, 6) = bad;
      data.squares[square].values = SharedMatrix(values);
      const absl::Status status = ValidateDataset(data);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(Text(status), AllOf(HasSubstr("row 12"), HasSubstr(data.squares[square].name)));
    }
  }
}

TEST(MixedNormBadInputTest, ZeroKernelsAreRefusedWhereTheyWouldBeScaled) {
  const RowMatrix zero = RowMatrix::Zero(30, 30);
  for (const KernelScaling scaling :
       {KernelScaling::kTrace, KernelScaling::kMeanDiagonal, KernelScaling::kVariance}) {
    const absl::Status status = RefusalOf(zero, scaling);
    EXPECT_EQ(GetReason(status), "ZERO_KERNEL") << status;
    EXPECT_THAT(Text(status), HasSubstr(kNamed));
  }
  // Alone in its group, which needs a norm.
  EXPECT_THAT(Text(RefusalOf(zero)), HasSubstr("every kernel of the group \"colours\" is 0"));
  const absl::Status constant = RefusalOf(RowMatrix::Ones(30, 30), KernelScaling::kVariance);
  EXPECT_EQ(GetReason(constant), "ZERO_KERNEL") << constant;
  EXPECT_THAT(Text(constant), HasSubstr(kNamed));
}

// Matrices whose entries are near the ends of the range of numbers: a model with a certificate, or a
// refusal that names the kernel.
TEST(MixedNormBadInputTest, ExtremeUnitsTrainOrAreNamed) {
  const RowMatrix gram = SquareData().squares[0].values.view();
  for (const double unit : {1e-300, 1e-150, 1e-12, 1e12, 1e150, 1e300}) {
    for (const KernelScaling scaling : {KernelScaling::kNone, KernelScaling::kTrace}) {
      const absl::Status status = RefusalOf(unit * gram, scaling);
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << unit << ": " << status;
      EXPECT_TRUE(status.ok() || Text(status).find(kNamed) != std::string::npos)
          << unit << ": " << status;
      if (unit > 1e-290 && unit < 1e290 && scaling == KernelScaling::kTrace) {
        EXPECT_TRUE(status.ok()) << unit << ": " << status;
      }
    }
  }
}

// Without normalisation the group of the smaller scale still has the norm of the other.
TEST(MixedNormBadInputTest, GroupsOfVeryDifferentScaleKeepTheirNorm) {
  const RandomKernels given = MakeRandomKernels(30, 2, {0.5, 2}, 4);
  std::vector<Matrix> grams = given.grams;
  for (size_t k = 2; k < 4; ++k) {
    grams[k] *= 1e6;
  }
  const Fit fit = MustTrain(GroupedProblem(grams, given.groups, given.targets), {{"C", 1.0}}, 1e-4);
  EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
  const Matrix& groups = fit.point.summary.tables[0].values;
  EXPECT_GT(groups.col(0).minCoeff(), 1);  // 1 / gamma
}

TEST(MixedNormBadInputTest, CostsThatMakeEveryRowABoundAndHardMargins) {
  const RandomKernels given = MakeRandomKernels(30, 2, {0.5, 2}, 4);
  const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  for (const double C : {1e-12, 1e-6, 1e-3, 1e6, 1e9}) {
    const Fit fit = MustTrain(problem, {{"C", C}}, 1e-3);
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged) << C << ": " << fit.certificate.accuracy;
    if (C < 1e-2) {
      const auto fewer =
          std::min((given.targets.array() > 0).count(), (given.targets.array() < 0).count());
      const double most = C * static_cast<double>(fewer);
      const Vector dual = fit.point.witness.FindArray("lower_dual")->col(0);
      EXPECT_NEAR(dual.cwiseMax(0).sum(), most, 2e-3 * most) << C;
    } else {
      EXPECT_GT((given.targets.array() * DecisionOf(fit, given.grams).array()).minCoeff(), 0.9)
          << C;
    }
  }
}

// Eight columns that are much alike, each with five kernels in a group of its own.
TrainingProblem AlikeColumns(uint64_t seed) {
  constexpr Index kRows = 300;
  const RowMatrix noise = NormalMatrix(kRows, 10, seed);
  RowMatrix x = 0.3 * noise.leftCols(8);
  x.colwise() += 0.95 * noise.col(8);
  Vector y(kRows);
  for (Index i = 0; i < kRows; ++i) {
    const double score = std::sin(2 * x(i, 0)) + 0.7 * x(i, 1) - 0.6 * x(i, 2) + 0.2 * noise(i, 9);
    y(i) = score > 0 ? 1 : -1;
  }
  TrainingProblem problem = MakeProblem(TargetKind::kClassification, x, y, {});
  for (Index c = 0; c < 8; ++c) {
    for (const double bandwidth : {0.25, 0.5, 1.0, 2.0, 4.0}) {
      KernelSpec& kernel = problem.kernels.emplace_back(Gaussian(bandwidth));
      kernel.columns = {absl::StrCat("x", c + 1)};
      kernel.labels.group = kernel.columns[0];
    }
  }
  return problem;
}

// The optimum is that of every larger cost, and costs nothing more to find.
TEST(MixedNormBadInputTest, HardMarginsOfAlikeColumnsHaveTheOptimumOfLesserCosts) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const TrainingProblem problem = AlikeColumns(seed);
    const Fit lesser = MustTrain(problem, {{"C", 1e4}}, 1e-3);
    for (const double C : {1e6, 1e9}) {
      const Fit fit = MustTrain(problem, {{"C", C}}, 1e-3);
      EXPECT_EQ(fit.stop_reason, StopReason::kConverged)
          << "problem " << seed << ", C " << C << ": " << fit.certificate.accuracy;
      EXPECT_NEAR(fit.objective(), lesser.objective(), 2e-3 * lesser.objective()) << seed;
    }
  }
}

TEST(MixedNormBadInputTest, RepeatedRowsWithEitherLabelTrain) {
  Dataset data = ClassificationData(40, 3, 2, 8);
  RowMatrix x = data.blocks[0].values.view();
  x.bottomRows(20) = x.topRows(20).eval();
  data.blocks[0].values = SharedMatrix(x);
  data.role_columns[0].values.tail(5) = 1 - data.role_columns[0].values.tail(5).array();
  TrainingRecipe recipe = Recipe();
  recipe.kernels = {GaussianKernel(1, "a"), GaussianKernel(3, "b")};
  const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_LE(trained->model.certificate.accuracy, 1e-3);
}

TEST(MixedNormBadInputTest, GroupsAreTheirNamesToTheByte) {
  const std::string lengthy(100, 'x');
  const std::vector<std::string> names = {"",       "Farbe", "farbe", "Größe",
                                          "大きさ", "a b",   lengthy, lengthy.substr(1)};
  TrainingRecipe recipe = Recipe();
  for (const std::string& name : names) {
    recipe.kernels.push_back(GaussianKernel(1, name));
    recipe.kernels.push_back(GaussianKernel(2, name));
  }
  const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, ClassificationData(30, 3, 2, 8));
  ASSERT_TRUE(trained.ok()) << trained.status();
  std::vector<std::string> expected = names;
  expected[0] = "without group";
  EXPECT_EQ(trained->model.summary.tables[0].rows, expected);
  for (const std::string& bad :
       {std::string(101, 'x'), std::string("  "), std::string("a\nb"), std::string("\xff")}) {
    recipe.kernels = {GaussianKernel(1, "good"), GaussianKernel(1, bad)};
    const absl::Status status = TrainRecipe(recipe, ClassificationData(30, 3, 2, 8)).status();
    ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "kernels[1].group");
  }
}

TEST(MixedNormBadInputTest, ClassesOfOneRowTrainInPairsAndAreNamedWhereAFoldLacksThem) {
  Dataset data = ClassificationData(30, 3, 2, 8);
  data.role_columns[0].values(4) = 2;  // the only row of the third class
  TrainingRecipe recipe = Recipe();
  recipe.kernels = {GaussianKernel(1, "a"), GaussianKernel(3, "b")};
  for (KernelGrid& kernel : recipe.kernels) {
    kernel.prototype.normalization.scaling = KernelScaling::kVariance;
  }
  for (const CodingChoice coding : {CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    recipe.coding = coding;
    recipe.validation = {};
    const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_LE(trained->model.certificate.accuracy, 1e-3);
    const absl::StatusOr<Matrix> values = Predicted(*trained, data);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ(trained->model.coding.Decide(*values)[4], 2);
    for (const ValidationKind kind : {ValidationKind::kHoldOut, ValidationKind::kFolds}) {
      recipe.validation.kind = kind;
      const absl::StatusOr<TrainedModel> held_out = TrainRecipe(recipe, data);
      EXPECT_TRUE(held_out.ok()) << held_out.status();
    }
  }
  // Of two classes, one of them of one row, a fold has one class alone.
  data = ClassificationData(30, 3, 2, 8);
  data.role_columns[0].values.setZero();
  data.role_columns[0].values(4) = 1;
  recipe.coding = CodingChoice::kAuto;
  recipe.validation = {};
  EXPECT_TRUE(TrainRecipe(recipe, data).ok());
  recipe.validation.kind = ValidationKind::kFolds;
  const absl::Status status = TrainRecipe(recipe, data).status();
  EXPECT_EQ(GetReason(status), "ONE_CLASS") << status;
  EXPECT_THAT(Text(status), HasSubstr("fold"));
}

TEST(MixedNormBadInputTest, OneVsOneLooksAtItsPairAlone) {
  const Dataset data = ClassificationData(36, 3, 3, 8);
  TrainingRecipe recipe = Recipe();
  recipe.preprocessing.scaling = Scaling::kNone;
  recipe.limits.relative_gap = 1e-7;
  recipe.kernels = {GaussianKernel(1, "a"), GaussianKernel(3, "b"), GaussianKernel(9, "b")};
  for (KernelGrid& kernel : recipe.kernels) {
    kernel.prototype.normalization.scaling = KernelScaling::kTrace;
  }
  recipe.coding = CodingChoice::kOneVsOne;
  Dataset other = data;
  RowMatrix x = data.blocks[0].values.view();
  for (Index i = 2; i < 36; i += 3) {
    x.row(i) *= -5;  // the third class
  }
  other.blocks[0].values = SharedMatrix(x);
  const absl::StatusOr<TrainedModel> first = TrainRecipe(recipe, data);
  const absl::StatusOr<TrainedModel> second = TrainRecipe(recipe, other);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  const Matrix of_first = *Predicted(*first, data);
  const Matrix of_second = *Predicted(*second, data);
  EXPECT_LE((of_first.col(0) - of_second.col(0)).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_GE((of_first.col(1) - of_second.col(1)).cwiseAbs().maxCoeff(), 1e-2);
  // Of two classes the pair is the problem itself, with the smaller class as the positive one.
  std::vector<Index> rows;
  for (Index i = 0; i < 36; ++i) {
    if (i % 3 < 2) {
      rows.push_back(i);
    }
  }
  recipe.coding = CodingChoice::kAuto;
  const absl::StatusOr<TrainedModel> binary = TrainRecipe(recipe, SelectRows(data, rows));
  ASSERT_TRUE(binary.ok()) << binary.status();
  EXPECT_LE((*Predicted(*binary, data) + of_first.col(0)).cwiseAbs().maxCoeff(), 1e-2);
}

TEST(MixedNormBadInputTest, PredictionsAreTheValuesOfTrainingAndReadNothingOfWeightZero) {
  const Dataset data = SquareData(40);
  TrainingRecipe recipe = Recipe();
  recipe.kernels = {GaussianKernel(0.5, "a"), GaussianKernel(2, "a"), GaussianKernel(20, "a"),
                    GivenKernel("gram", "hue", "b")};
  const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  RunContext context;
  const absl::StatusOr<Certificate> verified =
      VerifyModel({FindLearner("mixed_norm_mkl"), &recipe, &data, "digest", "v"}, trained->model,
                  trained->witness, context);
  EXPECT_TRUE(verified.ok()) << verified.status();  // compares values of training rows
  const Matrix values = *Predicted(*trained, data);
  // Kernels of weight 0 may be left out.
  const Vector weights = trained->model.summary.kernel_weights.col(0);
  ASSERT_EQ(weights.minCoeff(), 0);
  TrainingRecipe fewer = recipe;
  fewer.kernels.clear();
  for (Index k = 0; k < 4; ++k) {
    if (weights(k) > 0) {
      fewer.kernels.push_back(recipe.kernels[static_cast<size_t>(k)]);
    }
  }
  const absl::StatusOr<TrainedModel> again = TrainRecipe(fewer, data);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NEAR(again->model.certificate.primal, trained->model.certificate.primal,
              2e-3 * trained->model.certificate.primal);
  // Rows to predict without the matrix that the model reads.
  Dataset without = data;
  without.squares.clear();
  EXPECT_THAT(Text(Predicted(*trained, without).status()), HasSubstr("'gram'"));
  Dataset narrow = data;
  narrow.squares[0].values =
      SharedMatrix(RowMatrix(RowMatrix(data.squares[0].values.view()).leftCols(39)));
  EXPECT_THAT(Text(Predicted(*trained, narrow).status()), HasSubstr("'gram'"));
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
