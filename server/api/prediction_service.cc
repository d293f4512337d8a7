// PredictionService over gRPC.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <grpcpp/support/server_callback.h>

#include "core/base/errors.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "server/api/prediction_handlers.h"
#include "server/api/services.h"

namespace mercer::server {
namespace {

// Rows of a stored data set that are answered by one message of PredictStream.
constexpr Index kBatchRows = 4096;

// A prediction that runs on a pool and ends when its client goes away. Deletes itself.
class PredictReactor final : public grpc::ServerUnaryReactor {
 public:
  PredictReactor(const PredictionHandlers& handlers, Executor* executor, const CallRecord& call,
                 grpc::CallbackServerContext* context, const v1::PredictRequest* request,
                 v1::PredictResponse* response)
      : call_(call) {
    executor->Post([this, &handlers, context, request, response] {
      Finish(AnswerUnary(call_, *context, *request, response, [&](const auto& message) {
        return handlers.Predict(message, cancellation_);
      }));
    });
  }

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { delete this; }

 private:
  const CallRecord call_;
  const CancellationToken cancellation_;
};

// Reads a message, answers it, reads the next: one step at a time. Deletes itself.
class PredictStreamReactor final
    : public grpc::ServerBidiReactor<v1::PredictStreamRequest, v1::PredictResponse> {
 public:
  PredictStreamReactor(const RpcEnvironment& environment, const PredictionHandlers& handlers,
                       grpc::CallbackServerContext* context)
      : environment_(environment),
        handlers_(handlers),
        context_(context),
        call_(environment, "PredictionService/PredictStream") {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      environment_.compute->Post([this] { HandleMessage(); });
    } else {
      End(model_ == nullptr ? BadOrder("the stream ended before its header came")
                            : absl::OkStatus());
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(absl::CancelledError("the client has gone"));
    } else if (dataset_ != nullptr) {
      environment_.compute->Post([this] { SendBatch(); });
    } else {
      StartRead(&request_);
    }
  }

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { delete this; }

 private:
  static absl::Status BadOrder(const char* message) {
    return WithReason(absl::InvalidArgumentError(message), "BAD_STREAM_ORDER");
  }

  void End(const absl::Status& status) { Finish(call_.End(status)); }

  void HandleMessage() {
    absl::Status status =
        environment_.draining ? DrainingError() : call_.Check(*context_, request_);
    if (status.ok() && request_.has_header() != (model_ == nullptr)) {
      status = BadOrder("the first message, and no other, must hold the header");
    }
    if (!status.ok()) {
      End(status);
    } else if (request_.has_header()) {
      Begin();
    } else {
      Answer(handlers_.PredictRows(*model_, header_, request_.rows(), cancellation_));
    }
  }

  void Begin() {
    header_ = request_.header();
    absl::StatusOr<std::shared_ptr<const LoadedModel>> model = handlers_.Open(header_);
    if (!model.ok()) {
      End(model.status());
      return;
    }
    model_ = *std::move(model);
    if (header_.dataset().empty()) {
      StartRead(&request_);
      return;
    }
    absl::StatusOr<std::shared_ptr<const Dataset>> dataset =
        handlers_.OpenDataset(header_.dataset(), "header.dataset");
    if (!dataset.ok()) {
      End(dataset.status());
      return;
    }
    dataset_ = *std::move(dataset);
    SendBatch();
  }

  void SendBatch() {
    const Index count = std::min(kBatchRows, dataset_->rows - sent_rows_);
    if (count == 0) {
      End(absl::OkStatus());
      return;
    }
    if (environment_.draining) {
      End(DrainingError());
      return;
    }
    std::vector<Index> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), sent_rows_);
    sent_rows_ += count;
    Answer(handlers_.PredictDataset(*model_, header_, SelectRows(*dataset_, rows), cancellation_));
  }

  void Answer(absl::StatusOr<v1::PredictResponse> response) {
    const absl::Status status = response.ok() ? call_.CheckSize(*response) : response.status();
    if (!status.ok()) {
      End(status);
      return;
    }
    response_ = *std::move(response);
    StartWrite(&response_);
  }

  const RpcEnvironment& environment_;
  const PredictionHandlers& handlers_;
  grpc::CallbackServerContext* context_;
  const CallRecord call_;
  const CancellationToken cancellation_;
  v1::PredictStreamRequest request_;
  v1::PredictResponse response_;
  v1::PredictHeader header_;
  std::shared_ptr<const LoadedModel> model_;
  std::shared_ptr<const Dataset> dataset_;
  Index sent_rows_ = 0;
};

class PredictionServiceImpl final : public v1::PredictionService::CallbackService {
 public:
  PredictionServiceImpl(const RpcEnvironment& environment, const ApiContext& context,
                        ModelCache& cache)
      : environment_(environment), handlers_(context, cache) {}

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const v1::PredictRequest* request,
                                    v1::PredictResponse* response) override {
    const CallRecord call(environment_, "PredictionService/Predict");
    const PredictionPlace place = handlers_.Place(*request);
    if (place != PredictionPlace::kHere) {
      Executor* executor = place == PredictionPlace::kIo ? environment_.io : environment_.compute;
      return new PredictReactor(handlers_, executor, call, context, request, response);
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(AnswerUnary(call, *context, *request, response, [this](const auto& message) {
      return handlers_.Predict(message, CancellationToken());
    }));
    return reactor;
  }

  grpc::ServerBidiReactor<v1::PredictStreamRequest, v1::PredictResponse>* PredictStream(
      grpc::CallbackServerContext* context) override {
    return new PredictStreamReactor(environment_, handlers_, context);
  }

 private:
  const RpcEnvironment& environment_;
  PredictionHandlers handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePredictionService(const RpcEnvironment& environment,
                                                     const ApiContext& context, ModelCache& cache) {
  return std::make_unique<PredictionServiceImpl>(environment, context, cache);
}

}  // namespace mercer::server
