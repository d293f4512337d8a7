// The forms that rows and predictions have over HTTP besides those of the messages: what comes row by row is answered row by row.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include <google/protobuf/message.h>

#include "server/gateway/rows/row_columns.h"
#include "server/gateway/rpc_messages.h"

namespace mercer::gateway {

enum class RowForm : uint8_t {
  kMessage,  // JSON of PredictRequest and PredictResponse
  kObjects,  // "rows" is a list of JSON objects
  kCsv,      // the body is text/csv; the other fields of PredictRequest are in the query
};

// Whether the body is rows as CSV, of which that route makes something.
bool TakesCsv(const RouteMatch& match, const RequestHead& head);

struct RequestInForm {
  std::unique_ptr<google::protobuf::Message> message;
  RowForm form = RowForm::kMessage;
};
// MakeRequestMessage for bodies of every form. Errors: also those of ReadListedRows and ReadCsvRows.
absl::StatusOr<RequestInForm> MakeRequestInForm(const RouteMatch& match, const RequestHead& head,
                                                const std::string& body, const WireCheck& check,
                                                const MemoryCheck& memory);

// `response` in that form. Errors: kInternal; those of the memory check, of forms in which the answer is far more than its message.
absl::StatusOr<Answer> AnswerInForm(RowForm form, const google::protobuf::Message& response,
                                    const MemoryCheck& memory);

}  // namespace mercer::gateway
