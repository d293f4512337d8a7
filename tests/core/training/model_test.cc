#include "core/training/model/model.h"

#include "absl/strings/escaping.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/encoding/encoding.h"
#include "core/training/model/predictor.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/json_fixture.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

TEST(MakeKernelFunctionTest, LeavesOutRowsAndKernelsOfZero) {
  const PreparedData inputs = Prepared(NormalMatrix(5, 2, 1));
  const ModelFunction function =
      MakeKernelFunction(inputs, {0, 2, 4}, {Gaussian(1), Gaussian(2), Gaussian(3)},
                         Vector{{0.5, 0.0, 2.0}}, Vector{{1.0, 0.0, -3.0}}, 0.25);
  ASSERT_EQ(TermsOf<KernelTerm>(function.terms).size(), 1u);
  const KernelTerm& term = TermAt<KernelTerm>(function);
  EXPECT_EQ(term.kernels, (std::vector<KernelSpec>{Gaussian(1), Gaussian(3)}));
  EXPECT_EQ(term.weights, (Vector{{0.5, 2.0}}));
  EXPECT_EQ(Matrix(term.coefficients), (Vector{{1.0, -3.0}}));
  EXPECT_EQ(function.bases[0].training_rows, (std::vector<Index>{0, 4}));
  EXPECT_EQ(function.bases[0].data->blocks[0].values.view().row(1),
            inputs.blocks[0].values.view().row(4));
  EXPECT_EQ(function.bias(0), 0.25);
}

TEST(MakeKernelFunctionTest, ConstantFunctionHasNoTerms) {
  const PreparedData inputs = Prepared(NormalMatrix(3, 1, 1));
  const ModelFunction function =
      MakeKernelFunction(inputs, {0, 1, 2}, {Gaussian(1)}, Vector::Ones(1), Vector::Zero(3), -1);
  EXPECT_TRUE(TermsOf<KernelTerm>(function.terms).empty());
  EXPECT_EQ(function.num_outputs(), 1);
}

TEST(MakeKernelFunctionTest, BasisHoldsOnlyTheBlocksThatItsKernelsRead) {
  PreparedData inputs = Prepared(NormalMatrix(3, 1, 1));
  inputs.blocks.push_back(Prepared(NormalMatrix(3, 2, 2)).blocks[0]);
  inputs.blocks[1].name = "second";
  inputs.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(3, 3))});
  KernelSpec kernel = Gaussian(1);
  kernel.block = "second";
  const ModelFunction function =
      MakeKernelFunction(inputs, {0, 1, 2}, {kernel}, Vector::Ones(1), Vector::Ones(3), 0);
  ASSERT_EQ(function.bases[0].data->blocks.size(), 1u);
  EXPECT_EQ(function.bases[0].data->blocks[0].name, "second");
  EXPECT_TRUE(function.bases[0].data->squares.empty());
}

TEST(MergeOutputsTest, KeepsEachOutputsFunctionOnAUnitedBasis) {
  const PreparedData inputs = Prepared(NormalMatrix(6, 2, 3));
  const std::vector<KernelSpec> kernels = {Gaussian(1), Gaussian(2)};
  const auto part = [&](const std::vector<Index>& rows, const Vector& weights, double bias) {
    return MakeKernelFunction(inputs, rows, kernels, weights,
                              Vector::LinSpaced(static_cast<Index>(rows.size()), 1, 2), bias);
  };
  const std::vector<ModelFunction> parts = {part({0, 3}, Vector{{1.0, 2.0}}, 0.1),
                                            part({1, 3, 5}, Vector{{3.0, 1.0}}, 0.2),
                                            part({0, 1}, Vector{{0.0, 1.0}}, 0.3)};
  Model merged;
  merged.function = MergeOutputs(parts, inputs);
  ASSERT_EQ(merged.function.bases.size(), 1u);
  EXPECT_EQ(merged.function.bases[0].training_rows, (std::vector<Index>{0, 1, 3, 5}));
  // The third output has weight 0 for a kernel that only the others use.
  ASSERT_EQ(TermsOf<KernelTerm>(merged.function.terms).size(), 1u);
  EXPECT_EQ(TermAt<KernelTerm>(merged.function).outputs, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(TermAt<KernelTerm>(merged.function).kernels, kernels);

  const auto x = inputs.blocks[0].values.view();
  for (size_t o = 0; o < parts.size(); ++o) {
    for (const KernelTerm* term : TermsOf<KernelTerm>(merged.function.terms)) {
      for (size_t j = 0; j < term->outputs.size(); ++j) {
        if (term->outputs[j] != static_cast<int>(o)) {
          continue;
        }
        const Vector coefficients = Matrix(term->coefficients).col(static_cast<Index>(j));
        Vector expected = Vector::Zero(4);
        const ModelFunction& alone = parts[o];
        for (size_t r = 0; r < alone.bases[0].training_rows.size(); ++r) {
          const std::vector<Index> united = {0, 1, 3, 5};
          const auto at = std::find(united.begin(), united.end(), alone.bases[0].training_rows[r]) -
                          united.begin();
          expected(at) = Matrix(TermAt<KernelTerm>(alone).coefficients)(static_cast<Index>(r), 0);
        }
        EXPECT_EQ(coefficients, expected) << "output " << o;
        const Matrix weights{{1.0, 3.0, 0.0}, {2.0, 1.0, 1.0}};
        EXPECT_EQ(term->weights.col(static_cast<Index>(j)), weights.col(static_cast<Index>(o)))
            << "output " << o;
      }
    }
  }
  EXPECT_EQ(merged.function.bias, (Vector{{0.1, 0.2, 0.3}}));
  EXPECT_EQ(merged.function.bases[0].data->blocks[0].values.view().row(2), x.row(3));
}

// A function of one output with some of many kernels.
ModelFunction PartOfKernels(const PreparedData& inputs, const std::vector<Index>& used,
                            Index number) {
  Vector weights = Vector::Zero(60);
  for (const Index k : used) {
    weights(k) = 0.5 + static_cast<double>((k + number) % 7);
  }
  std::vector<KernelSpec> kernels;
  for (Index k = 0; k < weights.size(); ++k) {
    kernels.push_back(Gaussian(1.0 + 0.1 * static_cast<double>(k)));
  }
  const std::vector<Index> rows = {number % 6, (number + 2) % 6, (number + 3) % 6};
  return MakeKernelFunction(inputs, rows, kernels, weights, Vector{{1.0, -2.0, 0.5}}, 0.1);
}

Matrix ValuesOf(const ModelFunction& function, const PreparedData& rows) {
  RunContext context;
  const absl::StatusOr<Matrix> values = EvaluateFunction(function, rows, context);
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? *values : Matrix();
}

TEST(MergeOutputsTest, OutputsOfDifferentKernelsShareATermUntilItsWeightsAreNearlyAllZero) {
  const PreparedData inputs = Prepared(NormalMatrix(6, 2, 3));
  std::vector<ModelFunction> overlapping;
  std::vector<ModelFunction> apart;
  for (Index o = 0; o < 60; ++o) {
    overlapping.push_back(PartOfKernels(inputs, {o % 9, (o + 4) % 9, 9 + o % 2}, o));
    apart.push_back(PartOfKernels(inputs, {o}, o));
  }
  const PreparedData rows = Prepared(NormalMatrix(70, 2, 4));
  for (const auto& [parts, terms] : {std::pair(overlapping, 1u), std::pair(apart, 4u)}) {
    const ModelFunction merged = MergeOutputs(parts, inputs);
    EXPECT_EQ(merged.terms.size(), terms);
    const Matrix values = ValuesOf(merged, rows);
    for (size_t o = 0; o < parts.size(); ++o) {
      const Matrix alone = ValuesOf(parts[o], rows);
      EXPECT_LE((values.col(static_cast<Index>(o)) - alone).cwiseAbs().maxCoeff(), 1e-13)
          << "output " << o << " of " << terms << " terms";
    }
  }
}

class ModelFileTest : public ::testing::Test {
 protected:
  static std::string SmallFile() {
    Dataset data = ClassificationData(9, 1, 3, 4);
    AddColours(data, {"red", "blue"});
    TrainingRecipe recipe = ExampleRecipe();
    recipe.kernels = {OneKernel(2.0)};
    return SaveModel(*ExampleModel(recipe, data));
  }
};

TEST_F(ModelFileTest, RoundTripIsExact) {
  const std::string bytes = SmallFile();
  const absl::StatusOr<Model> model = LoadModel(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(SaveModel(*model), bytes);
  EXPECT_EQ(model->learner, "template_learner");
  EXPECT_EQ(std::get<double>(model->options.at("C")), 1.0);
  EXPECT_EQ(model->coding.classes(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(model->target, "label");
  EXPECT_EQ(model->num_training_rows, 9);
  EXPECT_EQ(model->seed, 11u);
  EXPECT_EQ(model->code_version, "test-version");
}

// Files that were written before models named their fields: they are read, and written again as
// they are.
TEST_F(ModelFileTest, FilesOfBeforeAreReadAndWrittenAsTheyAre) {
  const nlohmann::json fixture = ReadFixtureFile("../core/training/saved_models.json");
  const auto bytes = [&](const char* name) {
    return absl::HexStringToBytes(fixture[name].get<std::string>());
  };
  // Three classes by pairs, kernels, a column of categories.
  const std::string kinds = bytes("kinds");
  EXPECT_EQ(FormatVersion(kinds), 1u);
  absl::StatusOr<Model> model = LoadModel(kinds);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(SaveModel(*model) == kinds);
  EXPECT_EQ(model->coding.kind(), CodingKind::kOneVsOne);
  EXPECT_FALSE(TermsOf<KernelTerm>(model->function.terms).empty());
  // Two tasks, features, rows that were held out.
  const std::string scores = bytes("scores");
  EXPECT_EQ(FormatVersion(scores), 4u);
  model = LoadModel(scores);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(SaveModel(*model) == scores);
  EXPECT_EQ(model->tasks.names(), (std::vector<std::string>{"ann", "bob"}));
  EXPECT_FALSE(TermsOf<FeatureTerm>(model->function.terms).empty());
  EXPECT_EQ(model->held_out.rows, 3);

  // The same with two tables, which were put behind it by a program in another language.
  const std::string tables = bytes("tables");
  EXPECT_EQ(FormatVersion(tables), 5u);
  model = LoadModel(tables);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(SaveModel(*model) == tables);
  ASSERT_EQ(model->summary.tables.size(), 2u);
  const ModelTable& ranking = model->summary.tables[0];
  EXPECT_EQ(ranking.name, "ranking");
  EXPECT_EQ(ranking.rows, (std::vector<std::string>{"x1", "x2", "x3"}));
  EXPECT_TRUE(ranking.columns.empty());
  EXPECT_EQ(ranking.values, (Matrix{{1, -2}, {0.5, 4}, {0, 0.25}}));
  EXPECT_EQ(ranking.drawing, TableDrawing::kBars);
  const ModelTable& covariance = model->summary.tables[1];
  EXPECT_EQ(covariance.columns, covariance.rows);
  EXPECT_EQ(covariance.column_axis, "variables");
  EXPECT_EQ(covariance.unit, "m^2");
  EXPECT_EQ(covariance.drawing, TableDrawing::kHeatMap);
  model->summary.tables.clear();
  EXPECT_TRUE(SaveModel(*model) == scores);

  // The first, with names and groups of kernels.
  const std::string labels = bytes("labels");
  EXPECT_EQ(FormatVersion(labels), 5u);
  model = LoadModel(labels);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(SaveModel(*model) == labels);
  EXPECT_EQ(model->summary.kernel_groups, (std::vector<std::string>{"Grün", ""}));
  const std::vector<KernelSpec>& kernels = TermAt<KernelTerm>(model->function).kernels;
  EXPECT_EQ(kernels[0].labels, (KernelLabels{"kernel 1", "Grün"}));
  EXPECT_TRUE(kernels[1].labels.empty());
  ChangeTerm<KernelTerm>(model->function, [](KernelTerm& term) { term.kernels[0].labels = {}; });
  model->summary.kernel_groups.clear();
  EXPECT_TRUE(SaveModel(*model) == kinds);

  for (const char* name : {"kinds witness", "scores witness"}) {
    const std::string saved = bytes(name);
    const absl::StatusOr<Witness> witness = LoadWitness(saved);
    ASSERT_TRUE(witness.ok()) << witness.status();
    EXPECT_TRUE(SaveWitness(*witness) == saved) << name;
  }
}

// A file that docs/formats/model.md was followed for by a program in another language: of the rows 0
// and 2 of three, the kernel is ((1, 2), (2, 1)), which was clipped; f(x) = 0.25 + k(x) P (0.5, -2)',
// P = ((1, 1), (1, 1)) / 2.
TEST_F(ModelFileTest, ARepairedKernelIsReadAndWrittenAsItIs) {
  const nlohmann::json fixture = ReadFixtureFile("../core/training/saved_models.json");
  const std::string bytes = absl::HexStringToBytes(fixture["repairs"].get<std::string>());
  EXPECT_EQ(FormatVersion(bytes), 6u);
  absl::StatusOr<Model> model = LoadModel(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(SaveModel(*model) == bytes);
  EXPECT_EQ(model->preprocessing.options().square_repair, SquareRepairRule::kClip);
  EXPECT_EQ(model->preprocessing.repairs()[0].smallest(), -1);
  Dataset rows;
  rows.rows = 2;
  rows.squares.push_back(
      {"gram", SquareKind::kKernel, SharedMatrix(RowMatrix{{1, 7, 2}, {2, 0, -4}})});
  const auto prediction = PredictRows(std::make_shared<const Model>(*std::move(model)), rows);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_TRUE(prediction->decision_values.isApprox(Matrix{{-2}, {1.75}}, 1e-15));
}

TEST_F(ModelFileTest, EveryTruncationAndFlippedByteIsDataLoss) {
  const std::string bytes = SmallFile();
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(LoadModel(bytes.substr(0, i)).status().code(), absl::StatusCode::kDataLoss)
        << "cut at " << i;
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x80);
    EXPECT_EQ(LoadModel(flipped).status().code(), absl::StatusCode::kDataLoss) << "byte " << i;
  }
  EXPECT_EQ(LoadModel(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
}

// Damage that a checksum would hide: the payload is changed before it is framed.
TEST_F(ModelFileTest, InconsistentContentIsDataLossOrAnotherModelNeverACrash) {
  const std::string bytes = SmallFile();
  const absl::StatusOr<std::string_view> payload = UnframePayload("MRCRMODL", 1, "model", bytes);
  ASSERT_TRUE(payload.ok()) << payload.status();
  for (size_t i = 0; i < payload->size(); ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string damaged(*payload);
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      const absl::StatusOr<Model> model = LoadModel(FramePayload("MRCRMODL", 1, damaged));
      if (model.ok()) {
        EXPECT_TRUE(CheckModel(*model).ok()) << "byte " << i;
        Predictor::Make(std::make_shared<const Model>(*model)).status().IgnoreError();
      } else {
        EXPECT_EQ(model.status().code(), absl::StatusCode::kDataLoss)
            << "byte " << i << ": " << model.status();
      }
    }
  }
}

TEST_F(ModelFileTest, NewerFormatIsRefusedAsSuch) {
  const absl::Status status =
      LoadModel(FramePayload("MRCRMODL", kModelFormatVersion + 1, "whatever")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(status), "NEWER_FORMAT");
}

TEST_F(ModelFileTest, AllKindsOfOptionValuesRoundTrip) {
  const OptionValues values = {{"flag", true},
                               {"count", int64_t{-3}},
                               {"real", kInfinity},
                               {"word", std::string("x")},
                               {"list", std::vector<double>{1.5, -0.0}}};
  OptionValues read;
  ASSERT_TRUE(LoadFields(SaveFields(values), read));
  EXPECT_EQ(read, values);
}

}  // namespace
}  // namespace mercer
