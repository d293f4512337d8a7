// PredictionService over gRPC.
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "mercer/v1/prediction_service.pb.h"
#include "server/api/prediction_handlers.h"
#include "server/api/services.h"
#include "server/prediction/model_lookup.h"
#include "server/prediction/prediction_runner.h"
#include "server/rpc/rpc_service.h"

namespace mercer::server {
namespace {

// Fields of the header, said as those of the message that holds it; those of the rows are fields of that message anyway.
absl::Status InHeader(const absl::Status& status) {
  const std::vector<FieldViolation> given = GetFieldViolations(status);
  if (given.empty()) {
    return status;
  }
  FieldViolations violations;
  for (const FieldViolation& violation : given) {
    const bool of_rows = absl::StartsWith(violation.field, "rows");
    violations.Add(of_rows ? violation.field : absl::StrCat("header.", violation.field),
                   violation.description);
  }
  return WithReason(violations.ToStatus(), GetReason(status), GetErrorMetadata(status));
}

// One unary call. The model is looked up on the I/O pool unless it is in memory. Few rows join the
// calls that predict with the same model at that moment; many go to the pool of predictions, where they
// end when their client goes away. Deletes itself.
class PredictCall final : public RequestCall {
 public:
  PredictCall(const RpcEnvironment& environment, const PredictionHandlers& handlers,
              PredictionRunner& runner, CallRecord call, grpc::CallbackServerContext* context)
      : RequestCall(environment, std::move(call), context, request_),
        handlers_(handlers),
        runner_(runner) {}

  void OnCancel() override { cancellation_.Cancel(); }

 private:
  void Begin() override {
    model_ = handlers_.Find(request_);
    if (model_ == nullptr) {
      PostOrEnd(*environment_.io, [this] { Open(); });
    } else {
      Route();
    }
  }

  // It ends soon by itself.
  void EndForDrain() override {}
  void CancelForDrain() override {}

  void Open() {
    const absl::Status status = RunSafely(call_.method(), [this]() -> absl::Status {
      MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
      MERCER_ASSIGN_OR_RETURN(model_, handlers_.Open(request_));
      return absl::OkStatus();
    });
    if (status.ok()) {
      Route();
    } else {
      End(status);
    }
  }

  void Route() {
    if (!PredictionHandlers::MayJoin(*model_, request_)) {
      PostOrEnd(*environment_.predictions, [this] { Answer(); });
      return;
    }
    PredictionBatch call;
    const absl::Status status = RunSafely(call_.method(), [&]() -> absl::Status {
      MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
      MERCER_RETURN_IF_ERROR(RefuseProbabilities(request_.probabilities(), model_->name));
      call.push_back({&request_, &response_, ClaimedRows(request_.rows()),
                      [this] { return context_->IsCancelled(); },
                      [this](const absl::Status& answer) { End(answer); }});
      return absl::OkStatus();
    });
    if (status.ok()) {
      runner_.Run(model_, std::move(call));  // `this` may be gone now
    } else {
      End(status);
    }
  }

  void Answer() {
    End(RunSafely(call_.method(), [this]() -> absl::Status {
      MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
      MERCER_ASSIGN_OR_RETURN(response_, handlers_.Predict(*model_, request_, cancellation_));
      return absl::OkStatus();
    }));
  }

  void End(const absl::Status& answer) override {
    const absl::Status status = answer.ok() ? call_.CheckSize(response_) : answer;
    if (model_ != nullptr) {
      model_->statistics->RecordCall(status.code(), response_.decision_values().rows(),
                                     absl::Now() - call_.start(), absl::Now());
    }
    FinishWith(*this, response_, call_.End(status), bytes_);
  }

  const PredictionHandlers& handlers_;
  PredictionRunner& runner_;
  v1::PredictRequest request_;
  v1::PredictResponse response_;
  const CancellationToken cancellation_;
  std::shared_ptr<const LoadedModel> model_;
};

// Reads a message, answers it, reads the next: one step at a time. A drain ends it between two steps.
// Deletes itself.
class PredictStreamCall final : public ServerCall {
 public:
  PredictStreamCall(const RpcEnvironment& environment, const PredictionHandlers& handlers,
                    CallRecord call, grpc::CallbackServerContext* context)
      : ServerCall(environment, context),
        handlers_(handlers),
        call_(std::move(call)),
        intake_(environment, call_.request_bytes(), load_) {
    Read();
    Track({[this] { OnDrain(); }, [this] { CancelWrite(); }});
  }

  void OnReadDone(bool ok) override {
    if (!steps_.Resume()) {
      return;
    }
    arrival_ = absl::Now();
    if (!ok) {
      End(model_ == nullptr ? BadOrder("the stream ended before its header came")
                            : absl::OkStatus());
      return;
    }
    PostOrEnd(ForMessages(), [this] { Step(&PredictStreamCall::TakeMessage); });
  }

  void OnWriteDone(bool ok) override {
    writing_ = false;
    if (!ok) {
      End(absl::CancelledError("the client has gone"));
    } else if (dataset_ != nullptr) {
      arrival_ = absl::Now();
      PostOrEnd(*environment_.predictions, [this] { Step(&PredictStreamCall::PredictBatch); });
    } else {
      Read();
    }
  }

  void OnCancel() override { cancellation_.Cancel(); }

 private:
  enum class Next : uint8_t { kRead, kParse, kHandle, kWrite, kPredictBatch, kEnd };

  static absl::Status BadOrder(const char* message) {
    return WithReason(absl::InvalidArgumentError(message), "BAD_STREAM_ORDER");
  }

  void End(const absl::Status& status) override { Finish(call_.End(status)); }
  void Discard() override { intake_.Release(request_); }

  // The header is a matter of files, the rows one of work.
  Executor& ForMessages() const {
    return model_ == nullptr ? *environment_.io : *environment_.predictions;
  }

  void Read() {
    if (!steps_.Wait([this] { StartRead(&bytes_); })) {
      End(DrainingError());
    }
  }

  void OnDrain() {
    if (steps_.Interrupt()) {
      End(DrainingError());
    }
  }

  // A client that does not read cannot be told of the drain.
  void CancelWrite() {
    is_late_ = true;
    if (writing_) {
      context_->TryCancel();
    }
  }

  // Does one step's work and what follows from it.
  void Step(absl::StatusOr<Next> (PredictStreamCall::*work)()) {
    const absl::StatusOr<Next> next = RunSafely(call_.method(), [&] { return (this->*work)(); });
    if (!next.ok()) {
      Record(next.status().code());
      End(next.status());
      return;
    }
    switch (*next) {
      case Next::kRead:
        Read();
        return;
      case Next::kParse:
        PostOrEnd(*environment_.intake, [this] { Step(&PredictStreamCall::ParseMessage); });
        return;
      case Next::kHandle:
        PostOrEnd(ForMessages(), [this] { Step(&PredictStreamCall::HandleMessage); });
        return;
      case Next::kWrite:
        Record(absl::StatusCode::kOk);
        writing_ = true;
        if (is_late_) {
          context_->TryCancel();
        }
        StartWrite(&bytes_);
        return;
      case Next::kPredictBatch:
        PostOrEnd(*environment_.predictions, [this] { Step(&PredictStreamCall::PredictBatch); });
        return;
      case Next::kEnd:
        End(absl::OkStatus());
        return;
    }
  }

  // What takes long to parse is parsed in the background, where no other call waits for it.
  absl::StatusOr<Next> TakeMessage() {
    if (intake_.TakesLong(bytes_, request_)) {
      return Next::kParse;
    }
    MERCER_RETURN_IF_ERROR(intake_.Parse(bytes_, request_));
    return HandleMessage();
  }

  absl::StatusOr<Next> ParseMessage() {
    MERCER_RETURN_IF_ERROR(intake_.Parse(bytes_, request_));
    return Next::kHandle;
  }

  absl::StatusOr<Next> HandleMessage() {
    MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
    if (request_.has_header() != (model_ == nullptr)) {
      return BadOrder("the first message, and no other, must hold the header");
    }
    if (request_.has_header()) {
      return Begin();
    }
    return Respond(handlers_.PredictRows(*model_, header_, request_.rows(), cancellation_));
  }

  absl::StatusOr<Next> Begin() {
    header_ = request_.header();
    MERCER_ASSIGN_OR_RETURN(model_, handlers_.Open(header_, "header.model"));
    if (header_.dataset().empty()) {
      return Next::kRead;
    }
    MERCER_ASSIGN_OR_RETURN(
        dataset_, handlers_.OpenDataset(header_.dataset(), "header.dataset", cancellation_));
    return Next::kPredictBatch;
  }

  absl::StatusOr<Next> PredictBatch() {
    if (sent_rows_ == dataset_->rows) {
      return Next::kEnd;
    }
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    MERCER_RETURN_IF_ERROR(call_.CheckCaller());
    const Index begin = sent_rows_;
    sent_rows_ += handlers_.BatchRows(*model_, header_, *dataset_, begin);
    const std::vector<Index> rows = IndexRange(begin, sent_rows_);
    return Respond(
        handlers_.PredictDataset(*model_, header_, SelectRows(*dataset_, rows), cancellation_));
  }

  absl::StatusOr<Next> Respond(absl::StatusOr<v1::PredictResponse> response) {
    if (!response.ok()) {
      return InHeader(response.status());
    }
    response_ = *std::move(response);
    MERCER_RETURN_IF_ERROR(call_.CheckSize(response_));
    bytes_ = BytesOf(response_);
    return Next::kWrite;
  }

  // What has come, or the next batch of a stored data set, has been answered.
  void Record(absl::StatusCode code) {
    if (model_ != nullptr) {
      const absl::Time now = absl::Now();
      model_->statistics->RecordCall(code, response_.decision_values().rows(), now - arrival_, now);
    }
  }

  const PredictionHandlers& handlers_;
  CallRecord call_;
  RequestIntake intake_;
  const CancellationToken cancellation_;
  v1::PredictStreamRequest request_;
  v1::PredictResponse response_;
  v1::PredictHeader header_;
  std::shared_ptr<const LoadedModel> model_;
  std::shared_ptr<const Dataset> dataset_;
  // Of what is answered now; for all but the first batch of a data set, when its turn came.
  absl::Time arrival_;
  Index sent_rows_ = 0;
  std::atomic<bool> writing_{false};
  std::atomic<bool> is_late_{false};  // the drain waits no longer
  StreamSteps steps_;
};

class PredictionRpcs final : public RpcService {
 public:
  PredictionRpcs(const RpcEnvironment& environment, const ApiContext& context, ModelCache& cache)
      : RpcService(environment),
        handlers_(context, cache),
        runner_(*environment.predictions, environment.max_message_bytes) {
    Call("PredictionService/Predict",
         [this](CallRecord call, grpc::CallbackServerContext* client) -> ServerCall* {
           return new PredictCall(environment_, handlers_, runner_, std::move(call), client);
         });
    Open<PredictStreamCall>("PredictionService/PredictStream", handlers_);
    Answer("PredictionService/PredictDataset", handlers_, &PredictionHandlers::StartPrediction);
    Answer("PredictionService/ListPredictionStatistics", handlers_,
           &PredictionHandlers::ListStatistics);
  }

 private:
  PredictionHandlers handlers_;
  PredictionRunner runner_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePredictionService(const RpcEnvironment& environment,
                                                     const ApiContext& context, ModelCache& cache) {
  return std::make_unique<PredictionRpcs>(environment, context, cache);
}

}  // namespace mercer::server
