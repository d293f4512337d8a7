#include "core/training/terms/term.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/contract/target_unit.h"
#include "core/training/encoding/encoding.h"
#include "core/training/model/point_encoding.h"
#include "core/training/model/predictor.h"
#include "core/training/terms/term_kinds.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

// The step 1(x_1 > 0) times a height for each output: a kind that terms.inc does not have.
struct StepTerm : TermOf<StepTerm> {
  static constexpr std::string_view kKind = "step";

  void Scale(double factor) { heights *= factor; }
  absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& /*rows*/) const override {
    return {{"step", false}};
  }
  Index num_coefficients() const override { return heights.size(); }
  int64_t WorkPerRow(int64_t /*columns*/, bool /*by_share*/) const override {
    return heights.size();
  }

  Vector heights;  // one per output of the term

  static void VisitFields(auto& visit, auto& self) { visit(self.outputs, self.heights); }

 private:
  absl::Status CheckOwnShape(const TermPlace& /*place*/) const override {
    return heights.size() == static_cast<Index>(outputs.size())
               ? absl::OkStatus()
               : UnreadableModel("a step has no height");
  }
};

class StepValues : public TermValues {
 public:
  explicit StepValues(const StepTerm& term) : term_(term) {}

  size_t MemoryBytes() const override { return sizeof(*this); }
  absl::Status Add(const PreparedData& rows, MatrixRef values,
                   RunContext& /*context*/) const override {
    for (Index i = 0; i < rows.rows; ++i) {
      for (size_t o = 0; o < term_.outputs.size(); ++o) {
        values(i, term_.outputs[o]) +=
            rows.blocks[0].values.view()(i, 0) > 0 ? term_.heights(static_cast<Index>(o)) : 0.0;
      }
    }
    return absl::OkStatus();
  }
  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override {
    return Add(rows, *shares[0], context);
  }
  absl::Status AddGradients(const PreparedData& /*rows*/, int /*output*/, MatrixRef /*gradients*/,
                            RunContext& /*context*/) const override {
    return absl::OkStatus();  // it is flat
  }

 private:
  const StepTerm& term_;
};

absl::StatusOr<std::unique_ptr<const TermValues>> StepTerm::MakeValues(
    const TermPlace& /*place*/, const RunContext& /*context*/) const {
  return std::make_unique<StepValues>(*this);
}

// One output: a bias and a step.
ModelFunction StepFunction(double bias, double height) {
  ModelFunction function;
  function.bias = Vector::Constant(1, bias);
  StepTerm term;
  term.outputs = {0};
  term.heights = Vector::Constant(1, height);
  AddTerm(std::move(term), function);
  return function;
}

PreparedData TwoRows() { return Prepared(RowMatrix{{-1.0, 2.0}, {3.0, 4.0}}); }

TEST(TermTest, AKindThatNoListHasIsEvaluatedAndPutBesideOthers) {
  const PreparedData inputs = Prepared(NormalMatrix(6, 2, 3));
  const ModelFunction kernel =
      MakeKernelFunction(inputs, {0, 1}, {Gaussian(1)}, Vector::Ones(1), Vector{{1.0, -2.0}}, 0.5);
  const ModelFunction merged = MergeOutputs({StepFunction(0.25, 2.0), kernel}, inputs);
  ASSERT_EQ(merged.terms.size(), 2u);
  EXPECT_EQ(merged.terms[0]->kind(), KernelTerm::kKind);
  EXPECT_EQ(merged.terms[0]->outputs, (std::vector<int>{1}));
  EXPECT_EQ(merged.terms[1]->outputs, (std::vector<int>{0}));
  RunContext context;
  const absl::StatusOr<Matrix> values = EvaluateFunction(merged, TwoRows(), context);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->col(0), (Vector{{0.25, 2.25}}));
  EXPECT_EQ(values->col(1), *EvaluateFunction(kernel, TwoRows(), context));
}

TEST(TermTest, GradientsAreThoseOfTermsThatHaveThem) {
  RunContext context;
  const absl::StatusOr<Matrix> flat = EvaluateGradients(StepFunction(1, 2), 0, TwoRows(), context);
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_EQ(*flat, Matrix::Zero(2, 2));
  const PreparedData inputs = Prepared(NormalMatrix(6, 2, 3));
  const ModelFunction kernel =
      MakeKernelFunction(inputs, {0}, {Gaussian(1)}, Vector::Ones(1), Vector::Ones(1), 0);
  EXPECT_EQ(EvaluateGradients(kernel, 0, TwoRows(), context).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(TermTest, TargetsInAnotherUnitScaleEveryKind) {
  TrainedPoint point;
  point.function = StepFunction(1, 2);
  TargetUnit unit;
  unit.means = Vector::Constant(1, 10.0);
  unit.deviation = 4;
  ToUserUnit(unit, point);
  RunContext context;
  EXPECT_EQ(EvaluateFunction(point.function, TwoRows(), context)->col(0), (Vector{{14.0, 22.0}}));
}

// The file says which kind it is, so that a program with that kind reads it.
TEST(TermTest, AFileWithAKindOfAnotherProgramIsRefusedByItsName) {
  Model model;
  model.coding = OutputCoding::Regression();
  model.function = StepFunction(1, 2);
  const std::string bytes = SaveModel(model);
  EXPECT_EQ(FormatVersion(bytes), 5u);
  const absl::Status status = LoadModel(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(GetReason(status), "UNKNOWN_TERM");
  EXPECT_NE(status.message().find("step"), std::string_view::npos) << status;

  ByteWriter writer;
  TrainedPoint point;
  point.function = model.function;
  WritePoint(point, writer);
  ByteReader reader(writer.bytes());
  ReadPoint(TwoRows(), reader);
  EXPECT_FALSE(reader.ok());
}

TEST(TermTest, TermsOutOfTheOrderOfKindsAreNoModel) {
  const PreparedData inputs = Prepared(NormalMatrix(6, 2, 3));
  Model model;
  model.coding = OutputCoding::Regression();
  model.function =
      MakeKernelFunction(inputs, {0}, {Gaussian(1)}, Vector::Ones(1), Vector::Ones(1), 0);
  ASSERT_TRUE(CheckModel(model).ok());
  FeatureTerm features;
  features.family.kind = FeatureFamilyKind::kColumns;
  features.num_inputs = 2;
  features.groups = {{1.0}};
  features.outputs = {0};
  features.coefficients = Matrix::Ones(1, 1);
  AddTerm(features, model.function);
  EXPECT_TRUE(CheckModel(model).ok()) << CheckModel(model);
  std::swap(model.function.terms[0], model.function.terms[1]);
  EXPECT_EQ(CheckModel(model).code(), absl::StatusCode::kDataLoss);
}

TEST(TermTest, KindsHaveNamesOfTheirOwn) {
  std::vector<std::string_view> names;
  for (const TermKind& kind : AllTermKinds()) {
    EXPECT_EQ(FindTermKind(kind.name), &kind);
    names.push_back(kind.name);
  }
  EXPECT_GE(names.size(), 2u);
  EXPECT_EQ(names[0], KernelTerm::kKind);
  EXPECT_EQ(names[1], FeatureTerm::kKind);
  EXPECT_EQ(FindTermKind("step"), nullptr);
}

}  // namespace
}  // namespace mercer
