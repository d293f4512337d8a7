// Rows of Predict and PredictStream: the first byte chooses the model, the rest is a Rows message. Pieces of the rows, as
// the client cuts them, are predicted as the whole is.
#include <cmath>
#include <memory>
#include <sstream>
#include <string>

#include "client/cpp/cli/prediction_csv.h"
#include "client/cpp/row_pieces.h"
#include "core/io/text/readers.h"
#include "core/training/model/predictor.h"
#include "mercer/v1/prediction_service.pb.h"
#include "server/translation/prediction_translator.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"
#include "tests/fuzz/support/server/message_mutator.h"
#include "tests/fuzz/support/training/training.h"

namespace mercer::fuzz {
namespace {

std::vector<std::unique_ptr<Predictor>>* MakePredictors() {
  const Dataset dataset = MixedData();
  const LearnerEntry& entry = *Learners()[0];
  TrainingRecipe mixed = MixedRecipe(entry);
  TrainingRecipe imputing = mixed;
  imputing.kernels.resize(1);
  imputing.preprocessing.imputation = Imputation::kMeanOrMostFrequent;
  imputing.preprocessing.unseen_category = UnseenCategory::kAllZeros;
  imputing.coding = CodingChoice::kOneVsOne;
  auto* predictors = new std::vector<std::unique_ptr<Predictor>>;
  for (const TrainingRecipe& recipe : {mixed, imputing}) {
    auto made = Predictor::Make(std::make_shared<const Model>(Train(entry, recipe, dataset).model));
    Require(made.ok(), "a trained model predicts");
    predictors->push_back(*std::move(made));
  }
  return predictors;
}

const std::vector<std::unique_ptr<Predictor>>& Predictors() {
  static const auto& predictors = *MakePredictors();
  return predictors;
}

absl::StatusOr<Prediction> Predict(const Predictor& predictor, const v1::Rows& rows) {
  const absl::StatusOr<Dataset> dataset = server::ReadRows(rows, predictor);
  if (!dataset.ok()) {
    return dataset.status();
  }
  Require(ValidateDataset(*dataset).ok(), "what was read is a data set");
  RunContext context;
  return predictor.Predict(*dataset, {true}, context);
}

void CheckCsv(const v1::PredictResponse& response, Index rows) {
  std::ostringstream text;
  client::PredictionCsv csv(text, true);
  Require(csv.Write(response).ok(), "an answer of ours can be written");
  CsvOptions options;
  options.allow_missing = true;
  const std::unique_ptr<ByteSource> source = MakeMemorySource(text.str());
  const absl::StatusOr<Dataset> read = ReadCsv(*source, options);
  // Values that are not finite are refused as numbers.
  Require(!read.ok() || read->rows == rows, "predictions are written a line each");
}

void CheckPieces(const Predictor& predictor, const v1::Rows& rows, const Prediction& whole) {
  const int64_t count = client::CountRows(rows);
  if (count < 2) {
    return;
  }
  Require(count == whole.decision_values.rows(), "client and server count the same rows");
  const int64_t half = count / 2;
  for (const auto& [begin, size] : {std::pair{int64_t{0}, half}, std::pair{half, count - half}}) {
    const absl::StatusOr<Prediction> piece =
        Predict(predictor, client::SliceRows(rows, begin, size));
    Require(piece.ok(), "a piece of good rows is good");
    const Matrix expected = whole.decision_values.middleRows(begin, size);
    const bool same = (piece->decision_values.array() == expected.array() ||
                       (piece->decision_values.array().isNaN() && expected.array().isNaN()))
                          .all();
    Require(same, "a piece of the rows is predicted as the whole is");
  }
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  Input input(bytes);
  const Predictor& predictor = *Predictors()[input.Choice(Predictors().size())];
  v1::Rows rows;
  if (!rows.ParseFromArray(input.rest().data(), static_cast<int>(input.rest().size()))) {
    return;
  }
  const absl::StatusOr<Prediction> prediction = Predict(predictor, rows);
  if (!prediction.ok()) {
    RequireRefusal(prediction.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted});
    RequireTold(prediction.status());
    return;
  }
  v1::PredictResponse response;
  Require(server::WritePrediction(predictor.model(), *prediction, &response).ok(),
          "a prediction can be told");
  Require(response.labels_size() == response.decision_values().rows(), "each row has a label");
  CheckCsv(response, prediction->decision_values.rows());
  CheckPieces(predictor, rows, *prediction);
}

std::vector<std::string> Seeds() {
  v1::Rows dense;
  v1::DenseBlock& block = *dense.add_dense();
  block.mutable_values()->set_rows(2);
  block.mutable_values()->set_columns(3);
  for (const double value : {1.0, 2.0, 0.0, -1.0, 0.5, 1.0}) {
    block.mutable_values()->add_values(value);
  }
  v1::SquareRows& square = *dense.add_squares();
  square.set_name("gram");
  square.mutable_values()->set_rows(2);
  square.mutable_values()->set_columns(MixedData().rows);
  square.mutable_values()->mutable_values()->Resize(2 * static_cast<int>(MixedData().rows), 0.5);
  v1::Rows few_columns;
  v1::SquareRows& of_few = *few_columns.add_squares();
  of_few.set_name("gram");
  of_few.mutable_values()->set_rows(1);
  of_few.mutable_values()->set_columns(2);
  of_few.mutable_values()->mutable_values()->Resize(2, 0.5);
  of_few.add_training_rows(0);
  of_few.add_training_rows(1);
  v1::Rows columns;
  v1::TypedColumn& first = *columns.add_columns();
  first.set_name("x1");
  first.mutable_texts()->add_values("1.5");
  first.mutable_texts()->add_values("-2");
  v1::TypedColumn& second = *columns.add_columns();
  second.set_name("x2");
  second.mutable_numbers()->add_values(1);
  second.mutable_numbers()->add_values(2);
  v1::TypedColumn& colour = *columns.add_columns();
  colour.set_name("colour");
  colour.mutable_texts()->add_values("red");
  colour.mutable_texts()->add_values("");
  v1::Rows sparse;
  v1::SparseBlock& entries = *sparse.add_sparse();
  for (const int64_t start : {0, 1, 3}) {
    entries.add_row_starts(start);
  }
  for (const int32_t column : {1, 0, 1}) {
    entries.add_column_indices(column);
    entries.add_values(0.5);
  }
  std::vector<std::string> seeds;
  for (const v1::Rows* rows : {&dense, &few_columns, &columns, &sparse}) {
    seeds.push_back(std::string(1, '\0') + rows->SerializeAsString());
    seeds.push_back(std::string(1, '\1') + rows->SerializeAsString());
  }
  return seeds;
}

}  // namespace mercer::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return mercer::fuzz::MutateMessageBytes(mercer::v1::Rows::default_instance(), 1, data, size,
                                          max_size, seed);
}
