// Stored models: whatever is accepted reads back the same, and predicts without harm.
#include <memory>
#include <string>

#include "core/training/model/model.h"
#include "core/training/model/predictor.h"
#include "core/training/terms/basis.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/datasets.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/training/framed_file.h"
#include "tests/fuzz/support/training/training.h"

namespace mercer::fuzz {
namespace {

constexpr Index kRows = 3;
// Rows of more are not predicted: the time would be that of the arithmetic, not of the parser.
constexpr Index kMaxSide = 1000;

void CheckPrediction(std::shared_ptr<const Model> model) {
  if (model->preprocessing.num_outputs() > kMaxSide || model->num_square_columns > kMaxSide) {
    return;
  }
  const absl::StatusOr<std::unique_ptr<Predictor>> predictor = Predictor::Make(model);
  if (!predictor.ok()) {
    RequireRefusal(predictor.status(), {absl::StatusCode::kDataLoss}, false);
    return;
  }
  Dataset rows = RowsFor(model->preprocessing, kRows);
  for (const std::shared_ptr<const Term>& term : model->function.terms) {
    for (const KernelSpec& kernel : term->Kernels()) {
      if (ReadsSquare(kernel) && rows.FindSquare(kernel.block) == nullptr) {
        const SquareKind kind =
            kernel.type == KernelType::kDistance ? SquareKind::kDistance : SquareKind::kKernel;
        rows.squares.push_back(
            {kernel.block, kind,
             SharedMatrix(RowMatrix::Constant(kRows, model->num_square_columns, 0.5))});
      }
    }
  }
  RunContext context;
  const absl::StatusOr<Prediction> prediction = (*predictor)->Predict(rows, {true}, context);
  if (!prediction.ok()) {
    RequireRefusal(prediction.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kDataLoss,
                    absl::StatusCode::kResourceExhausted},
                   false);
    return;
  }
  Require(prediction->decision_values.rows() == kRows &&
              prediction->decision_values.cols() == model->coding.num_outputs(),
          "a prediction has a value for each row and output");
}

void CheckFile(std::string_view file) {
  absl::StatusOr<Model> model = LoadModel(file);
  if (!model.ok()) {
    const bool newer = absl::IsFailedPrecondition(model.status());
    RequireRefusal(model.status(),
                   {absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition}, newer);
    return;
  }
  const std::string saved = SaveModel(*model);
  const absl::StatusOr<Model> again = LoadModel(saved);
  Require(again.ok() && SaveModel(*again) == saved, "what was saved loads back");
  CheckPrediction(std::make_shared<const Model>(*std::move(model)));
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  CheckFile(bytes);
  CheckFile(Resealed(bytes));
}

std::vector<std::string> Seeds() {
  const Dataset dataset = MixedData();
  std::vector<std::string> seeds;
  for (const LearnerEntry* entry : Learners()) {
    TrainingRecipe recipe = MixedRecipe(*entry);
    seeds.push_back(SaveModel(Train(*entry, recipe, dataset).model));
  }
  return seeds;
}

}  // namespace mercer::fuzz
