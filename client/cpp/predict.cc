// Predictions in batches, over broken streams.
#include <memory>
#include <utility>

#include <grpcpp/client_context.h>

#include "client/cpp/call_guard.h"
#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "client/cpp/row_pieces.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

using Stream = grpc::ClientReaderWriter<v1::PredictStreamRequest, v1::PredictResponse>;

bool IsAnswerTooLarge(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted &&
         ReadErrorReport(status).reason == "RESPONSE_TOO_LARGE";
}

// One open call of PredictStream.
class PredictCall {
 public:
  PredictCall(v1::PredictionService::Stub& stub, const v1::PredictHeader& header,
              absl::Duration patience, const std::stop_token& stop)
      : stream_(stub.PredictStream(&context_)), guard_(context_, patience, stop) {
    v1::PredictStreamRequest first;
    *first.mutable_header() = header;
    guard_.Run([&] { return stream_->Write(first); });  // a call that failed says why at Finish
  }
  ~PredictCall() {
    if (!finished_) {
      context_.TryCancel();
      stream_->Finish();
    }
  }
  PredictCall(const PredictCall&) = delete;
  PredictCall& operator=(const PredictCall&) = delete;

  // The answer to one batch.
  absl::Status Exchange(const v1::PredictStreamRequest& batch, v1::PredictResponse* response) {
    if (guard_.Run([&] { return stream_->Write(batch); }) && Read(response)) {
      return absl::OkStatus();
    }
    const absl::Status status = Finish();
    return status.ok() ? absl::InternalError("the server ended the call early") : status;
  }

  bool Read(v1::PredictResponse* response) {
    return guard_.Run([&] { return stream_->Read(response); });
  }
  void WritesDone() {
    guard_.Run([&] { return stream_->WritesDone(); });
  }
  absl::Status Finish() {
    finished_ = true;
    return guard_.Explain(StatusOfCall(guard_.Run([&] { return stream_->Finish(); })));
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  CallGuard guard_;
  bool finished_ = false;
};

}  // namespace

absl::Status Client::Predict(v1::PredictHeader header, const RowsSource& next_rows,
                             const PredictionSink& sink, const std::stop_token& stop) {
  std::unique_ptr<PredictCall> call;
  RowPieces pieces(next_rows);
  int64_t rows_before = 0;  // the current piece
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const v1::PredictStreamRequest* const piece, pieces.Next());
    if (piece == nullptr) {
      break;
    }
    v1::PredictResponse response;
    const absl::Status status =
        CallWithRetries(NewBackoff(options_.retry), options_.sleep, [&](int) -> absl::Status {
          if (call == nullptr) {
            call = std::make_unique<PredictCall>(*stubs_->predictions, header,
                                                 options_.stream_timeout, stop);
          }
          absl::Status exchanged = call->Exchange(*piece, &response);
          if (!exchanged.ok()) {
            call.reset();
          }
          return exchanged;
        });
    if (IsAnswerTooLarge(status) && pieces.Halve()) {
      continue;
    }
    MERCER_RETURN_IF_ERROR(
        ShiftErrorRow(status, rows_before));  // the server counts the rows of a message
    rows_before += response.decision_values().rows();
    header.set_model(response.model());  // a call that is opened again asks for the same version
    MERCER_RETURN_IF_ERROR(sink(response));
  }
  if (call == nullptr) {
    return absl::OkStatus();
  }
  call->WritesDone();
  const absl::Status end = call->Finish();
  // Every row has its answer: that the connection breaks now takes nothing back.
  return absl::IsUnavailable(end) ? absl::OkStatus() : end;
}

absl::Status Client::PredictDataset(const v1::PredictHeader& header, const PredictionSink& sink,
                                    const std::stop_token& stop) {
  bool delivered = false;
  Backoff backoff = NewBackoff(options_.retry);
  while (true) {
    PredictCall call(*stubs_->predictions, header, options_.stream_timeout, stop);
    call.WritesDone();
    v1::PredictResponse response;
    while (call.Read(&response)) {
      delivered = true;
      MERCER_RETURN_IF_ERROR(sink(response));
    }
    const absl::Status status = call.Finish();
    const std::optional<absl::Duration> delay =
        delivered ? std::nullopt : backoff.Next(status);  // answers cannot be taken back
    if (status.ok() || !delay.has_value()) {
      return status;
    }
    options_.sleep(*delay, std::stop_token());
  }
}

}  // namespace mercer::client
