#include "server/gateway/prediction_forms.h"

#include <optional>
#include <utility>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/prediction_service.pb.h"
#include "server/gateway/rows/row_texts.h"
#include "server/translation/whole_message.h"

namespace mercer::gateway {
namespace {

bool Predicts(const RouteMatch& match) {
  return match.route->method == "PredictionService/Predict";
}

absl::StatusOr<RequestInForm> RequestWithCsv(const RouteMatch& match, const RequestHead& head,
                                             const std::string& body, const MemoryCheck& memory) {
  auto request = std::make_unique<v1::PredictRequest>();
  MERCER_RETURN_IF_ERROR(BindRequest(match, head, /*has_json=*/false, *request));
  FieldViolations violations;
  violations.Check(request->input_case() == v1::PredictRequest::INPUT_NOT_SET, "dataset",
                   "is set, but the body has the rows");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(memory(body.size()));  // the reader's own
  MERCER_RETURN_IF_ERROR(
      ReadCsvRows(body, memory, server::Choose(*request, &v1::PredictRequest::mutable_rows)));
  return RequestInForm{std::move(request), RowForm::kCsv};
}

absl::StatusOr<RequestInForm> RequestWithObjects(const RouteMatch& match, const RequestHead& head,
                                                 const ListedRows& listed, const WireCheck& check,
                                                 const MemoryCheck& memory) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<google::protobuf::Message> message,
                          MakeRequestMessage(match, head, listed.rest, check));
  auto& request = static_cast<v1::PredictRequest&>(*message);
  FieldViolations violations;
  violations.Check(request.rows().ByteSizeLong() == 0, "rows", "is given more than once");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(ReadListedRows(
      listed.rows, memory, server::Choose(request, &v1::PredictRequest::mutable_rows)));
  return RequestInForm{std::move(message), RowForm::kObjects};
}

}  // namespace

bool TakesCsv(const RouteMatch& match, const RequestHead& head) {
  return Predicts(match) && head.MediaType() == "text/csv";
}

absl::StatusOr<RequestInForm> MakeRequestInForm(const RouteMatch& match, const RequestHead& head,
                                                const std::string& body, const WireCheck& check,
                                                const MemoryCheck& memory) {
  if (TakesCsv(match, head)) {
    return RequestWithCsv(match, head, body, memory);
  }
  if (Predicts(match)) {
    if (const std::optional<ListedRows> listed = FindListedRows(body); listed.has_value()) {
      return RequestWithObjects(match, head, *listed, check, memory);
    }
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<google::protobuf::Message> message,
                          MakeRequestMessage(match, head, body, check));
  return RequestInForm{std::move(message), RowForm::kMessage};
}

absl::StatusOr<Answer> AnswerInForm(RowForm form, const google::protobuf::Message& response,
                                    const MemoryCheck& memory) {
  if (form == RowForm::kMessage) {
    MERCER_ASSIGN_OR_RETURN(std::string text, WriteJson(response));
    return MakeAnswer(std::move(text += "\n"));
  }
  const auto& predictions = static_cast<const v1::PredictResponse&>(response);
  if (form == RowForm::kObjects) {
    MERCER_ASSIGN_OR_RETURN(std::string text, WriteJsonRows(predictions, memory));
    return MakeAnswer(std::move(text += "\n"));
  }
  MERCER_ASSIGN_OR_RETURN(std::string text, WriteCsvRows(predictions, memory));
  Answer answer = MakeAnswer(std::move(text), "text/csv; charset=utf-8");
  answer.headers.emplace_back("Mercer-Model", predictions.model());
  return answer;
}

}  // namespace mercer::gateway
