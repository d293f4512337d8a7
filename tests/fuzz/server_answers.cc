// What the command line shows of a server's answers, which may be of a newer or a foreign server. The first byte says
// which answer the rest is.
#include <sstream>
#include <string>

#include "client/cpp/cli/dataset_text.h"
#include "client/cpp/cli/model_text.h"
#include "client/cpp/cli/prediction_csv.h"
#include "client/cpp/cli/progress_display.h"
#include "client/cpp/row_pieces.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"
#include "tests/fuzz/support/server/message_mutator.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kAnswers = 4;

void ShowModel(const v1::ModelVersion& model) {
  Require(!client::FormatModel(model, {}, 5).empty(), "a model is shown");
}

void ShowDataset(const v1::Dataset& dataset) {
  Require(!client::FormatDatasetSummary(dataset).empty(), "a data set is shown");
  client::FormatDatasetColumns(dataset, {true, false, 60});
}

void ShowEvent(const v1::ProgressEvent& event) {
  client::RemainingTime remaining;
  remaining.Hear(event);
  const std::optional<absl::Duration> rest = remaining.Hear(event);
  client::FormatEventLine(event, rest);
  client::FormatProgressBar(event, rest, 1e-3, {true, true, 60});
}

void ShowPrediction(const v1::PredictResponse& response) {
  std::ostringstream out;
  client::PredictionCsv csv(out, true);
  const absl::Status written = csv.Write(response);
  if (!written.ok()) {
    RequireRefusal(written, {absl::StatusCode::kDataLoss}, false);
    Require(out.str().empty(), "nothing is written of what is refused");
  }
}

template <typename Message>
void Show(std::string_view bytes, void (*show)(const Message&)) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    show(message);
  }
}

const google::protobuf::Message& Prototype(size_t answer) {
  const google::protobuf::Message* const prototypes[kAnswers] = {
      &v1::Model::default_instance(), &v1::Dataset::default_instance(),
      &v1::ProgressEvent::default_instance(), &v1::PredictResponse::default_instance()};
  return *prototypes[answer];
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  Input input(bytes);
  switch (input.Choice(kAnswers)) {
    case 0:
      return Show<v1::ModelVersion>(input.rest(), ShowModel);
    case 1:
      return Show<v1::Dataset>(input.rest(), ShowDataset);
    case 2:
      return Show<v1::ProgressEvent>(input.rest(), ShowEvent);
    default:
      return Show<v1::PredictResponse>(input.rest(), ShowPrediction);
  }
}

size_t Mutate(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  const Input input({reinterpret_cast<const char*>(data), size});
  const size_t answer = Input(input).Choice(kAnswers);
  return MutateMessageBytes(Prototype(answer), 1, data, size, max_size, seed);
}

std::vector<std::string> Seeds() {
  v1::ModelVersion model;
  model.set_name("models/m/versions/1");
  model.add_options()->set_real_value(2);
  model.mutable_coding()->add_classes("spam");
  model.mutable_certificate()->set_kind(v1::CERTIFICATE_KIND_GAP);
  model.mutable_kernel_weights()->add_kernels("gaussian bandwidth=1.5199110829529339");
  model.mutable_kernel_weights()->add_kernels("linear");
  model.mutable_kernel_weights()->mutable_weights()->set_columns(1);
  model.mutable_kernel_weights()->mutable_weights()->add_values(0.5);
  v1::ModelTable& table = *model.add_tables();
  table.set_name("ranking");
  table.add_rows("x1");
  table.add_columns("ann");
  table.mutable_values()->set_columns(1);
  table.mutable_values()->add_values(2);
  table.set_drawing(v1::TABLE_DRAWING_HEAT_MAP);
  model.add_metrics()->set_name("held_out.accuracy");
  v1::Dataset dataset;
  v1::Column& column = *dataset.add_blocks()->add_columns();
  column.set_name("x");
  column.set_type(v1::COLUMN_TYPE_NUMERIC);
  column.mutable_statistics()->set_max(2);
  dataset.add_role_columns()->add_value_counts()->set_value("red");
  dataset.add_squares()->set_name("gram");
  v1::ProgressEvent progress;
  progress.mutable_progress()->set_fraction(0.5);
  progress.mutable_progress()->set_relative_gap(1e-2);
  progress.mutable_progress()->mutable_elapsed()->set_seconds(3);
  progress.mutable_progress()->mutable_remaining()->set_seconds(5);
  v1::ProgressEvent change;
  change.mutable_state_change()->set_state(v1::JOB_STATE_FAILED);
  change.mutable_state_change()->mutable_error()->set_message("bad");
  v1::PredictResponse prediction;
  prediction.add_outputs("f");
  prediction.add_labels("spam");
  prediction.mutable_decision_values()->set_rows(1);
  prediction.mutable_decision_values()->set_columns(1);
  prediction.mutable_decision_values()->add_values(0.5);
  *prediction.add_contributions()->mutable_values() = prediction.decision_values();
  return {
      std::string(1, '\0') + model.SerializeAsString(),
      std::string(1, '\1') + dataset.SerializeAsString(),
      std::string(1, '\2') + progress.SerializeAsString(),
      std::string(1, '\2') + change.SerializeAsString(),
      std::string(1, '\3') + prediction.SerializeAsString(),
  };
}

}  // namespace mercer::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return mercer::fuzz::Mutate(data, size, max_size, seed);
}
